"""Multipart uploads of the REST stores."""
import hashlib
import time

from . import blob, xmltext
from .http1 import Answer, Failure
from .objects import Part, Upload


class Multipart:
    def upload(self, request):
        upload = self.bucket(request).uploads.get(request.args()["uploadId"])
        if upload is None or upload.key != request.key:
            raise Failure(404, "NoSuchUpload", "The specified upload does not exist. The "
                          "upload ID may be invalid, or the upload may have been aborted "
                          "or completed.", UploadId=request.args()["uploadId"])
        return upload

    def do_create_multipart_upload(self, request):
        bucket = self.bucket(request)
        pattern = self.make(request, blob.EMPTY, "")
        upload = Upload(request.key, pattern.headers, pattern.meta, pattern.storage_class)
        headers = self.begin_upload(request, upload)
        with bucket.lock:
            bucket.uploads[upload.id] = upload
        return xmltext.answer("InitiateMultipartUploadResult", ("Bucket", bucket.name),
                              ("Key", request.key), ("UploadId", upload.id),
                              headers=headers, xmlns=self.xmlns)

    def begin_upload(self, request, upload):
        """Takes what the dialect says at the start; returns headers."""
        return []

    def part_number(self, request):
        text = request.args().get("partNumber", "")
        if not text.isdigit() or not 1 <= int(text) <= 10000:
            raise Failure(400, "InvalidArgument", "Part number must be an integer between 1 "
                          "and 10000, inclusive", ArgumentName="partNumber",
                          ArgumentValue=text)
        return int(text)

    def do_upload_part(self, request):
        upload, number = self.upload(request), self.part_number(request)
        self.check_length(request)
        body, sums = request.body, self.checksums(request, request.body)
        part = Part(body, self.etag(body), sums)
        self.place(request, upload, number, part)
        return Answer(200, [("ETag", part.etag)] + self.part_headers(part))

    def place(self, request, upload, number, part):
        """A part that comes after the end of its upload is gone, as in S3."""
        self.upload(request)
        upload.parts[number] = part

    def part_headers(self, part):
        return []

    def do_upload_part_copy(self, request):
        upload, number = self.upload(request), self.part_number(request)
        source, body = self.source(request), None
        span = request.get(self.prefix + "copy-source-range")
        if span is not None:
            first, _, last = span.partition("=")[2].partition("-")
            if not first.isdigit() or not last.isdigit() or int(last) >= len(source.blob):
                raise Failure(400, "InvalidArgument", "Range specified is not valid for "
                              "source object of size: %d" % len(source.blob))
            body = source.blob.slice(int(first), int(last) + 1)
        part = Part(body or source.blob, "")
        part.etag = self.etag(part.blob)
        self.place(request, upload, number, part)
        return xmltext.answer("CopyPartResult", ("ETag", part.etag), xmlns=self.xmlns)

    def do_abort_multipart_upload(self, request):
        bucket = self.bucket(request)
        upload = self.upload(request)
        with bucket.lock:
            bucket.uploads.pop(upload.id, None)
        return Answer(204)

    def do_complete_multipart_upload(self, request):
        bucket = self.bucket(request)
        again = bucket.finished.get(request.args()["uploadId"])
        if again and self.settings["complete_again"] and again.key == request.key:
            return self.completed(request, bucket, again)
        upload = self.upload(request)
        listed = self.listed_parts(request, upload)
        made = self.assemble(request, upload, listed)
        with bucket.lock:
            self.upload(request)
            self.commit(request, bucket, made, upload)
            bucket.uploads.pop(upload.id, None)
            if self.settings["complete_again"]:  # else its bytes would stay for ever
                bucket.finished[upload.id] = made
        return self.completed(request, bucket, made)

    def completed(self, request, bucket, made):
        items = [("Location", "http://%s/%s/%s" % (request.get("host"), bucket.name, made.key)),
                 ("Bucket", bucket.name), ("Key", made.key), ("ETag", made.etag)]
        return xmltext.answer("CompleteMultipartUploadResult", *items,
                              *self.completed_items(made), xmlns=self.xmlns)

    def completed_items(self, made):
        return []

    def listed_parts(self, request, upload):
        """The parts that the body names, checked: [(number, Part)]."""
        tree = xmltext.parse(request.body, "CompleteMultipartUpload")
        found, least = [], self.least_part()
        for item in tree.findall("Part"):
            number, etag = item.findtext("PartNumber") or "", item.findtext("ETag") or ""
            if not number.isdigit():
                raise xmltext.malformed()
            number = int(number)
            if found and number <= found[-1][0]:
                raise Failure(400, "InvalidPartOrder", "The list of parts was not in "
                              "ascending order. Parts must be ordered by part number.",
                              UploadId=upload.id)
            part = upload.parts.get(number)
            if part is None or part.etag.strip('"') != etag.strip('"'):
                raise invalid_part(upload, number, etag)
            self.check_listed(upload, item, number, part)
            found.append((number, part))
        if not found:
            raise xmltext.malformed()
        for number, part in found[:-1]:
            if len(part.blob) < least:
                raise Failure(400, "EntityTooSmall", "Your proposed upload is smaller than "
                              "the minimum allowed size", ProposedSize=len(part.blob),
                              MinSizeAllowed=least, PartNumber=number,
                              ETag=part.etag.strip('"'))
        return found

    def least_part(self):
        """Bytes of every part but the last."""
        return self.settings["min_part"]

    def check_listed(self, upload, item, number, part):
        pass

    def assemble(self, request, upload, listed):
        """The object that the parts make."""
        md5s = b"".join(p.blob.digest("md5") if self.settings["etag"] == "md5" else
                        p.etag.encode() for _, p in listed)
        etag = '"%s-%d"' % (hashlib.md5(md5s).hexdigest(), len(listed))
        made = self.make(request, blob.join([p.blob for _, p in listed]), etag)
        made.headers, made.meta = upload.headers, upload.meta
        made.storage_class, made.parts = upload.storage_class, len(listed)
        self.sum_up(request, upload, listed, made)
        return made

    def sum_up(self, request, upload, listed, made):
        pass


def invalid_part(upload, number, etag):
    return Failure(400, "InvalidPart", "One or more of the specified parts could not be "
                   "found.  The part may not have been uploaded, or the specified entity "
                   "tag may not match the part's entity tag.", UploadId=upload.id,
                   PartNumber=number, ETag=etag.strip('"'))


def blanks(answer, seconds):
    """The same XML after white space, which S3 sends to keep a connection alive."""
    head, rest = answer.body.split(b"\n", 1)

    def pieces():
        yield head + b"\n"
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            yield b" "
            time.sleep(min(0.1, seconds))
        yield rest
    answer.body = pieces()
    return answer
