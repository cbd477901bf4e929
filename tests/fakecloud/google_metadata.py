"""What a Compute Engine instance is told about itself."""
import time

from .google_auth import issue, seconds_left
from .http1 import Answer, Failure
from .plain import Plain, reply, text

FLAVOR = [("Metadata-Flavor", "Google")]
BASE = "/computeMetadata/v1/"


class GceMetadata(Plain):
    """Texts that a test gives to control's `metadata` come before the built-in ones."""

    name = "gce_metadata"
    hosts = (r"metadata\.google\.internal", r"metadata")
    routes = (("GET", "/", "Probe"), ("GET", BASE + ".*", "Get"))

    def ids(self, request):
        return FLAVOR

    def failure(self, request, failed):
        return Answer(failed.status, failed.headers + FLAVOR, failed.message.encode(),
                      "text/html")

    def handle(self, request):
        if self.settings["gce_metadata"] == "disabled":
            raise Failure(404, "NotFound", "")
        answer = super().handle(request)
        answer.headers += FLAVOR
        return answer

    def do_probe(self, request):
        return text("computeMetadata/\n")

    def do_get(self, request):
        if (request.get("metadata-flavor") or "").lower() != "google" or \
                request.get("x-forwarded-for") is not None:
            raise Failure(403, "Forbidden", "Missing Metadata-Flavor:Google header.")
        path = request.path[len(BASE):]
        given = self.world.metadata["google"].get(path)
        return text(given) if given is not None else self.built_in(path, request.args())

    def built_in(self, path, args):
        project = self.world.config["google"]["project"]
        texts = {"project/project-id": project, "project/numeric-project-id": "123456789",
                 "instance/id": "1234567890123456789", "instance/name": "fake",
                 "instance/zone": "projects/123456789/zones/us-central1-a",
                 "instance/preempted": "FALSE"}
        if path in texts:
            return text(texts[path])
        if path.startswith("instance/service-accounts/"):
            return self.account(path[len("instance/service-accounts/"):], args)
        raise Failure(404, "NotFound", "Not Found")

    def account(self, path, args):
        email = self.world.config["google"]["instance_account"]
        name, _, item = path.partition("/")
        if self.settings["gce_metadata"] == "no-account" or name not in ("default", email):
            raise Failure(404, "NotFound", "Not Found")
        scope = "https://www.googleapis.com/auth/cloud-platform"
        if item == "email":
            return text(email)
        if item == "scopes":
            return text(scope + "\n")
        if item == "" and args.get("recursive") == "true":
            return reply({"aliases": ["default"], "email": email, "scopes": [scope]})
        if item == "identity" and args.get("audience"):
            return text(self.world.make_jwt(args["audience"], email))
        if item != "token":
            raise Failure(404, "NotFound", "Not Found")
        return self.token(email)

    def token(self, email):
        """The same one until four minutes before its end."""
        with self.world.lock:
            key = self.world.cached.get("gce")
            if key is None or key.expires - time.time() < 240:
                key = self.world.cached["gce"] = issue(self.world, email)
        return reply({"access_token": key.id, "expires_in": seconds_left(key),
                      "token_type": "Bearer"})
