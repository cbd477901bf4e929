"""HTTP/1.1 on one connection: requests as they came, answers as they are told.

Nothing is tidied: the target and the headers reach the services byte for byte,
since signatures are computed over them. Bodies become blobs, see blob.py.
"""
import re
import socket
import time
from email.utils import formatdate
from urllib.parse import unquote_to_bytes

from . import blob

REASONS = {
    100: "Continue", 200: "OK", 201: "Created", 202: "Accepted", 204: "No Content",
    206: "Partial Content", 301: "Moved Permanently", 302: "Found", 304: "Not Modified",
    307: "Temporary Redirect", 308: "Resume Incomplete", 400: "Bad Request",
    401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
    409: "Conflict", 410: "Gone", 411: "Length Required", 412: "Precondition Failed",
    413: "Payload Too Large", 416: "Requested Range Not Satisfiable",
    429: "Too Many Requests", 500: "Internal Server Error", 501: "Not Implemented",
    502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
}
MAX_LINE = 65536
MAX_HEADERS = 200


class Failure(Exception):
    """An answer that is an error: each dialect gives it its own shape."""

    def __init__(self, status, code, message, headers=(), **more):
        super().__init__("%d %s: %s" % (status, code, message))
        self.status, self.code, self.message = status, code, message
        self.headers, self.more = list(headers), more


class Closed(Exception):
    """The peer went away, or spoke no HTTP."""


class Answer:
    """body: bytes, a Blob, or an iterable of bytes (sent chunked)."""

    def __init__(self, status=200, headers=(), body=b"", content_type=None):
        self.status, self.headers, self.body = status, list(headers), body
        if content_type:
            self.headers.append(("Content-Type", content_type))

    def length(self):
        if isinstance(self.body, (bytes, blob.Blob)):
            return len(self.body)
        return None


class Request:
    """One request. `key`, `bucket` and `operation` are filled in by the service."""

    def __init__(self, method, target, headers, tls):
        self.method, self.target, self.headers, self.tls = method, target, headers, tls
        self.path, _, self.query = target.partition("?")
        self.has_query = "?" in target
        self.operation, self.bucket, self.key = "Unknown", None, None
        self.body = blob.EMPTY
        self.offset = 0  # of the server's clock, seconds
        self.region = None  # one that a fault pretends the bucket to be in
        self.id = self.peer = ""
        self.identity = None
        self.counted = []  # faults that it fits
        self.refused_keys = None  # a fault

    def get(self, name, default=None):
        for n, value in self.headers:
            if n == name:
                return value
        return default

    def all(self, name):
        return [v for n, v in self.headers if n == name]

    def host(self):
        """Name in the Host header, without the port."""
        host = (self.get("host") or "").lower()
        if host.startswith("["):
            return host[1:].partition("]")[0]
        return host.partition(":")[0]

    def args(self):
        """The query as a dict of decoded text; of repeated names the first counts."""
        found = {}
        for part in self.query.split("&"):
            name, _, value = part.partition("=")
            if part:
                found.setdefault(decode(name, plus=True), decode(value, plus=True))
        return found

    def form(self):
        """A body of type application/x-www-form-urlencoded."""
        found = {}
        for part in bytes(self.body).decode("latin-1").split("&"):
            name, _, value = part.partition("=")
            if part:
                found.setdefault(decode(name, plus=True), decode(value, plus=True))
        return found

    def clock(self):
        return time.time() + self.offset


def decode(text, plus=False):
    if plus:
        text = text.replace("+", " ")
    return unquote_to_bytes(text.encode("latin-1")).decode("utf-8", "surrogateescape")


def snake(name):
    """ListObjectsV2 -> list_objects_v2."""
    name = re.sub(r"V(\d)$", r"_v\1", name)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


