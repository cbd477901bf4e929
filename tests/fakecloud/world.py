"""What all services share: settings, keys, buckets, the script of faults, the log."""
import base64
import copy
import json
import secrets
import threading
import time

from . import blob, objects, seeds
from .ec2_account import EC2
from .ec2_machines import Book
from .faults import Faults
from .iam import Account

DEFAULTS = {
    "region": "us-east-1",       # of endpoints that name none
    "clock_offset": 0,           # seconds that the servers' clock is wrong
    "conditions": "honour",      # of writes: honour | ignore | refuse (501) | racy
    "read_conditions": True,     # of reads; off: If-Match and its like are not looked at
    "versioning": False,         # as far as answers tell; older versions are not kept
    "race_409": False,           # conditional creates of one key at a time get 409
    "min_part": 5 << 20,         # bytes of every part but the last
    "unsigned_http": False,      # take UNSIGNED-PAYLOAD without TLS
    "unsigned_tls": True,        # and with it; off: 403, as policies can have it
    "sums": "know",              # x-amz-checksum-*: know | ignore | refuse (501)
    "answer_sums": False,        # S3 puts are answered with the CRC64NVME of S3's own
    "wrong_region": "301",       # how S3 names a bucket's region: 301 | 307 | 400
    "list_max": 1000,            # keys in a page
    "complete_again": False,     # a repeated CompleteMultipartUpload succeeds
    "etag": "md5",               # of what came in one request: md5 | opaque (as with KMS)
    "trust_checksums": False,    # CRCs and MD5s of bodies are believed, to be fast: for
                                 # benches, where the signed sha256 is still checked
    "gcs_multi_delete": False,   # Google's XML API takes POST ?delete; off: 501
    "path_style": True,          # of S3; off: 403
    "oss_path_style": True,      # of OSS, at names like 127.0.0.1 alone
    "source_ip": "198.51.100.7", # where requests come from, as policies see it
    "iam_delay": 0,              # seconds until what IAM made is seen
    "require_checksum": False,   # S3 refuses a PUT that brings no checksum of its own
    "imds": "both",              # v2 | v1 | both | disabled | no-role | failed
    "ecs_metadata": "both",      # hardened | normal | both | disabled | no-role
    "gce_metadata": "on",        # on | disabled | no-account
    "token_lifetime": 3600,      # seconds of what identity services hand out
    "expires_text": False,       # Google's expires_in as text
    "ec2_boot": False,           # machines run their user data; else they only look alive
    "ec2_pending": 0.2,          # seconds until a machine runs
    "ec2_shutdown": 0.2,         # seconds until one that is told to end is gone
    "ec2_list_delay": 0,         # seconds until a new one is shown
    "ec2_visible": 3600,         # seconds that one that is gone is shown
    "scaling_retry": 1,          # seconds until a group whose launch failed tries again
    "idle": 20,                  # seconds after which a silent connection is ended
}

CONFIG = {
    "aws": {
        "account": "123456789012",
        "keys": [{"id": "AKIAFAKEFAKEFAKE0001",
                  "secret": "fake/secret+of/the/stand-in/0123456789ab",
                  "arn": "arn:aws:iam::123456789012:user/tester"}],
        "roles": [{"arn": "arn:aws:iam::123456789012:role/node"}],
        "web_tokens": ["web-identity-token"],
        "sso": {"access_token": "sso-access-token", "refresh_token": "sso-refresh-token",
                "client_id": "sso-client", "client_secret": "sso-client-secret"},
        "container_token": "container-token",
        "instance_role": "node",
    },
    "alibaba": {
        "account": "1234567890123456",
        "keys": [{"id": "LTAIFAKEFAKEFAKE", "secret": "fakesecretofthestandin01234567",
                  "arn": "acs:ram::1234567890123456:user/tester"}],
        "roles": [{"arn": "acs:ram::1234567890123456:role/node"}],
        "web_tokens": ["oidc-token"],
        "login": {"access_token": "login-access-token",
                  "refresh_token": "login-refresh-token"},
        "instance_role": "node",
    },
    "google": {
        "project": "fake-project",
        "accounts": [{"email": "tester@fake-project.iam.gserviceaccount.com"},
                     {"email": "node@fake-project.iam.gserviceaccount.com"}],
        "tokens": ["ya29.fake"],
        "clients": [{"id": "client-id", "secret": "client-secret",
                     "refresh_token": "refresh-token"}],
        "web_tokens": ["subject-token"],
        "instance_account": "node@fake-project.iam.gserviceaccount.com",
    },
    "ec2": EC2,  # see ec2_account.py
    "github": {"request_token": "actions-request-token"},
    "buckets": [{"service": "s3", "name": "bucket"}, {"service": "oss", "name": "bucket"},
                {"service": "gcs", "name": "bucket"}],
}


CLASSES = {"s3": "STANDARD", "oss": "Standard", "gcs": "STANDARD"}  # when none is named
REGIONS = {"s3": None, "oss": "cn-hangzhou", "gcs": "US"}  # of a bucket that names none


class Key:
    """An access key of a cloud, or a bearer token (then `id` is the token)."""

    def __init__(self, cloud, item):
        self.cloud, self.id = cloud, item["id"]
        self.secret, self.token = item.get("secret"), item.get("token")
        self.expires = item.get("expires")  # unix seconds
        self.arn = item.get("arn", item["id"])
        self.deny = list(item.get("deny", ()))  # actions, such as "s3:PutObject"

    def expired(self, now):
        return self.expires is not None and self.expires <= now


