"""The endpoint that gives a job of GitHub Actions its identity token."""
from .http1 import Failure
from .plain import Plain, reply


class Github(Plain):
    name = "github"
    routes = (("GET", "/token", "GetToken"),)

    def do_get_token(self, request):
        wanted = "bearer " + self.world.config["github"]["request_token"]
        if (request.get("authorization") or "").lower() != wanted.lower():
            raise Failure(401, "Unauthorized", "The request token is another")
        audience = request.args().get("audience", "https://github.com/fake")
        token = self.world.make_jwt(audience, "repo:fake/fake:ref:refs/heads/main")
        return reply({"count": len(token), "value": token})
