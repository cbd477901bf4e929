"""The S3 dialect against botocore, and its faults against plain sockets."""
import http.client
import threading
import time

from check_vectors import same
from selftest import Skip

try:
    import boto3
    import botocore.config
    from botocore.exceptions import ClientError
except ImportError:
    boto3 = None
MIB = 1 << 20


def client(cloud, **more):
    if boto3 is None:
        raise Skip("no botocore (python3-boto3)")
    key = cloud.config["aws"]["keys"][0]
    options = dict(endpoint_url=cloud.http["s3"], region_name="us-east-1",
                   aws_access_key_id=key["id"], aws_secret_access_key=key["secret"],
                   config=botocore.config.Config(s3={"addressing_style": "path"},
                                                 retries={"max_attempts": 0}))
    return boto3.client("s3", **dict(options, **more))


def refused(call, code, status=None, **args):
    try:
        call(**args)
    except ClientError as error:
        same(error.response["Error"]["Code"], code)
        assert status in (None, error.response["ResponseMetadata"]["HTTPStatusCode"])
        return error.response
    raise AssertionError("not refused")


def test_s3_objects_of_any_name(cloud):
    s3 = client(cloud)
    keys = ["a", "sp ace+plus%25", "sl//ash/../x", "\u00fcn\u00ef", "q?x=1&y#z", "x" * 1024]
    for key in keys:
        s3.put_object(Bucket="bucket", Key=key, Body=key.encode(), Metadata={"m": "v"})
        got = s3.get_object(Bucket="bucket", Key=key)
        same((got["Body"].read(), got["Metadata"]), (key.encode(), {"m": "v"}))
    same(sorted(cloud.objects()), sorted(keys))
    refused(s3.put_object, "KeyTooLongError", Bucket="bucket", Key="x" * 1025)
    pages = s3.get_paginator("list_objects_v2").paginate(
        Bucket="bucket", PaginationConfig={"PageSize": 1})
    same([o["Key"] for p in pages for o in p["Contents"]], sorted(keys))
    gone = s3.delete_objects(Bucket="bucket", Delete={
        "Objects": [{"Key": k} for k in keys if k != "a"]})
    same(sorted(d["Key"] for d in gone["Deleted"]), sorted(keys[1:]))
    s3.delete_object(Bucket="bucket", Key="a")
    same(cloud.objects(), {})


def test_s3_listings(cloud):
    s3 = client(cloud)
    for key in ("a/1", "a/2", "b", "c/1", "c/2/3", "d"):
        s3.put_object(Bucket="bucket", Key=key, Body=b"")
    got, token = [], {}
    while True:
        page = s3.list_objects_v2(Bucket="bucket", Delimiter="/", MaxKeys=2, **token)
        got += [o["Key"] for o in page.get("Contents", [])]
        got += [p["Prefix"] for p in page.get("CommonPrefixes", [])]
        if not page["IsTruncated"]:
            break
        token = {"ContinuationToken": page["NextContinuationToken"]}
    same(sorted(got), ["a/", "b", "c/", "d"])
    page = s3.list_objects_v2(Bucket="bucket", Prefix="c/", StartAfter="c/1")
    same([o["Key"] for o in page["Contents"]], ["c/2/3"])
    same([b["Name"] for b in s3.list_buckets()["Buckets"]], ["bucket"])
    refused(s3.list_objects_v2, "NoSuchBucket", 404, Bucket="nothing")


def test_s3_ranges(cloud):
    s3 = client(cloud)
    etag = s3.put_object(Bucket="bucket", Key="k", Body=b"0123456789")["ETag"]
    for span, body in (("0-3", b"0123"), ("7-", b"789"), ("-2", b"89"), ("8-99", b"89")):
        got = s3.get_object(Bucket="bucket", Key="k", Range="bytes=" + span, IfMatch=etag)
        same((got["Body"].read(), got["ResponseMetadata"]["HTTPStatusCode"]), (body, 206))
    refused(s3.get_object, "InvalidRange", 416, Bucket="bucket", Key="k", Range="bytes=10-")
    refused(s3.get_object, "PreconditionFailed", 412, Bucket="bucket", Key="k", IfMatch='"x"')
    same(s3.head_object(Bucket="bucket", Key="k")["ContentLength"], 10)
    refused(s3.head_object, "404", 404, Bucket="bucket", Key="none")


