"""What movers of much data meet: full buckets, keys of any bytes, parts, ranges, and
the faults that hit them; with botocore, and with requests that are built here."""
import base64
import hashlib
import http.client
import threading
from urllib.parse import quote, unquote_to_bytes

from check_s3 import MIB, client, lost, presigner, refused, until
from check_stores import KIB, gcs, oss
from check_vectors import same

try:
    from botocore.exceptions import ClientError
except ImportError:  # then client() skips
    ClientError = Exception

AWKWARD = ["%2F", "+ +", "../up", "./here", "/lead", "a//b", "a/../b", "ctl\x01\x1f\x7f",
           "line\nfeed\rreturn\ttab", "q?x=1&y#z", "\u00fc\u65e5\U0001f600",
           "<&\"'>", "tail/", "tail/x", "\u65e5" * 341 + "x"]


def xml_delete(keys, quiet=False):
    rows = "".join("<Object><Key>%s</Key></Object>" % k for k in keys)
    return ("<Delete><Quiet>%s</Quiet>%s</Delete>" % (str(quiet).lower(), rows)).encode()


def md5(body):
    return {"content-md5": base64.b64encode(hashlib.md5(body).digest()).decode()}


def test_keys_of_any_bytes(cloud):
    s3 = client(cloud)
    for key in AWKWARD:
        s3.put_object(Bucket="bucket", Key=key, Body=key.encode())
        same(s3.get_object(Bucket="bucket", Key=key)["Body"].read(), key.encode())
    right = sorted(AWKWARD, key=str.encode)
    pages = s3.get_paginator("list_objects_v2").paginate(
        Bucket="bucket", PaginationConfig={"PageSize": 4})
    same([o["Key"] for p in pages for o in p["Contents"]], right)
    page = s3.list_objects_v2(Bucket="bucket", Delimiter="/")
    same([p["Prefix"] for p in page["CommonPrefixes"]], ["../", "./", "/", "a/", "tail/"])
    for dialect in ("oss", "gcs"):
        cloud.control("objects", {"service": dialect, "bucket": "bucket", "keys": AWKWARD})
    query = "encoding-type=url&list-type=2&max-keys=1000"
    for said in (oss(cloud, "GET", query=query)[2],
                 gcs(cloud, "GET", "/bucket?" + query)[2]):
        told = [k.partition(b"</Key>")[0] for k in said.split(b"<Key>")[1:]]
        same([unquote_to_bytes(k.replace(b"+", b" ")).decode() for k in told], right)


def test_listing_of_a_full_bucket(cloud):
    s3 = client(cloud)
    cloud.control("objects", {"bucket": "bucket", "prefix": "n/", "count": 100000,
                              "folders": 100, "storage_class": "STANDARD_IA"})
    got = [o for p in s3.get_paginator("list_objects_v2").paginate(Bucket="bucket")
           for o in p["Contents"]]
    same((len(got), got[0]["Key"], got[-1]["Key"], got[5]["StorageClass"]),
         (100000, "n/00000/00000000", "n/00099/00099999", "STANDARD_IA"))
    page = s3.list_objects_v2(Bucket="bucket", Prefix="n/", Delimiter="/")
    same((len(page["CommonPrefixes"]), page["KeyCount"]), (100, 100))
    page = s3.list_objects_v2(Bucket="bucket", StartAfter="n/00098/zzz", MaxKeys=1)
    same(page["Contents"][0]["Key"], "n/00099/00099000")


def test_distinct_objects(cloud):
    cloud.control("objects", {"bucket": "bucket", "count": 3, "size": 100, "distinct": True})
    found = cloud.objects()
    same(len({o["sha256"] for o in found.values()}), 3)
    same({o["size"] for o in found.values()}, {100})


def test_s3_deletes_of_many(cloud):
    s3 = client(cloud)
    cloud.control("objects", {"bucket": "bucket", "prefix": "d/", "count": 1001})
    every = [{"Key": "d/%08d" % n} for n in range(1001)]
    refused(s3.delete_objects, "MalformedXML", 400, Bucket="bucket",
            Delete={"Objects": every})
    cloud.fault("keys", keys="d/0000000", code="SlowDown", message="slow")
    said = s3.delete_objects(Bucket="bucket", Delete={"Objects": every[:1000], "Quiet": True})
    same(("Deleted" in said, len(said["Errors"]), said["Errors"][9]),
         (False, 10, {"Key": "d/00000009", "Code": "SlowDown", "Message": "slow"}))
    same(len(cloud.objects()), 11)
    same(len(s3.delete_objects(Bucket="bucket", Delete={
        "Objects": every[:1000]})["Deleted"]), 1000)  # absent ones, too
    cloud.control("keys", {"id": "AKIA2", "secret": "s", "deny": ["s3:DeleteObject"]})
    said = client(cloud, aws_access_key_id="AKIA2", aws_secret_access_key="s").delete_objects(
        Bucket="bucket", Delete={"Objects": every[1000:]})
    same([(e["Key"], e["Code"]) for e in said["Errors"]], [("d/00001000", "AccessDenied")])
    s3.meta.events.register("before-sign.s3.DeleteObjects",
                            lambda request, **_: request.headers.__delitem__("Content-MD5"))
    refused(s3.delete_objects, "InvalidRequest", 400, Bucket="bucket",
            Delete={"Objects": every[:1]})


