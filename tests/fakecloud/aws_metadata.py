"""What an EC2 instance or an ECS task is told about itself."""
import secrets
import time

from .aws_sts import assumed
from .http1 import Answer, Failure
from .plain import Plain, reply, text
from .sigv4 import iso

LONGEST = 21600


def instance_key(world, name="i-0fake"):
    role = world.config["aws"]["instance_role"]
    arn = "arn:aws:iam::%s:role/%s" % (world.config["aws"]["account"], role)
    known = world.role("aws", arn) or {}
    return world.issue("aws", assumed(arn, name), deny=known.get("deny", ()))


class Container(Plain):
    """AWS_CONTAINER_CREDENTIALS_FULL_URI: any path that holds "credentials"."""

    name = "container"
    hosts = (r"169\.254\.170\.2|169\.254\.170\.23",)
    routes = (("GET", r"/.*credentials.*", "GetCredentials"),)

    def do_get_credentials(self, request):
        wanted = self.world.config["aws"]["container_token"]
        if wanted and request.get("authorization") != wanted:
            raise Failure(401, "Unauthorized", "the Authorization header is another")
        key = instance_key(self.world, "task")
        return reply({"RoleArn": key.arn, "AccessKeyId": key.id, "Token": key.token,
                      "SecretAccessKey": key.secret, "Expiration": iso(key.expires)})


class Imds(Plain):
    """Texts that a test gives to control's `metadata` come before the built-in ones."""

    name = "imds"
    hosts = (r"169\.254\.169\.254",)
    routes = (("PUT", "/latest/api/token", "PutToken"), ("GET", r"/latest/.*", "Get"))

    def failure(self, request, failed):
        return Answer(failed.status, failed.headers, b"" if failed.status != 404 else
                      b"<html>404 - Not Found</html>", "text/html")

    def mode(self):
        mode = self.settings["imds"]
        if mode == "disabled":
            raise Failure(403, "Forbidden", "")
        return mode

    def do_put_token(self, request):
        if self.mode() == "v1":
            raise Failure(404, "NotFound", "")
        life = request.get("x-aws-ec2-metadata-token-ttl-seconds") or ""
        if not life.isdigit() or not 1 <= int(life) <= LONGEST:
            raise Failure(400, "BadRequest", "")
        if request.get("x-forwarded-for") is not None:
            raise Failure(403, "Forbidden", "")
        token = secrets.token_urlsafe(42)
        self.world.imds_tokens[token] = time.time() + int(life)
        return text(token, [("X-aws-ec2-metadata-token-ttl-seconds", life)])

    def do_get(self, request):
        mode = self.mode()
        token = request.get("x-aws-ec2-metadata-token")
        if token is None and mode not in ("both", "v1"):
            raise Failure(401, "Unauthorized", "")
        if token is not None and self.world.imds_tokens.get(token, 0) <= time.time():
            raise Failure(401, "Unauthorized", "")
        path = request.path[len("/latest/"):]
        given = self.given(path)
        if given is not None:
            return text(given)
        return self.built_in(mode, path)

    def given(self, path):
        return self.world.metadata["aws"].get(path)

    def role(self):
        return self.world.config["aws"]["instance_role"]

    def texts(self):
        region = self.settings["region"]
        return {"meta-data/instance-id": "i-0123456789abcdef0",
                "meta-data/placement/region": region,
                "meta-data/placement/availability-zone": region + "a",
                "meta-data/instance-life-cycle": "spot"}

    def user_data(self):
        return b""

    def issued(self):
        return instance_key(self.world)

    def built_in(self, mode, path):
        role, texts = self.role(), self.texts()
        texts.update({"meta-data/iam/security-credentials/": role,
                      "meta-data/iam/security-credentials": role})
        if path == "user-data" and self.user_data():
            return Answer(200, [], self.user_data(), "application/octet-stream")
        if mode == "no-role" and "/iam/" in path:
            raise Failure(404, "NotFound", "")
        if path == "meta-data/iam/security-credentials/" + role:
            return self.credentials(mode)
        if path not in texts:
            raise Failure(404, "NotFound", "")
        return text(texts[path])

    def credentials(self, mode):
        if mode == "failed":
            return reply({"Code": "AssumeRoleUnauthorizedAccess", "Message": "EC2 cannot "
                          "assume the role", "LastUpdated": iso(time.time())})
        key = self.issued()
        return reply({"Code": "Success", "LastUpdated": iso(time.time()), "Type": "AWS-HMAC",
                      "AccessKeyId": key.id, "SecretAccessKey": key.secret,
                      "Token": key.token, "Expiration": iso(key.expires)})


class MachineImds(Imds):
    """The one of a machine of EC2's, at an address of its own."""

    hosts = ()

    def __init__(self, world, machine):
        super().__init__(world)
        self.machine = machine
        self.name = "imds/" + machine.id
        self.key = None
        self.tokens = {}

    def mode(self):
        mode = super().mode()
        if mode == "both" and self.machine.asked.imds_v2_only:
            return "v2"
        return "no-role" if not self.machine.asked.profile else mode

    def given(self, path):
        return self.machine.metadata.get(path)

    def texts(self):
        machine = self.machine
        found = {"meta-data/instance-id": machine.id,
                 "meta-data/instance-type": machine.type.name,
                 "meta-data/placement/region": machine.region,
                 "meta-data/placement/availability-zone": machine.zone,
                 "meta-data/instance-life-cycle": machine.asked.market,
                 "meta-data/local-ipv4": machine.address or "",
                 "meta-data/ami-id": machine.asked.image.id}
        if machine.public:
            found["meta-data/public-ipv4"] = machine.public
        if machine.asked.tags_in_imds:
            found.update(("meta-data/tags/instance/" + k, v)
                         for k, v in machine.tags.items())
        return found

    def role(self):
        profile = self.machine.asked.profile
        return self.world.iam.role_of_profile(profile) or profile

    def user_data(self):
        return self.machine.asked.user_data

    def issued(self):
        """Until the middle of their life the same credentials are given."""
        if self.key is None or self.key.expires - time.time() < \
                self.settings["token_lifetime"] / 2:
            arn = "arn:aws:iam::%s:role/%s" % (self.world.config["aws"]["account"],
                                               self.role())
            known = self.world.role("aws", arn) or {}
            self.key = self.world.issue("aws", assumed(arn, self.machine.id),
                                        deny=known.get("deny", ()))
        return self.key
