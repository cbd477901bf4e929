"""Alibaba Cloud's Object Storage Service."""
import re
import time

from . import oss4, sums, xmltext
from .http1 import Answer, Failure
from .rest import RestStore, byte_range

HOST = re.compile(r"(?:(?P<bucket>[a-z0-9-]+)\.)?oss-(?P<region>[a-z]{2,}-[a-z0-9-]+?)"
                  r"(?:-internal)?\.(?:aliyuncs\.com|localhost|fake\.test)")
CLASSES = ("Standard", "IA", "Archive", "ColdArchive", "DeepColdArchive")
LEAST_PART = 100 << 10
LOCAL = re.compile(r"[0-9.]+|localhost|.*:.*")


class Oss(RestStore):
    name = "oss"
    prefix = "x-oss-"
    default_type = "application/octet-stream"
    xmlns = None
    hosts = (re.sub(r"\?P<\w+>", "?:", HOST.pattern),)

    def locate(self, request):
        request.domain = HOST.fullmatch(request.host())
        return super().locate(request)

    def bucket_of_host(self, host):
        match = HOST.fullmatch(host)
        if match is None:
            return None
        return match.group("bucket") or ""

    def bucket_operation(self, method, args):
        if method == "GET" and "bucketInfo" in args:
            return "GetBucketInfo"
        return super().bucket_operation(method, args)

    def identify(self, request):
        super().identify(request)
        if request.domain and not request.bucket and request.path not in ("", "/"):
            request.operation = "SecondLevel"

    def do_second_level(self, request):
        raise Failure(403, "SecondLevelDomainForbidden", "The bucket you are attempting to "
                      "access must be addressed using OSS third level domain.")

    def error_tail(self, request):
        return [("RequestId", request.id), ("HostId", request.get("host")),
                ("EC", "0000-00000000")]

    def ids(self, request):
        return [("x-oss-request-id", request.id), ("x-oss-server-time", "1")]

    def failure(self, request, failed):
        failed.headers = failed.headers + [("x-oss-ec", "0000-00000000")]
        return super().failure(request, failed)

    # -- who asks

    def authenticate(self, request):
        if request.operation == "SecondLevel" or not request.domain and request.bucket and not (
                self.settings["oss_path_style"] and LOCAL.fullmatch(request.host())):
            self.do_second_level(request)
        if request.get("authorization") is None and "x-oss-signature" not in request.args():
            raise Failure(403, "AccessDenied", "You have no right to access this object "
                          "because of bucket acl.")
        claim = oss4.Claim(request)
        key = self.find_key(claim, request.clock())
        claim.check_time(request.clock())
        self.check_region(request, claim)
        claim.check(request, key.secret)
        request.identity = key
        action = "oss:" + {"HeadObject": "GetObject", "ListObjectsV2": "ListObjects",
                           "UploadPart": "PutObject", "DeleteObjects": "DeleteObject",
                           "CreateMultipartUpload": "PutObject", "CopyObject": "PutObject",
                           "CompleteMultipartUpload": "PutObject"}.get(request.operation,
                                                                       request.operation)
        if action in key.deny:
            raise Failure(403, "AccessDenied", "You have no right to access this object "
                          "because of bucket acl.", AccessDeniedDetail=xmltext.element(
                              "AuthAction", action))

    def find_key(self, claim, now):
        key = self.world.key("alibaba", claim.key_id)
        if key is None or (key.token and not claim.token):
            raise Failure(403, "InvalidAccessKeyId", "The OSS Access Key Id you provided "
                          "does not exist in our records.", OSSAccessKeyId=claim.key_id)
        if (claim.token or None) != (key.token or None):
            raise Failure(403, "InvalidSecurityToken", "The security token you provided is "
                          "invalid.")
        if key.expired(now):
            raise Failure(403, "SecurityTokenExpired", "The security token you provided has "
                          "expired.")
        return key

    def check_region(self, request, claim):
        found = self.namespace.find(request.bucket) if request.bucket else None
        named = request.domain and request.domain.group("region")
        home = request.region or (found.region if found else named or claim.region)
        if claim.region != (named or home):
            raise Failure(400, "InvalidArgument",
                          "Invalid signing region in Authorization header.")
        if (named or home) != home:
            raise Failure(403, "AccessDenied", "The bucket you are attempting to access must "
                          "be addressed using the specified endpoint. Please send all "
                          "future requests to this endpoint.", Bucket=request.bucket,
                          Endpoint="oss-%s.aliyuncs.com" % home)

    # -- writing

    def default_class(self, request):
        return "Standard"

    def make(self, request, blob, etag):
        made = super().make(request, blob, etag.upper())
        if made.storage_class not in CLASSES:
            raise Failure(400, "InvalidStorageClass", "The storage class is invalid.")
        return made

    def check_write(self, request, found, precondition):
        """With versioning, the header has no effect."""
        mode = "ignore" if self.settings["versioning"] else self.settings["conditions"]
        if (request.get("x-oss-forbid-overwrite") or "").lower() != "true" or mode == "ignore":
            return
        if mode == "refuse":
            raise Failure(501, "NotImplemented", "A header you provided implies "
                          "functionality that is not implemented.")
        if found is not None:
            raise Failure(409, "FileAlreadyExists", "The object you specified already exists "
                          "and can not be overwritten.")

    def put_headers(self, made):
        return [crc_header(made.blob)]

    def part_headers(self, part):
        return [crc_header(part.blob)]

    def least_part(self):
        return min(LEAST_PART, self.settings["min_part"])

    def completed(self, request, bucket, made):
        answer = super().completed(request, bucket, made)
        answer.headers.append(crc_header(made.blob))
        return answer

    def sum_up(self, request, upload, listed, made):
        made.blob.digests["crc64xz"] = sums.joined("crc64xz", [p.blob for _, p in listed])

    # -- reading

    def object_headers(self, request, found):
        headers = super().object_headers(request, found)
        return headers + [("x-oss-object-type", "Multipart" if found.parts else "Normal"),
                          ("x-oss-storage-class", found.storage_class),
                          crc_header(found.blob)]

    def span(self, request, size):
        text = request.get("range")
        if request.get("x-oss-range-behavior") == "standard":
            return byte_range(text, size)
        match = re.fullmatch(r"bytes=(\d*)-(\d*)", text or "")
        if match and any(n and int(n) >= size for n in match.groups()):
            return None  # the whole object, with status 200
        return byte_range(text, size)

    def check_archived(self, found):
        if "Archive" in found.storage_class and not found.restored:
            raise Failure(403, "InvalidObjectState", "The operation is not valid for the "
                          "object's state")

    def do_restore_object(self, request):
        found = self.object(request)
        if "Archive" not in found.storage_class:
            raise Failure(400, "OperationNotSupported", "The operation is not supported for "
                          "this resource")
        status = 200 if found.restored else 202
        found.restored = True
        return Answer(status)

    def page_size(self, args, name="max-keys"):
        return super().page_size(dict({name: "100"}, **args), name)

    def do_get_bucket_info(self, request):
        bucket = self.bucket(request)
        made = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(bucket.created))
        return xmltext.answer("BucketInfo", xmltext.element(
            "Bucket", ("Name", bucket.name), ("Location", "oss-" + bucket.region),
            ("StorageClass", "Standard"), ("CreationDate", made),
            ("ExtranetEndpoint", "oss-%s.aliyuncs.com" % bucket.region)), xmlns=None)


def crc_header(blob):
    """Of the whole object, in decimal."""
    return "x-oss-hash-crc64ecma", str(int.from_bytes(sums.digest("crc64xz", blob), "big"))
