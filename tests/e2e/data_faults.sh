#!/bin/sh
# `gpucloud data` when things go wrong: who is refused is told why, with the request's id
# and what helps; nothing half-written is ever seen; and what was cut short goes on.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/data/lib.sh
. "$ROOT/tests/e2e/data/lib.sh"
tls=
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 \
	-subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 2>/dev/null &&
	tls="--cert $T/work/cert.pem --key $T/work/key.pem"
# shellcheck disable=SC2086  # options
start_fake $tls
nothing_in() { [ -z "$(find "$1" -mindepth 1)" ]; }

# --- refused -----------------------------------------------------------------------
# refused NAME STATUS REGEX COMMAND…: what it says, and that nothing is left.
refused() {
	rf_name=$1
	rf_status=$2
	rf_like=$3
	shift 3
	rm -rf target && mkdir target
	run "$@"
	is "$rc" "$rf_status" "$rf_name: exit status" || note "$err"
	like "$err" "$rf_like" "$rf_name: says what"
	like "$err" "hint: " "$rf_name: with a remedy"
	check "$rf_name: nothing is left" nothing_in target
}
mkdir src
for i in 1 2 3; do echo "file $i" >src/$i; done
for s in s3 oss gs; do gpc data cp -q -r src "$(url $s d/)"; done
id='\(request [0-9A-Za-z-]+\)'

refused "wrong secret" 4 "SignatureDoesNotMatch.*$id" \
	env AWS_SECRET_ACCESS_KEY=wrong "$GPUCLOUD_BIN" data cp "$(url s3 d/1)" target/1
refused "wrong secret, oss" 4 "SignatureDoesNotMatch.*$id" env \
	ALIBABA_CLOUD_ACCESS_KEY_SECRET=wrong "$GPUCLOUD_BIN" data cp -r "$(url oss d)" target
refused "wrong secret, up" 4 "SignatureDoesNotMatch.*$id" \
	env AWS_SECRET_ACCESS_KEY=wrong "$GPUCLOUD_BIN" data cp -r src "$(url s3 new/)"
like "$err" "3 of 3 failed" "of how many"
is "$(count s3 new/)" 0 "nothing is put"
refused "no bucket" 3 "NoSuchBucket.*$id" gpc data cp -r "s3://nobucket/d?endpoint=$FAKE_S3" target
refused "no bucket, up" 3 "NoSuchBucket.*$id" gpc data cp src/1 "oss://nobucket/d?endpoint=$FAKE_OSS"
fault '{"service": "s3", "operation": "ListObjectsV2", "do": "error", "status": 403,
	"code": "AccessDenied", "message": "not authorized to perform: s3:ListBucket", "count": 0}'
refused "may not list" 4 "s3:ListBucket.*$id" gpc data cp -r "$(url s3 d)" target
refused "may not list, ls" 4 "s3:ListBucket.*$id" gpc data ls "$(url s3 d)"
no_faults
fault '{"service": "s3", "operation": "GetObject", "do": "error", "status": 403,
	"code": "AccessDenied", "message": "not authorized to perform: s3:GetObject", "count": 0}'
refused "may not read" 4 "s3:GetObject.*$id" gpc data cp -r "$(url s3 d)" target
refused "may not read, folders" 4 "s3:GetObject.*$id" gpc data cp -r "$(url s3 d)" target/new/er
refused "may not read, one file" 4 "s3:GetObject.*$id" gpc data cp "$(url s3 d/1)" target/new/er
rm -rf target && mkdir -p target/old
run gpc data cp -r "$(url s3 "")" target --exclude '*' --include 'd/*'
is "$rc $(find target -mindepth 1)" "4 target/old" "folders that were there stay" || note "$err"
no_faults
fault '{"service": "s3", "operation": "GetObject", "prefix": "d/2", "do": "error", "status": 403,
	"code": "AccessDenied", "message": "not authorized to perform: s3:GetObject", "count": 0}'
