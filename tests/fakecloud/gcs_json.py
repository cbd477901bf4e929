"""The JSON API of Google Cloud Storage."""
import base64
import json
import re
from urllib.parse import quote

from . import blob, gcs_resumable
from .gcs_rules import CLASSES, check_generation, check_hash, crc32c, generation_of, hashes
from .google_auth import GoogleError, error_body
from .http1 import Answer, decode, snake
from .listing import iso_ms
from .objects import Object, order
from .plain import document, reply
from .rest import byte_range

PATH = re.compile(r"/(?:(?P<upload>(?:resumable/)?upload)/|(?:download)/)?storage/v1/b"
                  r"(?:/(?P<bucket>[^/]+)(?:/o(?:/(?P<key>[^/]+)(?:/(?P<verb>.+))?)?)?)?/?$")
REASONS = {400: "invalid", 401: "authError", 403: "forbidden", 404: "notFound",
           409: "conflict", 412: "conditionNotMet", 416: "requestedRangeNotSatisfiable",
           429: "rateLimitExceeded", 500: "internalError", 503: "backendError"}


class GcsJson:
    def __init__(self, world, uploads):
        self.world, self.uploads = world, uploads

    @property
    def namespace(self):
        return self.world.namespaces["gcs"]

    def identify(self, request):
        parts, args = PATH.match(request.path).groupdict(), request.args()
        request.bucket = parts["bucket"] and decode(parts["bucket"])
        request.key = parts["key"] and decode(parts["key"])
        request.verb, listed = parts["verb"], re.search(r"/o/?$", request.path)
        if parts["upload"]:
            request.key = args.get("name")
            request.operation = self.upload_operation(request, args)
        elif parts["verb"]:
            request.operation = ("ComposeObject" if parts["verb"] == "compose" else
                                 "RewriteObject" if parts["verb"].startswith("rewriteTo/")
                                 else "Unknown")
        elif request.key is not None:
            request.operation = {"GET": "GetObject" if args.get("alt") == "media" else
                                 "HeadObject", "DELETE": "DeleteObject",
                                 "PATCH": "PatchObject"}.get(request.method, "Unknown")
        elif listed:
            request.operation = "ListObjects" if request.method == "GET" else "Unknown"
        elif request.bucket:
            request.operation = {"GET": "HeadBucket", "DELETE": "DeleteBucket"}.get(
                request.method, "Unknown")
        else:
            request.operation = {"GET": "ListBuckets", "POST": "CreateBucket"}.get(
                request.method, "Unknown")

    def upload_operation(self, request, args):
        if "upload_id" in args:
            return gcs_resumable.operation(request)
        kind = args.get("uploadType")
        return {"media": "PutObject", "multipart": "PutObject",
                "resumable": "StartResumable"}.get(kind, "Unknown")

    def digests(self, request):
        return ("md5",) if request.operation == "PutObject" else ()

    def ids(self, request):
        return [("X-GUploader-UploadID", request.id)]

    def failure(self, request, failed):
        if getattr(failed, "reason", None) is None:
            failed.reason = REASONS.get(failed.status, failed.code)
        answer = reply(error_body(failed), failed.status, failed.headers)
        if request.operation == "GetObject":  # media are refused in plain words
            answer = Answer(failed.status, failed.headers, failed.message.encode(),
                            "text/html; charset=UTF-8")
        answer.headers += self.ids(request)
        return answer

    def handle(self, request):
        work = getattr(self, "do_" + snake(request.operation), None)
        if work is None:
            raise GoogleError(404, "NotFound", "Not Found", "notFound")
        answer = work(request)
        answer.headers += self.ids(request)
        return answer

    # -- buckets

    def bucket(self, request, name=None):
        found = self.namespace.find(name or request.bucket)
        if found is None:
            raise GoogleError(404, "NotFound", "The specified bucket does not exist.",
                              "notFound")
        return found

    def bucket_shown(self, bucket):
        return {"kind": "storage#bucket", "id": bucket.name, "name": bucket.name,
                "location": bucket.region.upper(), "storageClass": bucket.storage_class,
                "timeCreated": iso_ms(bucket.created), "metageneration": "1"}

    def do_list_buckets(self, request):
        return reply({"kind": "storage#buckets", "items": [
            self.bucket_shown(b) for _, b in sorted(self.namespace.buckets.items())]})

    def do_create_bucket(self, request):
        asked = document(request)
        if self.namespace.find(asked.get("name")):
            raise GoogleError(409, "Conflict", "Your previous request to create the named "
                              "bucket succeeded and you already own it.", "conflict")
        made = self.namespace.create(asked["name"], asked.get("location", "US"))
        made.storage_class = asked.get("storageClass", "STANDARD")
        return reply(self.bucket_shown(made))

    def do_head_bucket(self, request):
        return reply(self.bucket_shown(self.bucket(request)))

    def do_delete_bucket(self, request):
        if self.bucket(request).objects:
            raise GoogleError(409, "Conflict", "The bucket you tried to delete is not empty.",
                              "conflict")
        del self.namespace.buckets[request.bucket]
        return Answer(204)

    # -- objects

    def shown(self, request, bucket, found):
        base = "http%s://%s" % ("s" if request.tls else "", request.get("host"))
        path = "/storage/v1/b/%s/o/%s" % (bucket.name, quote(order(found.key), safe=""))
        value = {"kind": "storage#object", "id": "%s/%s/%d" % (bucket.name, found.key,
                                                              found.generation),
                 "selfLink": base + path, "name": found.key, "bucket": bucket.name,
                 "mediaLink": "%s/download%s?generation=%d&alt=media" % (
                     base, path, found.generation),
                 "generation": str(found.generation),
                 "metageneration": str(found.metageneration), "size": str(len(found.blob)),
                 "contentType": found.headers.get("content-type", "application/octet-stream"),
                 "storageClass": found.storage_class, "crc32c": crc32c(found.blob),
                 "etag": base64.b64encode(str(found.generation).encode()).decode(),
                 "timeCreated": iso_ms(found.mtime), "updated": iso_ms(found.mtime)}
        meta = {n[len("x-goog-meta-"):]: v for n, v in found.meta.items()}
        if meta:
            value["metadata"] = meta
        if not found.parts:
            value["md5Hash"] = base64.b64encode(found.blob.digest("md5")).decode()
        return value

    def object(self, request):
        found = self.bucket(request).objects.get(request.key)
        wanted = request.args().get("generation")
        if found is None or wanted not in (None, str(found.generation)):
            raise GoogleError(404, "NotFound", "No such object: %s/%s"
                              % (request.bucket, request.key), "notFound")
        return found

    def check_conditions(self, request, bucket, key, writes):
        """Of the query; to be asked with the bucket locked."""
        args, generation = request.args(), generation_of(bucket, key)
        check_generation(self.world.settings if writes else None,
                         args.get("ifGenerationMatch"), generation)
        unwanted = args.get("ifGenerationNotMatch")
        if unwanted is not None and unwanted == str(generation):
            raise GoogleError(412 if writes else 304, "NotModified", "Not Modified",
                              "conditionNotMet")
        found = bucket.objects.get(key)
        if found and args.get("ifMetagenerationMatch") not in (None, str(found.metageneration)):
            check_generation(None, "-1", generation)

    def make(self, request, resource, content_type):
        name = resource.get("name") or request.args().get("name")
        if not name or len(order(name)) > 1024:
            raise GoogleError(400, "Invalid", "Required parameter: name", "required")
        request.key = name
        kind = resource.get("contentType") or content_type
        headers = {"content-type": kind} if kind else {}
        for word in ("contentEncoding", "cacheControl", "contentDisposition"):
            if resource.get(word):
                headers[re.sub("([A-Z])", r"-\1", word).lower()] = resource[word]
        meta = {"x-goog-meta-" + n: v for n, v in resource.get("metadata", {}).items()}
        storage_class = resource.get("storageClass", self.bucket(request).storage_class)
        if storage_class not in CLASSES:
            raise GoogleError(400, "Invalid", "Invalid argument.", "invalid")
        return Object(name, blob.EMPTY, "", headers, meta, storage_class)

    def store(self, request, bucket, made):
        bucket.commit(made, lambda _: self.check_conditions(request, bucket, made.key, True),
                      request.clock(), self.world.settings["conditions"])
        return reply(self.shown(request, bucket, made))

    def do_put_object(self, request):
        bucket, resource, body = self.bucket(request), {}, request.body
        kind = request.get("content-type")
        if request.args()["uploadType"] == "multipart":
            resource, kind, body = related(request)
        made = self.make(request, resource, kind)
        made.blob, made.etag = body, '"%s"' % body.hex("md5")
        for name, value in checks_of(request, resource):
            check_hash(body, name, value)
        return self.store(request, bucket, made)

    def do_get_object(self, request):
        bucket = self.bucket(request)
        found = self.object(request)
        self.check_conditions(request, bucket, request.key, False)
        headers = [("ETag", base64.b64encode(str(found.generation).encode()).decode()),
                   ("X-Goog-Generation", str(found.generation)),
                   ("X-Goog-Metageneration", str(found.metageneration)),
                   ("X-Goog-Storage-Class", found.storage_class),
                   ("Content-Type", found.headers.get("content-type",
                                                      "application/octet-stream"))]
        headers += hashes(found)
        span = byte_range(request.get("range"), len(found.blob))
        if span is None:
            return Answer(200, headers, found.blob)
        headers.append(("Content-Range", "bytes %d-%d/%d" % (span[0], span[1] - 1,
                                                             len(found.blob))))
        return Answer(206, headers, found.blob.slice(*span))

    def do_head_object(self, request):
        bucket, found = self.bucket(request), self.object(request)
        self.check_conditions(request, bucket, request.key, False)
        return reply(self.shown(request, bucket, found))

    def do_patch_object(self, request):
        bucket, found, asked = self.bucket(request), self.object(request), document(request)
        with bucket.lock:
            self.check_conditions(request, bucket, request.key, True)
            if "metadata" in asked:
                found.meta = {"x-goog-meta-" + n: v for n, v in asked["metadata"].items()}
            found.metageneration += 1
        return reply(self.shown(request, bucket, found))

    def do_delete_object(self, request):
        bucket = self.bucket(request)
        with bucket.lock:
            self.object(request)
            self.check_conditions(request, bucket, request.key, True)
            bucket.remove(request.key)
        return Answer(204)

    def do_list_objects(self, request):
        args, bucket = request.args(), self.bucket(request)
        limit = min(int(args.get("maxResults") or 1000), self.world.settings["list_max"])
        after, start = None, args.get("startOffset")
        if args.get("pageToken"):
            after = base64.b64decode(args["pageToken"])
        elif start:  # inclusive, unlike what page() takes
            raw = order(start)
            after = raw[:-1] + bytes([raw[-1] - 1]) + b"\xff" * 1024 if raw[-1] else raw[:-1]
        found, prefixes, last = bucket.page(args.get("prefix", ""), args.get("delimiter", ""),
                                            after, limit)
        end = args.get("endOffset")
        if end:
            if any(order(o.key) >= order(end) for o in found):
                last = None
            found = [o for o in found if order(o.key) < order(end)]
            prefixes = [p for p in prefixes if order(p) < order(end)]
        value = {"kind": "storage#objects"}
        if found:
            value["items"] = [self.shown(request, bucket, o) for o in found]
        if prefixes:
            value["prefixes"] = prefixes
        if last is not None:
            value["nextPageToken"] = base64.b64encode(last).decode()
        return reply(value)

    # -- what takes several steps

    def do_start_resumable(self, request):
        bucket = self.bucket(request)
        resource = document(request) if len(request.body) else {}
        made = self.make(request, resource, request.get("x-upload-content-type"))
        with bucket.lock:
            self.check_conditions(request, bucket, made.key, True)
        session = self.uploads.start(request, bucket, made,
                                     request.args().get("ifGenerationMatch"),
                                     checks_of(request, resource))
        where = "http%s://%s%s?uploadType=resumable&name=%s&upload_id=%s" % (
            "s" if request.tls else "", request.get("host"), request.path,
            quote(order(made.key), safe=""), session.id)
        return Answer(200, [("Location", where)])

    def do_upload_chunk(self, request):
        made = self.uploads.put(request)
        if made is None:
            return self.uploads.incomplete(request)
        return reply(self.shown(request, self.bucket(request), made))

    def do_query_upload(self, request):
        return self.do_upload_chunk(request)

    def do_cancel_upload(self, request):
        return self.uploads.cancel(request)

    def do_compose_object(self, request):
        bucket, asked = self.bucket(request), document(request)
        sources = asked.get("sourceObjects") or []
        if not 1 <= len(sources) <= 32:
            raise GoogleError(400, "Invalid", "The number of source components provided "
                              "(%d) is not within 1 and 32" % len(sources), "invalid")
        blobs = []
        for source in sources:
            found = bucket.objects.get(source.get("name"))
            if found is None:
                raise GoogleError(404, "NotFound", "Object %s not found" % source.get("name"),
                                  "notFound")
            blobs.append(found.blob)
        key = request.key
        made = self.make(request, dict(asked.get("destination") or {}, name=key), None)
        made.blob, made.parts = blob.join(blobs), len(blobs)
        made.etag = '"composed"'
        return self.store(request, bucket, made)

    def do_rewrite_object(self, request):
        match = re.fullmatch(r"rewriteTo/b/([^/]+)/o/([^/]+)", request.verb)
        if match is None:
            raise GoogleError(404, "NotFound", "Not Found", "notFound")
        source = self.object(request)
        target, key = (decode(t) for t in match.groups())
        bucket = self.bucket(request, target)
        asked = document(request) if len(request.body) else {}
        made = Object(key, source.blob, source.etag, source.headers, source.meta,
                      asked.get("storageClass", source.storage_class))
        made.parts = source.parts
        bucket.commit(made, lambda _: self.check_conditions(request, bucket, key, True),
                      request.clock(), self.world.settings["conditions"])
        size = str(len(made.blob))
        return reply({"kind": "storage#rewriteResponse", "done": True, "objectSize": size,
                      "totalBytesRewritten": size,
                      "resource": self.shown(request, bucket, made)})


def checks_of(request, resource):
    """Checksums from the header and from the object's description."""
    found = [i.strip().partition("=")[::2] for h in request.all("x-goog-hash")
             for i in h.split(",")]
    for word, name in (("crc32c", "crc32c"), ("md5Hash", "md5")):
        if resource.get(word):
            found.append((name, resource[word]))
    if request.get("content-md5"):
        found.append(("md5", request.get("content-md5")))
    return found


def related(request):
    """(description, type, media) of a body of multipart/related."""
    match = re.search(r'boundary="?([^";]+)', request.get("content-type") or "")
    pieces = bytes(request.body).split(b"--" + match.group(1).encode()) if match else []
    if len(pieces) != 4:
        raise GoogleError(400, "Invalid", "The multipart body is malformed", "badContent")
    head, _, text = pieces[1].partition(b"\r\n\r\n")
    head, _, media = pieces[2].partition(b"\r\n\r\n")
    kind = re.search(rb"(?i)content-type:\s*([^\r\n]+)", head)
    try:
        resource = json.loads(text)
    except ValueError:
        raise GoogleError(400, "Invalid", "The description is no JSON", "parseError") from None
    return resource, kind and kind.group(1).decode(), blob.Blob([media[:-2]])
