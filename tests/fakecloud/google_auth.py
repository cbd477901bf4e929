"""Google's bearer tokens: who holds one, and the shape in which its services refuse."""
import time

from . import rsa
from .http1 import Failure
from .plain import Plain, reply
from .world import Key

SCOPE = "https://www.googleapis.com/auth/"


class GoogleError(Failure):
    def __init__(self, status, word, message, reason=None, headers=(), **more):
        super().__init__(status, word, message, headers, **more)
        self.reason = reason


def error_body(failed):
    """Of services with JSON: both the old list and the newer details."""
    error = {"code": failed.status, "message": failed.message}
    if failed.code.isupper():
        error["status"] = failed.code
    reason = getattr(failed, "reason", None) or failed.code
    error["errors"] = [{"message": failed.message, "domain": "global", "reason": reason}]
    if reason.isupper():
        error["details"] = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo",
                             "reason": reason, "domain": "googleapis.com"}]
    return {"error": error}


class Google(Plain):
    def failure(self, request, failed):
        return reply(error_body(failed), failed.status, failed.headers)


def unauthenticated(message="Request had invalid authentication credentials."):
    return GoogleError(401, "UNAUTHENTICATED", message, "authError",
                       [("WWW-Authenticate", 'Bearer realm="https://accounts.google.com/"')])


def bearer(world, request, service):
    """The key behind a request's token: an issued one, or a JWT that its account signed."""
    word, _, token = (request.get("authorization") or "").partition(" ")
    if word != "Bearer" or not token:
        raise unauthenticated()
    key = world.key("google", token)
    if key is None and token.count(".") == 2:
        key = self_signed(world, token, service, request.clock())
    if key is None or key.expired(request.clock()):
        raise unauthenticated()
    request.identity = key
    return key


def account(world, email):
    for item in world.config["google"]["accounts"]:
        if item["email"] == email:
            return item
    return None


def check_jwt(world, text, now):
    """Claims of a JWT that a known service account signed; else GoogleError."""
    def bad(why):
        return GoogleError(400, "invalid_grant", "Invalid JWT: " + why)
    try:
        header, claims, message, signature = rsa.jwt(text)
    except ValueError:
        raise bad("it cannot be decoded.") from None
    if header.get("alg") != "RS256" or header.get("typ") != "JWT":
        raise bad("the algorithm is to be RS256.")
    known = account(world, claims.get("iss"))
    if known is None or not known.get("public_key"):
        raise GoogleError(400, "invalid_grant", "Invalid grant: account not found")
    if known.get("key_id") not in (None, header.get("kid")):
        raise bad("the kid is unknown.")
    if not rsa.verify(rsa.public_key(known["public_key"]), message, signature):
        raise GoogleError(400, "invalid_grant", "Invalid JWT Signature.")
    times = claims.get("iat"), claims.get("exp")
    if not all(isinstance(t, int) for t in times) or times[1] - times[0] > 3600 or \
            not times[0] - 300 <= now < times[1]:
        raise bad("Token must be a short-lived token (60 minutes) and in a reasonable "
                  "timeframe. Check your iat and exp values in the JWT claim.")
    return claims


def self_signed(world, token, service, now):
    try:
        claims = check_jwt(world, token, now)
    except GoogleError as failed:
        raise unauthenticated(failed.message) from None
    if claims.get("sub") != claims["iss"]:
        raise unauthenticated("the subject is another than the issuer")
    if claims.get("aud") != "https://%s.googleapis.com/" % service and \
            SCOPE not in claims.get("scope", ""):
        raise unauthenticated("neither audience nor scope fit")
    return Key("google", {"id": token, "arn": claims["iss"],
                          "deny": account(world, claims["iss"]).get("deny", ())})


def issue(world, arn, lifetime=None):
    known = account(world, arn) or {}
    return world.issue("google", arn, lifetime, deny=known.get("deny", ()))


def seconds_left(key):
    return max(0, int(key.expires - time.time()))
