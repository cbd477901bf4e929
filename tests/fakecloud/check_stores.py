"""The OSS and Google dialects, with requests that are built here."""
import hashlib
import hmac
import http.client
import json
import subprocess
import time
from urllib.parse import quote

from check_google import EMAIL, jwt
from check_s3 import lost
from check_vectors import same

BEARER = {"Authorization": "Bearer ya29.fake"}
KIB = 1024


def oss(cloud, method, key="", query="", body=b"", headers=(), bucket="bucket", secret=None):
    """(status, headers, body) of a request signed with OSS4-HMAC-SHA256."""
    known = cloud.config["alibaba"]["keys"][0]
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    scope = stamp[:8] + "/cn-hangzhou/oss/aliyun_v4_request"
    sent = {"x-oss-date": stamp, "x-oss-content-sha256": "UNSIGNED-PAYLOAD", **dict(headers)}
    signed = {n: v for n, v in sent.items() if n.startswith("x-oss-") or
              n in ("content-type", "content-md5")}
    path = quote(key.encode(), safe="/-_.~")
    canonical = "\n".join([method, "/%s/%s" % (bucket, path), "&".join(sorted(
        p.rstrip("=") for p in query.split("&") if p)), "".join(
            "%s:%s\n" % pair for pair in sorted(signed.items())), "", "UNSIGNED-PAYLOAD"])
    text = "\n".join(["OSS4-HMAC-SHA256", stamp, scope,
                      hashlib.sha256(canonical.encode()).hexdigest()])
    secret = ("aliyun_v4" + (secret or known["secret"])).encode()
    for part in [*scope.split("/"), text]:
        secret = hmac.new(secret, part.encode(), hashlib.sha256).digest()
    sent["Authorization"] = "OSS4-HMAC-SHA256 Credential=%s/%s,Signature=%s" % (
        known["id"], scope, secret.hex())
    sent["Host"] = bucket + ".oss-cn-hangzhou.aliyuncs.com"
    return call(cloud.http["oss"], method, "/" + path + ("?" + query if query else ""), body,
                sent)


def call(base, method, target, body=None, headers=()):
    connection = http.client.HTTPConnection(base.partition("//")[2], timeout=60)
    connection.request(method, target, body, dict(headers))
    reply = connection.getresponse()
    found = {n.lower(): reply.getheader(n) for n, _ in reply.getheaders()}  # repeated: joined
    return reply.status, found, reply.read()


def test_oss_objects(cloud):
    status, headers, _ = oss(cloud, "PUT", "a b/\u00fc", body=b"123456789",
                             headers={"x-oss-forbid-overwrite": "true"})
    same((status, headers["x-oss-hash-crc64ecma"]), (200, "11051210869376104954"))
    status, _, said = oss(cloud, "PUT", "a b/\u00fc", body=b"other",
                          headers={"x-oss-forbid-overwrite": "true"})
    assert status == 409 and b"FileAlreadyExists" in said
    same(oss(cloud, "GET", "a b/\u00fc")[2], b"123456789")
    for span, behavior, wanted in (("2-3", "", (206, b"34")), ("9-", "", (200, b"123456789")),
                                   ("9-", "standard", (416, None))):
        extra = {"x-oss-range-behavior": behavior} if behavior else {}
        got = oss(cloud, "GET", "a b/\u00fc", headers={"Range": "bytes=" + span, **extra})
        assert got[0] == wanted[0] and wanted[1] in (None, got[2])
    said = oss(cloud, "GET", query="encoding-type=url&list-type=2&prefix=a")[2]
    assert b"<Key>a+b/%C3%BC</Key>" in said and b"<KeyCount>1</KeyCount>" in said
    assert b"SignatureDoesNotMatch" in oss(cloud, "GET", "x", secret="wrong")[2]
    same(oss(cloud, "DELETE", "a b/\u00fc")[0], 204)
    same(cloud.objects(), {})


def test_oss_multipart(cloud):
    upload = oss(cloud, "POST", "k", "uploads")[2]
    upload = upload.partition(b"<UploadId>")[2].partition(b"<")[0].decode()
    bodies, parts = [b"a" * 100 * KIB, b"b"], ""
    for number, body in enumerate(bodies, 1):
        etag = oss(cloud, "PUT", "k", "partNumber=%d&uploadId=%s" % (number, upload),
                   body)[1]["etag"]
        parts += "<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>" % (number, etag)
    xml = "<CompleteMultipartUpload>%s</CompleteMultipartUpload>" % parts
    status, headers, _ = oss(cloud, "POST", "k", "uploadId=" + upload, xml.encode())
    same(status, 200)
    same(oss(cloud, "HEAD", "k")[1]["x-oss-hash-crc64ecma"], headers["x-oss-hash-crc64ecma"])
    same(oss(cloud, "GET", "k")[2], b"".join(bodies))


