"""Amazon S3: what it adds to the REST stores, and how it refuses."""
import base64
import hashlib
import re

from . import awschunked, multipart, sigv4, sums, xmltext
from .blob import Blob
from .http1 import Answer, Failure
from .rest import RestStore, unbase64
from .s3_bucket import BucketSettings, action_of, fresh

HOST = re.compile(r"(?:(?P<bucket>.+)\.)?s3(?:-fips)?(?:\.dualstack)?"
                  r"(?:[.-](?P<region>[a-z]{2}(?:-[a-z]+)+-\d))?\.[a-z][a-z0-9.-]*")
ARCHIVES = ("GLACIER", "DEEP_ARCHIVE")
CLASSES = ("STANDARD", "STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER_IR",
           "REDUCED_REDUNDANCY") + ARCHIVES
ACTIONS = {
    "HeadObject": "GetObject", "DeleteObjects": "DeleteObject", "CopyObject": "PutObject",
    "ListObjectsV2": "ListBucket", "ListObjects": "ListBucket", "HeadBucket": "ListBucket",
    "CreateMultipartUpload": "PutObject", "UploadPart": "PutObject",
    "UploadPartCopy": "PutObject", "CompleteMultipartUpload": "PutObject",
    "ListParts": "ListMultipartUploadParts", "ListBuckets": "ListAllMyBuckets",
    "ListMultipartUploads": "ListBucketMultipartUploads",
}
CHECKSUMS = tuple(sums.CRCS) + sums.HASHES
FULL = tuple(sums.CRCS)


