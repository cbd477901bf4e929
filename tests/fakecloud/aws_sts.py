"""AWS Security Token Service."""
import re

from . import sigv4
from .http1 import Failure
from .query import Query
from .xmltext import element


class Sts(Query):
    name = signs = "sts"
    version = "2011-06-15"
    xmlns = "https://sts.amazonaws.com/doc/2011-06-15/"
    unsigned = ("AssumeRoleWithWebIdentity",)
    hosts = (r"sts(\.[a-z0-9-]+)?\.amazonaws\.com(\.cn)?",)
    region_of_host = re.compile(r"sts\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(\.cn)?")

    def do_get_caller_identity(self, request, args):
        key = request.identity
        return [("Arn", key.arn), ("UserId", key.id), ("Account", account_of(self.world))]

    def common(self, request, args):
        """The role and the lifetime that are asked for."""
        name = args.get("RoleSessionName", "")
        if not re.fullmatch(r"[\w+=,.@-]{2,64}", name):
            raise invalid("1 validation error detected: Value '%s' at 'roleSessionName' "
                          "failed to satisfy constraint: Member must satisfy regular "
                          "expression pattern: [\\w+=,.@-]*" % name)
        text = args.get("DurationSeconds", "3600")
        if not text.isdigit() or not 900 <= int(text) <= 43200:
            raise invalid("1 validation error detected: Value '%s' at 'durationSeconds' "
                          "failed to satisfy constraint: Member must have value between "
                          "900 and 43200" % text)
        role = self.world.role("aws", args.get("RoleArn"))
        if role is None:
            raise self.denied(request.identity, "sts:" + request.operation,
                              args.get("RoleArn"))
        if int(text) > role.get("max_session", 43200):
            raise invalid("The requested DurationSeconds exceeds the MaxSessionDuration set "
                          "for this role.")
        return role, int(text), name

    def do_assume_role(self, request, args):
        role, lifetime, name = self.common(request, args)
        caller = request.identity
        if ":assumed-role/" in caller.arn and lifetime > 3600:
            raise invalid("The requested DurationSeconds exceeds the 1 hour session limit "
                          "for roles assumed by role chaining")
        trusts = role.get("trusts")
        secret = role.get("external_id")
        serial, code = role.get("mfa_serial"), role.get("mfa_code")
        if (trusts and caller.arn not in trusts) or (secret and args.get("ExternalId") != secret) \
                or (serial and args.get("SerialNumber") != serial):
            raise self.denied(caller, "sts:AssumeRole", role["arn"])
        if serial and args.get("TokenCode") != code:
            raise Failure(403, "AccessDenied", "MultiFactorAuthentication failed with "
                          "invalid MFA one time pass code. ")
        return self.credentials(role, lifetime, name)

    def do_assume_role_with_web_identity(self, request, args):
        role, lifetime, name = self.common(request, args)
        token = args.get("WebIdentityToken", "")
        state = self.world.web_token("aws", token, request.clock())
        if state == "expired":
            raise Failure(400, "ExpiredTokenException", "Token expired: current date/time "
                          "must be before the expiration date/time")
        if state is None:
            raise Failure(400, "InvalidIdentityToken", "The ID Token provided is not a valid "
                          "JWT. (You may see this error if you sent an Access Token)")
        audience = role.get("audience")
        if audience and state.get("aud") != audience:
            raise Failure(400, "InvalidIdentityToken", "Incorrect token audience")
        return self.credentials(role, lifetime, name) + [
            ("SubjectFromWebIdentityToken", state.get("sub", "fake")),
            ("Audience", state.get("aud", "fake")), ("Provider", "fake")]

    def credentials(self, role, lifetime, name):
        arn = assumed(role["arn"], name)
        key = self.world.issue("aws", arn, lifetime, deny=role.get("deny", ()))
        given = element("Credentials", ("AccessKeyId", key.id), ("SecretAccessKey", key.secret),
                        ("SessionToken", key.token), ("Expiration", sigv4.iso(key.expires)))
        user = element("AssumedRoleUser", ("AssumedRoleId", "AROAFAKE:" + name), ("Arn", arn))
        return [given, user]


def assumed(arn, name):
    """arn:aws:iam::N:role/R -> arn:aws:sts::N:assumed-role/R/NAME."""
    return "%s/%s" % (arn.replace(":iam:", ":sts:").replace(":role/", ":assumed-role/"), name)


def account_of(world):
    return world.config["aws"]["account"]


def invalid(text):
    return Failure(400, "ValidationError", text)