run gpc data cp -r "$(url s3 d)" target
is "$rc $(all_files target | tr '\n' ' ')" "1 ./1 ./3 " "one that may not be read holds up no other"
like "$err" "warning: s3://bucket/d/2: .*s3:GetObject.*$id" "it is named"
like "$err" "gpucloud: 1 of 3 failed" "and counted"
run gpc data cp -r "$(url s3 d)" target --json
is "$(printf '%s\n' "$out" | jq -r 'select(.type == "failed") | .from, (.request_id | length > 5)')" \
	"s3://bucket/d/2
true" "also with --json"
is "$(printf '%s\n' "$out" | jq -c 'select(.type == "end") | [.files, .failed]')" "[2,1]" \
	"and counted"
no_faults

fault '{"service": "s3", "operation": "GetObject", "do": "error", "status": 403, "code": "InvalidObjectState",
	"message": "not valid for the object\u0027s storage class", "count": 0}'
refused "archived" 3 "InvalidObjectState.*$id" gpc data cp "$(url s3 d/1)" target
like "$err" "hint: .*restore-object" "archived: what helps"
no_faults
for s in s3:s3 oss:oss gs:gcs; do
	fault "{\"service\": \"${s#*:}\", \"operation\": \"GetObject\", \"do\": \"error\", \"status\": 302,
		\"code\": \"\", \"message\": \"\", \"count\": 0}"
	refused "sent elsewhere, ${s%:*}" 3 "302" gpc data cp "$(url "${s%:*}" d/1)" target
	no_faults
done
refused "where no file can be" 5 "/proc/new" gpc data cp "$(url s3 d/1)" /proc/new
refused "where no folder can be" 5 "/proc/new" gpc data cp -r "$(url s3 d)" /proc/new/er
touch plain
refused "a file in a folder's place" 8 "plain exists and is no folder" gpc data cp -r "$(url s3 d)" plain

# What stays wrong after the last try, or came damaged: each names its request, where
# there was an answer, and what helps.
fault '{"service": "s3", "count": 0, "do": "reset"}'
refused "connections break" 7 "5 tries: the connection broke" gpc data cp "$(url s3 d/1)" target
no_faults
fault '{"service": "oss", "count": 0, "do": "error", "status": 500, "code": "InternalError"}'
refused "trouble of the service" 7 "5 tries: .*$id" gpc data cp "$(url oss d/1)" target
like "$err" "hint: .* try again later" "trouble of the service: what helps"
no_faults
for s in s3 oss gs; do
	case $s in gs) service=gcs ;; *) service=$s ;; esac
	of="\"service\": \"$service\", \"count\": 0, \"prefix\": \"d/1\""
	fault "{$of, \"operation\": \"GetObject\", \"do\": \"corrupt\", \"at\": 1}"
	refused "damaged on its way, $s" 7 "checksum .*$id" gpc data cp "$(url $s d/1)" target
	like "$err" "hint: .*damaged" "damaged on its way, $s: what helps"
	no_faults
	fault "{$of, \"operation\": \"GetObject\", \"do\": \"touch\", \"gone\": true}"
	refused "deleted meanwhile, $s" 5 "deleted meanwhile $id" gpc data cp "$(url $s d/1)" target
	no_faults
	gpc data cp -q src/1 "$(url $s d/)"
done
run env GOOGLE_APPLICATION_CREDENTIALS=/nowhere "$GPUCLOUD_BIN" data ls "$(url gs d)"
is "$rc" 4 "credentials of Google that are not there"
like "$err" "hint: name a credentials file there" "what helps"

# A clock that is two hours wrong is mended, also where the first answer has no words.
for off in 7200 -7200; do
	control POST settings "{\"clock_offset\": $off}" >/dev/null
	for s in s3 oss; do
		run gpc data ls "$(url $s d/1)" -o name
		is "$rc $out" "0 1" "a clock that is ${off}s off, $s" || note "$err"
	done
done
control POST settings '{"clock_offset": 0}' >/dev/null

