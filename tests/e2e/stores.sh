#!/bin/sh
# What stores promise, asked of servers. The conformance suite over the dialects of S3,
# OSS and Cloud Storage, which a stand-in speaks that verifies what it is sent, all at a
# time, for they mostly wait. Or of the server that GPUCLOUD_TEST_STORE names, one
# which cannot hold journals: GPUCLOUD_TEST_CONDITIONS says what it does with an
# If-None-Match, "refused" (as Swift, which the suite is run over, too) or "ignored"
# (as s3rver, which keeps less of S3 than that).
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

SUITE=$(dirname "$(dirname "$GPUCLOUD_BIN")")/tests/conformance/conformance-store
KINDS="s3 oss gs"

# begin KIND SERVICE VARIABLE: with a stand-in of its own.
begin() {
	sh "$ROOT/tests/servers/fakecloud.sh" start "$T/$1" || skip_all "no stand-in"
	(
		. "$T/$1/env"
		printf '{"type": "authorized_user", "client_id": "client-id",
			"client_secret": "client-secret", "refresh_token":
			"refresh-token", "token_uri": "%s/token"}' "$FAKE_OAUTH2" \
			>"$T/adc.json"
		export AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_REGION \
			ALIBABA_CLOUD_ACCESS_KEY_ID="$OSS_ACCESS_KEY_ID" \
			ALIBABA_CLOUD_ACCESS_KEY_SECRET="$OSS_ACCESS_KEY_SECRET" \
			GOOGLE_APPLICATION_CREDENTIALS="$T/adc.json" \
			CMOCKA_MESSAGE_OUTPUT=TAP
		unset AWS_PROFILE STORAGE_EMULATOR_HOST GOOGLE_CLOUD_QUOTA_PROJECT
		export "GPUCLOUD_TEST_$3=$1://bucket?endpoint=$(eval "echo \$FAKE_$2")"
		exec "$SUITE" "$1" >"$T/$1.out" 2>&1
	) &
	echo $! >"$T/$1.pid"
}

# kept STATUS N KIND: the suite ran whole.
kept() {
	is "$1 $(grep -c '^ok' "$T/$3.out")" "0 $2" "$3 keeps what stores promise" ||
		note "$(grep -A 6 '^not ok' "$T/$3.out" | head -n 40)"
}

over_dialects() {
	command -v python3 >/dev/null || skip_all "no python3"
	begin s3 S3 S3
	begin oss OSS OSS
	begin gs GCS GS
	for kind in $KINDS; do
		wait "$(cat "$T/$kind.pid")"
		kept $? 40 "$kind"
		sh "$ROOT/tests/servers/fakecloud.sh" stop "$T/$kind"
	done
}

# Data, but no journal; with one elsewhere, jobs.
holds_data_only() { # URL
	run gpc submit --store "$1" -- true
	is "$rc" 3 "no job is put where writers cannot be kept apart" || note "$err"
	like "$err" "can hold data, but no jobs: it does not refuse to create an object" \
		"why is said"
	like "$err" "hint: .*add journal=URL" "and what to do"
	is "$(gpc data ls -o name "${1%%\?*}/")" store.json "the race that found it out left nothing"
	run gpc check store --store "$1" --json
	is "$rc $(printf %s "$out" | jq -r '.rows[0].state')" "3 failed" "check says so, too" ||
		note "$err"
	run gpc submit --store "$1&journal=$T/journal" -- echo "ran"
	is "$rc $out" "0 ran" "with a journal elsewhere jobs run" || note "$err"
}

# A journal elsewhere is what other scripts need.
over_server() {
	AWS_ENDPOINT_URL_S3=$(printf %s "$GPUCLOUD_STORE" | sed 's/.*[?&]endpoint=//; s/&.*//')
	export AWS_ENDPOINT_URL_S3
	if [ "$GPUCLOUD_TEST_CONDITIONS" = refused ]; then
		env GPUCLOUD_TEST_DATA_ONLY=1 CMOCKA_MESSAGE_OUTPUT=TAP \
			GPUCLOUD_TEST_S3="${GPUCLOUD_TEST_STORE%%&journal=*}" "$SUITE" s3 >"$T/s3.out" 2>&1
		kept $? 17 s3
	fi
	holds_data_only "${GPUCLOUD_STORE%%&journal=*}"
}

if far; then over_server; else over_dialects; fi
finish
