"""IAM Identity Center: the portal that turns a login into keys, and the renewal of
logins."""
import secrets
import time

from .http1 import Failure
from .plain import Plain, document, reply


class RestJson(Plain):
    def ids(self, request):
        return [("x-amzn-RequestId", request.id)]

    def failure(self, request, failed):
        headers = failed.headers + self.ids(request) + [("x-amzn-ErrorType", failed.code)]
        value = dict({"message": failed.message}, **failed.more)
        return reply(value, failed.status, headers)


class Sso(RestJson):
    name = "sso"
    hosts = (r"portal\.sso\.[a-z0-9-]+\.amazonaws\.com",)
    routes = (("GET", "/federation/credentials", "GetRoleCredentials"),)

    def do_get_role_credentials(self, request):
        sso, args = self.world.config["aws"]["sso"], request.args()
        token = request.get("x-amz-sso_bearer_token")
        if token not in (sso["access_token"], *self.world.logins) or \
                self.world.logins.get(token, request.clock() + 1) <= request.clock():
            raise Failure(401, "UnauthorizedException", "Session token not found or invalid")
        name, account = args.get("role_name"), args.get("account_id")
        arn = "arn:aws:iam::%s:role/%s" % (account, name)
        if self.world.role("aws", arn) is None:
            raise Failure(403, "ForbiddenException", "No access")
        key = self.world.issue("aws", arn.replace(":iam:", ":sts:").replace(
            ":role/", ":assumed-role/") + "/sso")
        return reply({"roleCredentials": {
            "accessKeyId": key.id, "secretAccessKey": key.secret, "sessionToken": key.token,
            "expiration": int(key.expires * 1000)}})


class Oidc(RestJson):
    name = "oidc"
    hosts = (r"oidc\.[a-z0-9-]+\.amazonaws\.com",)
    routes = (("POST", "/token", "CreateToken"),)

    def do_create_token(self, request):
        sso, asked = self.world.config["aws"]["sso"], document(request)
        if (asked.get("clientId"), asked.get("clientSecret")) != (sso["client_id"],
                                                                  sso["client_secret"]):
            raise refused(401, "InvalidClientException", "invalid_client")
        if asked.get("grantType") != "refresh_token":
            raise refused(400, "UnsupportedGrantTypeException", "unsupported_grant_type")
        with self.world.lock:
            good = self.world.refresh or sso["refresh_token"]
            if asked.get("refreshToken") != good:
                raise refused(400, "InvalidGrantException", "invalid_grant")
            self.world.refresh = "rotated-" + secrets.token_hex(8)
            token, lifetime = secrets.token_hex(16), self.settings["token_lifetime"]
            self.world.logins[token] = time.time() + lifetime
        return reply({"accessToken": token, "expiresIn": lifetime, "tokenType": "Bearer",
                      "refreshToken": self.world.refresh})


def refused(status, code, word):
    return Failure(status, code, "", error=word, error_description="Invalid " + word)