# Names that objects may have, and files not: said of each; the others come.
long=$(printf 'l%.0s' $(seq 300))
control POST objects "{\"service\": \"s3\", \"bucket\": \"bucket\", \"size\": 3, \"keys\": [\"odd/../up\",
	\"odd/a//b\", \"odd/$long\", \"odd/in/$long/x\", \"odd/good\"]}" >/dev/null
rm -rf target
run gpc data cp -r "$(url s3 odd)" target
is "$rc $(cd target && find . -mindepth 1)" "1 ./good" "names that no file can have hold up no others" ||
	note "$err"
is "$(printf '%s\n' "$err" | grep -c '^warning: s3://bucket/odd/')" 4 "each is named"
like "$err" "/odd/ll+\.\.\.l+: .*File name too long" "a name that is long leaves room for what is wrong"
like "$err" "hint: copy that object by itself" "what helps"
run gpc data cp "$(url s3 odd/../up)" target/up
is "$rc $(wc -c <target/up)" "0 3" "which works"

# What is no list is no empty one.
cp -r src keep
for f in '"status": 200, "code": "x"' '"status": 403, "code": "AccessDenied"'; do
	for s in s3 oss gs; do
		case $s in gs) to="gcs ListObjects" ;; *) to="$s ListObjectsV2" ;; esac
		fault "{\"service\": \"${to% *}\", \"operation\": \"${to#* }\", \"do\": \"error\", $f, \"count\": 0}"
		run gpc data sync "$(url $s d)" keep --delete -y
		no_faults
		[ "$rc" -ne 0 ] && same_tree src keep
		ok $? "$s, a list that fails ($f) deletes nothing" || note "$rc $err"
		like "$err" "listing objects in bucket bucket: .*$id" "and names the request"
	done
done

# A bucket may have both.
gpc data cp -q src/1 "$(url s3 both/a)"
gpc data cp -q src/1 "$(url s3 both/a/b)"
rm -rf target
run gpc data cp -r "$(url s3 both)" target
is "$rc $(find target -type f | wc -l)" "1 1" "an object and a folder of one name: one of them comes"
like "$err" "hint: a file and a folder cannot have one name here" "and why"

# --- an expired token, an action that is not allowed, another region, for each service ----
control POST keys '{"cloud": "aws", "id": "ASIAOLD", "secret": "old", "token": "old/+=", "expires": 1}' >/dev/null
control POST keys '{"cloud": "alibaba", "id": "STS.OLD", "secret": "old", "token": "old/+=", "expires": 1}' \
	>/dev/null
control POST keys '{"cloud": "alibaba", "id": "LTAIDENY", "secret": "deny", "deny": ["oss:GetObject"]}' >/dev/null
old() { # COMMAND…: by who has logged in once
	env AWS_ACCESS_KEY_ID=ASIAOLD AWS_SECRET_ACCESS_KEY=old AWS_SESSION_TOKEN=old/+= \
		ALIBABA_CLOUD_ACCESS_KEY_ID=STS.OLD ALIBABA_CLOUD_ACCESS_KEY_SECRET=old \
		ALIBABA_CLOUD_SECURITY_TOKEN=old/+= "$GPUCLOUD_BIN" "$@"
}
refused "expired token" 4 "ExpiredToken: .*$id" old data cp "$(url s3 d/1)" target
like "$err" "hint: log in again" "expired token: what helps"
refused "expired token, a folder" 4 "ExpiredToken: .*$id" old data cp -r "$(url s3 d)" target
refused "expired token, up" 4 "ExpiredToken: .*$id" old data cp src/1 "$(url s3 new/)"
refused "expired token, oss" 4 "SecurityTokenExpired: .*$id" old data cp "$(url oss d/1)" target
refused "expired token, oss, up" 4 "SecurityTokenExpired: .*$id" old data cp src/1 "$(url oss new/)"
fault '{"service": "gcs", "do": "error", "status": 401, "code": "authError",
	"message": "Invalid Credentials", "count": 0}'
