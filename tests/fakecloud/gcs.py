"""Google Cloud Storage: one host, two interfaces to the same buckets.

Paths below /storage/v1/ and /upload/storage/v1/ are the JSON API (gcs_json.py), all
others the XML API, which is here.
"""
import base64
import re

from . import gcs_json, gcs_resumable, google_auth, google_v4, sums
from .gcs_rules import CLASSES, check_generation, check_hash, crc32c, generation_of, hashes
from .google_auth import GoogleError
from .http1 import Answer, Failure
from .rest import RestStore

HOST = re.compile(r"(?:(?P<bucket>.+)\.)?storage\.(?:googleapis\.com|localhost|fake\.test)")
ACTIONS = {"GetObject": "get", "HeadObject": "get", "DeleteObject": "delete",
           "ListObjects": "list", "ListObjectsV2": "list", "PutObject": "create",
           "CopyObject": "create", "CreateMultipartUpload": "create", "UploadPart": "create",
           "CompleteMultipartUpload": "create", "StartResumable": "create",
           "ComposeObject": "create", "RewriteObject": "create"}


class Gcs:
    """Chooses the interface; the server knows this one service alone."""

    name = "gcs"
    hosts = (re.sub(r"\?P<\w+>", "?:", HOST.pattern),)
    reads_first = False

    def __init__(self, world):
        self.world = world
        uploads = gcs_resumable.Uploads(world)
        self.xml, self.json = GcsXml(world, uploads), gcs_json.GcsJson(world, uploads)

    @property
    def namespace(self):
        return self.xml.namespace

    def plane(self, request):
        return self.json if gcs_json.PATH.match(request.path) else self.xml

    def identify(self, request):
        self.plane(request).identify(request)

    def authenticate(self, request):
        if "upload_id" in request.args() and request.operation in gcs_resumable.BY_SESSION:
            return  # the URL of a session is itself the secret
        if [n for n, _ in request.headers if n.startswith("x-amz-")]:
            raise Failure(400, "InvalidArgument", "x-amz-* headers go with AWS signatures "
                          "alone; a bearer token needs x-goog-* headers")
        try:
            if "X-Goog-Algorithm" in request.args():
                key = request.identity = google_v4.verify(self.world, request)
            else:
                key = google_auth.bearer(self.world, request, "storage")
        except GoogleError as failed:
            if failed.status != 401:
                raise
            failed.code = "UNAUTHENTICATED" if self.plane(request) is self.json else \
                "AuthenticationRequired"
            raise
        self.authorise(request, key)

    def authorise(self, request, key):
        action = ACTIONS.get(request.operation)
        wanted = ["storage.objects." + action] if action else []
        found = self.namespace.find(request.bucket) if request.bucket else None
        if action == "create" and found and request.key in found.objects:
            wanted.append("storage.objects.delete")  # to overwrite
        for permission in wanted:
            if permission in key.deny:
                raise GoogleError(403, "AccessDenied", "%s does not have %s access to the "
                                  "Google Cloud Storage object. Permission '%s' denied on "
                                  "resource (or it may not exist)."
                                  % (key.arn, permission, permission), "forbidden")

    def digests(self, request):
        return self.plane(request).digests(request)

    def check_body(self, request):
        pass

    def handle(self, request):
        return self.plane(request).handle(request)

    def ids(self, request):
        return self.plane(request).ids(request)

    def failure(self, request, failed):
        return self.plane(request).failure(request, failed)

    def cut_off(self, request):
        """The body ended early: a session keeps what came."""
        if request.operation == "UploadChunk":
            self.json.uploads.keep(request)


