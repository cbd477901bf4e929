#!/bin/sh
# Stores in buckets when their services fail: answers lost before and after their
# effect, refusals, uploads and downloads that break off, puts that land late, bytes
# that change. After each fault the service's objects are counted, with their sizes and
# sums: none is lost, none doubled, and no upload stays open.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

command -v python3 >/dev/null || skip_all "no python3"
sh "$ROOT/tests/servers/fakecloud.sh" start "$T/cloud" || skip_all "no stand-in"
. "$T/cloud/env"
DO=$(dirname "$(dirname "$GPUCLOUD_BIN")")/tests/e2e/store-do
printf '{"type": "authorized_user", "client_id": "client-id", "client_secret":
	"client-secret", "refresh_token": "refresh-token", "token_uri": "%s/token"}' \
	"$FAKE_OAUTH2" >"$T/adc.json"
export AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_REGION \
	ALIBABA_CLOUD_ACCESS_KEY_ID="$OSS_ACCESS_KEY_ID" \
	ALIBABA_CLOUD_ACCESS_KEY_SECRET="$OSS_ACCESS_KEY_SECRET" \
	GOOGLE_APPLICATION_CREDENTIALS="$T/adc.json"
unset AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 AWS_PROFILE OSS_ENDPOINT \
	ALIBABA_CLOUD_OSS_ENDPOINT STORAGE_EMULATOR_HOST GOOGLE_CLOUD_QUOTA_PROJECT

SMALL=$T/small
OTHER=$T/other
LARGE=$T/large # of three parts, or two chunks
head -c 300001 /dev/urandom >"$SMALL"
head -c 300001 /dev/urandom >"$OTHER"
head -c 35000001 /dev/urandom >"$LARGE"

ask() { # PATH [CURL-OPTION…]
	ask_path=$1
	shift
	curl -sS --noproxy '*' "$@" "$FAKE_CONTROL/_control/$ask_path"
}
# What the service has: objects, uploads that did not end, puts still to land.
there() {
	ask "objects?service=$SERVICE" | jq -r '(.objects[] | "\(.key) \(.size) \(.sha256)"),
		(.uploads[] | "upload of \(.key)"), (.late | select(. > 0) | "\(.) late")'
}
file_is() { # KEY FILE
	echo "t/$1 $(wc -c <"$2") $(sha256sum <"$2" | cut -d' ' -f1)"
}
none_late() { [ "$(ask "objects?sha256=0" | jq .late)" = 0 ]; }
fault() { # OPERATION MORE
	ask faults -d "{\"service\": \"$SERVICE\", \"operation\": \"$1\", $2}" >/dev/null
}
unused() { ask faults | jq -c '.faults[] | select(.used == 0)'; }
clean() { ask reset -d '{}' >/dev/null; }

# store VERB KEY [FILE]: leaves what it said in $T/said and its status in $rc.
store() {
	"$DO" "$URL" "$@" >"$T/said" 2>&1
	rc=$?
}
# was NAME STATUS [WANT]: the faults happened, the status is this, and so are the
# service's objects.
was() {
	wait_until 10 none_late
	[ $rc = "$2" ] || note "$(head -c 400 "$T/said" | tr -d '\000')"
	is "$rc $(there)$(unused)" "$2 ${3:-}" "$KIND: $1"
	clean
}

# puts VERB FILE OPERATION NAME FAULT: it succeeds all the same, once.
puts() {
	fault "$3" "$5"
	store "$1" k "$2"
	was "$1, $4" 0 "$(file_is k "$2")"
}

small_puts() {
	for verb in put create; do
		puts $verb "$SMALL" PutObject "answer lost" '"do": "reset", "effect": true'
		puts $verb "$SMALL" PutObject "request lost" '"do": "reset"'
		puts $verb "$SMALL" PutObject "throttled" \
			'"do": "error", "status": 503, "code": "SlowDown", "count": 2'
		puts $verb "$SMALL" PutObject "failed" '"do": "error", "status": 500,
			"code": "InternalError"'
		puts $verb "$SMALL" PutObject "failed after its effect" '"do": "error",
			"status": 500, "code": "InternalError", "effect": true'
		puts $verb "$SMALL" PutObject "broken off" '"do": "cut", "bytes": 100000'
		puts $verb "$SMALL" PutObject "lands late" '"do": "late", "ms": 1000'
	done
	store put k "$OTHER"
	fault PutObject '"do": "reset"'
	store create k "$SMALL"
	was "create of what another has made, request lost" 1 "$(file_is k "$OTHER")"
}

