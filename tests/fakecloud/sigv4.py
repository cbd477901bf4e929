"""Verifies AWS Signature Version 4, in headers and in the query, as strictly as AWS.

Written from the published rules: the request is taken as it came on the wire, and the
signature is computed anew with the secret of the key that it names.
"""
import calendar
import hashlib
import hmac
import re
import time

from .http1 import Failure
from urllib.parse import unquote_to_bytes

ALGORITHM = "AWS4-HMAC-SHA256"
UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
EMPTY = hashlib.sha256(b"").hexdigest()
UNSIGNED = "UNSIGNED-PAYLOAD"
MAX_SKEW = 900


def quote(raw, keep=b""):
    return "".join(chr(b) if b in UNRESERVED or b in keep else "%%%02X" % b for b in raw)


def requote(text):
    """Decodes one part of a query and encodes it in the canonical way."""
    return quote(unquote_to_bytes(text.encode("latin-1")))


def canonical_query(query, without=None):
    pairs = []
    for part in query.split("&"):
        name, _, value = part.partition("=")
        if part and requote(name) != without:
            pairs.append((requote(name), requote(value)))
    return "&".join("%s=%s" % pair for pair in sorted(pairs))


def normal_path(path):
    """Of services other than S3: dot segments and double slashes go, and what is on
    the wire is encoded once more."""
    parts = []
    for part in path.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    tail = "/" if path.endswith(("/", "/.", "/..")) and parts else ""
    return quote(("/" + "/".join(parts) + tail).encode("latin-1"), b"/")


def canonical_headers(request, names):
    lines = []
    for name in names:
        values = [" ".join(v.split()) for v in request.all(name)]
        lines.append("%s:%s\n" % (name, ",".join(values)))
    return "".join(lines)


