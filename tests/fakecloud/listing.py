"""Listings of a bucket: objects (both versions), uploads, parts."""
import base64
import binascii
import functools
import time
from urllib.parse import quote_plus

from . import xmltext
from .http1 import Failure
from .objects import order
from .xmltext import element


@functools.lru_cache(4096)
def iso_ms(now):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + ".%03dZ" % (now % 1 * 1000)


class Listing:
    def page_size(self, args, name="max-keys"):
        text = args.get(name) or "1000"
        if not text.isdigit():
            raise invalid(name, text, "Provided %s not an integer or within integer range"
                          % name)
        return min(int(text), self.settings["list_max"])

    def encoder(self, args):
        kind = args.get("encoding-type")
        if kind not in (None, "", "url"):
            raise invalid("encoding-type", kind,
                          "Invalid Encoding Method specified in Request")
        if not kind:
            return lambda text: text
        return lambda text: quote_plus(order(text), safe="/*")

    def do_list_objects_v2(self, request):
        args = request.args()
        token = args.get("continuation-token")
        start = args.get("start-after", "")
        after = order(start) if start else None
        if token is not None:
            after = untoken(token)
        entries, last = self.entries(request, args, after)
        show = self.encoder(args)
        head = [("Name", request.bucket), ("Prefix", show(args.get("prefix", "")))]
        if token is not None:
            head.append(("ContinuationToken", token))
        if start:
            head.append(("StartAfter", show(start)))
        if last is not None:
            head.append(("NextContinuationToken", make_token(last)))
        head += [("KeyCount", len(entries))] + self.list_tail(args, show, last)
        return xmltext.answer("ListBucketResult", *head, *entries, xmlns=self.xmlns)

    def do_list_objects(self, request):
        args = request.args()
        marker = args.get("marker", "")
        entries, last = self.entries(request, args, order(marker) if marker else None)
        show = self.encoder(args)
        head = [("Name", request.bucket), ("Prefix", show(args.get("prefix", ""))),
                ("Marker", show(marker))]
        if last is not None and args.get("delimiter"):
            head.append(("NextMarker", show(last.decode("utf-8", "surrogateescape"))))
        head += self.list_tail(args, show, last)
        return xmltext.answer("ListBucketResult", *head, *entries, xmlns=self.xmlns)

    def list_tail(self, args, show, last):
        tail = [("MaxKeys", args.get("max-keys") or "1000")]
        if args.get("delimiter"):
            tail.append(("Delimiter", show(args["delimiter"])))
        if args.get("encoding-type"):
            tail.append(("EncodingType", args["encoding-type"]))
        return tail + [("IsTruncated", "true" if last is not None else "false")]

    def entries(self, request, args, after):
        show = self.encoder(args)
        limit = self.page_size(args)
        bucket = self.bucket(request)
        found, prefixes, last = bucket.page(args.get("prefix", ""),
                                            args.get("delimiter", ""), after, limit)
        if limit == 0:
            last = None
        items = [self.entry(o, show) for o in found]
        items += [element("CommonPrefixes", ("Prefix", show(p))) for p in prefixes]
        return items, last

    def entry(self, found, show):
        return xmltext.Raw(
            "<Contents><Key>%s</Key><LastModified>%s</LastModified><ETag>%s</ETag>"
            "<Size>%d</Size><StorageClass>%s</StorageClass></Contents>"
            % (xmltext.escape(show(found.key)), iso_ms(found.mtime),
               xmltext.escape(found.etag), len(found.blob), found.storage_class))

    def do_list_multipart_uploads(self, request):
        args = request.args()
        show, limit = self.encoder(args), self.page_size(args, "max-uploads")
        bucket = self.bucket(request)
        mark = (order(args.get("key-marker", "")), args.get("upload-id-marker", ""))
        with bucket.lock:
            all_of_them = sorted((((order(u.key), u.id), u) for u in bucket.uploads.values()
                                  if u.key.startswith(args.get("prefix", ""))),
                                 key=lambda item: item[0])
        rest = [u for at, u in all_of_them
                if (at > mark if mark[1] else at[0] > mark[0] or not mark[0])]
        page = rest[:limit]
        items = [("Bucket", bucket.name), ("KeyMarker", show(args.get("key-marker", ""))),
                 ("UploadIdMarker", mark[1]), ("MaxUploads", limit),
                 ("Prefix", show(args.get("prefix", ""))),
                 ("EncodingType", args.get("encoding-type"))]
        if len(rest) > len(page) and page:
            items += [("NextKeyMarker", show(page[-1].key)),
                      ("NextUploadIdMarker", page[-1].id)]
        items.append(("IsTruncated", "true" if len(rest) > len(page) else "false"))
        items += [element("Upload", ("Key", show(u.key)), ("UploadId", u.id),
                          ("StorageClass", u.storage_class), ("Initiated", iso_ms(u.started)))
                  for u in page]
        return xmltext.answer("ListMultipartUploadsResult", *items, xmlns=self.xmlns)

    def do_list_parts(self, request):
        args, upload = request.args(), self.upload(request)
        limit = self.page_size(args, "max-parts")
        after = int(args.get("part-number-marker") or 0)
        rest = [(n, p) for n, p in sorted(upload.parts.items()) if n > after]
        page = rest[:limit]
        items = [("Bucket", request.bucket), ("Key", upload.key), ("UploadId", upload.id),
                 ("StorageClass", upload.storage_class), ("PartNumberMarker", after)]
        if len(rest) > len(page) and page:
            items.append(("NextPartNumberMarker", page[-1][0]))
        items += [("MaxParts", limit),
                  ("IsTruncated", "true" if len(rest) > len(page) else "false")]
        if upload.algorithm:
            items += [("ChecksumAlgorithm", upload.algorithm.upper()),
                      ("ChecksumType", upload.checksum_type)]
        items += [element("Part", ("PartNumber", n), ("LastModified", iso_ms(p.mtime)),
                          ("ETag", p.etag), ("Size", len(p.blob)),
                          *[("Checksum" + c.upper(), v) for c, v in p.checksums.items()])
                  for n, p in page]
        return xmltext.answer("ListPartsResult", *items, xmlns=self.xmlns)


def make_token(last):
    """Opaque, and full of characters that a query must not hold as they are."""
    return "1/" + base64.b64encode(b"\xfb\xff+" + last).decode()


def untoken(token):
    try:
        raw = base64.b64decode(token[2:], validate=True)
    except binascii.Error:
        raw = b""
    if not token.startswith("1/") or not raw.startswith(b"\xfb\xff+"):
        raise invalid("continuation-token", token,
                      "The continuation token provided is incorrect")
    return raw[3:]


def invalid(name, value, message):
    return Failure(400, "InvalidArgument", message, ArgumentName=name, ArgumentValue=value)
