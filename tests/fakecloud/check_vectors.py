"""Signatures and checksums against published vectors."""
import hashlib

from fakecloud import acs, awschunked, oss4, sigv4, sums
from fakecloud.blob import Blob
from fakecloud.http1 import Failure, Request
from fakecloud.world import Key

SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
KEY = "AKIDEXAMPLE"


def same(got, wanted):
    assert got == wanted, "%r is not %r" % (got, wanted)


def test_checksums_of_123456789(_):
    import base64
    body = Blob([b"123456789"])
    for name, wanted in (("crc32", "y/Q5Jg=="), ("crc32c", "4waSgw=="),
                         ("crc64nvme", "rosUhgp5mIg=")):
        same(base64.b64encode(sums.digest(name, body)).decode(), wanted)
    same(int.from_bytes(sums.digest("crc64xz", body), "big"), 11051210869376104954)


def test_checksums_in_lanes_and_joined(_):
    data = bytes(range(256)) * 8200 + b"tail"
    for crc in (sums.CRC32C, sums.CRC64NVME, sums.CRC64XZ):
        slow = (crc.loop(crc.ones, data) ^ crc.ones).to_bytes(crc.size, "big")
        same(sums.digest(crc.name, Blob([data])), slow)
        cut = [Blob([data[:1000]]), Blob([data[1000:1500000]]), Blob([data[1500000:]])]
        same(sums.joined(crc.name, cut), slow)
        if crc.compiled:
            same(crc.compiled(crc.ones, data[:-1]), crc.loop(crc.ones, data[:-1]))


def test_sigv4_signing_key(_):
    """The example of the AWS General Reference."""
    key = sigv4.signing_key(SECRET, "20120215", "us-east-1", "iam")
    same(key.hex(), "f4780e2d9f65fa895f9c67b32ce1baf0b0d8a43505a000a1a9e090d414db404d")


def signed(target, signature, method="GET", extra=(), s3=False, payload=sigv4.EMPTY):
    names = ";".join(sorted(["host", "x-amz-date"] + [n for n, _ in extra]))
    headers = [("host", "example.amazonaws.com"), ("x-amz-date", "20150830T123600Z"),
               *extra, ("authorization", "AWS4-HMAC-SHA256 Credential=%s/20150830/us-east-1/"
                        "service/aws4_request, SignedHeaders=%s, Signature=%s"
                        % (KEY, names, signature))]
    found = sigv4.Signature(Request(method, target, headers, False))
    found.check_headers()
    found.check(SECRET, payload, s3)