def test_s3_large_bodies(cloud):
    s3 = client(cloud)
    body = bytes(range(256)) * 12000
    s3.put_object(Bucket="bucket", Key="k", Body=body)
    same(s3.get_object(Bucket="bucket", Key="k")["Body"].read(), body)
    got = s3.get_object(Bucket="bucket", Key="k", Range="bytes=1000000-2000000")
    same(got["Body"].read(), body[1000000:2000001])


def test_s3_multipart(cloud):
    s3 = client(cloud)
    where = {"Bucket": "bucket", "Key": "big"}
    upload = s3.create_multipart_upload(**where)["UploadId"]
    bodies, parts = [b"a" * 5 * MIB, b"b" * 5 * MIB, b"c"], []
    for number, body in enumerate(bodies, 1):
        etag = s3.upload_part(UploadId=upload, PartNumber=number, Body=body, **where)["ETag"]
        parts.append({"PartNumber": number, "ETag": etag})
    same(len(s3.list_parts(UploadId=upload, **where)["Parts"]), 3)
    same(len(s3.list_multipart_uploads(Bucket="bucket")["Uploads"]), 1)
    for listed, code in ((parts[::-1], "InvalidPartOrder"),
                         ([dict(parts[0], ETag='"x"')], "InvalidPart"),
                         ([parts[2]] + [], None)):
        if code:
            refused(s3.complete_multipart_upload, code, 400, UploadId=upload,
                    MultipartUpload={"Parts": listed}, **where)
    same(cloud.objects(), {})
    done = s3.complete_multipart_upload(UploadId=upload, MultipartUpload={"Parts": parts},
                                        **where)
    assert done["ETag"].endswith('-3"')
    same(s3.get_object(**where)["Body"].read(), b"".join(bodies))
    refused(s3.complete_multipart_upload, "NoSuchUpload", 404, UploadId=upload,
            MultipartUpload={"Parts": parts}, **where)
    other = s3.create_multipart_upload(**where)["UploadId"]
    small = [s3.upload_part(UploadId=other, PartNumber=n, Body=b"x", **where)["ETag"]
             for n in (1, 2)]
    refused(s3.complete_multipart_upload, "EntityTooSmall", 400, UploadId=other,
            MultipartUpload={"Parts": [{"PartNumber": n, "ETag": e}
                                       for n, e in enumerate(small, 1)]}, **where)
    same(len(cloud.control("objects")["uploads"]), 1)
    s3.abort_multipart_upload(UploadId=other, **where)
    same(cloud.control("objects")["uploads"], [])


def test_s3_checksums(cloud):
    s3 = client(cloud)
    s3.put_object(Bucket="bucket", Key="k", Body=b"123456789", ChecksumAlgorithm="SHA256")
    s3.put_object(Bucket="bucket", Key="c", Body=b"123456789", ChecksumCRC32C="4waSgw==")
    refused(s3.put_object, "BadDigest", 400, Bucket="bucket", Key="d", Body=b"123456788",
            ChecksumCRC32C="4waSgw==")
    got = s3.head_object(Bucket="bucket", Key="c", ChecksumMode="ENABLED")
    same(got["ChecksumCRC32C"], "4waSgw==")
    assert "ChecksumCRC32C" not in s3.head_object(Bucket="bucket", Key="c")
    refused(s3.put_object, "BadDigest", 400, Bucket="bucket", Key="d", Body=b"x",
            ContentMD5="1B2M2Y8AsgTpgAmY7PhCfg==")
    same(sorted(cloud.objects()), ["c", "k"])