class World:
    def __init__(self, folder, config=None, settings=None):
        self.lock = threading.RLock()
        self.folder = folder
        self.config = copy.deepcopy(CONFIG)
        for name, value in (config or {}).items():
            if name == "settings":
                continue
            if name not in self.config:
                raise ValueError("unknown part of the configuration: " + name)
            if isinstance(value, dict):
                self.config[name].update(value)
            else:
                self.config[name] = value
        self.given = copy.deepcopy(self.config)
        self.urls = {}  # of the services that machines find as AWS's own
        self.ports = None  # opens a port for a service; given by the server
        self.ec2 = Book(self)
        self.first = dict((config or {}).get("settings", {}), **(settings or {}))
        self.requests = []
        self.faults = Faults()
        self.reset()

    def reset(self):
        with self.lock:
            self.config = copy.deepcopy(self.given)
            self.settings = dict(DEFAULTS)
            self.change(self.first)
            self.faults.clear()
            self.requests.clear()
            self.keys = {}
            self.logins, self.refresh = {}, None  # of AWS Identity Center
            self.imds_tokens, self.jwts = {}, {}
            self.metadata = {"aws": {}, "alibaba": {}, "google": {}}
            self.nonces = set()
            self.iam = Account(self)
            self.figures = []  # what CloudWatch was told
            self.ec2.close()
            self.ec2 = Book(self)
            self.ec2.ports = self.ports
            self.sessions = {}  # resumable uploads of Google's
            self.cached = {}  # tokens that metadata services give again and again
            for cloud in ("aws", "alibaba"):
                for item in self.config[cloud]["keys"]:
                    self.add(Key(cloud, item))
            google = self.config["google"]
            for item in google["tokens"]:
                item = item if isinstance(item, dict) else {"id": item}
                self.add(Key("google", item))
            self.namespaces = {s: objects.Namespace(self.settings)
                               for s in ("s3", "oss", "gcs")}
            for item in self.config["buckets"]:
                self.create_bucket(item)

    def create_bucket(self, item):
        service = item.get("service", "s3")
        region = item.get("region", REGIONS[service] or self.settings["region"])
        made = self.namespaces[service].create(item["name"], region)
        made.owner = item.get("owner")

    def change(self, settings):
        unknown = set(settings) - set(DEFAULTS)
        if unknown:
            raise ValueError("unknown settings: " + ", ".join(sorted(unknown)))
        self.settings.update(settings)

    def add(self, key):
        self.keys[key.cloud, key.id] = key
        return key

    def add_key(self, item):
        return self.add(Key(item.get("cloud", "aws"), item))

    def key(self, cloud, key_id):
        return self.keys.get((cloud, key_id))

    def issue(self, cloud, arn, lifetime=None, **more):
        """New temporary credentials of a cloud."""
        limit = self.settings["token_lifetime"]
        lifetime = min(lifetime or limit, limit)
        prefix = {"aws": "ASIA", "alibaba": "STS.", "google": "ya29."}[cloud]
        item = {"id": prefix + secrets.token_hex(8).upper(),
                "secret": secrets.token_hex(20), "token": "/+=" + secrets.token_hex(24),
                "expires": time.time() + lifetime, "arn": arn}
        return self.add(Key(cloud, dict(item, **more)))

    def expire(self, key_id=None):
        """Ends temporary credentials now: one of them, or all."""
        with self.lock:
            for key in self.keys.values():
                if key_id in (None, key.id) and (key_id or key.expires is not None):
                    key.expires = 0

    def role(self, cloud, arn):
        for role in self.config[cloud]["roles"]:
            if role["arn"] == arn:
                return role
        return None

    def make_jwt(self, audience, subject):
        """An identity token that the clouds trust."""
        now = int(time.time())
        claims = {"iss": "https://token.fake.test", "aud": audience, "sub": subject,
                  "iat": now, "exp": now + max(1, min(600, self.settings["token_lifetime"]))}
        parts = [base64.urlsafe_b64encode(json.dumps(p).encode()).decode().rstrip("=")
                 for p in ({"alg": "RS256", "typ": "JWT", "kid": "fake"}, claims)]
        token = ".".join([*parts, secrets.token_urlsafe(256)])
        self.jwts[token] = claims
        return token

    def add_account(self, item):
        """A service account of Google's: email, public_key (PEM), key_id, ..."""
        google = self.config["google"]
        google["accounts"] = [a for a in google["accounts"]
                              if a["email"] != item["email"]] + [item]

    def web_token(self, cloud, token, now):
        """Claims of an identity token that the cloud trusts; "expired"; or None."""
        for item in self.config[cloud]["web_tokens"]:
            item = item if isinstance(item, dict) else {"token": item}
            if item["token"] == token:
                return "expired" if item.get("expires", now + 1) <= now else item
        claims = self.jwts.get(token)
        if claims is not None and claims["exp"] <= now:
            return "expired"
        return claims

    def clock(self):
        return time.time() + self.settings["clock_offset"]

    def rewrite(self, bucket, found, size):
        """Gives an object other bytes, as another writer would."""
        fresh = blob.Blob([bytes(size)] if size else [])
        made = objects.Object(found.key, fresh, '"%s"' % fresh.hex("md5"), found.headers,
                              found.meta, found.storage_class)
        bucket.put(made, self.clock())

    def seed(self, service, bucket, asked):
        """Puts many objects at once, see README.md; all at this moment."""
        target = self.namespaces[service].find(bucket)
        if target is None:
            raise ValueError("no such bucket: " + bucket)
        target.fill(seeds.made(asked, CLASSES[service]), self.clock())