refused "expired token, gs" 4 "authError: .*$id" gpc data cp "$(url gs d/1)" target
no_faults
sed 's/refresh-token/revoked/' "$T/adc.json" >"$T/revoked.json"
refused "expired login, gs" 4 "invalid_grant" env "GOOGLE_APPLICATION_CREDENTIALS=$T/revoked.json" \
	"$GPUCLOUD_BIN" data cp "$(url gs d/1)" target
like "$err" "hint: run: gcloud auth application-default login" "expired login, gs: what helps"
refused "may not read, oss" 4 "permission oss:GetObject .*$id" env ALIBABA_CLOUD_ACCESS_KEY_ID=LTAIDENY \
	ALIBABA_CLOUD_ACCESS_KEY_SECRET=deny "$GPUCLOUD_BIN" data cp -r "$(url oss d)" target
fault '{"service": "gcs", "operation": "ListObjects", "do": "error", "status": 403, "code": "forbidden",
	"message": "a@b does not have storage.objects.list access to the bucket.", "count": 0}'
refused "may not list, gs" 4 "storage.objects.list .*$id" gpc data cp -r "$(url gs d)" target
no_faults
refused "no bucket, gs" 3 "bucket.*$id" gpc data cp -r "gs://nobucket/d?endpoint=$FAKE_GCS" target

control POST buckets '{"name": "far", "region": "eu-west-1"}' >/dev/null
control POST buckets '{"service": "oss", "name": "far", "region": "cn-beijing"}' >/dev/null
for way in 301 307 400; do
	control POST settings "{\"wrong_region\": \"$way\"}" >/dev/null
	run gpc data cp src/1 "s3://far/$way?endpoint=$FAKE_S3"
	is "$rc" 0 "another region is found, told by $way" || note "$err"
	run gpc data cp "s3://far/$way?endpoint=$FAKE_S3&region=ap-south-1" "region-$way"
	is "$rc $(cat "region-$way")" "0 file 1" "also by who may read only" || note "$err"
done
control POST settings '{"wrong_region": "301"}' >/dev/null
fault '{"service": "s3", "do": "error", "status": 301, "code": "PermanentRedirect",
	"message": "Use the specified endpoint.", "count": 0}'
refused "a region that is not told" 3 "PermanentRedirect: .*$id" gpc data cp "$(url s3 d/1)" target
like "$err" "hint: .*\?region=" "a region that is not told: what helps"
refused "a region that is not told, up" 3 "PermanentRedirect: .*$id" gpc data cp src/1 "$(url s3 new/)"
no_faults
for far in target "oss://bucket/d/?endpoint=$FAKE_OSS"; do
	refused "another region, oss" 3 "signing region.*$id" \
		gpc data cp "oss://far/x?endpoint=$FAKE_OSS&region=cn-hangzhou" "$far"
	like "$err" "hint: .*\?region=" "another region, oss: what helps"
done
is "$(count s3 new/) $(count oss new/)" "0 0" "nothing is put"
refused "nobody listens" 7 "127.0.0.1:1" \
	gpc data cp -r "s3://bucket/d?endpoint=http://127.0.0.1:1" target
refused "no such host" 7 "nosuch.invalid" \
	gpc data cp -r "s3://bucket/d?endpoint=http://nosuch.invalid" target
refused "no TLS there" 7 "TLS|SSL|certificate" \
	gpc data cp -r "s3://bucket/d?endpoint=https://${FAKE_S3#http://}" target
[ -z "${FAKES_S3:-}" ] || refused "unknown authority" 7 "certificate" \
	gpc data cp -r "s3://bucket/d?endpoint=$FAKES_S3" target