class S3(BucketSettings, RestStore):
    name = "s3"
    hosts = (re.sub(r"\?P<\w+>", "?:", HOST.pattern),)
    or_checksum = " OR x-amz-checksum-*"

    def bucket_of_host(self, host):
        match = HOST.fullmatch(host)
        return match and match.group("bucket")

    def region_of_host(self, host):
        match = HOST.fullmatch(host)
        return match and match.group("region")

    def failure(self, request, failed):
        """A bucket's region is told by a header where the answer has no body."""
        if request.operation == "HeadBucket" and "Region" in failed.more and \
                self.namespace.find(request.bucket):
            failed.headers.append(("x-amz-bucket-region", failed.more["Region"]))
        return super().failure(request, failed)

    def error_tail(self, request):
        return [("RequestId", request.id), ("HostId", host_id(request))]

    def ids(self, request):
        return [("x-amz-request-id", request.id), ("x-amz-id-2", host_id(request))]

    def born(self, bucket):
        bucket.kept.update(fresh())

    # -- who asks

    def authenticate(self, request):
        if not self.settings["path_style"] and self.bucket_of_host(request.host()) is None:
            raise Failure(403, "AccessDenied", "Path-style requests are not taken here")
        if request.get("authorization") is None and "X-Amz-Algorithm" not in request.args():
            raise Failure(403, "AccessDenied", "Access Denied")
        signature = sigv4.Signature(request)
        if signature.service != "s3":
            raise sigv4.malformed("incorrect service \"%s\". This endpoint belongs to "
                                  "\"s3\"." % signature.service)
        self.check_scope(request, signature)
        signature.check_time(request.clock())
        signature.check_headers()
        key = sigv4.identify(self.world, signature, request.clock())
        payload = self.payload(request, signature)
        signature.check(key.secret, payload, s3=True)
        request.identity, request.signature, request.payload = key, signature, payload
        self.check_bucket_region(request, signature)
        self.authorise(request, key)

    def payload(self, request, signature):
        given = request.get("x-amz-content-sha256")
        if signature.query:
            return given or sigv4.UNSIGNED
        if given is None:
            raise Failure(400, "InvalidRequest", "Missing required header for this request: "
                          "x-amz-content-sha256")
        unsigned = given in (sigv4.UNSIGNED, awschunked.UNSIGNED_TRAILER)
        if unsigned and not request.tls and not self.settings["unsigned_http"]:
            raise Failure(400, "InvalidRequest", "An unsigned payload is taken over TLS only")
        if given == sigv4.UNSIGNED and request.tls and not self.settings["unsigned_tls"]:
            raise Failure(403, "AccessDenied", "User is not authorized to perform this "
                          "action with an explicit deny in a resource-based policy")
        if not re.fullmatch("[0-9a-f]{64}", given) and not unsigned \
                and given not in awschunked.SIGNED:
            raise Failure(400, "InvalidArgument", "x-amz-content-sha256 must be "
                          "UNSIGNED-PAYLOAD, STREAMING-UNSIGNED-PAYLOAD-TRAILER, "
                          "STREAMING-AWS4-HMAC-SHA256-PAYLOAD, "
                          "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER or a valid sha256 "
                          "value.", ArgumentName="x-amz-content-sha256",
                          ArgumentValue=given)
        return given

    def bucket_region(self, request):
        if request.region:
            return request.region
        found = self.namespace.find(request.bucket) if request.bucket else None
        return found.region if found else self.settings["region"]

    def check_scope(self, request, signature):
        """The signature's region against the endpoint's: that of the host's name, and
        where this names none, the bucket's or the server's."""
        named = self.region_of_host(request.host())
        allowed = [named] if named else [self.settings["region"], self.bucket_region(request)]
        if signature.region not in allowed or (
                not named and self.settings["wrong_region"] == "400"
                and signature.region != self.bucket_region(request)):
            right = named or self.bucket_region(request)
            raise sigv4.malformed("the region '%s' is wrong; expecting '%s'"
                                  % (signature.region, right), Region=right)

    def check_bucket_region(self, request, signature):
        region = self.bucket_region(request)
        known = request.region or self.namespace.find(request.bucket)
        if not known or request.operation == "CreateBucket" or signature.region == region:
            return
        status = 307 if self.settings["wrong_region"] == "307" else 301
        endpoint = "%s.s3.%s.fake.test" % (request.bucket, region)
        code = "TemporaryRedirect" if status == 307 else "PermanentRedirect"
        headers = [("x-amz-bucket-region", region)]
        if status == 307:
            headers.append(("Location", "http://%s%s" % (endpoint, request.target)))
        raise Failure(status, code, "The bucket you are attempting to access must be "
                      "addressed using the specified endpoint. Please send all future "
                      "requests to this endpoint.", headers, Endpoint=endpoint,
                      Bucket=request.bucket)

    def authorise(self, request, key):
        action = action_of(request.operation) or \
            "s3:" + ACTIONS.get(request.operation, request.operation)
        if request.operation == "DeleteObjects":
            return  # which tells of each key
        if action in key.deny or "s3:*" in key.deny:
            raise self.denied(request, key, action)
        why = self.refusal(request, key, action, request.key)
        if why:
            raise self.denied(request, key, action, why)
        found = self.namespace.find(request.bucket)
        if action == "s3:GetObject" and found is not None and \
                request.key not in found.objects:
            if "s3:ListBucket" in key.deny:
                raise self.denied(request, key, "s3:ListBucket")
            why = self.refusal(request, key, "s3:ListBucket", None)
            if why:
                raise self.denied(request, key, "s3:ListBucket", why)

    def may_delete(self, request, key):
        if {"s3:DeleteObject", "s3:*"} & set(request.identity.deny) or \
                self.refusal(request, request.identity, "s3:DeleteObject", key):
            return Failure(200, "AccessDenied", "Access Denied")
        return super().may_delete(request, key)

    def denied(self, request, key, action, why=None):
        where = "arn:aws:s3:::%s%s" % (request.bucket or "*", "/" + request.key
                                       if request.key else "")
        return Failure(403, "AccessDenied", "User: %s is not authorized to perform: %s on "
                       "resource: \"%s\" %s" % (key.arn, action, where, why or
                       "because no identity-based policy allows the %s action" % action))

    def check_body(self, request):
        if request.payload in awschunked.ALL:
            request.body = awschunked.decode(request, self.world.folder)
        elif request.payload != sigv4.UNSIGNED and \
                request.body.hex("sha256") != request.payload:
            raise Failure(400, "XAmzContentSHA256Mismatch", "The provided "
                          "'x-amz-content-sha256' header does not match what was computed.",
                          ClientComputedContentSHA256=request.payload,
                          S3ComputedContentSHA256=request.body.hex("sha256"))

    def digests(self, request):
        signed = len(getattr(request, "payload", "")) == 64
        return super().digests(request) + (("sha256",) if signed else ())

    # -- writing

    def check_length(self, request):
        if request.get("transfer-encoding") and request.payload not in awschunked.ALL:
            raise Failure(501, "NotImplemented", "A header you provided implies "
                          "functionality that is not implemented", Header="Transfer-Encoding")
        super().check_length(request)

    def make(self, request, blob, etag):
        made = super().make(request, blob, etag)
        if made.storage_class not in CLASSES:
            raise Failure(400, "InvalidStorageClass",
                          "The storage class you specified is not valid")
        if sum(len(n) - 11 + len(v) for n, v in made.meta.items()) > 2048:
            raise Failure(400, "MetadataTooLarge", "Your metadata headers exceed the "
                          "maximum allowed metadata size", MaxSizeAllowed=2048)
        encodings = [e.strip() for e in made.headers.get("content-encoding", "").split(",")]
        if "aws-chunked" in encodings:
            encodings.remove("aws-chunked")
            made.headers["content-encoding"] = ",".join(encodings)
            if not encodings:
                del made.headers["content-encoding"]
        return made

    def commit(self, request, bucket, made, precondition=None):
        racing = self.settings["race_409"] and request.get("if-none-match")
        if not racing:
            super().commit(request, bucket, made, precondition)
            return
        with bucket.lock:
            if bucket.under_way.get(made.key, 0) > 1 and made.key not in bucket.objects:
                bucket.under_way[made.key] = 0
                raise Failure(409, "ConditionalRequestConflict", "The conditional request "
                              "cannot succeed due to a conflicting operation against this "
                              "resource.")
            super().commit(request, bucket, made, precondition)

    def do_put_object(self, request):
        bucket = self.bucket(request)
        if request.get("if-none-match") is None or not self.settings["race_409"]:
            return super().do_put_object(request)
        with bucket.lock:
            bucket.under_way[request.key] = bucket.under_way.get(request.key, 0) + 1
        try:
            return super().do_put_object(request)
        finally:
            with bucket.lock:
                left = bucket.under_way.get(request.key, 1) - 1
                bucket.under_way[request.key] = max(0, left)

    def check_write(self, request, found, precondition):
        mode = self.settings["conditions"]
        absent, same = request.get("if-none-match"), request.get("if-match")
        if mode == "ignore" or (absent is None and same is None):
            return
        if mode == "refuse":
            raise Failure(501, "NotImplemented", "A header you provided implies "
                          "functionality that is not implemented",
                          Header="If-None-Match" if absent else "If-Match")
        if absent is not None:
            if absent != "*":
                raise Failure(501, "NotImplemented", "A header you provided implies "
                              "functionality that is not implemented",
                              Header="If-None-Match")
            if found is not None:
                raise unmet("If-None-Match")
        elif found is None:
            raise Failure(404, "NoSuchKey", "The specified key does not exist.")
        elif same.strip('"') != found.etag.strip('"'):
            raise unmet("If-Match")

    def given_checksums(self, request):
        found = {}
        if self.settings["sums"] != "know":
            return found
        for name in CHECKSUMS:
            value = request.get("x-amz-checksum-" + name)
            if value is not None:
                found[name] = value
        return found

    def has_checksum(self, request):
        return bool(self.given_checksums(request))

    def checksums(self, request, blob):
        super().checksums(request, blob)
        given = self.given_checksums(request)
        if len(given) > 1:
            raise Failure(400, "InvalidRequest", "Expecting a single x-amz-checksum- header. "
                          "Multiple checksum Types are not allowed.")
        if not given and self.settings["require_checksum"] and \
                request.operation in ("PutObject", "UploadPart"):
            raise Failure(400, "InvalidRequest", "Missing required header for this request: "
                          "x-amz-checksum-*")
        for name, value in given.items():
            raw = unbase64(value)
            if raw is None or len(raw) != sums.size(name):
                raise Failure(400, "InvalidRequest", "Value for x-amz-checksum-%s header is "
                              "invalid." % name)
            if self.settings["trust_checksums"]:
                blob.digests.setdefault(name, raw)
            if raw != sums.digest(name, blob):
                raise Failure(400, "BadDigest", "The %s you specified did not match the "
                              "calculated checksum." % name.upper())
        return given

    def put_headers(self, made):
        if self.settings["answer_sums"] and not made.checksums:
            self.sum_itself(made)
        return [("x-amz-server-side-encryption", "AES256")] + self.version(made) + \
            checksum_headers(made)

    def version(self, made):
        if not self.settings["versioning"]:
            return []
        return [("x-amz-version-id", "%s.%d" % (made.etag.strip('"')[:16], made.generation))]

    def do_delete_object(self, request):
        answer = super().do_delete_object(request)
        if self.settings["versioning"]:
            answer.headers += [("x-amz-delete-marker", "true"),
                               ("x-amz-version-id", "deleted." + request.id)]
        return answer

    def part_headers(self, part):
        return checksum_headers(part)

    # -- multipart

    def begin_upload(self, request, upload):
        algorithm = (request.get("x-amz-checksum-algorithm") or "").lower()
        if not algorithm or self.settings["sums"] == "ignore":
            return []
        if self.settings["sums"] == "refuse":
            raise Failure(501, "NotImplemented", "A header you provided implies "
                          "functionality that is not implemented")
        if algorithm not in CHECKSUMS:
            raise Failure(400, "InvalidRequest", "Checksum algorithm provided is "
                          "unsupported. Please try again with any of the valid types: "
                          "[CRC32, CRC32C, CRC64NVME, SHA1, SHA256]")
        kind = request.get("x-amz-checksum-type") or (
            "FULL_OBJECT" if algorithm == "crc64nvme" else "COMPOSITE")
        if (kind == "FULL_OBJECT" and algorithm not in FULL) or \
                (kind == "COMPOSITE" and algorithm == "crc64nvme"):
            raise Failure(400, "InvalidRequest", "The %s checksum type cannot be used with "
                          "the %s checksum algorithm." % (kind, algorithm))
        upload.algorithm, upload.checksum_type = algorithm, kind
        return [("x-amz-checksum-algorithm", algorithm.upper()),
                ("x-amz-checksum-type", kind)]

    def check_listed(self, upload, item, number, part):
        for name in CHECKSUMS:
            value = item.findtext("Checksum" + name.upper())
            if value is None:
                if name == upload.algorithm and upload.checksum_type == "COMPOSITE":
                    raise Failure(400, "InvalidRequest", "The upload was created using a %s "
                                  "checksum. The complete request must include the "
                                  "checksum for each part. It was missing for part %d in "
                                  "the request." % (name, number))
            elif unbase64(value) != sums.digest(name, part.blob):
                raise multipart.invalid_part(upload, number, part.etag)

    def sum_up(self, request, upload, listed, made):
        size = request.get("x-amz-mp-object-size")
        if size is not None and size != str(len(made.blob)):
            raise Failure(400, "InvalidRequest", "The provided 'x-amz-mp-object-size' header "
                          "value does not match what was computed.")
        blobs = [p.blob for _, p in listed]
        name, kind = upload.algorithm, upload.checksum_type
        for given in self.given_checksums(request):
            name, kind = given, request.get("x-amz-checksum-type") or kind or "FULL_OBJECT"
        if not name:
            return
        if kind == "FULL_OBJECT":
            text = base64.b64encode(sums.joined(name, blobs)).decode()
        else:
            text = composite(name, blobs)
        given = self.given_checksums(request).get(name)
        if given is not None and given.partition("-")[0] != text.partition("-")[0]:
            raise Failure(400, "BadDigest", "The %s you specified did not match the "
                          "calculated checksum." % name.upper())
        made.checksums, made.checksum_type = {name: text}, kind

    def completed_items(self, made):
        items = [("Checksum" + n.upper(), v) for n, v in made.checksums.items()]
        return items + ([("ChecksumType", made.checksum_type)] if items else [])

    # -- reading

    def object_headers(self, request, found):
        headers = super().object_headers(request, found)
        headers += [("x-amz-server-side-encryption", "AES256")] + self.version(found)
        if found.storage_class != "STANDARD":
            headers.append(("x-amz-storage-class", found.storage_class))
        if found.restored:
            headers.append(("x-amz-restore", 'ongoing-request="false", expiry-date='
                            '"Fri, 21 Dec 2035 00:00:00 GMT"'))
        return headers

    def whole_headers(self, request, found):
        if (request.get("x-amz-checksum-mode") or "").upper() != "ENABLED":
            return []
        if not found.checksums:
            self.sum_itself(found)
        return checksum_headers(found) + [("x-amz-checksum-type", found.checksum_type)]

    def sum_itself(self, made):
        """S3 has a checksum of its own where none was given."""
        raw = sums.joined("crc64nvme", [made.blob])
        made.checksums = {"crc64nvme": base64.b64encode(raw).decode()}

    def check_archived(self, found):
        if found.storage_class in ARCHIVES and not found.restored:
            raise Failure(403, "InvalidObjectState", "The operation is not valid for the "
                          "object's storage class", StorageClass=found.storage_class)

    def do_restore_object(self, request):
        found = self.object(request)
        xmltext.parse(request.body, "RestoreRequest")
        if found.storage_class not in ARCHIVES:
            raise Failure(403, "InvalidObjectState", "Restore is not allowed for the object's "
                          "current storage class", StorageClass=found.storage_class)
        status = 200 if found.restored else 202
        found.restored = True
        return Answer(status)

    def do_get_bucket_versioning(self, request):
        self.bucket(request)
        state = "Enabled" if self.settings["versioning"] else None
        return xmltext.answer("VersioningConfiguration", ("Status", state))

    def do_get_bucket_lifecycle(self, request):
        self.bucket(request)
        raise Failure(404, "NoSuchLifecycleConfiguration",
                      "The lifecycle configuration does not exist")

    def do_get_bucket_policy(self, request):
        self.bucket(request)
        raise Failure(404, "NoSuchBucketPolicy", "The bucket policy does not exist")


def unmet(condition):
    return Failure(412, "PreconditionFailed", "At least one of the pre-conditions you "
                   "specified did not hold", Condition=condition)


def checksum_headers(made):
    return [("x-amz-checksum-" + n, v) for n, v in made.checksums.items()]


def composite(name, blobs):
    """The checksum of the parts' checksums."""
    raw = sums.digest(name, Blob([b"".join(sums.digest(name, b) for b in blobs)]))
    return "%s-%d" % (base64.b64encode(raw).decode(), len(blobs))


def host_id(request):
    return base64.b64encode(hashlib.sha384(request.id.encode()).digest()).decode()
