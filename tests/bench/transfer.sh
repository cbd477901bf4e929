#!/bin/sh
# `gpucloud data` beside awscli, s3cmd, rclone and curl, in turns, on the same server:
# one large file and many small ones, up and down, and a long listing. The server is
# the stand-in (with only the signed sha256 of a body to check), for the large file also
# behind nginx with TLS, with --long Swift as well. curl has its URLs signed before and
# hashes nothing: it is the raw figure.
# BIG (MiB), SMALL (files of 16 KiB), KEYS, ROUNDS and TOOLS set sizes and programs;
# --long: 2 GiB, 10,000 files; needs 9 GiB of memory or, by TMPDIR, of disk.
# shellcheck disable=SC2016,SC2086,SC2154,SC1091 source=tests/bench/lib.sh
[ -n "${TMPDIR:-}" ] || [ ! -w /dev/shm ] || TMPDIR=/dev/shm # no disk is measured
. "$(dirname "$0")/lib.sh"
SERVERS=$ROOT/tests/servers
ROUNDS=${ROUNDS:-3}
BIG=${BIG:-${LONG:+2048}}
BIG=${BIG:-256}
SMALL=${SMALL:-${LONG:+10000}}
SMALL=${SMALL:-1000}
KEYS=${KEYS:-100000}
AT_ONCE=16 # of curl
aws_tls=
TOOLS=${TOOLS:-gpucloud aws s3cmd rclone curl}
PATH=/usr/bin:$PATH # Debian's programs first

stop_servers() {
	for s in tls fakecloud swift; do
		[ ! -e "$T/$s/env" ] || sh "$SERVERS/$s.sh" stop "$T/$s" || true
	done
}
trap 'stop_servers; cleanup' EXIT

# --- the programs: each reads its settings from the environment or from $T ----------

present() {
	kept=
	for tool in $TOOLS; do
		if [ "$tool" = gpucloud ] || command -v "$tool" >/dev/null; then
			kept="$kept $tool"
		else
			result "$tool" "is not here"
		fi
	done
	TOOLS=$kept
}