def test_s3_composite_checksum(cloud):
    s3 = client(cloud)
    where = {"Bucket": "bucket", "Key": "big"}
    upload = s3.create_multipart_upload(ChecksumAlgorithm="SHA256", **where)["UploadId"]
    parts = []
    for number, body in enumerate((b"a" * 5 * MIB, b"b"), 1):
        got = s3.upload_part(UploadId=upload, PartNumber=number, Body=body,
                             ChecksumAlgorithm="SHA256", **where)
        parts.append({"PartNumber": number, "ETag": got["ETag"],
                      "ChecksumSHA256": got["ChecksumSHA256"]})
    done = s3.complete_multipart_upload(UploadId=upload, MultipartUpload={"Parts": parts},
                                        **where)
    assert done["ChecksumSHA256"].endswith("-2")


def test_s3_copies_and_classes(cloud):
    s3 = client(cloud)
    s3.put_object(Bucket="bucket", Key="a b", Body=b"x", StorageClass="DEEP_ARCHIVE")
    refused(s3.get_object, "InvalidObjectState", 403, Bucket="bucket", Key="a b")
    s3.restore_object(Bucket="bucket", Key="a b", RestoreRequest={"Days": 1})
    s3.copy_object(Bucket="bucket", Key="c", CopySource={"Bucket": "bucket", "Key": "a b"})
    same(s3.get_object(Bucket="bucket", Key="c")["Body"].read(), b"x")
    refused(s3.put_object, "InvalidStorageClass", Bucket="bucket", Key="k",
            StorageClass="COLD", Body=b"")


def with_header(s3, name, value):
    """botocore of Debian 12 does not know conditional writes."""
    def add(params, **_):
        params["headers"][name] = value
    for operation in ("PutObject", "CompleteMultipartUpload"):
        s3.meta.events.register("before-call.s3." + operation, add)
    return s3