# What answers is no object store: a web server, and an API of something else.
/usr/bin/python3 -u -m http.server 0 --bind 127.0.0.1 --directory "$T/tmp" >"$T/web.log" 2>&1 &
web_pid=$!
web_up() { grep -q ' port [0-9]' "$T/web.log"; }
wait_until 60 web_up
web="http://127.0.0.1:$(sed -n 's/.* port \([0-9]*\) .*/\1/p' "$T/web.log")"
strange="as no object store does"
for s in s3 oss gs; do
	there="$s://bucket/d?endpoint"
	refused "a web server as $s" 3 "answers 404 with a web page, $strange" \
		gpc data cp -r "$there=$web" target
	like "$err" "hint: check the endpoint" "a web server as $s: what helps"
	refused "a web server as $s, up" 3 "answers 501 with a web page, $strange" \
		gpc data cp src/1 "$there=$web"
	refused "another API as $s" 3 "answers 404, $strange" \
		gpc data cp -r "$there=$FAKE_CONTROL" target
done
refused "a web server as a store" 3 "$strange" \
	env GPUCLOUD_STORE="s3://bucket/p?endpoint=$web" "$GPUCLOUD_BIN" status
kill "$web_pid"
refused "an endpoint that is none" 3 "endpoint" gpc data cp "s3://bucket/d?endpoint=:" target/x
run env AWS_ENDPOINT_URL_S3="$FAKE_S3" "$GPUCLOUD_BIN" data cp src/1 "s3://bucket/d?endpont=x"
is "$rc" 0 "a key may hold what looks like an option" || note "$err"
like "$err" "warning: .endpont=x is a part of the key; was endpoint= meant" "which is said"

# --- changed, damaged, full ------------------------------------------------------------
make_file large 20
for s in s3 oss gs; do
	gpc data cp -q large "$(url $s big/large)"
	# another object has its name when some of it has come and the connection breaks
	fault '{"operation": "GetObject", "prefix": "big/large", "do": "touch", "bytes": 1000000}'
	refused "changed while it came from $s" 8 "changed while it was read: .*$id" \
		gpc data cp "$(url $s big/large)" target/large
	no_faults
	# what nobody has seen a byte of is taken as it is
	fault '{"operation": "GetObject", "prefix": "big/large", "do": "touch"}'
	run gpc data cp "$(url $s big/large)" target/large
	no_faults
	gpc data cp -q "$(url $s big/large)" now
	is "$rc" 0 "changed before it came from $s" || note "$err"
	check "changed before it came from $s: the new one is there" cmp now target/large