large_puts() { # BEGIN PART END NTH-END
	for verb in put create; do
		puts $verb "$LARGE" "$2" "answer to a part lost" \
			'"do": "reset", "effect": true'
		puts $verb "$LARGE" "$3" "answer to the end lost" \
			"\"do\": \"reset\", \"effect\": true, \"nth\": $4"
	done
	puts put "$LARGE" "$1" "beginning failed" '"do": "error", "status": 500,
		"code": "InternalError"'
	puts put "$LARGE" "$2" "part lost" '"do": "reset"'
	puts put "$LARGE" "$2" "parts throttled" \
		'"do": "error", "status": 503, "code": "SlowDown", "count": 2'
	puts put "$LARGE" "$2" "part broken off" '"do": "cut", "bytes": 5000000'
	puts put "$LARGE" "$3" "end failed" "\"do\": \"error\", \"status\": 500,
		\"code\": \"InternalError\", \"nth\": $4"
	fault "$2" '"do": "error", "status": 403, "code": "AccessDenied", "count": 0'
	store put k "$LARGE"
	was "put of parts that are refused" 1 ""
}

xml_puts() {
	puts create "$LARGE" CompleteMultipartUpload "end failed with status 200" \
		'"do": "error-200"'
	puts create "$LARGE" CompleteMultipartUpload "end worked, said to have failed" \
		'"do": "error-200", "effect": true'
}

session_puts() {
	fault UploadChunk '"do": "reset", "effect": true'
	puts create "$LARGE" QueryUpload "session that does not answer at once" \
		'"do": "reset"'
	fault UploadChunk '"do": "error", "status": 410, "code": "Gone", "nth": 2'
	store put k "$LARGE"
	# the stand-in still has the session that it said to be gone
	was "put, session lost" 0 "$(file_is k "$LARGE")
upload of t/k"
}

# gets NAME FAULT: all bytes come.
gets() {
	store put k "$SMALL"
	fault GetObject "$2"
	"$DO" "$URL" get k >"$T/got" 2>&1
	rc=$?
	cmp "$T/got" "$SMALL" >"$T/said" 2>&1 || rc=2
	was "get, $1" 0 "$(file_is k "$SMALL")"
}

# fails NAME REGEX: a get that must not succeed.
fails() {
	store get k
	ask faults -X DELETE >/dev/null
	like "$rc $(tail -c 300 "$T/said" | tr -d '\000' | tail -n 1)" "^1 .*$2" "$KIND: $1"
	clean
}

reads() { # LIST
	gets "broken off" '"do": "truncate", "bytes": 100000'
	gets "broken off twice" '"do": "truncate", "bytes": 100000, "count": 2'
	gets "request lost" '"do": "reset"'
	gets "throttled" '"do": "error", "status": 503, "code": "SlowDown"'
	gets "failed" '"do": "error", "status": 500, "code": "InternalError"'
	store put k "$SMALL"
	fault GetObject '"do": "truncate", "bytes": 100000'
	fault GetObject '"do": "touch", "nth": 2'
	fails "get of what changes after a break" 'another object took its place'
	# Where the server knows no If-Match what it sends tells.
	store put k "$SMALL"
	ask settings -d '{"read_conditions": false}' >/dev/null
	fault GetObject '"do": "truncate", "bytes": 100000'
	fault GetObject '"do": "touch", "nth": 2'
	fails "and without If-Match" 'another object took its place'
	for i in 1 2 3; do store put "l/$i" "$SMALL"; done
	fault "$1" '"do": "truncate", "bytes": 100'
	store list l/
	is "$rc $(tr '\n' ' ' <"$T/said")" "0 300001 l/1 300001 l/2 300001 l/3 " \
		"$KIND: list, broken off"
	clean
}

damaged_reads() {
	store put k "$SMALL"
	fault GetObject '"do": "corrupt", "at": 200000'
	fails "get with a byte that changed on its way" 'checksum'
}

deletes() {
	store put k "$SMALL"
	fault DeleteObject '"do": "reset", "effect": true'
	store del k
	was "delete, answer lost" 0 ""
	store put k "$SMALL"
	fault DeleteObject '"do": "error", "status": 503, "code": "SlowDown"'
	store del k
	was "delete, throttled" 0 ""
}

begin_kind() { # KIND SERVICE URL
	KIND=$1
	SERVICE=$2
	URL="$1://bucket/t?endpoint=$3"
	small_puts
	deletes
}

begin_kind s3 s3 "$FAKE_S3"
large_puts CreateMultipartUpload UploadPart CompleteMultipartUpload 1
xml_puts
reads ListObjectsV2

begin_kind oss oss "$FAKE_OSS"
large_puts CreateMultipartUpload UploadPart CompleteMultipartUpload 1
xml_puts
reads ListObjectsV2
damaged_reads

begin_kind gs gcs "$FAKE_GCS"
large_puts StartResumable UploadChunk UploadChunk 2
session_puts
reads ListObjects
damaged_reads

sh "$ROOT/tests/servers/fakecloud.sh" stop "$T/cloud"
finish
