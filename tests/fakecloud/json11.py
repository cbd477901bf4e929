"""AWS's JSON protocol 1.1: the operation in X-Amz-Target, parameters and answers as JSON."""
import json
import re

from . import wire_model
from .http1 import Answer, Failure, snake
from .plain import document
from .query import Query

TYPE = "application/x-amz-json-1.1"


class Json11(Query):
    """Signed like the query protocols. Operations are methods do_NAME(request, parameters)
    that give what is the answer's JSON."""

    target = ""  # before the dot

    def identify(self, request):
        told = request.get("x-amz-target") or ""
        start, _, operation = told.partition(".")
        request.operation = operation if start == self.target else "Unknown"
        request.parameters = {}
        match = self.region_of_host.fullmatch(request.host())
        request.bucket = match.group("region") if match else None

    def check_body(self, request):
        if request.operation == "Unknown":
            raise Failure(400, "UnknownOperationException", "")
        if not (request.get("content-type") or "").startswith(TYPE):
            raise Failure(400, "SerializationException", "")
        request.parameters = dict(document(request), Version=self.version)
        super().check_body(request)

    def check_parameters(self, request):
        wire_model.check_document(self.name, self.version, request.operation, {
            n: v for n, v in request.parameters.items() if n != "Version"})

    def handle(self, request):
        value = self.work(request)(request, request.parameters)
        return Answer(200, self.ids(request), json.dumps(value).encode(), TYPE)

    def failure(self, request, failed):
        value = {"__type": "com.amazonaws.fake#" + failed.code, "message": failed.message}
        return Answer(failed.status, failed.headers + self.ids(request),
                      json.dumps(value).encode(), TYPE)


class Ssm(Json11):
    """The parameters that AWS itself publishes: newest images."""

    name = signs = "ssm"
    target = "AmazonSSM"
    hosts = (r"ssm\.[a-z0-9-]+\.amazonaws\.com(\.cn)?",)
    region_of_host = re.compile(r"ssm\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(\.cn)?")

    def needs(self, request):
        found = super().needs(request)
        name = request.parameters.get("Name", "")
        account = "" if name.startswith("/aws/service/") else None
        found.add("ssm:" + request.operation,
                  found.arn("ssm", "parameter" + name, account=account))
        return found

    def do_get_parameter(self, request, args):
        name = args.get("Name", "")
        value = self.world.ec2.region(request.bucket).parameter(name)
        if value is None:
            raise Failure(400, "ParameterNotFound", "")
        return {"Parameter": {"Name": name, "Type": "String", "Value": value, "Version": 1,
                              "DataType": "aws:ec2:image"}}


class ServiceQuotas(Json11):
    name = signs = "servicequotas"
    target = "ServiceQuotasV20190624"
    hosts = (r"servicequotas\.[a-z0-9-]+\.amazonaws\.com(\.cn)?",)
    region_of_host = re.compile(
        r"servicequotas\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(\.cn)?")

    def needs(self, request):
        found = super().needs(request)
        found.add("servicequotas:" + request.operation, found.arn(
            "servicequotas", "ec2/" + request.parameters.get("QuotaCode", "")))
        return found

    def do_get_service_quota(self, request, args):
        limit = self.world.ec2.limit(request.bucket, args.get("QuotaCode", ""))
        if args.get("ServiceCode") != "ec2" or limit is None:
            raise Failure(404, "NoSuchResourceException", "The request failed because the "
                          "specified resource does not exist.")
        return {"Quota": {"ServiceCode": "ec2", "QuotaCode": args["QuotaCode"],
                          "Value": float(limit), "Unit": "None", "Adjustable": True,
                          "UsageMetric": {"MetricNamespace": "AWS/Usage",
                                          "MetricName": "ResourceCount"}}}

    do_get_awsdefault_service_quota = do_get_service_quota