class Connection:
    def __init__(self, sock, tls, folder, idle):
        self.sock, self.tls, self.folder = sock, tls, folder
        self.idle = idle
        self.file = sock.makefile("rb", 1 << 18)
        self.left = 0  # bytes of the current body that were not read
        self.chunked = False
        self.expects = False
        self.open = True

    def line(self):
        text = self.file.readline(MAX_LINE)
        if not text.endswith(b"\n"):
            raise Closed()
        return text.rstrip(b"\r\n").decode("latin-1")

    def read_request(self):
        """The next request without its body; None at the end of the connection."""
        self.sock.settimeout(self.idle)
        try:
            first = self.file.readline(MAX_LINE)
            if not first.strip():
                return None
            method, target, version = first.decode("latin-1").split()
            headers = self.read_headers()
        except (ValueError, OSError):
            raise Closed() from None
        request = Request(method, target, headers, self.tls)
        if target.startswith(("http://", "https://")):  # as a proxy is asked
            request.target = "/" + target.split("/", 3)[3]
            request.path, _, request.query = request.target.partition("?")
        self.chunked = (request.get("transfer-encoding") or "").lower() == "chunked"
        length = request.get("content-length") or "0"
        if not length.isdigit():
            raise Closed()
        self.left = 0 if self.chunked else int(length)
        self.expects = (request.get("expect") or "").lower() == "100-continue"
        word = (request.get("connection") or "").lower()
        self.open = word != "close" and (version != "HTTP/1.0" or word == "keep-alive")
        return request

    def read_headers(self):
        headers = []
        while True:
            text = self.line()
            if not text:
                return headers
            if text[0] in " \t" and headers:  # folded
                name, value = headers[-1]
                headers[-1] = (name, value + " " + text.strip())
                continue
            name, colon, value = text.partition(":")
            if not colon or len(headers) >= MAX_HEADERS:
                raise Closed()
            headers.append((name.strip().lower(), value.strip()))

    def read_body(self, request, rate=0, digests=(), limit=None):
        """Reads the body into request.body, slowly if there is a rate (bytes/s); with a
        limit, the connection breaks when that many bytes were read."""
        if self.expects and (self.left or self.chunked):
            self.sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        self.expects = False
        writer = blob.Writer(self.folder, digests)
        try:
            for piece in self.pieces(rate):
                writer.write(piece if limit is None else piece[:limit - writer.size])
                if limit is not None and writer.size >= limit:
                    raise Closed()
        finally:  # whoever wants to keep what came before the end can
            request.body = writer.finish()

    def pieces(self, rate):
        step = 1 << 20 if not rate else max(1, min(1 << 20, rate // 10))
        while self.chunked:
            size = int(self.line().partition(";")[0] or "0", 16)
            if size == 0:
                self.read_headers()
                self.chunked = False
                return
            self.left = size
            yield from self.counted(step, rate)
            self.line()
        yield from self.counted(step, rate)

    def counted(self, step, rate):
        while self.left:
            try:
                piece = self.file.read1(min(step, self.left))
            except socket.timeout:
                self.left, self.chunked, self.open = 0, False, False
                raise Failure(400, "RequestTimeout",
                              "Your socket connection to the server was not read from or "
                              "written to within the timeout period. Idle connections will "
                              "be closed.") from None
            if not piece:
                raise Closed()
            self.left -= len(piece)
            if rate:
                time.sleep(len(piece) / rate)
            yield piece

    def drop_body(self):
        """What was not read is read if it is little; else the connection ends."""
        if self.expects or self.chunked or self.left > 1 << 20:
            self.open = not (self.expects or self.chunked or self.left)
            return
        for _ in self.counted(1 << 20, 0):
            pass

    def send(self, request, answer, cut=None, rate=0, spoil=None):
        """cut: bytes of the body after which the connection breaks; rate: bytes/s;
        spoil: offset of a byte that arrives inverted. Returns the bytes of body sent."""
        length = answer.length()
        head = ["HTTP/1.1 %d %s" % (answer.status, REASONS.get(answer.status, "Unknown"))]
        names = {n.lower() for n, _ in answer.headers}
        head += ["%s: %s" % pair for pair in answer.headers]
        if "date" not in names:
            head.append("Date: " + formatdate(request.clock(), usegmt=True))
        if "server" not in names:
            head.append("Server: fakecloud")
        if length is None:
            head.append("Transfer-Encoding: chunked")
        elif answer.status not in (204, 304) and "content-length" not in names:
            head.append("Content-Length: %d" % length)
        if not self.open:
            head.append("Connection: close")
        head = ("\r\n".join(head) + "\r\n\r\n").encode("utf-8", "surrogateescape")
        if request.method == "HEAD" or answer.status in (204, 304):
            self.sock.sendall(head)
            return 0
        if length is None:
            return self.send_chunked(head, answer.body, cut)
        return self.send_counted(head, answer.body, cut, rate, spoil)

    def send_counted(self, head, body, cut, rate, spoil):
        end = len(body) if cut is None else min(cut, len(body))
        if isinstance(body, bytes) and not rate and spoil is None:
            self.sock.sendall(head + body[:end])
            sent = end
        else:
            self.sock.sendall(head)
            sent = 0
            if isinstance(body, bytes):
                body = blob.Blob([body])
            if not rate and spoil is None and not self.tls:
                for piece in body.slice(0, end).pieces:
                    piece = piece if isinstance(piece, bytes) else piece.view()
                    sent += self.send_piece(piece)
            else:
                sent = self.send_slowly(body, end, rate, spoil)
        if cut is not None and cut < len(body):
            raise Closed()
        return sent

    def send_piece(self, piece):
        if isinstance(piece, bytes):
            self.sock.sendall(piece)
            return len(piece)
        path, start, length = piece
        with open(path, "rb") as source:
            return self.sock.sendfile(source, start, length)

    def send_slowly(self, body, end, rate, spoil):
        sent = 0
        step = 1 << 18 if not rate else max(1, rate // 10)
        while sent < end:
            part = bytes(body.slice(sent, min(end, sent + step)))
            if spoil is not None and sent <= spoil < sent + len(part):
                at = spoil - sent
                part = part[:at] + bytes([part[at] ^ 0xff]) + part[at + 1:]
            self.sock.sendall(part)
            sent += len(part)
            if rate:
                time.sleep(len(part) / rate)
        return sent

    def send_chunked(self, head, pieces, cut):
        self.sock.sendall(head)
        sent = 0
        for piece in pieces:
            if cut is not None and sent + len(piece) > cut:
                raise Closed()
            if piece:
                self.sock.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
            sent += len(piece)
        self.sock.sendall(b"0\r\n\r\n")
        return sent