# settings ENDPOINT: of all programs, for the server whose env was read.
settings() {
	E=$1
	secure=False
	[ "${E%%:*}" = http ] || secure=True
	for name in $(env | sed -n 's/^\(\(AWS\|RCLONE\)_[A-Z0-9_]*\)=.*/\1/p;
			s/^\(SSL_CERT_FILE\|SSL_CERT_DIR\|[A-Z]*_CA_BUNDLE\)=.*/\1/p;
			s/^\([a-z]*_proxy\|[A-Z]*_PROXY\)=.*/\1/p'); do
		case $name in
		AWS_ACCESS_KEY_ID | AWS_SECRET_ACCESS_KEY | AWS_REGION) ;;
		*) unset "$name" ;;
		esac
	done
	export AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_REGION \
		AWS_DEFAULT_REGION="$AWS_REGION" AWS_EC2_METADATA_DISABLED=true \
		AWS_CONFIG_FILE="$T/none" AWS_SHARED_CREDENTIALS_FILE="$T/none" \
		RCLONE_CONFIG="$T/none" RCLONE_CONFIG_R_TYPE=s3 \
		RCLONE_CONFIG_R_PROVIDER=Other RCLONE_CONFIG_R_ENDPOINT="$E" \
		RCLONE_CONFIG_R_ENV_AUTH=true RCLONE_CONFIG_R_REGION="$AWS_REGION"
	cat >"$T/s3cfg" <<-X
		[default]
		access_key = $AWS_ACCESS_KEY_ID
		secret_key = $AWS_SECRET_ACCESS_KEY
		bucket_location = $AWS_REGION
		host_base = ${E#*://}
		host_bucket = ${E#*://}
		use_https = $secure
		ca_certs_file = ${TLS_CA:-}
	X
	[ $secure = False ] || export SSL_CERT_FILE="$TLS_CA" CURL_CA_BUNDLE="$TLS_CA"
}

signed() { /usr/bin/python3 "$ROOT/tests/bench/presign.py" "$E" bucket; }

# one METHOD KEY [CURL-OPTION…]: a request that no clock sees.
one() {
	o_url=$(printf '%s\t%s\n' "$1" "$2" | signed)
	o_method=$1
	shift 2
	curl -sS -f -o "$T/answer" -X "$o_method" "$@" "$o_url"
}

# curl_list METHOD PREFIX DIR: a file for curl -K with all small files.
curl_list() {
	find "$T/small" -type f -printf '%f\n' | sort >"$T/names"
	sed "s|^|$1	$2|" "$T/names" | signed | paste "$T/names" - |
		while IFS='	' read -r name url; do
			if [ "$1" = PUT ]; then
				printf 'upload-file = "%s/%s"\noutput = "/dev/null"\n' "$3" "$name"
			else
				printf 'output = "%s/%s"\n' "$3" "$name"
			fi
			printf 'url = "%s"\n' "$url"
		done >"$T/curl.list"
}

up() { # TOOL FILE KEY
	case $1 in
	gpucloud) run "$GPUCLOUD_BIN" data cp "$2" "s3://bucket/$3?endpoint=$E" ;;
	aws) run aws $aws_tls --endpoint-url "$E" s3 cp --only-show-errors "$2" "s3://bucket/$3" ;;
	s3cmd) run s3cmd -c "$T/s3cfg" -q --no-progress put "$2" "s3://bucket/$3" ;;
	rclone) run rclone copyto "$2" "r:bucket/$3" ;;
	curl) run curl -sS -f -o /dev/null -T "$2" "$(printf 'PUT\t%s\n' "$3" | signed)" ;;
	esac
}
down() { # TOOL KEY FILE
	case $1 in
	gpucloud) run "$GPUCLOUD_BIN" data cp "s3://bucket/$2?endpoint=$E" "$3" ;;
	aws) run aws $aws_tls --endpoint-url "$E" s3 cp --only-show-errors "s3://bucket/$2" "$3" ;;
	s3cmd) run s3cmd -c "$T/s3cfg" -q --no-progress get "s3://bucket/$2" "$3" ;;
	rclone) run rclone copyto "r:bucket/$2" "$3" ;;
	curl) run curl -sS -f -o "$3" "$(printf 'GET\t%s\n' "$2" | signed)" ;;
	esac
}
up_all() { # TOOL DIR PREFIX
	case $1 in
	gpucloud) run "$GPUCLOUD_BIN" data cp -r "$2" "s3://bucket/$3?endpoint=$E" ;;
	aws) run aws --endpoint-url "$E" s3 cp --recursive --only-show-errors "$2" \
		"s3://bucket/$3" ;;
	s3cmd) run s3cmd -c "$T/s3cfg" -q --no-progress put -r "$2/" "s3://bucket/$3" ;;
	rclone) run rclone copy "$2" "r:bucket/$3" ;;
	curl)
		curl_list PUT "$3" "$2"
		run curl -sS -f -Z --parallel-max $AT_ONCE -K "$T/curl.list"
		;;
	esac
}
down_all() { # TOOL PREFIX DIR
	case $1 in
	gpucloud) run "$GPUCLOUD_BIN" data cp -r "s3://bucket/$2?endpoint=$E" "$3" ;;
	aws) run aws --endpoint-url "$E" s3 cp --recursive --only-show-errors \
		"s3://bucket/$2" "$3" ;;
	s3cmd) run s3cmd -c "$T/s3cfg" -q --no-progress get -r "s3://bucket/$2" "$3/" ;;
	rclone) run rclone copy "r:bucket/$2" "$3" ;;
	curl)
		curl_list GET "$2" "$3"
		run curl -sS -f -Z --parallel-max $AT_ONCE -K "$T/curl.list"
		;;
	esac
}
list() { # TOOL PREFIX
	case $1 in
	gpucloud) run "$GPUCLOUD_BIN" data ls -r "s3://bucket/$2?endpoint=$E" ;;
	aws) run aws --endpoint-url "$E" s3 ls --recursive "s3://bucket/$2" ;;
	s3cmd) run s3cmd -c "$T/s3cfg" ls -r "s3://bucket/$2" ;;
	rclone) run rclone lsf -R "r:bucket/$2" ;;
	curl) run curl -sS -f -K "$T/pages" ;;
	esac
}

# --- measuring -----------------------------------------------------------------------