def test_sigv4_suite_get_vanilla(_):
    signed("/", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31")


def test_sigv4_suite_post_vanilla(_):
    signed("/", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b", "POST")


def test_sigv4_suite_query_order_key_case(_):
    signed("/?Param2=value2&Param1=value1",
           "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500")


def test_sigv4_refuses_a_changed_request(_):
    try:
        signed("/x", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31")
    except Failure as failed:
        same((failed.status, failed.code), (403, "SignatureDoesNotMatch"))
    else:
        raise AssertionError("taken")


def test_sigv4_s3_paths_stay_as_they_are(_):
    same(sigv4.normal_path("/a%20b/../c//d/"), "/c/d/")
    same(sigv4.normal_path("/a%20b"), "/a%2520b")
    same(sigv4.canonical_query("b=2&a&a=%2f&c=*"), "a=&a=%2F&b=2&c=%2A")


def s3_example(method, target, headers, given, payload=sigv4.EMPTY):
    """One of the examples of Amazon's page on signatures for S3."""
    names = ";".join(sorted(n for n, _ in headers))
    headers = headers + [("authorization", "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/"
                          "20130524/us-east-1/s3/aws4_request,SignedHeaders=%s,Signature=%s"
                          % (names, given))]
    request = Request(method, target, headers, False)
    request.signature = sigv4.Signature(request)
    request.signature.check_headers()
    request.signature.check("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", payload, True)
    return request


HOST = ("host", "examplebucket.s3.amazonaws.com")
DATE = ("x-amz-date", "20130524T000000Z")


def test_sigv4_s3_examples(_):
    s3_example("GET", "/test.txt", [HOST, DATE, ("range", "bytes=0-9"),
                                    ("x-amz-content-sha256", sigv4.EMPTY)],
               "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
    payload = hashlib.sha256(b"Welcome to Amazon S3.").hexdigest()
    s3_example("PUT", "/test%24file.text", [
        HOST, DATE, ("date", "Fri, 24 May 2013 00:00:00 GMT"),
        ("x-amz-storage-class", "REDUCED_REDUNDANCY"), ("x-amz-content-sha256", payload)],
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd", payload)
    s3_example("GET", "/?lifecycle", [HOST, DATE, ("x-amz-content-sha256", sigv4.EMPTY)],
               "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")
    s3_example("GET", "/?max-keys=2&prefix=J", [HOST, DATE,
                                                ("x-amz-content-sha256", sigv4.EMPTY)],
               "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")


def test_sigv4_s3_example_of_a_presigned_url(_):
    request = Request("GET", "/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential="
                      "AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&"
                      "X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders="
                      "host&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957"
                      "d157751f604d404", [HOST], False)
    sigv4.Signature(request).check("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                                   sigv4.UNSIGNED, True)


def test_sigv4_s3_example_of_signed_chunks(_):
    kind = awschunked.SIGNED[0]
    request = s3_example("PUT", "/examplebucket/chunkObject.txt", [
        ("host", "s3.amazonaws.com"), DATE, ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
        ("x-amz-content-sha256", kind), ("content-encoding", "aws-chunked"),
        ("x-amz-decoded-content-length", "66560"), ("content-length", "66824")],
        "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9", kind)
    request.payload = kind
    request.identity = Key("aws", {
        "id": "AKIAIOSFODNN7EXAMPLE", "secret": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"})
    chunks = ((65536, "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648"),
              (1024, "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497"),
              (0, "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9"))
    request.body = Blob([b"".join(b"%x;chunk-signature=%s\r\n%s\r\n" % (
        size, given.encode(), b"a" * size) for size, given in chunks)])
    same(len(request.body), 66824)
    same(bytes(awschunked.decode(request, "/nowhere")), b"a" * 66560)


def acs3(method, target, headers, body=b""):
    """Signature of ACS3-HMAC-SHA256 with the secret that a vector names."""
    request = Request(method, target, headers, False)
    names = sorted(n for n, _ in headers)
    payload = hashlib.sha256(body).hexdigest()
    return request, names, payload


def test_acs3_published_vector(_):
    headers = [("host", "ecs.cn-shanghai.aliyuncs.com"), ("x-acs-action", "RunInstances"),
               ("x-acs-version", "2014-05-26"), ("x-acs-date", "2023-10-26T10:22:32Z"),
               ("x-acs-signature-nonce", "3156853299f313e23d1673dc12e1703d"),
               ("x-acs-content-sha256", sigv4.EMPTY)]
    request, names, payload = acs3("POST", "/?ImageId=win2019_1809_x64_dtc_zh-cn_40G_alibase"
                                   "_20230811.vhd&RegionId=cn-shanghai", headers)
    text = acs.canonical_request(request, "/", names, payload)
    same(acs.signature("YourAccessKeySecret", text)[0],
         "06563a9e1b43f5dfe96b81484da74bceab24a1d853912eee15083a6f0f3283c0")


def test_acs3_vector_with_a_form(_):
    form = (b"RegionId=cn-hangzhou&SystemDisk.Size=100&Tag.1.Key=gpucloud%3Ajob&Tag.1.Value="
            b"a%20b%2Ac~%2F%E4%B8%AD&UserData=ZWNobyBoaQ%3D%3D%2B%2F")
    for body, query, wanted in (
            (b"", form.decode(),
             "98f31f62b03decd967717fe29ab8cfeff62d1aee0b41fdc196b7baadf77ca68f"),
            (form, "", "ee05c959acefdf5c7d0a5e120a93cc10f7e5f4ad03b7a03bc6d74a0dbc99542f")):
        headers = [("host", "ecs.cn-hangzhou.aliyuncs.com"), ("x-acs-action", "RunInstances"),
                   ("x-acs-version", "2014-05-26"), ("x-acs-date", "2024-01-02T03:04:05Z"),
                   ("x-acs-signature-nonce", "0123456789abcdef0123456789abcdef"),
                   ("x-acs-security-token", "testtoken"),
                   ("x-acs-content-sha256", hashlib.sha256(body).hexdigest())]
        if body:
            headers.append(("content-type", "application/x-www-form-urlencoded"))
        request, names, payload = acs3("POST", "/?" + query, headers, body)
        text = acs.canonical_request(request, "/", names, payload)
        same(acs.signature("testsecret", text)[0], wanted)


OSS_QUERY = ("/1234%2B-/123/1.txt?%2Bparam1=value3&%2Bparam2&%7Cparam1=value4&%7Cparam2&"
             "param1=value1&param2")


def test_oss4_vector_in_headers(_):
    headers = [("content-type", "text/plain"), ("x-oss-content-sha256", "UNSIGNED-PAYLOAD"),
               ("x-oss-head1", "value"), ("x-oss-date", "20231216T162057Z")]
    request = Request("PUT", OSS_QUERY, headers, False)
    text = oss4.canonical_request(request, "bucket", "1234+-/123/1.txt", [])
    same(hashlib.sha256(text.encode()).hexdigest(),
         "f4613657f1b108998e8dbd10a1aa5da621dc2c6e02c9ddec0f163664848704c4")
    same(oss4.signing_key("sk", "20231216", "cn-hangzhou").hex(),
         "b412a03b134ebddd720f5167b5de6db66620ebb3b01cff4d49e3ccb09f8de97f")
    same(oss4.signature("sk", "20231216T162057Z",
                        "20231216/cn-hangzhou/oss/aliyun_v4_request", text)[0],
         "e21d18daa82167720f9b1047ae7e7f1ce7cb77a31e8203a7d5f4624fa0284afe")


def test_oss4_vector_in_the_query(_):
    query = ("&x-oss-signature-version=OSS4-HMAC-SHA256&x-oss-date=20231217T025437Z&"
             "x-oss-expires=599&x-oss-credential=ak%2F20231217%2Fcn-hangzhou%2Foss%2F"
             "aliyun_v4_request&x-oss-signature=a39966c61718be0d5b14e668088b3fa07601033f6518"
             "ac7b523100014269c0fe")
    headers = [("content-type", "application/octet-stream"), ("x-oss-head1", "value")]
    request = Request("PUT", OSS_QUERY + query, headers, False)
    request.bucket, request.key = "bucket", "1234+-/123/1.txt"
    oss4.Claim(request).check(request, "sk")
