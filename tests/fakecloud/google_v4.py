"""Verifies Google's V4 signed URLs, which service accounts sign with RSA."""
import hashlib

from . import rsa, sigv4
from .google_auth import GoogleError, account
from .http1 import decode
from .world import Key

ALGORITHM = "GOOG4-RSA-SHA256"


class Portless:
    """A request as it is signed: the host without :443."""

    def __init__(self, request):
        self.request, self.method = request, request.method

    def all(self, name):
        found = self.request.all(name)
        return [v.removesuffix(":443") for v in found] if name == "host" else found


def refused(status, word, text):
    return GoogleError(status, word, text, "forbidden")


def verify(world, request):
    """The key of the account that signed the URL."""
    args = request.args()
    try:
        email, _, scope = args["X-Goog-Credential"].partition("/")
        stamp, signed = args["X-Goog-Date"], args["X-Goog-SignedHeaders"].split(";")
        given, lifetime = bytes.fromhex(args["X-Goog-Signature"]), int(args["X-Goog-Expires"])
    except (KeyError, ValueError):
        raise refused(400, "InvalidArgument", "A part of the signature is missing.") from None
    if args["X-Goog-Algorithm"] != ALGORITHM or "host" not in signed or \
            scope != stamp[:8] + "/auto/storage/goog4_request" or not 0 < lifetime <= 604800:
        raise refused(400, "InvalidArgument", "Invalid algorithm, scope, headers or expiry.")
    sent, now = sigv4.seconds(stamp), request.clock()
    if sent is None or not sent - 900 <= now <= sent + lifetime:
        raise refused(400, "ExpiredToken", "The provided token has expired.")
    known = account(world, email)
    if known is None or not known.get("public_key"):
        raise refused(403, "InvalidSecurity", "The provided security credentials are not valid.")
    path = sigv4.quote(decode(request.path).encode("utf-8", "surrogateescape"), b"/")
    payload = request.get("x-goog-content-sha256") or sigv4.UNSIGNED
    canonical = sigv4.canonical_request(
        Portless(request), path,
        sigv4.canonical_query(request.query, "X-Goog-Signature"), signed, payload)
    text = "\n".join([ALGORITHM, stamp, scope,
                      hashlib.sha256(canonical.encode("latin-1")).hexdigest()])
    if not rsa.verify(rsa.public_key(known["public_key"]), text.encode(), given):
        raise GoogleError(403, "SignatureDoesNotMatch", "The request signature we calculated "
                          "does not match the signature you provided. Check your Google "
                          "secret key and signing method.", "forbidden", StringToSign=text,
                          CanonicalRequest=canonical)
    return Key("google", {"id": email, "deny": known.get("deny", ())})
