"""A server that does on command what servers should not do.

  net_server.py [CERT KEY]...

Prints one line of ports: of HTTP, and of TLS for each pair of files. It ends when
its standard input ends. A path says what happens: /do/KEY/A,B,C does A for the
first request with this KEY, then B, and C from then on. /count/KEY tells how many
there were, /connections how many connections were accepted so far, and a target
that is a whole URL is that of a proxy: /proxied tells how many of those came.
"""
import email.utils
import hashlib
import os
import socket
import ssl
import struct
import sys
import threading
import time

LOCK = threading.Lock()
COUNTS = {}
BLOCK = b"0123456789abcdef" * 65536


def count(key, add=1):
    with LOCK:
        COUNTS[key] = COUNTS.get(key, 0) + add
        return COUNTS[key]


class Closed(Exception):
    pass


class Connection:
    def __init__(self, sock):
        self.sock = sock
        self.rest = b""

    def more(self):
        data = self.sock.recv(1 << 18)
        if not data:
            raise Closed()
        return data

    def head(self):
        while b"\r\n\r\n" not in self.rest:
            self.rest += self.more()
        head, self.rest = self.rest.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        headers = [line.split(":", 1) for line in lines[1:]]
        return lines[0], [(n.lower(), v.strip()) for n, v in headers]

    def body(self, n):
        digest = hashlib.sha256()
        left = n
        while left > 0:
            part = self.rest[:left] or self.more()
            if not self.rest:
                self.rest = part
            self.rest = self.rest[min(left, len(part)):]
            part = part[:left]
            digest.update(part)
            left -= len(part)
        return digest.hexdigest()

    def send(self, text):
        self.sock.sendall(text if isinstance(text, bytes) else text.encode("latin-1"))

    def reply(self, status, headers=(), body=b""):
        lines = ["HTTP/1.1 %d Word" % status] + list(headers)
        lines.append("Content-Length: %d" % len(body))
        self.send("\r\n".join(lines) + "\r\n\r\n")
        if body:
            self.send(body)

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise Closed()


def date(offset=0):
    return "Date: " + email.utils.formatdate(time.time() + offset, usegmt=True)