def test_oss_refuses_paths_and_other_regions(cloud):
    for host, path in (("oss-cn-hangzhou.aliyuncs.com", "/bucket/k"), ("example.com", "/b/k")):
        status, _, said = call(cloud.http["oss"], "GET", path, None, {"Host": host})
        assert status == 403 and b"SecondLevelDomainForbidden" in said
    cloud.control("buckets", {"service": "oss", "name": "far", "region": "cn-beijing"})
    status, _, said = oss(cloud, "GET", "k", bucket="far")
    assert status == 403 and b"oss-cn-beijing.aliyuncs.com" in said


def json_put(cloud, name, body, query="", headers=()):
    return call(cloud.http["gcs"], "POST", "/upload/storage/v1/b/bucket/o?uploadType=media"
                "&name=%s%s" % (quote(name, safe=""), query), body,
                {**BEARER, "Content-Type": "text/plain", **dict(headers)})


def gcs(cloud, method, target, body=None, headers=()):
    return call(cloud.http["gcs"], method, target, body, {**BEARER, **dict(headers)})


def test_gcs_json_objects(cloud):
    status, _, said = json_put(cloud, "a/b c", b"123456789", "&ifGenerationMatch=0",
                               {"x-goog-hash": "crc32c=4waSgw=="})
    same((status, json.loads(said)["crc32c"], json.loads(said)["size"]),
         (200, "4waSgw==", "9"))
    status, _, said = json_put(cloud, "a/b c", b"x", "&ifGenerationMatch=0")
    same((status, json.loads(said)["error"]["errors"][0]["reason"]), (412, "conditionNotMet"))
    same(json_put(cloud, "bad", b"x", "", {"x-goog-hash": "crc32c=4waSgw=="})[0], 400)
    path = "/storage/v1/b/bucket/o/a%2Fb%20c"
    status, headers, body = gcs(cloud, "GET", path + "?alt=media", None,
                                {"Range": "bytes=3-4"})
    same((status, body, headers["content-range"]), (206, b"45", "bytes 3-4/9"))
    same(gcs(cloud, "GET", path + "?alt=media", None, {"Range": "bytes=9-"})[0], 416)
    same(call(cloud.http["gcs"], "GET", path)[0], 401)
    for name in ("c/1", "c/2", "d"):
        json_put(cloud, name, b"")
    got, token = [], ""
    while token is not None:
        page = json.loads(gcs(cloud, "GET", "/storage/v1/b/bucket/o?maxResults=1&delimiter=/"
                              "&pageToken=" + quote(token, safe=""))[2])
        got += [o["name"] for o in page.get("items", [])] + page.get("prefixes", [])
        token = page.get("nextPageToken")
    same(got, ["a/", "c/", "d"])
    same([o["name"] for o in json.loads(gcs(
        cloud, "GET", "/storage/v1/b/bucket/o?startOffset=c/2")[2])["items"]], ["c/2", "d"])
    same(gcs(cloud, "DELETE", path)[0], 204)
    same(gcs(cloud, "DELETE", path)[0], 404)


def resumable(cloud, name, query=""):
    status, headers, said = gcs(
        cloud, "POST", "/upload/storage/v1/b/bucket/o?uploadType=resumable&name=%s%s"
        % (name, query), b"", {"X-Upload-Content-Type": "text/plain"})
    return status, headers.get("location", "").partition("//")[2].partition("/")[2], said


def chunk(cloud, target, body, span):
    return call(cloud.http["gcs"], "PUT", "/" + target, body, {"Content-Range": span})


def test_gcs_resumable_uploads(cloud):
    body = bytes(range(256)) * 4 * KIB
    half = len(body) // 2
    _, target, _ = resumable(cloud, "big", "&ifGenerationMatch=0")
    total = len(body)
    status, headers, _ = chunk(cloud, target, body[:half], "bytes 0-%d/*" % (half - 1))
    same((status, headers["range"]), (308, "bytes=0-%d" % (half - 1)))
    same(chunk(cloud, target, b"", "bytes */%d" % total)[0], 308)
    same(cloud.objects(), {})
    status, _, said = chunk(cloud, target, body[half:], "bytes %d-%d/%d" % (
        half, total - 1, total))
    same((status, json.loads(said)["size"]), (200, str(total)))
    same(cloud.objects()["big"]["sha256"], hashlib.sha256(body).hexdigest())
    same(resumable(cloud, "big", "&ifGenerationMatch=0")[0], 412)
    same(chunk(cloud, target.replace("upload_id=", "upload_id=x"), b"", "bytes */1")[0], 404)


