"""TLS, and the port that chooses the service by the Host header."""
import http.client
import os
import ssl
import subprocess

from check_s3 import boto3, client
from check_vectors import same
from selftest import Cloud, Skip


def ask(cloud, authority, host, path):
    port = int(cloud.ready["https"]["front"].rpartition(":")[2])
    context = ssl.create_default_context(cafile=authority)
    connection = http.client.HTTPSConnection("localhost", port, timeout=60, context=context)
    connection.request("GET", path, None, {"Host": host})
    reply = connection.getresponse()
    return reply.status, reply.read()


def trailing_checksum(cloud, authority):
    """Over TLS botocore sends aws-chunked with an unsigned payload and a trailer."""
    if boto3 is None:
        return
    s3 = client(cloud, endpoint_url=cloud.ready["https"]["s3"], verify=authority)
    s3.put_object(Bucket="bucket", Key="k", Body=b"x" * 100000, ChecksumAlgorithm="SHA256")
    same(cloud.objects()["k"]["size"], 100000)
    same(cloud.objects()["k"]["headers"].get("content-encoding"), None)
    got = s3.get_object(Bucket="bucket", Key="k", ChecksumMode="ENABLED")
    same((len(got["Body"].read()), len(got["ChecksumSHA256"])), (100000, 44))


def test_tls_and_services_by_host(cloud):
    pair = [os.path.join(cloud.folder, n) for n in ("cert.pem", "key.pem")]
    try:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days",
                        "2", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost", "-out", pair[0], "-keyout", pair[1]],
                       check=True, capture_output=True)
    except FileNotFoundError:
        raise Skip("no openssl command") from None
    other = Cloud("--cert", pair[0], "--key", pair[1], folder=cloud.folder)
    try:
        for host, path, status, part in (
                ("b.s3.eu-west-1.amazonaws.com", "/k", 403, b"AccessDenied"),
                ("storage.googleapis.com", "/storage/v1/b/bucket", 401, b"UNAUTHENTICATED"),
                ("bucket.oss-cn-hangzhou.aliyuncs.com", "/", 403, b"AccessDenied"),
                ("sts.us-east-1.amazonaws.com", "/", 400, b"InvalidAction"),
                ("oidc.eu-west-1.amazonaws.com", "/token", 404, b""),
                ("169.254.169.254", "/latest/meta-data/instance-id", 200, b"i-"),
                ("metadata.google.internal", "/", 200, b"computeMetadata")):
            got = ask(other, pair[0], host, path)
            assert got[0] == status and part in got[1], (host, got)
        trailing_checksum(other, pair[0])
    finally:
        same(other.stop(), (0, []))