def test_other_deletes_of_many(cloud):
    for dialect in ("oss", "gcs"):
        cloud.control("objects", {"service": dialect, "bucket": "bucket", "count": 3})
    body = xml_delete(["00000000", "00000001"])
    assert b"InvalidRequest" in oss(cloud, "POST", query="delete", body=body)[2]
    assert b"BadDigest" in oss(cloud, "POST", query="delete", body=body,
                               headers=md5(b"other"))[2]
    status, _, said = oss(cloud, "POST", query="delete", body=body, headers=md5(body))
    same((status, said.count(b"<Deleted>")), (200, 2))
    same(gcs(cloud, "POST", "/bucket?delete", body, md5(body))[0], 501)
    cloud.set(gcs_multi_delete=True)
    same(gcs(cloud, "POST", "/bucket?delete", body, md5(body))[0], 200)
    same(list(cloud.objects()), ["00000002"])
    same(len(cloud.control("objects")["objects"]), 2)


def test_storage_classes(cloud):
    s3 = client(cloud)
    where = {"Bucket": "bucket", "Key": "k"}
    refused(s3.create_multipart_upload, "InvalidStorageClass", 400, StorageClass="IA", **where)
    upload = s3.create_multipart_upload(StorageClass="GLACIER_IR", **where)["UploadId"]
    same(s3.list_parts(UploadId=upload, **where)["StorageClass"], "GLACIER_IR")
    same(s3.list_multipart_uploads(Bucket="bucket")["Uploads"][0]["StorageClass"],
         "GLACIER_IR")
    etag = s3.upload_part(UploadId=upload, PartNumber=1, Body=b"x", **where)["ETag"]
    s3.complete_multipart_upload(UploadId=upload, MultipartUpload={
        "Parts": [{"PartNumber": 1, "ETag": etag}]}, **where)
    same(s3.head_object(**where)["StorageClass"], "GLACIER_IR")
    same(oss(cloud, "PUT", "k", headers={"x-oss-storage-class": "STANDARD"})[0], 400)
    same(oss(cloud, "PUT", "k", headers={"x-oss-storage-class": "IA"})[0], 200)
    assert b"<StorageClass>IA</StorageClass>" in oss(cloud, "GET", query="list-type=2")[2]
    for name, status in (("NEARLINE", 200), ("Nearline", 400)):
        same(gcs(cloud, "PUT", "/bucket/k", b"", {"x-goog-storage-class": name})[0], status)
        same(gcs(cloud, "POST", "/upload/storage/v1/b/bucket/o?uploadType=resumable&name=j",
                 b'{"storageClass": "%s"}' % name.encode())[0], status)
    same(gcs(cloud, "HEAD", "/bucket/k")[1]["x-goog-storage-class"], "NEARLINE")
    assert b"<StorageClass>NEARLINE<" in gcs(cloud, "GET", "/bucket?list-type=2")[2]


def test_listings_of_uploads_and_parts(cloud):
    s3 = client(cloud)
    keys = ["a b", "a b", "c/+", "d"]
    ids = [s3.create_multipart_upload(Bucket="bucket", Key=k)["UploadId"] for k in keys]
    pages = s3.get_paginator("list_multipart_uploads").paginate(
        Bucket="bucket", PaginationConfig={"PageSize": 1})
    got = [(u["Key"], u["UploadId"]) for p in pages for u in p["Uploads"]]
    same(sorted(u for _, u in got), sorted(ids))
    same([k for k, _ in got], keys)
    page = s3.list_multipart_uploads(Bucket="bucket", Prefix="c", EncodingType="url")
    same([u["Key"] for u in page["Uploads"]], ["c/%2B"])
    where = {"Bucket": "bucket", "Key": "d", "UploadId": ids[3]}
    for number in (7, 2, 5):
        s3.upload_part(PartNumber=number, Body=b"x" * number, **where)
    pages = s3.get_paginator("list_parts").paginate(PaginationConfig={"PageSize": 2}, **where)
    same([(p["PartNumber"], p["Size"]) for page in pages for p in page["Parts"]],
         [(2, 2), (5, 5), (7, 7)])


