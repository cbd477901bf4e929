"""The query protocols of AWS: an action and its parameters as a form, XML answers.

Two families: `query` (STS, Auto Scaling, CloudWatch, IAM: lists are X.member.N) and
EC2's own (lists are X.N, errors and request ids have another place).
"""
import re

from . import sigv4, wire_model, xmltext
from .http1 import Answer, Failure, snake
from .plain import Plain
from .rights import Needs
from .xmltext import element

SKEW = 300  # seconds


class Parameters:
    """What a form asks, as a tree; what nobody looked at is found again by unread()."""

    def __init__(self, args, path="", seen=None):
        self.args, self.path = args, path
        self.seen = set() if seen is None else seen

    def text(self, name, default=None):
        name = self.path + name
        self.seen.add(name)
        return self.args.get(name, default)

    def need(self, name):
        found = self.text(name)
        if found in (None, ""):
            raise Failure(400, "MissingParameter", "The request must contain the parameter "
                          + self.path + name)
        return found

    def number(self, name, default=None, low=None, high=None):
        found = self.text(name)
        if found is None:
            return default
        if not re.fullmatch(r"-?\d{1,18}", found):
            raise invalid(self.path + name, found)
        if (low is not None and int(found) < low) or (high is not None and int(found) > high):
            raise invalid(self.path + name, found)
        return int(found)

    def flag(self, name, default=False):
        found = self.text(name)
        if found is None:
            return default
        if found.lower() not in ("true", "false"):
            raise invalid(self.path + name, found)
        return found.lower() == "true"

    def group(self, name):
        return Parameters(self.args, self.path + name + ".", self.seen)

    def any(self):
        return any(n.startswith(self.path) for n in self.args)

    def numbers(self, name):
        start = self.path + name + "."
        found = {n[len(start):].partition(".")[0] for n in self.args if n.startswith(start)}
        return sorted(int(n) for n in found if re.fullmatch(r"\d{1,6}", n))

    def texts(self, name):
        return [self.text("%s.%d" % (name, n)) for n in self.numbers(name)
                if self.path + "%s.%d" % (name, n) in self.args]

    def groups(self, name):
        return [self.group("%s.%d" % (name, n)) for n in self.numbers(name)]

    def unread(self):
        return sorted(set(self.args) - self.seen)


def invalid(name, value):
    return Failure(400, "InvalidParameterValue", "Value (%s) for parameter %s is invalid."
                   % (value, name))


class Query(Plain):
    """A service; its operations are methods do_NAME(request, parameters) that give a list
    of elements."""

    signs = ""  # the service's name in signatures
    acts = ""  # and in the names of actions, where that is another
    version = ""
    xmlns = ""
    unsigned = ()
    region_of_host = re.compile(r"(?!)")

    def identify(self, request):
        args = dict(request.args(), **request.form())
        request.operation, request.parameters = args.get("Action", "Unknown"), args
        match = self.region_of_host.fullmatch(request.host())
        request.bucket = match.group("region") if match else None

    def check_body(self, request):
        """Signatures cover the body, so that all of it is checked here."""
        if request.parameters.get("Version") != self.version:
            raise Failure(400, "InvalidAction", "Could not find operation %s for version %s"
                          % (request.operation, request.parameters.get(
                              "Version", "NO_VERSION_SPECIFIED")))
        self.check_parameters(request)
        if request.operation in self.unsigned:
            return
        signature = self.signature(request)
        wanted = request.bucket or signature.region
        if signature.service != self.signs or signature.region != wanted:
            raise self.wrong_signature("Credential should be scoped to a valid region.")
        request.bucket = signature.region
        self.check_time(signature, request.clock())
        signature.check_headers()
        key = self.key(signature, request.clock())
        payload = request.body.hex("sha256")
        if (request.get("x-amz-content-sha256") or payload) != payload:
            raise self.wrong_signature("The payload is another")
        self.check_signature(signature, key, payload)
        request.identity = key
        self.check_permission(request, key)

    def check_parameters(self, request):
        wire_model.check_form(self.name, self.version, request.operation,
                              request.parameters)

    # -- what services word in their own way

    def signature(self, request):
        return sigv4.Signature(request)

    def wrong_signature(self, why):
        return Failure(403, "SignatureDoesNotMatch", why)

    def check_signature(self, signature, key, payload):
        signature.check(key.secret, payload, s3=False)

    def check_time(self, signature, now):
        sent = sigv4.seconds(signature.stamp)
        if sent is None or abs(now - sent) > SKEW:
            raise self.wrong_signature(
                "Signature expired: %s is now %s than %s"
                % (signature.stamp, "earlier" if (sent or 0) < now else "later",
                   sigv4.iso(now)))

    def key(self, signature, now):
        """As sigv4.identify, in the words of this family."""
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

    def check_permission(self, request, key):
        action = "%s:%s" % (self.acts or self.signs, request.operation)
        if action in key.deny:
            raise self.denied(key, action, request.parameters.get("RoleArn", "*"))
        refused = self.needs(request).refused(key)
        if refused:
            raise self.denied(key, *refused)

    def needs(self, request):
        """What a role must be allowed (rights.Needs); nothing, unless a service says so."""
        return Needs(self.world, request.bucket)

    def denied(self, key, action, where):
        return Failure(403, "AccessDenied", "User: %s is not authorized to perform: %s on "
                       "resource: %s" % (key.arn if key else "anonymous", action, where))

    # -- answers

    def work(self, request):
        name = "do_" + snake(request.operation)
        found = getattr(self, name, None)
        if found is None:
            raise Failure(400, "InvalidAction", "Could not find operation " +
                          request.operation)
        return found

    def handle(self, request):
        result = element(request.operation + "Result",
                         *self.work(request)(request, request.parameters))
        meta = element("ResponseMetadata", ("RequestId", request.id))
        body = xmltext.document(request.operation + "Response", result, meta,
                                xmlns=self.xmlns)
        return Answer(200, self.ids(request), body, "text/xml")

    def ids(self, request):
        return [("x-amzn-RequestId", request.id)]

    def failure(self, request, failed):
        kind = "Sender" if failed.status < 500 else "Receiver"
        error = element("Error", ("Type", kind), ("Code", failed.code),
                        ("Message", failed.message))
        body = xmltext.document("ErrorResponse", error, ("RequestId", request.id),
                                xmlns=self.xmlns)
        return Answer(failed.status, failed.headers + self.ids(request), body, "text/xml")
