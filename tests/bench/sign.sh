#!/bin/sh
# Signatures per second of one core, beside botocore's in turns. Ours builds each
# request anew; botocore's is there already. Both give the same signatures.
# shellcheck source=tests/bench/lib.sh
. "$(dirname "$0")/lib.sh"
SIGN_DRIVER=$(realpath "${SIGN_DRIVER:-$ROOT/build/tests/unit/sign-driver}")
ROUNDS=${ROUNDS:-5}

if ! /usr/bin/python3 -c 'import botocore' 2>/dev/null; then
	result "signatures" "python3-botocore is not here"
	exit
fi

# peer.py N <LINE: signatures per second of processor time, and the last one.
cat >"$T/peer.py" <<'PY'
import json, sys, time
from urllib.parse import quote
from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
times, j = int(sys.argv[1]), json.load(sys.stdin)
url = f"https://{j['host']}{j['path']}"
if j["query"]:
    url += "?" + "&".join(f"{n}={quote(v, safe='-_.~')}" for n, v in j["query"])
request = AWSRequest(method=j["method"], url=url, headers=dict(j["headers"]),
                     data=j.get("body", "").encode())
auth = (S3SigV4Auth if j["s3"] else SigV4Auth)(
    Credentials(j["id"], j["secret"], j.get("token")), j["service"], j["region"])
began = time.process_time()
for _ in range(times):
    request.context["timestamp"] = "20240102T030405Z"
    auth._modify_request_before_signing(request)
    text = auth.string_to_sign(request, auth.canonical_request(request))
    signature = auth.signature(text, request)
print(f"{times / (time.process_time() - began):.0f} {signature}")
PY

keys='"id": "AKIDEXAMPLE", "secret": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
	"region": "eu-west-1", "now": "2024-01-02T03:04:05Z", "how": "sigv4"'
line() { printf '{%s, %s}' "$keys" "$1" | tr '\n\t' '  '; }

compare() { # NAME CASE
	line "$2" >"$T/case"
	: >"$T/ours"
	: >"$T/theirs"
	for _ in $(seq "$ROUNDS"); do
		"$SIGN_DRIVER" --repeat 20000 <"$T/case" >>"$T/ours"
		/usr/bin/python3 "$T/peer.py" 2000 <"$T/case" >>"$T/theirs"
	done
	if [ "$(cut -d' ' -f2 "$T/ours" "$T/theirs" | sort -u | wc -l)" -ne 1 ]; then
		result "$1" "DIFFERENT SIGNATURES"
		return 1
	fi
	ours=$(cut -d' ' -f1 "$T/ours" | median)
	theirs=$(cut -d' ' -f1 "$T/theirs" | median)
	result "$1" "$(ratio "$ours" "$theirs") times botocore ($ours a second)"
}

compare "signatures, S3 list" '"s3": true, "service": "s3", "method": "GET",
	"host": "b.s3.eu-west-1.amazonaws.com", "path": "/", "headers": [],
	"query": [["list-type", "2"], ["prefix", "jobs/train-abcdef/"]]'
compare "signatures, S3 put of a session" '"s3": true, "service": "s3",
	"method": "PUT", "host": "b.s3.eu-west-1.amazonaws.com", "query": [],
	"path": "/jobs/train-abcdef/events/00000007.json", "token": "FwoGZXIvYXdzEA==",
	"headers": [["content-type", "application/json"], ["if-none-match", "*"]],
	"body": "{\"v\": 1}"'
compare "signatures, EC2" '"s3": false, "service": "ec2", "method": "POST",
	"host": "ec2.eu-west-1.amazonaws.com", "path": "/", "query": [],
	"headers": [["content-type", "application/x-www-form-urlencoded"]],
	"body": "Action=DescribeInstances&Version=2016-11-15"'