def test_gcs_multipart_of_the_xml_api(cloud):
    said = gcs(cloud, "POST", "/bucket/a%20b?uploads", b"",
               {"x-goog-storage-class": "COLDLINE"})[2]
    upload = quote(said.partition(b"<UploadId>")[2].partition(b"<")[0].decode(), safe="")
    target = "/bucket/a%%20b?partNumber=%d&uploadId=" + upload.replace("%", "%%")
    bodies, rows = [b"a" * 5 * MIB, b"123456789"], ""
    same(gcs(cloud, "PUT", target % 1, b"x", {"x-goog-hash": "crc32c=4waSgw=="})[0], 400)
    for number, body in enumerate(bodies, 1):
        status, headers, _ = gcs(cloud, "PUT", target % number, body)
        same(status, 200)
        rows += "<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>" % (
            number, headers["etag"])
    assert "crc32c=4waSgw==" in headers["x-goog-hash"]
    assert b"<PartNumber>2</PartNumber>" in gcs(
        cloud, "GET", "/bucket/a%20b?uploadId=" + upload)[2]
    assert upload.encode() in quote(gcs(cloud, "GET", "/bucket?uploads")[2]).encode()
    gcs(cloud, "PUT", "/bucket/a%20b", b"in the way")
    xml = "<CompleteMultipartUpload>%s</CompleteMultipartUpload>" % rows
    same(gcs(cloud, "POST", "/bucket/a%20b?uploadId=" + upload, xml,
             {"x-goog-if-generation-match": "0"})[0], 200)  # it knows no conditions
    status, headers, _ = gcs(cloud, "HEAD", "/bucket/a%20b")
    same((headers["x-goog-storage-class"], headers["x-goog-hash"].count("=="),
          "md5" in headers["x-goog-hash"]), ("COLDLINE", 1, False))
    same(cloud.objects()["a b"]["sha256"], hashlib.sha256(b"".join(bodies)).hexdigest())
    same(gcs(cloud, "DELETE", "/bucket/a%20b?uploadId=" + upload)[0], 404)


def test_pins_of_ranges(cloud):
    s3 = client(cloud)
    for dialect in ("s3", "oss", "gcs"):
        cloud.control("objects", {"service": dialect, "bucket": "bucket", "keys": ["k"],
                                  "size": 100})
    etag = s3.head_object(Bucket="bucket", Key="k")["ETag"]
    span = {"Range": "bytes=50-59"}
    generation = gcs(cloud, "HEAD", "/bucket/k")[1]["x-goog-generation"]
    pinned = "/bucket/k?generation=" + generation
    same(len(s3.get_object(Bucket="bucket", Key="k", IfMatch=etag, **span)["Body"].read()), 10)
    same(oss(cloud, "GET", "k", headers={"If-Match": etag, **span})[0], 206)
    same(gcs(cloud, "GET", pinned, None, span)[0], 206)
    cloud.fault("touch", count=0)
    refused(s3.get_object, "PreconditionFailed", 412, Bucket="bucket", Key="k", IfMatch=etag,
            **span)
    same(oss(cloud, "GET", "k", headers={"If-Match": etag, **span})[0], 412)
    same(gcs(cloud, "GET", pinned, None, span)[0], 404)


def test_sums_of_the_whole(cloud):
    s3 = client(cloud)
    body = b"123456789" * MIB
    for operation in ("CreateMultipartUpload", "HeadObject", "GetObject"):
        s3.meta.events.register("before-call.s3." + operation, lambda params, **_: params[
            "headers"].update({"x-amz-checksum-algorithm": "CRC64NVME",
                               "x-amz-checksum-type": "FULL_OBJECT"}
                              if params["url_path"].endswith("?uploads") else
                              {"x-amz-checksum-mode": "ENABLED"}))
    where, parts = {"Bucket": "bucket", "Key": "big"}, []
    upload = s3.create_multipart_upload(**where)["UploadId"]
    for number, at in enumerate(range(0, len(body), 5 * MIB), 1):
        etag = s3.upload_part(UploadId=upload, PartNumber=number, Body=body[at:at + 5 * MIB],
                              **where)["ETag"]
        parts.append({"PartNumber": number, "ETag": etag})
    s3.complete_multipart_upload(UploadId=upload, MultipartUpload={"Parts": parts}, **where)
    s3.put_object(Bucket="bucket", Key="one", Body=body)
    found = [s3.head_object(Bucket="bucket", Key=k)["ResponseMetadata"]["HTTPHeaders"]
             for k in ("big", "one")]
    same(found[0]["x-amz-checksum-crc64nvme"], found[1]["x-amz-checksum-crc64nvme"])
    same(found[0]["x-amz-checksum-type"], "FULL_OBJECT")
    got = s3.get_object(**where)["ResponseMetadata"]["HTTPHeaders"]
    same(got["x-amz-checksum-crc64nvme"], found[0]["x-amz-checksum-crc64nvme"])