done
gpc data cp -q large "$(url s3 big/large)"
if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null; then
	run unshare -m timeout -k 5 $((60 * SLOW)) sh -c "mkdir -p '$T/small' &&
		mount -t tmpfs -o size=8m none '$T/small' || exit 99
		'$GPUCLOUD_BIN' data cp '$(url s3 big/large)' '$T/small/large'
		rc=\$?
		find '$T/small' -type f -name large
		exit \$rc"
	is "$rc $out" "1 " "a full disk" || note "$err"
	like "$err" "room" "is named"

	# It fills up: nobody looks ahead for small files, the last ones do not fit.
	mkdir many
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do make_file many/$i 1 $i && truncate -s 900K many/$i; done
	gpc data cp -q -r many "$(url s3 many)"
	run unshare -m timeout -k 5 $((60 * SLOW)) sh -c "mount -t tmpfs -o size=6m none '$T/small' || exit 99
		'$GPUCLOUD_BIN' data cp -r '$(url s3 many)' '$T/small/new' --at-once 3
		rc=\$?
		cd '$T/small/new' || exit 98
		for i in * .[!.]*; do
			[ -e \"\$i\" ] || continue
			cmp -s \"\$i\" '$T/work/many/'\"\$i\" && echo whole || echo \"\$i is not\"
		done | sort | uniq -c
		exit \$rc"
	is "$rc $(echo "$out" | sed 's/^ *[1-9][0-9]* //')" "1 whole" "a disk that fills up: all that is there is whole" ||
		note "$out $err"
	like "$err" "No space left on device" "a disk that fills up: is named"
	like "$err" "hint: (free|make) (space|room) on that disk" "a disk that fills up: what helps"

	# Somebody else fills it, in the middle of a file that did fit.
	fault '{"service": "s3", "operation": "GetObject", "do": "trickle", "rate": 1000000, "count": 0}'
	run unshare -m timeout -k 5 $((60 * SLOW)) sh -c "mount -t tmpfs -o size=24m none '$T/small' || exit 99
		'$GPUCLOUD_BIN' data cp '$(url s3 big/large)' '$T/small/new/large' &
		until find '$T/small' -type f -printf '%b\\n' | grep -q '....'; do
			kill -0 \$! || exit 98
			sleep 0.05
		done
		head -c 24m /dev/zero >'$T/small/fill'
		wait \$!
		rc=\$?
		cd '$T/small' && find . -mindepth 1
		exit \$rc"
	no_faults
	is "$rc $out" "1 ./fill" "a disk that somebody fills: nothing half-written is left" || note "$err"
	like "$err" "No space left on device" "a disk that somebody fills: is named"
else
	skip "a full disk" "needs root and a mount namespace"
fi

# --- cut short -----------------------------------------------------------------------------
# killed SIGNAL CHECK COMMAND…: ended by it once CHECK succeeds.
killed() {
	kl_signal=$1
	kl_check=$2
	shift 2
	mark
	"$@" >cut.out 2>cut.err &
	kl_pid=$!
	kl_ready() { "$kl_check" || ! alive "$kl_pid"; }
	wait_until 60 kl_ready
	alive "$kl_pid"
	ok $? "it is on its way" || note "$(cat cut.err)"
	kill "-$kl_signal" "$kl_pid"
	wait "$kl_pid"
	kl_rc=$?
}
resumed() { printf '%s\n' "$out" | jq 'select(.type == "end").resumed_bytes'; }
make_file huge 80
fault '{"service": "s3", "operation": "UploadPart", "nth": 3, "do": "delay", "seconds": 20, "count": 0}'
# of two at a time the fourth begins when the client has seen two ends
two_parts() { [ "$(asked '.operation == "UploadPart"')" -ge 4 ]; }
killed KILL two_parts "$GPUCLOUD_BIN" data cp huge "$(url s3 cut/huge)" --at-once 2
no_faults
is "$kl_rc" 137 "an upload is killed"
is "$(count s3 cut/)" 0 "nothing is seen of it"
run gpc data cp huge "$(url s3 cut/huge)" --json
is "$rc" 0 "the same again" || note "$err"
[ "$(resumed)" -ge $((32 << 20)) ]
ok $? "goes on where it was: $(resumed) bytes were there"
is "$(uploads_open)" 0 "no upload is left open"
run gpc data cp "$(url s3 cut/huge)" back
check "what was put is what is here" cmp huge back
rm -f back

fault '{"service": "s3", "operation": "GetObject", "nth": 3, "do": "delay", "seconds": 20, "count": 0}'
two_gets() { [ "$(asked '.operation == "GetObject"')" -ge 4 ]; }
mkdir down
killed KILL two_gets "$GPUCLOUD_BIN" data cp "$(url s3 cut/huge)" down/huge --at-once 2
is "$kl_rc" 137 "a download is killed"
[ ! -e down/huge ]
ok $? "nothing has its name"
no_faults
run gpc data sync down "$(url s3 other)" --json
is "$(count s3 other/)" 0 "what is not whole is not uploaded"
run gpc data cp "$(url s3 cut/huge)" down/huge --json
is "$rc" 0 "the same again" || note "$err"
[ "$(resumed)" -ge $((16 << 20)) ]
ok $? "goes on where it was: $(resumed) bytes were there"
check "the file is right" cmp huge down/huge
is "$(all_files down)" "./huge" "and nothing else is left"

fault '{"service": "s3", "operation": "GetObject", "do": "trickle", "rate": 500000, "count": 0}'
mkdir int
# of a file that has its size from the start: blocks of 512 bytes that were written
a_mebibyte() { find int -type f -printf '%b\n' | awk '{n += $1} END {exit n < 2048}'; }
# the same at once, while the first one is on its way
twice() {
	a_mebibyte || return 1
	run gpc data cp -r "$(url s3 cut)" int
}
killed TERM twice "$GPUCLOUD_BIN" data cp -r "$(url s3 cut)" int --at-once 3
no_faults
is "$rc" 8 "the same twice at once: the second one ends" || note "$err"
like "$err" "int/huge: another process is writing it just now" "and says why"
like "$err" "hint: the same copy may run already: wait" "and what to do"
is "$kl_rc" 143 "SIGTERM"
like "$(cat cut.err)" "hint: .*goes on where" "says that the same command goes on"
run gpc data cp -r "$(url s3 cut)" int --json
is "$rc" 0 "and so it does" || note "$err"
[ "$(resumed)" -ge 1000000 ]
ok $? "goes on where it was: $(resumed) bytes were there"
check "to the end" cmp huge int/huge
is "$(all_files int)" "./huge" "with nothing beside it"

# --- out of reach for a while ----------------------------------------------------------------
# Both ways at once, so that one outage is enough. set_off UP DOWN [NAME=VALUE…]: an upload
# and a download are on their way, with two pieces of each through, as $up and $down.
rm -rf int && mkdir int
set_off() {
	so_up=$1
	so_down=$2
	shift 2
	fault '[{"service": "s3", "operation": "UploadPart", "nth": 3, "do": "delay", "seconds": 60,
		"count": 0}, {"service": "s3", "operation": "GetObject", "nth": 3, "do": "delay",
		"seconds": 60, "count": 0}]'
	mark
	env "$@" "$GPUCLOUD_BIN" data cp huge "$(url s3 "$so_up")" --at-once 2 --json -v \
		>up.out 2>up.err &
	up=$!
	env "$@" "$GPUCLOUD_BIN" data cp "$(url s3 cut/huge)" "$so_down" --at-once 2 --json -v \
		>down.out 2>down.err &
	down=$!
	so_ready() { two_parts && two_gets; }
	wait_until 60 so_ready
	ok $? "two pieces are through" || note "$(cat up.err down.err)"
	no_faults
}
away() { control POST "$1" '{"service": "s3"}' >/dev/null; }
both_say() { grep -Eq "$1" up.err && grep -Eq "$1" down.err; }
rows() { jq -r 'select(.type == "end") | "\(.files) \(.size_bytes) \(.failed)"' "$1"; }

