"""checkip.amazonaws.com: tells who asks by which address it is seen."""
from .plain import Plain, text


class CheckIp(Plain):
    name = "checkip"
    routes = (("GET", "/", "Tell"),)

    def do_tell(self, request):
        return text(request.peer + "\n")