class GcsXml(RestStore):
    name = "gcs"
    prefix = "x-goog-"
    default_type = "application/octet-stream"
    xmlns = "http://doc.s3.amazonaws.com/2006-03-01"

    def __init__(self, world, uploads):
        super().__init__(world)
        self.uploads = uploads

    def bucket_of_host(self, host):
        match = HOST.fullmatch(host)
        return match and match.group("bucket")

    def identify(self, request):
        super().identify(request)
        args = request.args()
        if "upload_id" in args:
            request.operation = gcs_resumable.operation(request)
        elif request.method == "POST" and request.get("x-goog-resumable") == "start":
            request.operation = "StartResumable"

    def error_tail(self, request):
        return []

    def ids(self, request):
        return [("X-GUploader-UploadID", request.id)]

    def failure(self, request, failed):
        if failed.status == 416:
            failed.code = "InvalidRange"
        failed.more = dict({"Details": failed.message}, **failed.more)
        return super().failure(request, failed)

    def do_delete_objects(self, request):
        """Whether this interface has it is not sure, so nobody may rest on it."""
        if not self.settings["gcs_multi_delete"]:
            raise Failure(501, "NotImplemented", "A header or query you provided requested a "
                          "function that is not implemented.")
        return super().do_delete_objects(request)

    # -- conditions

    def check_write(self, request, found, precondition):
        if request.operation != "CompleteMultipartUpload":  # which has none
            check_generation(self.settings, request.get("x-goog-if-generation-match"),
                             found.generation if found else 0)

    def check_read(self, request, found):
        super().check_read(request, found)
        check_generation(None, request.get("x-goog-if-generation-match"), found.generation)

    def object(self, request):
        found = super().object(request)
        wanted = request.args().get("generation")
        if wanted is not None and wanted != str(found.generation):
            raise Failure(404, "NoSuchKey", "The specified key does not exist.")
        return found

    def do_delete_object(self, request):
        bucket = self.bucket(request)
        with bucket.lock:
            found = self.object(request)
            check_generation(None, request.get("x-goog-if-generation-match"),
                             found.generation)
            bucket.remove(request.key)
        return Answer(204)

    def make(self, request, blob, etag):
        made = super().make(request, blob, etag)
        if made.storage_class not in CLASSES:
            raise Failure(400, "InvalidArgument", "Invalid argument.")
        return made

    # -- checksums

    def checksums(self, request, blob):
        super().checksums(request, blob)
        for header in request.all("x-goog-hash"):
            for item in header.split(","):
                check_hash(blob, *item.strip().partition("=")[::2],
                           self.settings["trust_checksums"])
        return {}

    def put_headers(self, made):
        return [("x-goog-generation", str(made.generation)), ("x-goog-metageneration", "1"),
                ("x-goog-stored-content-length", str(len(made.blob))),
                ("x-goog-storage-class", made.storage_class)] + hashes(made)

    def part_headers(self, part):
        return [("x-goog-hash", "crc32c=" + crc32c(part.blob)),
                ("x-goog-hash", "md5=" + base64.b64encode(part.blob.digest("md5")).decode())]

    def object_headers(self, request, found):
        return super().object_headers(request, found) + self.put_headers(found)

    def sum_up(self, request, upload, listed, made):
        made.blob.digests["crc32c"] = sums.joined("crc32c", [p.blob for _, p in listed])

    # -- sessions

    def do_start_resumable(self, request):
        bucket = self.bucket(request)
        made = self.make(request, request.body, "")
        check_generation(self.settings, request.get("x-goog-if-generation-match"),
                         generation_of(bucket, request.key))
        session = self.uploads.start(request, bucket, made,
                                     request.get("x-goog-if-generation-match"))
        where = "http%s://%s%s?upload_id=%s" % ("s" if request.tls else "",
                                               request.get("host"), request.path, session.id)
        return Answer(201, [("Location", where)])

    def do_upload_chunk(self, request):
        made = self.uploads.put(request)
        return Answer(200, [("ETag", made.etag)] + self.put_headers(made)) \
            if made else self.uploads.incomplete(request)

    def do_query_upload(self, request):
        return self.do_upload_chunk(request)

    def do_cancel_upload(self, request):
        return self.uploads.cancel(request)
