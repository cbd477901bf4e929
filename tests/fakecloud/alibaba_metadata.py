"""What an ECS instance is told about itself, and the other places that hand out keys of
Alibaba Cloud: a credentials URI, CloudSSO, and the OAuth login of its command line."""
import secrets
import time

from .alibaba_sts import shown
from .http1 import Answer, Failure
from .plain import Plain, document, reply, text
from .sigv4 import iso


def instance_key(world):
    role = world.config["alibaba"]["instance_role"]
    arn = "acs:ram::%s:role/%s" % (world.config["alibaba"]["account"], role)
    known = world.role("alibaba", arn) or {}
    return world.issue("alibaba", arn.replace(":role/", ":assumed-role/") + "/i-fake",
                       deny=known.get("deny", ()))


class EcsMetadata(Plain):
    name = "ecs_metadata"
    hosts = (r"100\.100\.100\.200",)
    routes = (("PUT", "/latest/api/token", "PutToken"), ("GET", r"/latest/.*", "Get"))

    def failure(self, request, failed):
        return Answer(failed.status, failed.headers, b"", "text/plain")

    def mode(self):
        mode = self.settings["ecs_metadata"]
        if mode == "disabled":
            raise Failure(403, "Forbidden", "")
        return mode

    def do_put_token(self, request):
        if self.mode() == "normal":
            raise Failure(404, "NotFound", "")
        life = request.get("x-aliyun-ecs-metadata-token-ttl-seconds") or ""
        if not life.isdigit() or not 1 <= int(life) <= 21600 or \
                request.get("x-forwarded-for") is not None:
            raise Failure(400, "BadRequest", "")
        token = "ecs-" + secrets.token_urlsafe(30)
        self.world.imds_tokens[token] = time.time() + int(life)
        return text(token)

    def do_get(self, request):
        mode = self.mode()
        token = request.get("x-aliyun-ecs-metadata-token")
        if token is None and mode == "hardened":
            raise Failure(403, "Forbidden", "")
        if token is not None and self.world.imds_tokens.get(token, 0) <= time.time():
            raise Failure(403, "Forbidden", "")
        path = request.path[len("/latest/"):]
        given = self.world.metadata["alibaba"].get(path)
        return text(given) if given is not None else self.built_in(mode, path)

    def built_in(self, mode, path):
        role = self.world.config["alibaba"]["instance_role"]
        texts = {"meta-data/instance-id": "i-bp1fakefakefakefake",
                 "meta-data/region-id": "cn-hangzhou", "meta-data/zone-id": "cn-hangzhou-i",
                 "meta-data/ram/security-credentials/": role}
        if mode == "no-role" and "/ram/" in path:
            raise Failure(404, "NotFound", "")
        if path == "meta-data/ram/security-credentials/" + role:
            key = instance_key(self.world)
            return reply(dict(shown(key), Code="Success", LastUpdated=iso(time.time())))
        if path not in texts:
            raise Failure(404, "NotFound", "")
        return text(texts[path])


class CredentialsUri(Plain):
    """ALIBABA_CLOUD_CREDENTIALS_URI: any path."""

    name = "credentials_uri"
    routes = (("GET", "/.*", "GetCredentials"),)

    def do_get_credentials(self, request):
        return reply(dict(shown(instance_key(self.world)), Code="Success"))


class AlibabaLogin(Plain):
    """CloudSSO and OAuth: tokens are those of the configuration, or were renewed here."""

    name = "alibaba_login"
    hosts = (r"oauth\.(aliyun|alibabacloud)\.com", r"signin-[a-z-]+\.alibabacloudsso\.com")
    routes = (("POST", "/cloud-credentials", "CloudCredentials"),
              ("POST", "/v1/exchange", "Exchange"), ("POST", "/v1/token", "Token"))

    def check_bearer(self, request):
        login = self.world.config["alibaba"]["login"]
        word, _, token = (request.get("authorization") or "").partition(" ")
        if word != "Bearer" or token not in (login["access_token"], *self.world.logins):
            raise Failure(401, "InvalidToken", "The access token is invalid or expired.")

    def failure(self, request, failed):
        return reply({"ErrorCode": failed.code, "ErrorMessage": failed.message,
                      "error": failed.code, "error_description": failed.message,
                      "RequestId": request.id}, failed.status, failed.headers)

    def do_cloud_credentials(self, request):
        self.check_bearer(request)
        asked = document(request)
        if not asked.get("AccountId") or not asked.get("AccessConfigurationId"):
            raise Failure(400, "MissingParameter", "AccountId and AccessConfigurationId")
        return reply({"RequestId": request.id,
                      "CloudCredential": shown(instance_key(self.world))})

    def do_exchange(self, request):
        self.check_bearer(request)
        key = instance_key(self.world)
        return reply({"requestId": request.id, "accessKeyId": key.id,
                      "accessKeySecret": key.secret, "securityToken": key.token,
                      "expiration": iso(key.expires)})

    def do_token(self, request):
        login, asked = self.world.config["alibaba"]["login"], request.form()
        with self.world.lock:
            good = self.world.cached.get("alibaba-refresh", login["refresh_token"])
            if asked.get("grant_type") != "refresh_token" or \
                    asked.get("refresh_token") != good or not asked.get("client_id"):
                raise Failure(400, "invalid_grant", "The refresh token is invalid.")
            renewed = "rotated-" + secrets.token_hex(8)
            self.world.cached["alibaba-refresh"] = renewed
            token = secrets.token_hex(16)
            self.world.logins[token] = time.time() + self.settings["token_lifetime"]
        return reply({"access_token": token, "refresh_token": renewed,
                      "token_type": "Bearer", "expires_in": self.settings["token_lifetime"]})
