"""Listens on a loopback port per service, serves each connection in a thread, and
applies the script of faults between the services and the wire."""
import re
import secrets
import selectors
import socket
import ssl
import struct
import threading
import time
import traceback

from . import blob, http1, multipart
from .http1 import Answer, Closed, Failure

LOST = object()  # instead of an answer: the connection breaks
STEP = 0.05


class Broken(Exception):
    """The fault wants the connection to break now."""


class Server:
    def __init__(self, world, services, control, host="127.0.0.1", tls=None):
        self.world, self.host, self.tls = world, host, tls
        self.services = {s.name: s for s in services}
        self.services[control.name] = control
        control.server = self
        self.selector = selectors.DefaultSelector()
        self.stopping = threading.Event()
        self.late = []  # timers of puts that have not landed
        self.connections = 0
        self.open = {}  # connections: socket -> the service's name
        self.down = {}  # (service, scheme) -> a socket that keeps its port
        self.urls = {"http": {}, "https": {}}
        self.hosts = [(re.compile(p), s) for s in services for p in getattr(s, "hosts", ())]

    def listen(self, first_port=0):
        """Opens every port; `front` decides by the Host header."""
        port = first_port
        for name in [*self.services, "front"]:
            for scheme in ["http"] + (["https"] if self.tls else []):
                listener = socket.create_server((self.host, port), backlog=256)
                listener.setblocking(False)
                self.selector.register(listener, selectors.EVENT_READ, (name, scheme))
                bound = listener.getsockname()[1]
                shown = "localhost" if scheme == "https" else self.host
                self.urls[scheme][name] = "%s://%s:%d" % (scheme, shown, bound)
                port = port + 1 if first_port else 0

    def open_port(self, service):
        """One more, while the others are served; its URL."""
        self.services[service.name] = service
        listener = socket.create_server((self.host, 0), backlog=16)
        listener.setblocking(False)
        self.selector.register(listener, selectors.EVENT_READ, (service.name, "http"))
        return "http://%s:%d" % (self.host, listener.getsockname()[1])

    def take_down(self, name):
        """The service is gone: its connections break, new ones are refused. Its ports stay
        its own, so that nobody else gets them meanwhile."""
        for key in list(self.selector.get_map().values()):
            if key.data[0] != name:
                continue
            self.selector.unregister(key.fileobj)
            place = key.fileobj.getsockname()
            key.fileobj.close()
            keeper = socket.socket()
            keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            keeper.bind(place)
            self.down[key.data] = keeper
        for sock, of in list(self.open.items()):
            if of == name:
                linger(sock)
                try:
                    sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def bring_back(self, name):
        for key, keeper in list(self.down.items()):
            if key[0] != name:
                continue
            del self.down[key]
            keeper.listen(256)
            keeper.setblocking(False)
            self.selector.register(keeper, selectors.EVENT_READ, key)

    def run(self):
        while not self.stopping.is_set():
            for key, _ in self.selector.select(0.2):
                try:
                    sock, _ = key.fileobj.accept()
                except OSError:
                    continue
                sock.setblocking(True)
                threading.Thread(target=self.serve, args=(sock, *key.data),
                                 daemon=True).start()

    def stop(self):
        self.stopping.set()

    # -- one connection

    def serve(self, sock, name, scheme):
        try:
            sock.settimeout(self.world.settings["idle"])
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if scheme == "https":
                sock = self.tls.wrap_socket(sock, server_side=True)
            self.connections += 1
            self.open[sock] = name
            self.converse(sock, name, scheme == "https", self.connections)
        except (Closed, Failure, OSError, ssl.SSLError):
            pass
        except Broken:
            linger(sock)
        finally:
            self.open.pop(sock, None)
            sock.close()

    def converse(self, sock, name, tls, number):
        connection = http1.Connection(sock, tls, self.world.folder,
                                      self.world.settings["idle"])
        while connection.open and not self.stopping.is_set():
            request = connection.read_request()
            if request is None:
                return
            request.id = secrets.token_hex(8).upper()
            request.connection = number
            request.peer = sock.getpeername()[0]
            self.one(connection, request, self.choose(name, request))
        drain(sock)

    def choose(self, name, request):
        if name != "front":
            return self.services[name]
        host = request.host()
        for pattern, service in self.hosts:
            if pattern.fullmatch(host):
                return service
        return self.services["control"]

    def one(self, connection, request, service):
        try:
            self.one_counted(connection, request, service)
        finally:
            self.world.faults.done(request)

    def one_counted(self, connection, request, service):
        request.offset = self.world.settings["clock_offset"]
        entry, fault = self.entry(request, service), None
        try:
            if service.reads_first:  # which operation it is stands in the body
                connection.read_body(request)
            service.identify(request)
            fault = self.world.faults.pick(request, service.name)
            self.note(entry, request, fault)
            answer = self.answer(connection, request, service, fault)
        except Failure as failed:
            answer = service.failure(request, failed)
        except (Broken, Closed):
            entry["status"] = 0
            raise
        except Exception:  # a mistake in here: told, and answered
            traceback.print_exc()
            connection.open = False
            answer = service.failure(request, Failure(500, "InternalError", "fakecloud has "
                                                      "a mistake, see its stderr"))
        finally:
            entry["got"] = len(request.body)
            self.note(entry, request, fault)
        if answer is LOST:
            entry["status"] = 0
            raise Broken()
        connection.drop_body()
        entry["status"] = answer.status
        entry["sent"] = self.send(connection, request, answer, service, fault)
        entry["ms"] = int((time.monotonic() - entry.pop("began")) * 1000)

    def entry(self, request, service):
        entry = {"service": service.name, "method": request.method, "status": None,
                 "got": 0, "sent": 0, "connection": request.connection, "id": request.id,
                 "began": time.monotonic(), "time": time.time()}
        if service.name != "control":
            self.world.requests.append(entry)
        return entry

    def note(self, entry, request, fault):
        entry.update(operation=request.operation, bucket=request.bucket, key=request.key,
                     query=request.query, range=request.get("range"), fault=fault.do if fault else None,
                     identity=getattr(request.identity, "arn", None),
                     payload=request.get("x-amz-content-sha256"),
                     sums={n: v for n, v in request.headers
                           if n.startswith("x-amz-checksum-")})

    # -- faults

    def answer(self, connection, request, service, fault):
        do = fault.do if fault else None
        if do == "date":
            request.offset += fault.get("offset", 0)
        if do == "region":
            request.region = fault.get("region")
        if do == "keys":
            request.refused_keys = fault
        if do in ("error", "throttle", "reset", "hang", "error-200") and not fault.get("effect"):
            return self.refuse(connection, request, service, fault)
        if do == "delay":
            self.wait(fault.get("seconds", 1), service)
        service.authenticate(request)
        if self.world.ec2.is_cut_off(request.identity, service.name):
            return LOST
        slow = do == "trickle" and fault.get("direction") == "in"
        if not service.reads_first:
            self.read(connection, request, service, fault, slow)
        service.check_body(request)
        if do == "late":
            return self.land_late(request, service, fault)
        if do == "touch" and fault.get("bytes") is None:
            self.touch(request, service, fault)
        answer = service.handle(request)
        if do in ("error", "reset", "hang", "error-200"):
            return self.spoil(request, service, fault)
        if do == "blanks":
            return multipart.blanks(answer, fault.get("seconds", 1))
        return answer

    def read(self, connection, request, service, fault, slow):
        try:
            connection.read_body(request, fault.get("rate", 1024) if slow else 0,
                                 service.digests(request),
                                 fault.get("bytes", 0) if fault and fault.do == "cut" else None)
        except Closed:
            if hasattr(service, "cut_off"):
                service.cut_off(request)
            raise Broken() from None
        if fault and fault.do == "corrupt" and fault.get("direction") == "in":
            raw = bytearray(bytes(request.body))
            raw[fault.get("at", 0)] ^= 0xff
            request.body = blob.Blob([bytes(raw)])

    def refuse(self, connection, request, service, fault):
        """Nothing is done; the body is read all the same, unless `early`."""
        if not fault.get("early") and not service.reads_first:
            connection.read_body(request)
        return self.spoil(request, service, fault)

    def spoil(self, request, service, fault):
        if fault.do == "hang":
            self.wait(fault.get("seconds", 3600), service)
        if fault.do in ("hang", "reset"):
            return LOST
        status = fault.get("status", 200 if fault.do == "error-200" else 503)
        code = fault.get("code", "InternalError" if fault.do == "error-200" else "SlowDown")
        headers = list(fault.get("headers", {}).items())
        if fault.get("retry_after") is not None:
            headers.append(("Retry-After", str(fault.get("retry_after"))))
        message = fault.get("message", "We encountered an internal error. Please try again."
                            if fault.do == "error-200" else
                            "Please reduce your request rate.")
        return service.failure(request, Failure(status, code, message, headers))

    def land_late(self, request, service, fault):
        def land():
            try:
                service.handle(request)
            except Failure:
                pass
            self.late.remove(timer)
        timer = threading.Timer(fault.get("ms", 1000) / 1000, land)
        timer.daemon = True
        self.late.append(timer)
        timer.start()
        reply = fault.get("reply", "reset")
        if reply == "ok":
            return Answer(200, service.ids(request))
        if reply == "error":
            return service.failure(request, Failure(
                500, "InternalError", "We encountered an internal error. Please try again."))
        return LOST

    def touch(self, request, service, fault):
        """Another writer was here."""
        bucket = service.namespace.find(request.bucket)
        found = bucket and bucket.objects.get(request.key)
        if found and fault.get("gone"):
            bucket.remove(request.key)
        elif found:
            self.world.rewrite(bucket, found, fault.get("size", len(found.blob)))

    def wait(self, seconds, service):
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.stopping.is_set():
            if (service.name, "http") in self.down:
                raise Broken()
            time.sleep(min(STEP, seconds))

    def send(self, connection, request, answer, service, fault):
        options = {}
        if fault and fault.do == "truncate":
            options["cut"] = fault.get("bytes", 0)
        elif fault and fault.do == "trickle" and fault.get("direction") != "in":
            options["rate"] = fault.get("rate", 1024)
        elif fault and fault.do == "corrupt" and fault.get("direction") != "in":
            options["spoil"] = fault.get("at", 0)
        elif fault and fault.do == "touch" and fault.get("bytes") is not None:
            options["cut"] = fault.get("bytes")
        try:
            return connection.send(request, answer, **options)
        finally:  # before the client can see that the connection broke
            if fault and fault.do == "touch" and fault.get("bytes") is not None:
                self.touch(request, service, fault)


def linger(sock):
    """So that close() resets the connection."""
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except OSError:
        pass


def drain(sock):
    """Lets the peer read the answer before unread bytes reset the connection."""
    try:
        sock.settimeout(1)
        sock.shutdown(socket.SHUT_WR)
        end = time.monotonic() + 2
        while time.monotonic() < end and sock.recv(1 << 16):
            pass
    except OSError:
        pass
