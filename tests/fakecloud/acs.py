"""Verifies ACS3-HMAC-SHA256, the signature of Alibaba Cloud's APIs other than OSS."""
import calendar
import hashlib
import hmac
import re
import time
from urllib.parse import unquote_to_bytes

from .http1 import Failure
from .sigv4 import quote

SKEW = 900


def canonical_query(query):
    pairs = []
    for part in query.split("&"):
        name, _, value = part.partition("=")
        if part:
            pairs.append(tuple(quote(unquote_to_bytes(t.replace("+", " ").encode("latin-1")))
                               for t in (name, value)))
    return "&".join("%s=%s" % pair for pair in sorted(pairs))


def canonical_request(request, path, signed, payload):
    headers = "".join("%s:%s\n" % (n, (request.get(n) or "").strip()) for n in signed)
    return "\n".join([request.method, path, canonical_query(request.query), headers,
                      ";".join(signed), payload])


def signature(secret, canonical):
    text = "ACS3-HMAC-SHA256\n" + hashlib.sha256(canonical.encode("latin-1")).hexdigest()
    return hmac.new(secret.encode(), text.encode(), hashlib.sha256).hexdigest(), text


def verify(world, request, action):
    """The key that signed."""
    header = request.get("authorization") or ""
    match = re.fullmatch(r"ACS3-HMAC-SHA256 Credential=([^,]+),SignedHeaders=([^,]+),"
                         r"Signature=([0-9a-f]{64})", header)
    if not match:
        raise Failure(400, "MissingParameter" if not header else "IncompleteSignature",
                      "The request signature does not conform to Aliyun standards.")
    key_id, names, given = match.groups()
    signed = names.split(";")
    key = find_key(world, key_id, request)
    check_time(world, request)
    check_headers(request, signed)
    payload = request.body.hex("sha256")
    if request.get("x-acs-content-sha256") != payload:
        raise Failure(400, "InvalidContentSha256", "The x-acs-content-sha256 is another than "
                      "that of the body.")
    right, text = signature(key.secret, canonical_request(request, request.path or "/",
                                                          signed, payload))
    if not hmac.compare_digest(right, given):
        raise Failure(400, "SignatureDoesNotMatch", "Specified signature is not matched with "
                      "our calculation. server string to sign is:" + text)
    check_nonce(world, request)
    if action in key.deny:
        raise Failure(403, "NoPermission", "You are not authorized to do this action. You "
                      "should be authorized by RAM.", Action=action)
    request.identity = key
    return key


def find_key(world, key_id, request):
    key = world.key("alibaba", key_id)
    if key is None:
        raise Failure(404, "InvalidAccessKeyId.NotFound", "Specified access key is not found.")
    token = request.get("x-acs-security-token")
    if key.token and not token:
        raise Failure(400, "MissingSecurityToken",
                      "SecurityToken is mandatory for this action.")
    if (token or None) != (key.token or None):
        raise Failure(400, "InvalidSecurityToken.MismatchWithAccessKey", "Specified "
                      "SecurityToken mismatch with the AccessKey.")
    if key.expired(request.clock()):
        raise Failure(400, "InvalidSecurityToken.Expired",
                      "Specified SecurityToken is expired.")
    return key


def check_time(world, request):
    try:
        sent = calendar.timegm(time.strptime(request.get("x-acs-date") or "",
                                             "%Y-%m-%dT%H:%M:%SZ"))
    except ValueError:
        raise Failure(400, "InvalidTimeStamp.Format", "Specified time stamp or date value is "
                      "not well formatted.") from None
    if abs(sent - request.clock()) > SKEW:
        raise Failure(400, "InvalidTimeStamp.Expired",
                      "Specified time stamp or date value is expired.")


def check_headers(request, signed):
    wanted = {n for n, _ in request.headers if n.startswith("x-acs-")} | {"host"}
    if request.get("content-type"):
        wanted.add("content-type")
    if signed != sorted(signed) or wanted - set(signed):
        raise Failure(400, "IncompleteSignature", "The request signature does not conform to "
                      "Aliyun standards: headers not signed: %s" %
                      ", ".join(sorted(wanted - set(signed))))


def check_nonce(world, request):
    nonce = request.get("x-acs-signature-nonce")
    with world.lock:
        if not nonce or nonce in world.nonces:
            raise Failure(400, "SignatureNonceUsed", "The request signature nonce has been "
                          "used." if nonce else "SignatureNonce is mandatory.")
        world.nonces.add(nonce)