# run COMMAND…: measured, and noted for $test and $tool.
run() {
	if ! measure "$@" 2>"$T/err"; then
		result "$tool, $test" "FAILED: $(tail -n 1 "$T/err")"
		return 1
	fi
	printf '%s %s %s\n' "$ms" "$cpu_ms" "$rss_kb" >>"$T/noted.$tool"
}

expect() { # WHAT COMMAND…
	e_what=$1
	shift
	"$@" >/dev/null 2>&1 || result "$tool, $test" "WRONG: $e_what"
}

column() { cut -d' ' -f"$2" "$T/noted.$1" | median; }

# told UNITS UNIT: one line a program; then forgets.
told() {
	best=''
	best_ms=0
	for tool in $TOOLS; do
		[ -s "$T/noted.$tool" ] || continue
		ms=$(column "$tool" 1)
		case $tool in gpucloud | curl) continue ;; esac
		[ -n "$best" ] && [ "$ms" -ge "$best_ms" ] || best=$tool best_ms=$ms
	done
	for tool in $TOOLS; do
		[ -s "$T/noted.$tool" ] || continue
		ms=$(column "$tool" 1)
		cpu=$(awk -v c="$(column "$tool" 2)" -v n="$1" 'BEGIN { print c / n }')
		mib=$((($(column "$tool" 3) + 1023) / 1024))
		line="$ms ms, CPU $(awk -v c="$cpu" \
			'BEGIN { printf c < 100 ? "%.3g" : "%.0f", c }') $2, $mib MiB memory"
		if [ "$tool" = gpucloud ]; then
			[ -z "$best" ] || line="$line; $(ratio "$ms" "$best_ms") times $best"
			[ ! -s "$T/noted.curl" ] ||
				line="$line, $(ratio "$ms" "$(column curl 1)") times curl"
		fi
		result "$test: $tool" "$line"
	done
	rm -f "$T"/noted.*
}

big_up() {
	test="$server, up $BIG MiB"
	for round in $(seq "$ROUNDS"); do
		for tool in $TOOLS; do
			one DELETE big || true # some skip what is there already
			up "$tool" "$T/big" big || continue
			[ "$round" != 1 ] || expect "other bytes" same_object big "$T/big"
		done
	done
	told "$(awk -v b="$BIG" 'BEGIN { print b / 1024 }')" "ms a GiB"
}
same_object() { curl -sS -f "$(printf 'GET\t%s\n' "$1" | signed)" | cmp - "$2"; }

big_down() {
	test="$server, down $BIG MiB"
	# by a program that sends a checksum, which others want to see
	one DELETE big || true
	gpc data cp -q "$T/big" "s3://bucket/big?endpoint=$E" 2>"$T/err"
	for round in $(seq "$ROUNDS"); do
		for tool in $TOOLS; do
			rm -f "$T/got"
			down "$tool" big "$T/got" || continue
			[ "$round" != 1 ] || expect "other bytes" cmp "$T/got" "$T/big"
		done
	done
	rm -f "$T/got"
	told "$(awk -v b="$BIG" 'BEGIN { print b / 1024 }')" "ms a GiB"
}

# each upload has its own folder: some skip what is there already
small_up() {
	test="$server, up $SMALL files"
	for round in $(seq "$ROUNDS"); do
		for tool in $TOOLS; do
			up_all "$tool" "$T/small" "up/$tool-$round/" || continue
			expect "another number of files" has "up/$tool-$round/" "$SMALL"
		done
	done
	told "$SMALL" "ms a file"
}
# has PREFIX COUNT: so many keys begin with it.
has() {
	h_after='' h_count=0
	while :; do
		h_url=$(printf 'GET\t\tlist-type=2\tprefix=%s\tstart-after=%s\n' "$1" "$h_after" |
			signed)
		curl -sS -f "$h_url" | grep -o '<Key>[^<]*' | sed 's/<Key>//' >"$T/page"
		h_lines=$(wc -l <"$T/page")
		h_count=$((h_count + h_lines))
		h_after=$(tail -n 1 "$T/page")
		[ "$h_lines" -gt 0 ] || break
	done
	[ "$h_count" -eq "$2" ]
}

