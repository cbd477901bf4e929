"""AWS Security Token Service: query protocol, XML answers."""
import re

from . import sigv4, xmltext
from .plain import Plain
from .http1 import Answer, Failure
from .xmltext import element

XMLNS = "https://sts.amazonaws.com/doc/2011-06-15/"
UNSIGNED = ("AssumeRoleWithWebIdentity",)
HOST = re.compile(r"sts\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(\.cn)?")


class Sts(Plain):
    name = "sts"
    hosts = (r"sts(\.[a-z0-9-]+)?\.amazonaws\.com(\.cn)?",)

    def identify(self, request):
        args = dict(request.args(), **request.form())
        request.operation, request.parameters = args.get("Action", "Unknown"), args

    def check_body(self, request):
        """Signatures cover the body, so that all of it is checked here."""
        args = request.parameters
        if args.get("Version") != "2011-06-15":
            raise Failure(400, "InvalidAction", "Could not find operation %s for version %s"
                          % (request.operation, args.get("Version", "NO_VERSION_SPECIFIED")))
        if request.operation in UNSIGNED:
            return
        signature = sigv4.Signature(request)
        match = HOST.fullmatch(request.host())
        wanted = match.group("region") if match else signature.region
        if signature.service != "sts" or signature.region != wanted:
            raise Failure(403, "SignatureDoesNotMatch", "Credential should be scoped to a "
                          "valid region.")
        self.check_time(signature, request.clock())
        signature.check_headers()
        key = self.key(signature, request.clock())
        payload = request.body.hex("sha256")
        if (request.get("x-amz-content-sha256") or payload) != payload:
            raise Failure(403, "SignatureDoesNotMatch", "The payload is another")
        signature.check(key.secret, payload, s3=False)
        request.identity = key
        action = "sts:" + request.operation
        if action in key.deny:
            raise self.denied(key, action, args.get("RoleArn", "*"))

    def check_time(self, signature, now):
        sent = sigv4.seconds(signature.stamp)
        if sent is None or abs(now - sent) > 300:
            raise Failure(403, "SignatureDoesNotMatch", "Signature expired: %s is now %s "
                          "than %s" % (signature.stamp, "earlier" if (sent or 0) < now else
                                       "later", sigv4.iso(now)))

    def key(self, signature, now):
        """As sigv4.identify, in the words of this service."""
        try:
            return sigv4.identify(self.world, signature, now)
        except Failure as failed:
            code = {"InvalidAccessKeyId": "InvalidClientTokenId",
                    "InvalidToken": "InvalidClientTokenId",
                    "ExpiredToken": "ExpiredToken"}[failed.code]
            text = {"InvalidClientTokenId": "The security token included in the request is "
                    "invalid.", "ExpiredToken": "The security token included in the request "
                    "is expired"}[code]
            raise Failure(403, code, text) from None

    def denied(self, key, action, where):
        return Failure(403, "AccessDenied", "User: %s is not authorized to perform: %s on "
                       "resource: %s" % (key.arn if key else "anonymous", action, where))

    def handle(self, request):
        work = {"GetCallerIdentity": self.caller, "AssumeRole": self.assume,
                "AssumeRoleWithWebIdentity": self.web}.get(request.operation)
        if work is None:
            raise Failure(400, "InvalidAction", "Could not find operation " +
                          request.operation)
        result = element(request.operation + "Result", *work(request, request.parameters))
        meta = element("ResponseMetadata", ("RequestId", request.id))
        body = xmltext.document(request.operation + "Response", result, meta, xmlns=XMLNS)
        return Answer(200, self.ids(request), body, "text/xml")

    def ids(self, request):
        return [("x-amzn-RequestId", request.id)]

    def failure(self, request, failed):
        kind = "Sender" if failed.status < 500 else "Receiver"
        error = element("Error", ("Type", kind), ("Code", failed.code),
                        ("Message", failed.message))
        body = xmltext.document("ErrorResponse", error, ("RequestId", request.id),
                                xmlns=XMLNS)
        return Answer(failed.status, failed.headers + self.ids(request), body, "text/xml")

    def caller(self, request, args):
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

    def assume(self, request, args):
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

    def web(self, request, args):
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
