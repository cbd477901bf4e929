"""URLs that let curl in: presign.py ENDPOINT BUCKET, the key from the environment
(AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION). Each line of stdin is METHOD,
KEY and, with tabs between, NAME=VALUE of the query; each line of stdout its URL."""
import hashlib
import hmac
import os
import sys
import time
from urllib.parse import quote


def main():
    endpoint, bucket = sys.argv[1:]
    stamp, region = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()), os.environ["AWS_REGION"]
    scope = "%s/%s/s3/aws4_request" % (stamp[:8], region)
    key = ("AWS4" + os.environ["AWS_SECRET_ACCESS_KEY"]).encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    fixed = [("X-Amz-Algorithm", "AWS4-HMAC-SHA256"), ("X-Amz-Date", stamp),
             ("X-Amz-Credential", os.environ["AWS_ACCESS_KEY_ID"] + "/" + scope),
             ("X-Amz-Expires", "86400"), ("X-Amz-SignedHeaders", "host")]
    for line in sys.stdin:
        method, name, *pairs = line.rstrip("\n").split("\t")
        path = "/" + bucket + ("/" + quote(name, safe="/") if name else "")
        query = "&".join(sorted("%s=%s" % (quote(n, safe=""), quote(v, safe="")) for n, v in
                                [*fixed, *(p.split("=", 1) for p in pairs)]))
        text = "\n".join([method, path, query, "host:" + endpoint.partition("//")[2], "",
                          "host", "UNSIGNED-PAYLOAD"])
        text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope,
                          hashlib.sha256(text.encode()).hexdigest()])
        print("%s%s?%s&X-Amz-Signature=%s" % (
            endpoint, path, query, hmac.new(key, text.encode(), hashlib.sha256).hexdigest()))


main()
