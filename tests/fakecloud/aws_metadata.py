"""What an EC2 instance or an ECS task is told about itself."""
import secrets
import time

from .aws_sts import assumed
from .http1 import Answer, Failure
from .plain import Plain, reply, text
from .sigv4 import iso

LONGEST = 21600


def instance_key(world, name="i-0fake"):
    role = world.config["aws"]["instance_role"]
    arn = "arn:aws:iam::%s:role/%s" % (world.config["aws"]["account"], role)
    known = world.role("aws", arn) or {}
    return world.issue("aws", assumed(arn, name), deny=known.get("deny", ()))


class Container(Plain):
    """AWS_CONTAINER_CREDENTIALS_FULL_URI: any path that holds "credentials"."""

    name = "container"
    hosts = (r"169\.254\.170\.2|169\.254\.170\.23",)
    routes = (("GET", r"/.*credentials.*", "GetCredentials"),)

    def do_get_credentials(self, request):
        wanted = self.world.config["aws"]["container_token"]
        if wanted and request.get("authorization") != wanted:
            raise Failure(401, "Unauthorized", "the Authorization header is another")
        key = instance_key(self.world, "task")
        return reply({"RoleArn": key.arn, "AccessKeyId": key.id, "Token": key.token,
                      "SecretAccessKey": key.secret, "Expiration": iso(key.expires)})


class Imds(Plain):
    """Texts that a test gives to control's `metadata` come before the built-in ones."""

    name = "imds"
    hosts = (r"169\.254\.169\.254",)
    routes = (("PUT", "/latest/api/token", "PutToken"), ("GET", r"/latest/.*", "Get"))

    def failure(self, request, failed):
        return Answer(failed.status, failed.headers, b"" if failed.status != 404 else
                      b"<html>404 - Not Found</html>", "text/html")

    def mode(self):
        mode = self.settings["imds"]
        if mode == "disabled":
            raise Failure(403, "Forbidden", "")
        return mode

    def do_put_token(self, request):
        if self.mode() == "v1":
            raise Failure(404, "NotFound", "")
        life = request.get("x-aws-ec2-metadata-token-ttl-seconds") or ""
        if not life.isdigit() or not 1 <= int(life) <= LONGEST:
            raise Failure(400, "BadRequest", "")
        if request.get("x-forwarded-for") is not None:
            raise Failure(403, "Forbidden", "")
        token = secrets.token_urlsafe(42)
        self.world.imds_tokens[token] = time.time() + int(life)
        return text(token, [("X-aws-ec2-metadata-token-ttl-seconds", life)])

    def do_get(self, request):
        mode = self.mode()
        token = request.get("x-aws-ec2-metadata-token")
        if token is None and mode not in ("both", "v1"):
            raise Failure(401, "Unauthorized", "")
        if token is not None and self.world.imds_tokens.get(token, 0) <= time.time():
            raise Failure(401, "Unauthorized", "")
        path = request.path[len("/latest/"):]
        given = self.world.metadata["aws"].get(path)
        if given is not None:
            return text(given)
        return self.built_in(mode, path)

    def built_in(self, mode, path):
        role = self.world.config["aws"]["instance_role"]
        region = self.settings["region"]
        texts = {"meta-data/instance-id": "i-0123456789abcdef0",
                 "meta-data/placement/region": region,
                 "meta-data/placement/availability-zone": region + "a",
                 "meta-data/instance-life-cycle": "spot",
                 "meta-data/iam/security-credentials/": role,
                 "meta-data/iam/security-credentials": role}
        if mode == "no-role" and "/iam/" in path:
            raise Failure(404, "NotFound", "")
        if path == "meta-data/iam/security-credentials/" + role:
            return self.credentials(mode)
        if path not in texts:
            raise Failure(404, "NotFound", "")
        return text(texts[path])

    def credentials(self, mode):
        if mode == "failed":
            return reply({"Code": "AssumeRoleUnauthorizedAccess", "Message": "EC2 cannot "
                          "assume the role", "LastUpdated": iso(time.time())})
        key = instance_key(self.world)
        return reply({"Code": "Success", "LastUpdated": iso(time.time()), "Type": "AWS-HMAC",
                      "AccessKeyId": key.id, "SecretAccessKey": key.secret,
                      "Token": key.token, "Expiration": iso(key.expires)})
