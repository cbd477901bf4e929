"""Amazon EC2, API version 2016-11-15. Its operations are in ec2_instances.py,
ec2_network.py, ec2_market.py and ec2_templates.py; what a role needs for each is in
ec2_rights.py."""
import re
import secrets

from . import sigv4, xmltext
from .ec2_instances import Instances
from .ec2_market import Market
from .ec2_network import Network
from .ec2_rights import Rights
from .ec2_templates import Templates
from .http1 import Answer, Failure
from .query import SKEW, Parameters, Query
from .xmltext import element


class Ec2(Instances, Network, Market, Templates, Rights, Query):
    name = signs = "ec2"
    version = "2016-11-15"
    xmlns = "http://ec2.amazonaws.com/doc/2016-11-15/"
    hosts = (r"ec2\.[a-z0-9-]+\.(amazonaws\.com(\.cn)?|api\.aws)",)
    scope = re.compile(r"Credential=[^/]*/[0-9]+/(?P<region>[a-z0-9-]+)/")
    region_of_host = re.compile(r"ec2\.(?P<region>[a-z0-9-]+)\.(amazonaws\.com(\.cn)?|api\.aws)")

    @property
    def book(self):
        return self.world.ec2

    def identify(self, request):
        super().identify(request)
        if request.operation == "RunInstances":  # what faults can choose by
            args = request.parameters
            request.key = "/".join((
                args.get("Placement.AvailabilityZone", ""), args.get("InstanceType", ""),
                args.get("InstanceMarketOptions.MarketType", "on-demand")))
        else:
            scope = self.scope.search(request.get("authorization") or "")
            request.key = scope.group("region") + "/" if scope else None

    # -- in the words of this service

    def signature(self, request):
        try:
            return sigv4.Signature(request)
        except Failure as failed:
            if failed.code == "MissingAuthenticationToken":
                raise Failure(400, "MissingParameter", "The request must contain the "
                              "parameter AWSAccessKeyId") from None
            raise Failure(401, "AuthFailure", failed.message) from None

    def wrong_signature(self, why):
        return Failure(401, "AuthFailure", "AWS was not able to validate the provided access "
                       "credentials")

    def check_signature(self, signature, key, payload):
        try:
            super().check_signature(signature, key, payload)
        except Failure:
            raise self.wrong_signature("") from None

    def check_time(self, signature, now):
        sent = sigv4.seconds(signature.stamp)
        if sent is None or abs(now - sent) > SKEW:
            raise Failure(400, "RequestExpired", "Request has expired.")

    def key(self, signature, now):
        try:
            return sigv4.identify(self.world, signature, now)
        except Failure as failed:
            if failed.code == "ExpiredToken":
                raise Failure(400, "RequestExpired", "Request has expired.") from None
            raise self.wrong_signature(failed.message) from None

    def check_permission(self, request, key):
        """After the parameters, see handle()."""

    def handle(self, request):
        p = Parameters(request.parameters)
        for name in ("Action", "Version"):
            p.text(name)
        dry = p.flag("DryRun")
        work = self.work(request)
        if request.operation != "RunInstances":
            self.permit(request)
        self.book.region(request.bucket)
        content = work(request, p, dry)
        body = xmltext.document(request.operation + "Response", ("requestId", request.id),
                                *content, xmlns=self.xmlns)
        return Answer(200, self.ids(request), body, "text/xml;charset=UTF-8")

    def permit(self, request, asked=None):
        action, arn = "ec2:" + request.operation, "*"
        if action not in request.identity.deny:
            refused = self.needs(request, asked).refused(request.identity)
            if refused is None:
                return
            action, arn = refused
        raise Failure(403, "UnauthorizedOperation", "You are not authorized to perform "
                      "this operation. User: %s is not authorized to perform: %s on "
                      "resource: %s because no identity-based policy allows the %s action. "
                      "Encoded authorization failure message: %s"
                      % (request.identity.arn, action, arn, action, secrets.token_hex(24)))

    def done(self, p, dry):
        """Every parameter was read; a dry run ends here."""
        left = p.unread()
        if left:
            raise Failure(400, "UnknownParameter", "The parameter %s is not recognized"
                          % left[0].partition(".")[0])
        if dry:
            raise Failure(412, "DryRunOperation", "Request would have succeeded, but DryRun "
                          "flag is set.")

    def failure(self, request, failed):
        errors = element("Errors", element("Error", ("Code", failed.code),
                                           ("Message", failed.message)))
        body = xmltext.document("Response", errors, ("RequestID", request.id), xmlns=None)
        return Answer(failed.status, failed.headers + self.ids(request), body,
                      "text/xml;charset=UTF-8")
