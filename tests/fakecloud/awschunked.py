"""The aws-chunked encoding of S3 uploads, with or without chunk signatures."""
import hashlib
import hmac

from . import blob, sigv4
from .http1 import Failure

UNSIGNED_TRAILER = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
SIGNED = ("STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER")
ALL = SIGNED + (UNSIGNED_TRAILER,)
LEAST = 8192


class Source:
    """A blob, read by line and by count."""

    def __init__(self, body):
        self.chunks, self.held = body.chunks(), b""

    def more(self):
        piece = next(self.chunks, b"")
        if not piece:
            raise broken()
        self.held += piece

    def line(self):
        while b"\r\n" not in self.held:
            self.more()
        text, _, self.held = self.held.partition(b"\r\n")
        return text.decode("latin-1")

    def take(self, count):
        while len(self.held) < count:
            self.more()
        piece, self.held = self.held[:count], self.held[count:]
        return piece


def broken(why="The request body terminated unexpectedly"):
    return Failure(400, "IncompleteBody", why)


def sign(request, key, kind, previous, *hashes):
    scope = request.signature.scope
    text = "\n".join([kind, request.signature.stamp, scope, previous, *hashes])
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def decode(request, folder):
    """The body without its encoding; trailers join the request's headers."""
    signed = request.payload in SIGNED
    size = request.get("x-amz-decoded-content-length") or ""
    if not size.isdigit():
        raise Failure(411, "MissingContentLength",
                      "You must provide the Content-Length HTTP header.")
    s = request.signature
    key = sigv4.signing_key(request.identity.secret, s.date, s.region, s.service)
    source, writer, previous, short = Source(request.body), blob.Writer(folder), s.seed, False
    while True:
        length, _, extension = source.line().partition(";")
        data = source.take(int(length, 16))
        if signed:
            previous = check(request, key, previous, data, extension)
        if not data:
            break
        if short:
            raise Failure(403, "InvalidChunkSizeError",
                          "Only the last chunk is allowed to have a size less than 8192 bytes")
        short = len(data) < LEAST
        source.take(2)
        writer.write(data)
    trailers(request, source, key, previous)
    body = writer.finish()
    if len(body) != int(size):
        raise broken("You did not provide the number of bytes specified by the "
                     "x-amz-decoded-content-length HTTP header")
    return body


def check(request, key, previous, data, extension):
    given = extension.partition("chunk-signature=")[2]
    right = sign(request, key, "AWS4-HMAC-SHA256-PAYLOAD", previous, sigv4.EMPTY,
                 hashlib.sha256(data).hexdigest())
    if given != right:
        raise Failure(403, "SignatureDoesNotMatch", "The request signature we calculated "
                      "does not match the signature you provided. Check your key and "
                      "signing method.")
    return right


def trailers(request, source, key, previous):
    if not request.payload.endswith("TRAILER"):
        return
    found = []
    while True:
        text = source.line()
        if not text:
            break
        name, _, value = text.partition(":")
        found.append((name.lower().strip(), value.strip()))
    plain = [(n, v) for n, v in found if n != "x-amz-trailer-signature"]
    declared = (request.get("x-amz-trailer") or "").lower()
    if [n for n, _ in plain] != [n for n in declared.split(",") if n]:
        raise Failure(400, "MalformedTrailerError", "The request contained trailing data "
                      "that was not well-formed or did not conform to our published schema.")
    if request.payload in SIGNED:
        lines = "".join("%s:%s\n" % pair for pair in plain)
        right = sign(request, key, "AWS4-HMAC-SHA256-TRAILER", previous,
                     hashlib.sha256(lines.encode()).hexdigest())
        if dict(found).get("x-amz-trailer-signature") != right:
            raise Failure(403, "SignatureDoesNotMatch", "The request signature we "
                          "calculated does not match the signature you provided.")
    request.headers += plain