def test_gcs_resumed_after_a_cut(cloud):
    body = b"x" * 1024 * KIB
    target = resumable(cloud, "cut")[1]
    cloud.fault("cut", operation="UploadChunk", bytes=600 * KIB)
    lost(lambda: chunk(cloud, target, body, "bytes 0-%d/%d" % (len(body) - 1, len(body))))
    held = chunk(cloud, target, b"", "bytes */%d" % len(body))[1]["range"]
    at = int(held.partition("-")[2]) + 1
    assert at % (256 * KIB) == 0 and at >= 512 * KIB
    same(chunk(cloud, target, body[at:], "bytes %d-%d/%d" % (at, len(body) - 1, len(body)))[0],
         200)
    same(cloud.objects()["cut"]["size"], len(body))


def test_gcs_compose_and_rewrite(cloud):
    for name in ("1", "2"):
        json_put(cloud, name, name.encode())
    path = "/storage/v1/b/bucket/o/"
    body = json.dumps({"sourceObjects": [{"name": "1"}, {"name": "2"}]})
    status, _, said = gcs(cloud, "POST", path + "both/compose?ifGenerationMatch=0", body)
    assert status == 200 and "md5Hash" not in json.loads(said)
    same(gcs(cloud, "POST", path + "both/rewriteTo/b/bucket/o/to?ifGenerationMatch=0")[0], 200)
    same(gcs(cloud, "GET", path + "to?alt=media")[2], b"12")


def test_gcs_xml_objects(cloud):
    create = {"x-goog-if-generation-match": "0", "x-goog-meta-m": "v"}
    status, headers, _ = gcs(cloud, "PUT", "/bucket/a%20b", b"123456789", create)
    assert status == 200 and "crc32c=4waSgw==" in headers["x-goog-hash"]
    same(gcs(cloud, "PUT", "/bucket/a%20b", b"x", create)[0], 412)
    same(gcs(cloud, "PUT", "/bucket/a%20b", b"x", {"If-None-Match": "*"})[0], 200)
    status, headers, body = gcs(cloud, "GET", "/bucket/a%20b")
    same((status, body), (200, b"x"))
    assert b"<Key>a b</Key>" in gcs(cloud, "GET", "/bucket?list-type=2")[2]
    same(gcs(cloud, "GET", "/bucket/none")[0], 404)
    same(gcs(cloud, "PUT", "/bucket/k", b"", {"x-amz-meta-a": "b"})[0], 400)
    same(call(cloud.http["gcs"], "GET", "/a%20b", None,
              {**BEARER, "Host": "bucket.storage.googleapis.com"})[2], b"x")
    status, headers, _ = gcs(cloud, "POST", "/bucket/res", b"", {"x-goog-resumable": "start"})
    target = headers["location"].partition("//")[2].partition("/")[2]
    same((status, chunk(cloud, target, b"abc", "bytes 0-2/3")[0]), (201, 200))
    same(cloud.objects()["res"]["size"], 3)


def test_gcs_multipart_of_the_json_api(cloud):
    body = (b"--b\r\nContent-Type: application/json\r\n\r\n{\"name\": \"k\"}\r\n--b\r\n"
            b"Content-Type: text/plain\r\n\r\nhello\r\n--b--")
    status, _, said = gcs(cloud, "POST", "/upload/storage/v1/b/bucket/o?uploadType=multipart",
                          body, {"Content-Type": "multipart/related; boundary=b"})
    same((status, json.loads(said)["contentType"]), (200, "text/plain"))
    same(cloud.objects()["k"]["sha256"], hashlib.sha256(b"hello").hexdigest())


def test_gcs_signed_urls(cloud):
    public = jwt(cloud.folder, {})[1]
    cloud.control("accounts", {"email": EMAIL, "public_key": public})
    gcs(cloud, "PUT", "/bucket/a%20b", b"x")
    signed_url(cloud, cloud.http["gcs"].partition("//")[2], {})
    signed_url(cloud, "storage.googleapis.com", {"Host": "storage.googleapis.com:443"})


def signed_url(cloud, host, headers):
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    scope = stamp[:8] + "/auto/storage/goog4_request"
    query = ("X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Credential=%s&X-Goog-Date=%s&"
             "X-Goog-Expires=60&X-Goog-SignedHeaders=host" % (
                 quote(EMAIL + "/" + scope, safe=""), stamp))
    canonical = "\n".join(["GET", "/bucket/a%20b", query, "host:" + host, "", "host",
                           "UNSIGNED-PAYLOAD"])
    text = "\n".join(["GOOG4-RSA-SHA256", stamp, scope,
                      hashlib.sha256(canonical.encode()).hexdigest()])
    made = subprocess.run(["openssl", "dgst", "-sha256", "-sign", cloud.folder + "/rsa.pem"],
                          input=text.encode(), check=True, capture_output=True).stdout.hex()
    target = "/bucket/a%20b?" + query + "&X-Goog-Signature=" + made
    same(call(cloud.http["gcs"], "GET", target, None, headers)[::2], (200, b"x"))
    same(call(cloud.http["gcs"], "GET", target.replace("=60&", "=61&"), None, headers)[0], 403)