def race(cloud, count=16):
    """Who won of so many creates at once."""
    s3 = with_header(client(cloud), "If-None-Match", "*")
    results, begin = [], threading.Barrier(count)

    def create(number):
        begin.wait()
        try:
            s3.put_object(Bucket="bucket", Key="lock", Body=b"%d" % number)
            results.append(number)
        except ClientError as error:
            same(error.response["Error"]["Code"], "PreconditionFailed")
    threads = [threading.Thread(target=create, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_s3_conditional_creates(cloud):
    winners = race(cloud)
    same(len(winners), 1)
    got = client(cloud).get_object(Bucket="bucket", Key="lock")["Body"].read()
    same(got, b"%d" % winners[0])


def test_s3_conditions_without_locks(cloud):
    """One after another they hold; many at once win, given some tries."""
    cloud.set(conditions="racy")
    for _ in range(20):
        if len(race(cloud)) > 1:
            break
        client(cloud).delete_object(Bucket="bucket", Key="lock")
    else:
        raise AssertionError("nobody lost in 20 races")
    same(race(cloud), [])


def test_s3_conditions_ignored_or_refused(cloud):
    s3 = with_header(client(cloud), "If-None-Match", "*")
    cloud.set(conditions="ignore")
    for body in (b"1", b"2"):
        s3.put_object(Bucket="bucket", Key="k", Body=body)
    same(cloud.objects()["k"]["etag"], '"c81e728d9d4c2f636f067f89cc14862c"')
    cloud.set(conditions="refuse")
    refused(s3.put_object, "NotImplemented", 501, Bucket="bucket", Key="new", Body=b"")


def test_s3_identities(cloud):
    good = cloud.config["aws"]["keys"][0]
    refused(client(cloud, aws_secret_access_key="wrong").list_buckets,
            "SignatureDoesNotMatch", 403)
    refused(client(cloud, aws_access_key_id="nobody").list_buckets, "InvalidAccessKeyId", 403)
    refused(client(cloud, aws_session_token="x").list_buckets, "InvalidToken", 400)
    cloud.control("keys", {"id": "ASIA1", "secret": "s", "token": "t/+=",
                           "expires": time.time() + 600, "deny": ["s3:PutObject"]})
    temporary = client(cloud, aws_access_key_id="ASIA1", aws_secret_access_key="s",
                       aws_session_token="t/+=")
    temporary.list_buckets()
    said = refused(temporary.put_object, "AccessDenied", 403, Bucket="bucket", Key="k")
    assert "s3:PutObject" in said["Error"]["Message"]
    cloud.control("expire", {"id": "ASIA1"})
    refused(temporary.list_buckets, "ExpiredToken", 400)
    cloud.set(clock_offset=7200)
    refused(client(cloud).list_buckets, "RequestTimeTooSkewed", 403)
    same(good["id"], cloud.config["aws"]["keys"][0]["id"])


def presigner(cloud):
    return client(cloud, config=boto3 and botocore.config.Config(
        signature_version="s3v4", s3={"addressing_style": "path"}))


def test_s3_presigned_urls(cloud):
    s3 = client(cloud)
    s3.put_object(Bucket="bucket", Key="a b", Body=b"x")
    v4 = presigner(cloud)
    where = {"Bucket": "bucket", "Key": "a b"}
    url = v4.generate_presigned_url("get_object", Params=where, ExpiresIn=60)
    same(fetch(url), (200, b"x"))
    same(fetch(url.replace("Expires=60", "Expires=61"))[0], 403)
    cloud.set(clock_offset=100)
    same(fetch(url)[0], 403)


def fetch(url, method="GET", body=None, headers=()):
    host, _, path = url.partition("//")[2].partition("/")
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.request(method, "/" + path, body, dict(headers))
    reply = connection.getresponse()
    return reply.status, reply.read()


def test_s3_virtual_hosts_and_regions(cloud):
    cloud.control("buckets", {"name": "far.away", "region": "eu-west-1"})
    s3 = client(cloud)
    s3.head_bucket(Bucket="far.away")  # botocore follows to the region that it is told
    same([r["status"] for r in cloud.control("requests")["requests"]], [301, 200])
    client(cloud, region_name="eu-west-1").put_object(Bucket="far.away", Key="k", Body=b"")
    client(cloud, region_name="eu-north-1").list_objects_v2(Bucket="far.away")
    same([r["status"] for r in cloud.control("requests")["requests"]], [301, 200, 200, 400, 200])
    named = client(cloud, region_name="eu-west-1", endpoint_url="http://s3.eu-west-1.fake.test",
                   config=botocore.config.Config(proxies={"http": cloud.http["s3"]},
                                                 s3={"addressing_style": "virtual"}))
    named.put_object(Bucket="far.away", Key="by/host", Body=b"x")
    assert "by/host" in cloud.objects()
    refused(named.head_bucket, "404", 404, Bucket="bucket2")


def test_s3_faults(cloud):
    s3 = client(cloud)
    put = dict(Bucket="bucket", Body=b"x" * 100)
    cloud.fault("error", operation="PutObject", prefix="p/", nth=2, retry_after=3)
    s3.put_object(Key="p/1", **put)
    s3.put_object(Key="q/1", **put)
    said = refused(s3.put_object, "SlowDown", 503, Key="p/2", **put)
    same(said["ResponseMetadata"]["HTTPHeaders"]["retry-after"], "3")
    s3.put_object(Key="p/3", **put)
    for effect in (False, True):
        cloud.fault("reset", operation="PutObject", effect=effect)
        lost(lambda: s3.put_object(Key="lost", **put))
        same("lost" in cloud.objects(), effect)
    cloud.fault("truncate", operation="GetObject", bytes=10)
    lost(lambda: s3.get_object(Bucket="bucket", Key="q/1")["Body"].read())
    cloud.fault("late", operation="PutObject", ms=2000)
    lost(lambda: s3.put_object(Key="late", **put))
    assert "late" not in cloud.objects()
    until(lambda: "late" in cloud.objects())
    cloud.fault("hang", operation="GetObject", seconds=0.2)
    lost(lambda: s3.get_object(Bucket="bucket", Key="q/1"))
    cloud.fault("date", offset=-7200)
    refused(s3.list_buckets, "RequestTimeTooSkewed", 403)
    cloud.fault("corrupt", operation="GetObject", at=3)
    assert s3.get_object(Bucket="bucket", Key="q/1")["Body"].read() != put["Body"]
    log = cloud.control("requests")["requests"]
    same([r["fault"] for r in log if r["fault"]],
         ["error", "reset", "reset", "truncate", "late", "hang", "date", "corrupt"])
    same([r["status"] for r in log if r["key"] == "lost"], [0, 0])


def test_s3_success_that_is_an_error(cloud):
    s3 = client(cloud, config=botocore.config.Config(retries={"max_attempts": 2}))
    where = {"Bucket": "bucket", "Key": "big"}
    upload = s3.create_multipart_upload(**where)["UploadId"]
    etag = s3.upload_part(UploadId=upload, PartNumber=1, Body=b"x", **where)["ETag"]
    cloud.fault("error-200", operation="CompleteMultipartUpload")
    cloud.fault("blanks", operation="CompleteMultipartUpload", nth=2, seconds=0.3)
    s3.complete_multipart_upload(UploadId=upload, MultipartUpload={
        "Parts": [{"PartNumber": 1, "ETag": etag}]}, **where)
    same(cloud.objects()["big"]["size"], 1)
    log = cloud.control("requests")["requests"]
    same([(r["status"], r["fault"]) for r in log if r["method"] == "POST"][1:],
         [(200, "error-200"), (200, "blanks")])


def test_s3_trickle_and_touch(cloud):
    s3 = client(cloud)
    s3.put_object(Bucket="bucket", Key="k", Body=b"x" * 300)
    cloud.fault("trickle", operation="GetObject", rate=1000)
    start = time.monotonic()
    same(len(s3.get_object(Bucket="bucket", Key="k")["Body"].read()), 300)
    assert time.monotonic() - start > 0.2
    etag = cloud.objects()["k"]["etag"]
    cloud.fault("touch", operation="GetObject")
    refused(s3.get_object, "PreconditionFailed", 412, Bucket="bucket", Key="k", IfMatch=etag)


def lost(call):
    try:
        call()
    except ClientError as error:
        raise AssertionError("answered: %s" % error) from None
    except Exception:  # every client has its own words for it
        return
    raise AssertionError("answered")


def until(fact):
    end = time.monotonic() + 60
    while not fact():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_s3_long_listings(cloud):
    s3 = client(cloud)
    cloud.control("objects", {"bucket": "bucket", "prefix": "seed/", "count": 5000, "size": 3})
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket="bucket", Prefix="seed/")
    keys = [o["Key"] for p in pages for o in p["Contents"]]
    same((len(keys), keys[0], keys[-1]), (5000, "seed/00000000", "seed/00004999"))


def test_s3_conflicts_of_a_race(cloud):
    """With race_409, one wins and each other gets 409 or 412."""
    cloud.set(race_409=True)
    s3 = with_header(client(cloud), "If-None-Match", "*")
    codes = []

    def create():
        try:
            s3.put_object(Bucket="bucket", Key="lock", Body=b"x")
            codes.append("won")
        except ClientError as error:
            codes.append(error.response["Error"]["Code"])
    cloud.fault("delay", operation="PutObject", count=0, seconds=0.1)
    threads = [threading.Thread(target=create) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes.count("won") <= 1
    assert set(codes) <= {"won", "PreconditionFailed", "ConditionalRequestConflict"}


def test_s3_versioning(cloud):
    s3 = client(cloud)
    same(s3.get_bucket_versioning(Bucket="bucket").get("Status"), None)
    cloud.set(versioning=True)
    same(s3.get_bucket_versioning(Bucket="bucket")["Status"], "Enabled")
    made = s3.put_object(Bucket="bucket", Key="k", Body=b"x")["VersionId"]
    same(s3.head_object(Bucket="bucket", Key="k")["VersionId"], made)
    same(s3.delete_object(Bucket="bucket", Key="k")["DeleteMarker"], True)
