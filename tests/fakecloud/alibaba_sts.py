"""Alibaba Cloud's Security Token Service: RPC style, JSON answers."""
import re

from . import acs
from .http1 import Failure
from .plain import Plain, reply
from .sigv4 import iso

VERSION = "2015-04-01"


class AlibabaSts(Plain):
    name = "alibaba_sts"
    hosts = (r"sts(-vpc)?(\.[a-z0-9-]+)?\.aliyuncs\.com",)

    def identify(self, request):
        args = dict(request.args(), **request.form())
        request.parameters = args
        request.operation = request.get("x-acs-action") or args.get("Action", "Unknown")
        request.version = request.get("x-acs-version") or args.get("Version")

    def check_body(self, request):
        if request.version != VERSION:
            raise Failure(400, "InvalidVersion", "Specified parameter Version is not valid.")
        if request.operation != "AssumeRoleWithOIDC":
            acs.verify(self.world, request, "sts:" + request.operation)

    def handle(self, request):
        work = {"GetCallerIdentity": self.caller, "AssumeRole": self.assume,
                "AssumeRoleWithOIDC": self.oidc}.get(request.operation)
        if work is None:
            raise Failure(404, "InvalidAction.NotFound", "Specified api is not found, please "
                          "check your url and method.")
        return reply(dict({"RequestId": request.id}, **work(request, request.parameters)))

    def failure(self, request, failed):
        value = dict({"RequestId": request.id, "HostId": request.get("host"),
                      "Code": failed.code, "Message": failed.message}, **failed.more)
        return reply(value, failed.status, failed.headers)

    def caller(self, request, args):
        key = request.identity
        return {"AccountId": self.world.config["alibaba"]["account"], "Arn": key.arn,
                "UserId": key.id, "PrincipalId": key.id,
                "IdentityType": "AssumedRoleUser" if key.token else "RAMUser"}

    def common(self, args):
        name, life = args.get("RoleSessionName", ""), args.get("DurationSeconds", "3600")
        if not re.fullmatch(r"[A-Za-z0-9.@_-]{2,64}", name):
            raise Failure(400, "InvalidParameter.RoleSessionName",
                          "The parameter RoleSessionName is wrongly formed.")
        role = self.world.role("alibaba", args.get("RoleArn"))
        if role is None:
            raise Failure(404, "EntityNotExist.Role", "The specified Role not exists.")
        if not life.isdigit() or not 900 <= int(life) <= role.get("max_session", 3600):
            raise Failure(400, "InvalidParameter.DurationSeconds",
                          "The Min/Max value of DurationSeconds is 15min/1hr.")
        return role, name, int(life)

    def assume(self, request, args):
        role, name, life = self.common(args)
        secret, trusts = role.get("external_id"), role.get("trusts")
        if (secret and args.get("ExternalId") != secret) or \
                (trusts and request.identity.arn not in trusts):
            raise Failure(403, "NoPermission", "You are not authorized to do this action. You "
                          "should be authorized by RAM.")
        return self.credentials(role, name, life)

    def oidc(self, request, args):
        role, name, life = self.common(args)
        token, provider = args.get("OIDCToken", ""), args.get("OIDCProviderArn", "")
        if not re.fullmatch(r"acs:ram::\d+:oidc-provider/[\w.-]+", provider):
            raise Failure(400, "InvalidParameter.OIDCProviderArn",
                          "The parameter OIDCProviderArn is wrongly formed.")
        state = self.world.web_token("alibaba", token, request.clock())
        if state == "expired":
            raise Failure(400, "AuthenticationFail.OIDCToken.Expired",
                          "This OIDC Token is invalid: expired.")
        if state is None:
            raise Failure(400, "AuthenticationFail.OIDCToken.Invalid",
                          "This OIDC Token is invalid.")
        return self.credentials(role, name, life)

    def credentials(self, role, name, life):
        arn = role["arn"].replace(":role/", ":assumed-role/") + "/" + name
        key = self.world.issue("alibaba", arn, life, deny=role.get("deny", ()))
        return {"Credentials": shown(key),
                "AssumedRoleUser": {"Arn": arn, "AssumedRoleId": "3fake:" + name}}


def shown(key):
    return {"AccessKeyId": key.id, "AccessKeySecret": key.secret,
            "SecurityToken": key.token, "Expiration": iso(key.expires)}
