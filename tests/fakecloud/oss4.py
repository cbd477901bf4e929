"""Verifies OSS4-HMAC-SHA256, in headers and in the query."""
import hashlib
import hmac
import re

from . import sigv4
from .http1 import Failure
from .sigv4 import quote, seconds

ALGORITHM = "OSS4-HMAC-SHA256"
ALWAYS = ("content-type", "content-md5")
UNSIGNED = "UNSIGNED-PAYLOAD"
MAX_SKEW = 900


def canonical_query(query, without=None):
    pairs = []
    for part in query.split("&"):
        name, _, value = part.partition("=")
        if part and sigv4.requote(name) != without:
            pairs.append((sigv4.requote(name), sigv4.requote(value)))
    return "&".join(n + ("=" + v if v else "") for n, v in sorted(pairs))


def canonical_request(request, bucket, key, additional, without=None):
    """The bucket stands in the path, though on the wire it is in the host."""
    raw = ("/%s/%s" % (bucket, key or "") if bucket else "/").encode("utf-8", "surrogateescape")
    headers = {}
    for name, value in request.headers:
        if name in ALWAYS or name.startswith("x-oss-") or name in additional:
            headers[name] = value.strip()
    lines = "".join("%s:%s\n" % pair for pair in sorted(headers.items()))
    return "\n".join([request.method, quote(raw, b"/"), canonical_query(request.query, without),
                      lines, ";".join(additional), UNSIGNED])


def signing_key(secret, date, region):
    key = ("aliyun_v4" + secret).encode()
    for part in (date, region, "oss", "aliyun_v4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key


def signature(secret, stamp, scope, canonical):
    text = "\n".join([ALGORITHM, stamp, scope,
                      hashlib.sha256(canonical.encode("latin-1")).hexdigest()])
    date, region = scope.split("/")[:2]
    key = signing_key(secret, date, region)
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest(), text


class Claim:
    """What a request says about its signature."""

    def __init__(self, request):
        self.lifetime, self.query = None, False
        header, args = request.get("authorization"), request.args()
        if header is not None:
            match = re.fullmatch(ALGORITHM + r" Credential=([^,]+)(?:,\s?AdditionalHeaders="
                                 r"([^,]*))?,\s?Signature=([0-9a-f]+)", header)
            if not match:
                raise invalid("The Authorization header is malformed.")
            credential, names, self.signature = match.groups()
            self.stamp = request.get("x-oss-date") or ""
            self.token = request.get("x-oss-security-token")
            if request.get("x-oss-content-sha256") != UNSIGNED:
                raise invalid("x-oss-content-sha256 must be UNSIGNED-PAYLOAD.")
        else:
            self.query = True
            try:
                credential, names = args["x-oss-credential"], args.get("x-oss-additional-headers")
                self.signature, self.stamp = args["x-oss-signature"], args["x-oss-date"]
                self.lifetime = int(args["x-oss-expires"])
            except (KeyError, ValueError):
                raise invalid("The query lacks a part of its signature.") from None
            self.token = args.get("x-oss-security-token")
        self.additional = [n for n in (names or "").split(";") if n]
        parts = credential.split("/")
        if len(parts) != 5 or parts[3:] != ["oss", "aliyun_v4_request"] or \
                parts[1] != self.stamp[:8]:
            raise invalid("The Credential is malformed.")
        self.key_id, self.region, self.scope = parts[0], parts[2], "/".join(parts[1:])
        if self.additional != sorted(self.additional) or set(self.additional) & set(ALWAYS):
            raise invalid("AdditionalHeaders are not sorted, or hold what is always signed.")

    def check_time(self, now):
        sent = seconds(self.stamp)
        if self.lifetime is not None:
            if not 1 <= self.lifetime <= 604800 or sent is None or \
                    not sent - MAX_SKEW <= now <= sent + self.lifetime:
                raise Failure(403, "AccessDenied", "Request has expired.")
        elif sent is None or abs(now - sent) > MAX_SKEW:
            raise Failure(403, "RequestTimeTooSkewed", "The difference between the request "
                          "time and the current time is too large.",
                          MaxAllowedSkewMilliseconds=MAX_SKEW * 1000, RequestTime=self.stamp)

    def check(self, request, secret):
        canonical = canonical_request(request, request.bucket, request.key, self.additional,
                                      "x-oss-signature" if self.query else None)
        right, text = signature(secret, self.stamp, self.scope, canonical)
        if not hmac.compare_digest(right, self.signature):
            raise Failure(403, "SignatureDoesNotMatch", "The request signature we calculated "
                          "does not match the signature you provided. Check your key and "
                          "signing method.", OSSAccessKeyId=self.key_id, StringToSign=text,
                          SignatureProvided=self.signature, CanonicalRequest=canonical)


def invalid(text):
    return Failure(400, "InvalidArgument", text)
