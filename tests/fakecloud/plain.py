"""What the small services share: no buckets, requests told apart by method and path."""
import json
import re

from .http1 import Answer, Failure, snake


class Plain:
    """A service with a table `routes`: (method, pattern of the path, operation)."""

    name = ""
    routes = ()
    hosts = ()
    reads_first = True

    def __init__(self, world):
        self.world = world

    @property
    def settings(self):
        return self.world.settings

    def identify(self, request):
        for method, pattern, operation in self.routes:
            match = re.fullmatch(pattern, request.path)
            if match and method == request.method:
                request.operation, request.match = operation, match
                return
        request.operation = "Unknown"

    def authenticate(self, request):
        pass

    def digests(self, request):
        return ()

    def check_body(self, request):
        pass

    def handle(self, request):
        work = getattr(self, "do_" + snake(request.operation), None)
        if work is None:
            raise Failure(404, "NotFound", "Not Found")
        return work(request)

    def ids(self, request):
        return []

    def failure(self, request, failed):
        value = {"Code": failed.code, "Message": failed.message}
        return reply(value, failed.status, failed.headers + self.ids(request))


def reply(value, status=200, headers=()):
    return Answer(status, headers, json.dumps(value).encode(), "application/json")


def text(value, headers=()):
    return Answer(200, headers, value.encode(), "text/plain")


def document(request):
    """The JSON object that is the body of a request."""
    try:
        value = json.loads(bytes(request.body))
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise Failure(400, "InvalidRequest", "The body is no JSON object")
    return value