def signing_key(secret, date, region, service):
    key = ("AWS4" + secret).encode()
    for part in (date, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key


def canonical_request(request, path, query, signed, payload):
    return "\n".join([request.method, path, query, canonical_headers(request, signed),
                      ";".join(signed), payload])


def string_to_sign(stamp, scope, canonical):
    digest = hashlib.sha256(canonical.encode("latin-1")).hexdigest()
    return "\n".join([ALGORITHM, stamp, scope, digest])


def seconds(stamp):
    try:
        return calendar.timegm(time.strptime(stamp, "%Y%m%dT%H%M%SZ"))
    except ValueError:
        return None


class Signature:
    """What a request says about its signature."""

    def __init__(self, request):
        self.request = request
        self.query = False
        header = request.get("authorization")
        args = request.args()
        if header is None and "X-Amz-Algorithm" in args:
            self.from_query(args)
        elif header is None:
            raise Failure(403, "MissingAuthenticationToken",
                          "Request is missing Authentication Token")
        else:
            self.from_header(header)
        parts = self.credential.split("/")
        if len(parts) < 5 or parts[-1] != "aws4_request":
            raise malformed("the Credential is mal-formed; expecting "
                            "\"<YOUR-AKID>/YYYYMMDD/REGION/SERVICE/aws4_request\".")
        self.key_id = "/".join(parts[:-4])
        self.date, self.region, self.service = parts[-4:-1]
        self.scope = "/".join(parts[-4:])
        self.signed = self.signed_headers.split(";")

    def from_header(self, header):
        algorithm, _, rest = header.partition(" ")
        if algorithm != ALGORITHM:
            raise Failure(400, "InvalidRequest", "The authorization mechanism you have "
                          "provided is not supported. Please use AWS4-HMAC-SHA256.")
        fields = dict(re.findall(r"(\w+)=([^,\s]+)", rest))
        try:
            self.credential = fields["Credential"]
            self.signed_headers = fields["SignedHeaders"]
            self.signature = fields["Signature"]
        except KeyError as missing:
            raise malformed("missing %s." % missing.args[0]) from None
        self.stamp = self.request.get("x-amz-date") or ""
        self.token = self.request.get("x-amz-security-token")
        self.lifetime = None

    def from_query(self, args):
        self.query = True
        try:
            if args["X-Amz-Algorithm"] != ALGORITHM:
                raise KeyError("X-Amz-Algorithm")
            self.credential = args["X-Amz-Credential"]
            self.signed_headers = args["X-Amz-SignedHeaders"]
            self.signature = args["X-Amz-Signature"]
            self.stamp = args["X-Amz-Date"]
            self.lifetime = int(args["X-Amz-Expires"])
        except (KeyError, ValueError):
            raise query_error("Query-string authentication version 4 requires the "
                              "X-Amz-Algorithm, X-Amz-Credential, X-Amz-Signature, "
                              "X-Amz-Date, X-Amz-SignedHeaders, and X-Amz-Expires "
                              "parameters.") from None
        if not 1 <= self.lifetime <= 604800:
            raise query_error("X-Amz-Expires must be less than a week (in seconds); that "
                              "is, the given X-Amz-Expires must be less than 604800 "
                              "seconds")
        self.token = args.get("X-Amz-Security-Token")

    def check_time(self, now):
        sent = seconds(self.stamp)
        if sent is None or not self.stamp.startswith(self.date):
            raise Failure(403, "AccessDenied", "AWS authentication requires a valid Date "
                          "or x-amz-date header")
        if self.lifetime is not None:
            if now > sent + self.lifetime:
                raise Failure(403, "AccessDenied", "Request has expired",
                              X_Amz_Expires=self.lifetime)
            if now < sent - MAX_SKEW:
                raise Failure(403, "AccessDenied", "Request is not yet valid")
        elif abs(now - sent) > MAX_SKEW:
            raise Failure(403, "RequestTimeTooSkewed", "The difference between the request "
                          "time and the current time is too large.",
                          RequestTime=self.stamp, ServerTime=iso(now),
                          MaxAllowedSkewMilliseconds=MAX_SKEW * 1000)

    def check_headers(self):
        if self.signed != sorted(self.signed) or "host" not in self.signed:
            raise malformed("'Host' or ':authority' must be a 'SignedHeader' in the AWS "
                            "Authorization.")
        present = {n for n, _ in self.request.headers}
        missing = {n for n in present if n.startswith("x-amz-")} - set(self.signed)
        if missing or set(self.signed) - present:
            raise Failure(403, "AccessDenied", "There were headers present in the request "
                          "which were not signed", HeadersNotSigned=", ".join(sorted(missing)))

    def check(self, secret, payload, s3):
        """The signature itself; payload is the hash that stands in the request."""
        request = self.request
        path = request.path or "/"
        path = path if s3 else normal_path(path)
        query = canonical_query(request.query, "X-Amz-Signature" if self.query else None)
        canonical = canonical_request(request, path, query, self.signed, payload)
        text = string_to_sign(self.stamp, self.scope, canonical)
        self.seed = hmac.new(signing_key(secret, self.date, self.region, self.service),
                             text.encode(), hashlib.sha256).hexdigest()
        if not hmac.compare_digest(self.seed, self.signature):
            raise Failure(403, "SignatureDoesNotMatch", "The request signature we "
                          "calculated does not match the signature you provided. Check "
                          "your key and signing method.", AWSAccessKeyId=self.key_id,
                          StringToSign=text, SignatureProvided=self.signature,
                          CanonicalRequest=canonical)


def malformed(why, **more):
    return Failure(400, "AuthorizationHeaderMalformed",
                   "The authorization header is malformed; " + why, **more)


def query_error(why):
    return Failure(400, "AuthorizationQueryParametersError", why)


def iso(now):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))


def identify(world, signature, now):
    """The key that signed, if it and its session token are good."""
    key = world.key("aws", signature.key_id)
    if key is None or (key.token and not signature.token):
        raise Failure(403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does "
                      "not exist in our records.", AWSAccessKeyId=signature.key_id)
    if (signature.token or None) != (key.token or None):
        raise Failure(400, "InvalidToken", "The provided token is malformed or otherwise "
                      "invalid.")
    if key.expired(now):
        raise Failure(400, "ExpiredToken", "The provided token has expired.")
    return key