small_down() {
	test="$server, down $SMALL files"
	for round in $(seq "$ROUNDS"); do
		for tool in $TOOLS; do
			rm -rf "$T/got"
			mkdir "$T/got"
			down_all "$tool" "small/" "$T/got" || continue
			[ "$round" != 1 ] || expect "other bytes" diff -r "$T/got" "$T/small"
		done
	done
	rm -rf "$T/got"
	told "$SMALL" "ms a file"
}

# pages COUNT PREFIX: what curl asks: the pages of a listing whose keys are known.
pages() {
	at=0
	while [ "$at" -lt "$1" ]; do
		after=
		[ "$at" -eq 0 ] || after=$(printf '%s%08d' "$2" $((at - 1)))
		printf 'GET\t\tlist-type=2\tencoding-type=url\tprefix=%s\tstart-after=%s\n' \
			"$2" "$after"
		at=$((at + 1000))
	done | signed | sed 's/.*/url = "&"/' >"$T/pages"
}
listing() { # COUNT PREFIX
	test="$server, list $1 keys"
	pages "$1" "$2"
	for _ in $(seq "$ROUNDS"); do
		for tool in $TOOLS; do
			list "$tool" "$2" || continue
			expect "other keys" test "$(sed 's/<ETag>[^<]*//g' "$T/measured.out" |
				grep -o '0[0-9]\{7\}' | sort -u | wc -l)" -eq "$1"
		done
	done
	told "$(awk -v n="$1" 'BEGIN { print n / 1000 }')" "ms a thousand"
}

# --- the runs ------------------------------------------------------------------------

make_files() {
	/usr/bin/python3 - "$T" "$BIG" "$SMALL" <<'PY'
import os, random, sys
root, big, small = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = random.Random(6)
with open(root + "/big", "wb") as f:
    for _ in range(big):
        f.write(rng.randbytes(1 << 20))
os.mkdir(root + "/small")
for n in range(small):
    with open(f"{root}/small/{n:08d}", "wb") as f:
        f.write(rng.randbytes(16 << 10))
PY
}

on_server() {
	big_up
	big_down
	small_up
	curl_list PUT small/ "$T/small"
	curl -sS -f -Z --parallel-max $AT_ONCE -K "$T/curl.list" 2>"$T/err"
	small_down
}

on_fakecloud() {
	server=stand-in
	sh "$SERVERS/fakecloud.sh" start "$T/fakecloud" --set trust_checksums=true \
		--set etag=opaque --set unsigned_http=true
	. "$T/fakecloud/env"
	settings "$FAKE_S3"
	on_server
	for n in $((KEYS / 10)) "$KEYS"; do
		curl -sS -f -o "$T/answer" -d '{"bucket": "bucket", "prefix": "n'"$n"'/", "count": '"$n"'}' \
			"$FAKE_CONTROL/_control/objects"
		listing "$n" "n$n/"
	done
	on_tls
	sh "$SERVERS/fakecloud.sh" stop "$T/fakecloud"
}

# What goes through TLS needs no second hash against changes on the way.
on_tls() {
	server=https
	if ! sh "$SERVERS/tls.sh" start "$T/tls" "$FAKE_S3" 2>"$T/err"; then
		result "https" "$(tail -n 1 "$T/err")"
		return
	fi
	. "$T/tls/env"
	settings "$TLS_URL"
	aws_tls="--ca-bundle $TLS_CA"
	big_up
	big_down
	aws_tls=
	sh "$SERVERS/tls.sh" stop "$T/tls"
}

on_swift() {
	server=Swift
	SMALL=$((SMALL / 10)) # it takes some ten milliseconds for each
	if ! sh "$SERVERS/swift.sh" start "$T/swift" 2>"$T/err"; then
		result "Swift" "$(tail -n 1 "$T/err")"
		return
	fi
	. "$T/swift/env"
	settings "$SWIFT_URL"
	one PUT ''
	find "$T/small" -type f | sort | tail -n "+$((SMALL + 1))" | tr '\n' '\0' |
		xargs -0 rm -f
	on_server
	listing "$SMALL" small/
	sh "$SERVERS/swift.sh" stop "$T/swift"
}

present
make_files
on_fakecloud
[ -z "$LONG" ] || on_swift