set_off away/huge int/huge
away down
wait_until 60 both_say 'waiting for 127\.0\.0\.1:[0-9]+, for up to 5m: '
ok $? "it is said what is waited for, and how long" || note "$(cat up.err down.err)"
wait_until 60 both_say '; try 8 in '
ok $? "it is tried more often than a command that somebody waits for would"
away up
wait $up
is "$?" 0 "an upload rides out an outage" || note "$(cat up.err)"
wait $down
is "$?" 0 "and so does a download" || note "$(cat down.err)"
is "$(rows up.out) $(rows down.out)" "1 $((80 << 20)) 0 1 $((80 << 20)) 0" "all bytes are counted, once"
check "and they say that it is over" both_say 'answers again'
check "the download is right" cmp huge int/huge
is "$(asked '.operation == "UploadPart" and .status == 200')" 5 "no part was uploaded twice"
is "$(uploads_open) $(all_files int)" "0 ./huge" "and nothing else is left"

rm -f int/huge
set_off away/more int/huge GPUCLOUD_DATA_PATIENCE=3s
away down
wait $up
is "$?" 7 "patience that ends: an upload" || note "$(cat up.err)"
wait $down
is "$?" 7 "and a download" || note "$(cat down.err)"
check "which says that it goes on" both_say 'hint: .*goes on where this one was'
like "$(cat up.out)" '"type":"failed".*"hint":"[^"]*goes on where' "also with --json"
is "$(uploads_open) $(all_files int | wc -l)" "1 2" "what was uploaded and downloaded stays"
run gpc data cp huge "$(url s3 away/more)"
is "$rc $(uploads_open)" "7 1" "also after a try in vain" || note "$err"
away up
mark
run gpc data cp huge "$(url s3 away/more)" --json
is "$rc $(uploads_open)" "0 0" "then the upload goes on" || note "$err"
[ "$(resumed)" -ge $((32 << 20)) ]
ok $? "where it was: $(resumed) bytes were there"
[ "$(asked '.operation == "UploadPart"')" -le 3 ]
ok $? "and sends no more than the rest"
run gpc data cp "$(url s3 cut/huge)" int/huge --json
is "$rc" 0 "and the download" || note "$err"
[ "$(resumed)" -ge $((32 << 20)) ]
ok $? "where it was: $(resumed) bytes were there"
check "which is right" cmp huge int/huge

