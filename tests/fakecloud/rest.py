"""The object API that S3, OSS and Google's XML API have in common.

Which operation a request is, objects one by one, and the answers' shape. Multipart
uploads are in multipart.py, listings in listing.py; what a dialect does differently
(names of headers, signatures, conditions, checksums) it overrides.
"""
import base64
import binascii
import re
import secrets
from email.utils import formatdate

from . import multipart, listing, xmltext
from .http1 import Answer, Failure, decode, snake
from .objects import Object

STORED = ("content-type", "cache-control", "content-disposition", "content-encoding",
          "content-language", "expires")
IGNORED_QUERY = ("x-id",)


class RestStore(multipart.Multipart, listing.Listing):
    name = ""
    prefix = "x-amz-"  # of the dialect's own headers
    default_type = "binary/octet-stream"
    xmlns = xmltext.S3
    max_put = 5 << 30
    or_checksum = ""  # what may stand for the MD5 of DeleteObjects
    reads_first = False

    def __init__(self, world):
        self.world = world
        self.namespace_name = self.name

    @property
    def settings(self):
        return self.world.settings

    @property
    def namespace(self):
        return self.world.namespaces[self.namespace_name]

    # -- which request it is

    def identify(self, request):
        bucket, key = self.locate(request)
        request.bucket, request.key = bucket or None, key or None
        args = {n: v for n, v in request.args().items() if n not in IGNORED_QUERY}
        request.operation = self.operation(request.method, bucket, key, args, request)

    def locate(self, request):
        """Bucket and key, from Host and path."""
        bucket = self.bucket_of_host(request.host())
        path = request.path[1:] if request.path.startswith("/") else request.path
        if bucket is None:
            bucket, _, path = path.partition("/")
            bucket = decode(bucket)
        return bucket, decode(path)

    def bucket_of_host(self, host):
        return None

    def operation(self, method, bucket, key, args, request):
        if not bucket:
            return "ListBuckets" if method == "GET" else "Unknown"
        if not key:
            return self.bucket_operation(method, args)
        copies = request.get(self.prefix + "copy-source") is not None
        if "uploadId" in args:
            return {"PUT": "UploadPartCopy" if copies else "UploadPart",
                    "POST": "CompleteMultipartUpload", "DELETE": "AbortMultipartUpload",
                    "GET": "ListParts"}.get(method, "Unknown")
        if method == "POST":
            return ("CreateMultipartUpload" if "uploads" in args else
                    "RestoreObject" if "restore" in args else "Unknown")
        return {"PUT": "CopyObject" if copies else "PutObject", "GET": "GetObject",
                "HEAD": "HeadObject", "DELETE": "DeleteObject"}.get(method, "Unknown")

    def bucket_operation(self, method, args):
        if method == "GET":
            if "location" in args:
                return "GetBucketLocation"
            if "uploads" in args:
                return "ListMultipartUploads"
            for name in ("lifecycle", "versioning", "policy", "acl", "tagging", "cors"):
                if name in args:
                    return "GetBucket" + name.capitalize()
            return "ListObjectsV2" if args.get("list-type") == "2" else "ListObjects"
        if method == "POST":
            return "DeleteObjects" if "delete" in args else "Unknown"
        if args and method != "HEAD":
            return "Unknown"
        return {"PUT": "CreateBucket", "HEAD": "HeadBucket",
                "DELETE": "DeleteBucket"}.get(method, "Unknown")

    # -- answering

    def authenticate(self, request):
        """Before the body is read; raises Failure."""
        raise NotImplementedError

    def check_body(self, request):
        """After the body was read; raises Failure."""

    def handle(self, request):
        work = getattr(self, "do_" + snake(request.operation), None)
        if work is None:
            raise Failure(501, "NotImplemented", "A header you provided implies "
                          "functionality that is not implemented")
        if request.key is not None and len(request.key.encode("utf-8", "surrogateescape")) > 1024:
            raise Failure(400, "KeyTooLongError", "Your key is too long",
                          Size=len(request.key), MaxSizeAllowed=1024)
        return self.finish(request, work(request))

    def finish(self, request, answer):
        answer.headers += self.ids(request)
        return answer

    def ids(self, request):
        return [(self.prefix + "request-id", request.id)]

    def failure(self, request, failed):
        items = [("Code", failed.code), ("Message", failed.message)]
        items += [(n.replace("_", "-"), v) for n, v in failed.more.items()]
        if request.key is not None and "Key" not in failed.more and failed.status == 404:
            items.append(("Key", request.key))
        items += self.error_tail(request)
        body = xmltext.document("Error", *items, xmlns=None)
        answer = Answer(failed.status, failed.headers, body, "application/xml")
        return self.finish(request, answer)

    def error_tail(self, request):
        return [("RequestId", request.id), ("HostId", request.id[::-1] * 3)]

    def bucket(self, request):
        bucket = self.namespace.find(request.bucket)
        if bucket is None:
            raise Failure(404, "NoSuchBucket", "The specified bucket does not exist",
                          BucketName=request.bucket)
        return bucket

    def object(self, request):
        found = self.bucket(request).objects.get(request.key)
        if found is None:
            raise Failure(404, "NoSuchKey", "The specified key does not exist.")
        return found

    # -- buckets

    def do_list_buckets(self, request):
        items = [xmltext.element("Bucket", ("Name", b.name), ("CreationDate",
                                 listing.iso_ms(b.created)))
                 for _, b in sorted(self.namespace.buckets.items())]
        return xmltext.answer("ListAllMyBucketsResult", xmltext.element(
            "Owner", ("ID", "fake"), ("DisplayName", "fake")),
            xmltext.element("Buckets", *items), xmlns=self.xmlns)

    def do_create_bucket(self, request):
        region = self.settings["region"]
        if len(request.body):
            tree = xmltext.parse(request.body, "CreateBucketConfiguration")
            region = tree.findtext("LocationConstraint") or region
        found = self.namespace.find(request.bucket)
        if found is not None and found.owner is not None:
            raise Failure(409, "BucketAlreadyExists", "The requested bucket name is not "
                          "available. The bucket namespace is shared by all users of the "
                          "system. Please select a different name and try again.",
                          BucketName=request.bucket)
        if found is not None and region != "us-east-1":
            raise Failure(409, "BucketAlreadyOwnedByYou", "Your previous request to create "
                          "the named bucket succeeded and you already own it.",
                          BucketName=request.bucket)
        made = self.namespace.create(request.bucket, region)
        if found is None:
            self.born(made)
        return Answer(200, [("Location", "/" + request.bucket)])

    def born(self, bucket):
        """What a new bucket has of itself."""

    def do_head_bucket(self, request):
        bucket = self.bucket(request)
        return Answer(200, [(self.prefix + "bucket-region", bucket.region)],
                      content_type="application/xml")

    def do_get_bucket_location(self, request):
        region = self.bucket(request).region
        return xmltext.answer("LocationConstraint", "" if region == "us-east-1" else region,
                              xmlns=self.xmlns)

    def do_delete_bucket(self, request):
        bucket = self.bucket(request)
        if bucket.objects or bucket.uploads:
            raise Failure(409, "BucketNotEmpty", "The bucket you tried to delete is not "
                          "empty", BucketName=request.bucket)
        del self.namespace.buckets[request.bucket]
        return Answer(204)

    # -- objects

    def do_put_object(self, request):
        bucket = self.bucket(request)
        self.check_length(request)
        if len(request.body) > self.max_put:
            raise Failure(400, "EntityTooLarge", "Your proposed upload exceeds the maximum "
                          "allowed size", ProposedSize=len(request.body),
                          MaxSizeAllowed=self.max_put)
        sums = self.checksums(request, request.body)
        made = self.make(request, request.body, self.etag(request.body))
        made.checksums = sums
        self.commit(request, bucket, made)
        headers = [("ETag", made.etag)] + self.put_headers(made)
        return Answer(200, headers)

    def etag(self, body):
        """Of what came in one request."""
        if self.settings["etag"] == "md5":
            return '"%s"' % body.hex("md5")
        return '"%s-0"' % secrets.token_hex(16)

    def digests(self, request):
        """Those of the body that are computed as it comes."""
        return ("md5",) if self.settings["etag"] == "md5" else ()

    def check_length(self, request):
        if request.get("content-length") is None and \
                request.get("transfer-encoding") is None:
            raise Failure(411, "MissingContentLength",
                          "You must provide the Content-Length HTTP header.")

    def make(self, request, blob, etag):
        headers = {n: request.get(n) for n in STORED if request.get(n) is not None}
        meta = {n: v for n, v in request.headers if n.startswith(self.prefix + "meta-")}
        storage = request.get(self.prefix + "storage-class") or self.default_class(request)
        return Object(request.key, blob, etag, headers, meta, storage)

    def default_class(self, request):
        return "STANDARD"

    def commit(self, request, bucket, made, precondition=None):
        """Looks at the condition and writes."""
        bucket.commit(made, lambda found: self.check_write(request, found, precondition),
                      request.clock(), self.settings["conditions"])

    def check_write(self, request, found, precondition):
        """Raises Failure when the condition on a write does not hold."""

    def checksums(self, request, blob):
        """Checks the checksums that a request brings: {name: base64}."""
        given = request.get("content-md5")
        if given is not None:
            raw = unbase64(given, 16)
            if raw is None:
                raise Failure(400, "InvalidDigest", "The Content-MD5 you specified was "
                              "invalid.", Content_MD5=given)
            if self.settings["trust_checksums"]:
                blob.digests.setdefault("md5", raw)
            elif raw != blob.digest("md5"):
                raise Failure(400, "BadDigest", "The Content-MD5 you specified did not "
                              "match what we received.", ExpectedDigest=raw.hex(),
                              CalculatedDigest=base64.b64encode(blob.digest("md5")).decode())
        return {}

    def put_headers(self, made):
        return []

    def object_headers(self, request, found):
        headers = [("Last-Modified", formatdate(found.mtime, usegmt=True)),
                   ("ETag", found.etag), ("Accept-Ranges", "bytes")]
        stored = dict({"content-type": self.default_type}, **found.headers)
        headers += [("-".join(w.capitalize() for w in n.split("-")), v)
                    for n, v in stored.items()]
        headers += list(found.meta.items())
        return headers

    def do_get_object(self, request):
        found = self.object(request)
        self.check_read(request, found)
        self.check_archived(found)
        headers = self.object_headers(request, found)
        span = self.span(request, len(found.blob))
        if span is None:
            return Answer(200, headers + self.whole_headers(request, found), found.blob)
        start, end = span
        headers.append(("Content-Range", "bytes %d-%d/%d" % (start, end - 1, len(found.blob))))
        return Answer(206, headers, found.blob.slice(start, end))

    def do_head_object(self, request):
        found = self.object(request)
        self.check_read(request, found)
        headers = self.object_headers(request, found) + self.whole_headers(request, found)
        span = self.span(request, len(found.blob))
        if span is None:
            return Answer(200, headers, found.blob)
        headers.append(("Content-Range", "bytes %d-%d/%d" % (span[0], span[1] - 1,
                                                             len(found.blob))))
        return Answer(206, headers, found.blob.slice(*span))

    def whole_headers(self, request, found):
        return []

    def check_archived(self, found):
        pass

    def check_read(self, request, found):
        if not self.settings["read_conditions"]:
            return
        wanted, unwanted = request.get("if-match"), request.get("if-none-match")
        if wanted is not None and not same_etag(wanted, found.etag):
            raise Failure(412, "PreconditionFailed", "At least one of the pre-conditions "
                          "you specified did not hold", Condition="If-Match")
        if unwanted is not None and same_etag(unwanted, found.etag):
            raise Failure(304, "NotModified", "Not Modified", [("ETag", found.etag)])

    def span(self, request, size):
        """[start, end) of a Range header; None: the whole object."""
        return byte_range(request.get("range"), size)

    def do_delete_object(self, request):
        self.bucket(request).remove(request.key)
        return Answer(204)

    def do_delete_objects(self, request):
        bucket = self.bucket(request)
        tree = xmltext.parse(request.body, "Delete")
        if request.get("content-md5") is None and not self.has_checksum(request):
            raise Failure(400, "InvalidRequest", "Missing required header for this request: "
                          "Content-MD5" + self.or_checksum)
        self.checksums(request, request.body)
        keys = [item.findtext("Key") for item in tree.findall("Object")]
        if not 1 <= len(keys) <= 1000 or None in keys:
            raise xmltext.malformed()
        quiet = (tree.findtext("Quiet") or "").lower() == "true"
        show, items = self.encoder(request.args()), []
        for key in keys:
            refused = self.may_delete(request, key)
            if refused:
                items.append(xmltext.element(
                    "Error", ("Key", show(key)), ("Code", refused.code),
                    ("Message", refused.message)))
                continue
            bucket.remove(key)
            if not quiet:
                items.append(xmltext.element("Deleted", ("Key", show(key))))
        return xmltext.answer("DeleteResult", *items, xmlns=self.xmlns)

    def may_delete(self, request, key):
        """A Failure that keeps one key of DeleteObjects from going; or None."""
        fault = request.refused_keys
        if fault and key.startswith(fault.get("keys", "")):
            return Failure(200, fault.get("code", "InternalError"), fault.get(
                "message", "We encountered an internal error. Please try again."))
        return None

    def has_checksum(self, request):
        return False

    def source(self, request):
        """The object that a copy-source header names."""
        text = request.get(self.prefix + "copy-source")
        bucket, _, key = decode(text.partition("?")[0]).lstrip("/").partition("/")
        found = self.namespace.find(bucket)
        if found is None:
            raise Failure(404, "NoSuchBucket", "The specified bucket does not exist",
                          BucketName=bucket)
        if key not in found.objects:
            raise Failure(404, "NoSuchKey", "The specified key does not exist.", Key=key)
        wanted = request.get(self.prefix + "copy-source-if-match")
        if wanted is not None and not same_etag(wanted, found.objects[key].etag):
            raise Failure(412, "PreconditionFailed", "At least one of the pre-conditions "
                          "you specified did not hold",
                          Condition=self.prefix + "copy-source-If-Match")
        return found.objects[key]

    def do_copy_object(self, request):
        bucket, source = self.bucket(request), self.source(request)
        self.check_archived(source)
        made = self.make(request, source.blob, self.etag(source.blob))
        if (request.get(self.prefix + "metadata-directive") or "COPY") == "COPY":
            made.headers, made.meta = source.headers, source.meta
        made.checksums = dict(source.checksums)
        self.commit(request, bucket, made)
        return xmltext.answer("CopyObjectResult", ("LastModified",
                              listing.iso_ms(made.mtime)), ("ETag", made.etag),
                              xmlns=self.xmlns)


def byte_range(text, size):
    """[start, end) of one range in a body of `size`; None: all of it."""
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", text or "")
    if not match or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if first == "":
        start, end = max(0, size - int(last)), size
    else:
        start, end = int(first), min(size, int(last) + 1 if last else size)
        if last and int(last) < int(first):
            return None
    if start >= size or start >= end:
        raise Failure(416, "InvalidRange", "The requested range is not satisfiable",
                      [("Content-Range", "bytes */%d" % size)], RangeRequested=text,
                      ActualObjectSize=size)
    return start, end


def same_etag(given, etag):
    if given.strip() == "*":
        return True
    return etag.strip('"') in [g.strip().strip('"') for g in given.split(",")]


def unbase64(text, size=None):
    try:
        raw = base64.b64decode(text, validate=True)
    except binascii.Error:
        return None
    return raw if size in (None, len(raw)) else None