def send_bytes(c, n):
    c.send("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % n)
    while n > 0:
        part = BLOCK[:n]
        c.send(part)
        n -= len(part)


def act(c, what, method, headers):
    """Does one thing; false: the connection ends."""
    word, _, arg = what.partition(":")
    if word.isdigit():
        extra = ["X-Amz-Request-Id: REQ-1", date()]
        if arg:
            extra.append(arg.replace("=", ": ", 1).replace("%3F", "?"))
        c.reply(int(word), extra, b"" if method == "HEAD" else ("body of %s" % word).encode())
    elif word == "close":
        return False
    elif word == "reset":
        c.reset()
    elif word == "cut":
        c.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + "x" * 500)
        return False
    elif word == "cutreset":
        c.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + "x" * 500)
        time.sleep(0.2)
        c.reset()
    elif word == "cutchunk":
        c.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nff\r\nx")
        return False
    elif word == "chunks":
        c.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
               "5\r\nhello\r\n6\r\n world\r\n0\r\nX-Trailer: t\r\n\r\n")
    elif word == "hang":
        c.more()
    elif word == "stall":
        c.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + "x" * 10)
        c.more()
    elif word == "trickle":
        c.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(1000):
            c.send("x")
            time.sleep(0.02)
    elif word == "junk":
        c.send("SSH-2.0-what\r\n\r\n")
        return False
    elif word == "long":
        c.send("HTTP/1.1 200 OK\r\n" + "".join(
            "X-%d: %s\r\n" % (i, "y" * 8000) for i in range(int(arg))) +
            "Content-Length: 0\r\n\r\n")
    elif word == "many":
        c.send("HTTP/1.1 200 OK\r\n" + "A: b\r\n" * int(arg) + "Content-Length: 0\r\n\r\n")
    elif word == "line":
        c.send("HTTP/1.1 200 OK\r\nX-A: " + "y" * int(arg))
        c.more()
    elif word == "lengths":
        c.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: %s\r\n\r\nabc" % arg)
    elif word == "control":
        c.send("HTTP/1.1 200 OK\r\nX-A: a\x1b[2Jb\r\nContent-Length: 0\r\n\r\n")
    elif word == "folded":
        c.send("HTTP/1.1 200 OK\r\nX-A: one\r\n  two\r\nX-B:\r\nContent-Length: 0\r\n\r\n")
    elif word == "early":
        c.send("HTTP/1.1 103 Early\r\nX-Early: 1\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    elif word == "bytes":
        send_bytes(c, int(arg))
    elif word == "part":
        # From the start of the range that was asked for.
        start = int(dict(headers).get("range", "bytes=0-")[6:].split("-")[0])
        body = bytes(i % 251 for i in range(start, 4000))
        c.send("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
        if arg:
            c.send(body[:int(arg)])
            return False
        c.send(body)
    elif word == "skew":
        # Right is who is within a minute of two hours later than now.
        at = float(dict(headers).get("x-now", "0")) / 1000
        right = abs(time.time() + 7200 - at) < 60
        c.reply(200 if right else 403, [date(7200)], b"skew")
    elif word == "after":
        c.reply(503, [date(), "Retry-After: " + email.utils.formatdate(
            time.time() + int(arg), usegmt=True)])
    else:
        c.reply(400, (), b"no such action")
    return True


def answer(c, target, method, headers, digest):
    parts = target.split("?")[0].split("/", 3)
    if parts[1] == "do":
        steps = parts[3].split(",")
        n = count("do " + parts[2])
        return act(c, steps[min(n, len(steps)) - 1], method, headers)
    if parts[1] in ("echo", "deny"):
        text = "%s %s\n" % (method, target)
        text += "".join("%s: %s\n" % h for h in headers)
        text += "sha256: %s\n" % digest
        c.reply(200 if parts[1] == "echo" else 400, ["Content-Type: text/plain"],
                text.encode("latin-1"))
    elif parts[1] == "count":
        c.reply(200, (), str(count("do " + parts[2], 0)).encode())
    elif parts[1] == "connections":
        c.reply(200, (), str(count("connections", 0)).encode())
    elif parts[1] == "proxied":
        c.reply(200, (), str(count("proxied", 0)).encode())
    else:
        c.reply(404)
    return True


def pump(a, b):
    try:
        while True:
            data = a.recv(65536)
            if not data:
                break
            b.sendall(data)
    except OSError:
        pass
    for s in (a, b):
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def one(c):
    line, headers = c.head()
    method, target, _ = line.split(" ", 2)
    if method == "CONNECT":
        count("proxied")
        host, port = target.rsplit(":", 1)
        if host.endswith(".closed"):
            c.reply(int(host.split(".")[0]))
            return False
        other = socket.create_connection((host, int(port)))
        c.send("HTTP/1.1 200 Connected\r\nX-Proxy: 1\r\n\r\n")
        threading.Thread(target=pump, args=(other, c.sock), daemon=True).start()
        pump(c.sock, other)
        return False
    if target.startswith("http://"):
        count("proxied")
        target = "/" + target.split("/", 3)[3]
    known = dict(headers)
    if known.get("expect") == "100-continue":
        if "/no-continue" in target:
            c.reply(403, (), b"refused before the body")
            return False
        c.send("HTTP/1.1 100 Continue\r\n\r\n")
    if "transfer-encoding" in known:
        c.reply(411)
        return False
    digest = c.body(int(known.get("content-length", "0")))
    return answer(c, target, method, headers, digest)


def serve(sock, context):
    count("connections")
    try:
        if context:
            sock = context.wrap_socket(sock, server_side=True)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        c = Connection(sock)
        while one(c):
            pass
        if not context:
            sock.shutdown(socket.SHUT_WR)
    except (Closed, OSError):
        pass
    finally:
        sock.close()


def listen(context):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("127.0.0.1", 0))
    s.listen(256)

    def accept():
        while True:
            sock, _ = s.accept()
            threading.Thread(target=serve, args=(sock, context), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return s.getsockname()[1]


def main():
    ports = [listen(None)]
    pairs = sys.argv[1:]
    for i in range(0, len(pairs), 2):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pairs[i], pairs[i + 1])
        ports.append(listen(context))
    print(*ports, flush=True)
    sys.stdin.read()
    os._exit(0)


main()