# Keys that end on the way.
control POST keys '{"cloud": "aws", "id": "ASIAMID", "secret": "mid", "token": "mid"}' >/dev/null
rm -f int/huge
set_off away/keys int/huge AWS_ACCESS_KEY_ID=ASIAMID AWS_SECRET_ACCESS_KEY=mid AWS_SESSION_TOKEN=mid
control POST expire '{"id": "ASIAMID"}' >/dev/null
away down # so that what is delayed is asked again
away up
wait $up
is "$?" 4 "a token that expires on the way: an upload" || note "$(cat up.err)"
wait $down
is "$?" 4 "and a download" || note "$(cat down.err)"
check "it says what to do, and that it goes on then" both_say \
	'hint: log in again; .*; then the same command goes on where this one was'
is "$(uploads_open)" 1 "what was uploaded stays"
run gpc data cp huge "$(url s3 away/keys)" --json
is "$rc $(uploads_open)" "0 0" "with new keys the upload goes on" || note "$err"
[ "$(resumed)" -ge $((32 << 20)) ]
ok $? "where it was: $(resumed) bytes were there"

# What is refused for good goes, unless that is refused as well.
fault '[{"service": "s3", "operation": "UploadPart", "nth": 3, "do": "error", "status": 403,
	"code": "AccessDenied", "count": 0}, {"service": "s3", "operation": "AbortMultipartUpload",
	"do": "error", "status": 403, "code": "AccessDenied", "count": 0}]'
run gpc data cp huge "$(url s3 away/denied)" --at-once 1
is "$rc" 4 "an upload is denied, and its end as well" || note "$err"
left=$(control GET 'objects?sha256=0' | jq -r '.uploads[].id')
like "$err" "warning: parts of an upload to s3://bucket/away/denied may stay, .*upload $left" \
	"which upload stays is said"
no_faults
run gpc data cp huge "$(url s3 away/denied)" --json
is "$rc $(uploads_open)" "0 0" "the same command goes on with it" || note "$err"
[ "$(resumed)" -ge $((32 << 20)) ]
ok $? "where it was: $(resumed) bytes were there"

# --- on a terminal ----------------------------------------------------------------------------
fault '{"service": "s3", "operation": "GetObject", "do": "trickle", "rate": 8000000, "count": 0}'
for columns in 40 80 200; do
	rm -rf seen
	at_terminal --size "24x$columns" --screen "" \
		"$GPUCLOUD_BIN" data cp -r "$(url s3 big)" seen
	is "$rc" 0 "at $columns columns" || note "$out $err"
	unlike "$err" "WRAPPED" "no line is too long"
	is "$(printf '%s\n' "$out" | grep -c 'gpucloud: 1 file, 20 MiB in ')" 1 "the sum stands there"
	unlike "$out" "copying" "and nothing of the progress"
done
rm -rf seen
at_terminal --size 24x100 'copying|\003' "$GPUCLOUD_BIN" data cp -r "$(url s3 big)" seen
is "$rc" 130 "Ctrl-C"
like "$out" "hint: the same command goes on where this one was" "says how it goes on"
at_terminal --size 24x100 "" "$GPUCLOUD_BIN" data cp -r "$(url s3 big)" seen
like "$out" "copying +[0-9]+%  [0-9.]+ [KM]iB of 20 MiB .*[0-9] of 1 files" "while it moves: how far"
no_faults
stop_fakecloud
finish
