"""Resumable uploads of Google Cloud Storage, for both of its interfaces."""
import re
import secrets

from . import blob
from .gcs_rules import check_generation, check_hash
from .google_auth import GoogleError
from .http1 import Answer, Failure

UNIT = 256 << 10
BY_SESSION = ("UploadChunk", "QueryUpload", "CancelUpload")


def operation(request):
    if request.method == "DELETE":
        return "CancelUpload"
    text = request.get("content-range") or ""
    return "QueryUpload" if text.startswith("bytes */") else "UploadChunk"


class Session:
    def __init__(self, bucket, made, condition, checks):
        self.id = secrets.token_urlsafe(32)
        self.bucket, self.made, self.condition, self.checks = bucket, made, condition, checks
        self.held = blob.EMPTY
        self.done = None  # the object


class Uploads:
    def __init__(self, world):
        self.world = world

    @property
    def sessions(self):
        return self.world.sessions

    def start(self, request, bucket, made, condition, checks=()):
        """checks: (name, base64) of the whole body that the metadata told."""
        session = Session(bucket, made, condition, checks)
        self.sessions[session.id] = session
        return session

    def find(self, request):
        session = self.sessions.get(request.args().get("upload_id"))
        if session is None:
            raise GoogleError(404, "NotFound", "Not Found", "notFound")
        if session.made is None:
            raise GoogleError(410, "Gone", "The upload was cancelled", "gone")
        return session

    def span(self, request):
        """(start, end, total or None) of Content-Range; start None: it only asks."""
        text = request.get("content-range")
        size = len(request.body)
        if text is None:
            return 0, size, size
        match = re.fullmatch(r"bytes (?:\*|(\d+)-(\d+))/(\d+|\*)", text)
        if not match:
            raise bad("Invalid Content-Range")
        first, last, total = match.groups()
        total = None if total == "*" else int(total)
        if first is None:
            return None, None, total
        first, end = int(first), int(last) + 1
        if end <= first or (total is not None and end > total):
            raise bad("Invalid Content-Range")
        return first, end, total

    def put(self, request):
        """The object, once it is complete; None before."""
        session = self.find(request)
        first, end, total = self.span(request)
        if session.done:
            return session.done
        if first is not None:
            if end - first != len(request.body):
                raise bad("The body has another length than Content-Range says")
            if total is None or end < total:
                if len(request.body) % UNIT:
                    raise bad("Chunks are multiples of 256 KiB")
            self.add(session, first, request.body)
        if total is None or len(session.held) < total:
            return None
        return self.finish(request, session)

    def add(self, session, first, body):
        """Bytes that are held already are skipped."""
        with self.world.lock:
            held = len(session.held)
            if first > held:
                raise bad("There is a gap before the chunk", 503)
            fresh = body.slice(min(held - first, len(body)), len(body))
            session.held = blob.join([session.held, fresh])

    def keep(self, request):
        """A chunk that was cut off: whole units of it stay."""
        session = self.find(request)
        match = re.match(r"bytes (\d+)-", request.get("content-range") or "bytes 0-")
        if session.done or match is None:
            return
        whole = (int(match.group(1)) + len(request.body)) // UNIT * UNIT
        count = whole - int(match.group(1))
        if count > 0:
            self.add(session, int(match.group(1)), request.body.slice(0, count))

    def finish(self, request, session):
        made = session.made
        for name, value in session.checks:
            check_hash(session.held, name, value)
        made.blob = session.held
        made.etag = '"%s"' % made.blob.hex("md5")
        settings = self.world.settings
        session.bucket.commit(
            made, lambda found: check_generation(settings, session.condition,
                                                 found.generation if found else 0),
            request.clock(), settings["conditions"])
        session.done = made
        return made

    def incomplete(self, request):
        session = self.find(request)
        headers = [("X-GUploader-UploadID", session.id[:16])]
        if len(session.held):
            headers.append(("Range", "bytes=0-%d" % (len(session.held) - 1)))
        if (request.get("x-guploader-no-308") or "").lower() == "yes":
            headers.append(("X-HTTP-Status-Code-Override", "308"))
            return Answer(200, headers)
        return Answer(308, headers)

    def cancel(self, request):
        self.find(request).made = None
        return Answer(204 if request.get("content-length") is None else 499)


def bad(text, status=400):
    return Failure(status, "InvalidArgument" if status == 400 else "ServiceUnavailable", text)