def test_sums_that_are_believed(cloud):
    s3 = client(cloud)
    cloud.set(trust_checksums=True, etag="opaque")
    s3.put_object(Bucket="bucket", Key="k", Body=b"x", ChecksumCRC32C="4waSgw==",
                  ContentMD5="1B2M2Y8AsgTpgAmY7PhCfg==")
    got = s3.head_object(Bucket="bucket", Key="k", ChecksumMode="ENABLED")
    same(got["ChecksumCRC32C"], "4waSgw==")
    assert "-" in got["ETag"]
    s3.meta.events.register("before-send.s3.PutObject",
                            lambda request, **_: setattr(request, "body", b"z"))
    refused(s3.put_object, "XAmzContentSHA256Mismatch", 400, Bucket="bucket", Key="k",
            Body=b"y")


def test_faults_of_ranges_and_parts(cloud):
    s3 = client(cloud)
    where = {"Bucket": "bucket", "Key": "k"}
    s3.put_object(Body=b"x" * 1000, **where)
    cloud.fault("truncate", ranged=True, bytes=3, count=0)
    same(len(s3.get_object(**where)["Body"].read()), 1000)
    lost(lambda: s3.get_object(Range="bytes=0-9", **where)["Body"].read())
    cloud.control("faults", method="DELETE")
    upload = s3.create_multipart_upload(**where)["UploadId"]
    for nth, (do, more) in enumerate((("error", {}), ("cut", {"bytes": 4}),
                                      ("reset", {"effect": True})), 1):
        cloud.fault(do, operation="UploadPart", part=2, nth=nth, **more)
    put = dict(where, UploadId=upload, Body=b"123456789")
    s3.upload_part(PartNumber=1, **put)
    refused(s3.upload_part, "SlowDown", 503, PartNumber=2, **put)
    lost(lambda: s3.upload_part(PartNumber=2, **put))
    same(len(s3.list_parts(UploadId=upload, **where)["Parts"]), 1)
    lost(lambda: s3.upload_part(PartNumber=2, **put))
    same(len(s3.list_parts(UploadId=upload, **where)["Parts"]), 2)
    cloud.fault("error-200", operation="UploadPartCopy")
    try:
        s3.upload_part_copy(PartNumber=3, CopySource="bucket/k", UploadId=upload, **where)
        raise AssertionError("the error in a success was not told")
    except ClientError:
        same(len(s3.list_parts(UploadId=upload, **where)["Parts"]), 2)


def test_objects_that_change_meanwhile(cloud):
    s3 = client(cloud)
    where = {"Bucket": "bucket", "Key": "k"}
    s3.put_object(Body=b"x" * 3 * MIB, **where)
    cloud.fault("touch", operation="GetObject", bytes=MIB, size=70)
    lost(lambda: s3.get_object(**where)["Body"].read())
    same(cloud.objects()["k"]["size"], 70)
    log = cloud.control("requests")["requests"]
    assert [r["sent"] for r in log if r["fault"] == "touch"] in ([0], [MIB])
    cloud.fault("touch", operation="GetObject", nth=2, gone=True)
    same(len(s3.get_object(**where)["Body"].read()), 70)
    refused(s3.get_object, "NoSuchKey", 404, **where)


def test_throttle(cloud):
    s3 = client(cloud)
    s3.put_object(Bucket="bucket", Key="k", Body=b"x" * 100)
    cloud.fault("throttle", operation="GetObject", at_once=2)
    cloud.fault("trickle", operation="GetObject", rate=100, count=0)
    url = presigner(cloud).generate_presigned_url(
        "get_object", Params={"Bucket": "bucket", "Key": "k"})
    found, begin = [], threading.Barrier(6)

    def ask():
        begin.wait()
        connection = http.client.HTTPConnection(url.split("/")[2], timeout=60)
        connection.request("GET", "/" + url.split("/", 3)[3])
        reply = connection.getresponse()
        reply.read()
        found.append(reply.status)
    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    same((found.count(200) >= 2, set(found)), (True, {200, 503}))
    until(lambda: answered(s3))


def answered(s3):
    try:
        return s3.get_object(Bucket="bucket", Key="k")
    except ClientError:
        return None
