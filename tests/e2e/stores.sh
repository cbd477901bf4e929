#!/bin/sh
# The conformance suite of stores over the dialects of S3, OSS and Cloud Storage, which
# a stand-in speaks that verifies what it is sent. All at a time: they mostly wait.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

command -v python3 >/dev/null || skip_all "no python3"
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

begin s3 S3 S3
begin oss OSS OSS
begin gs GCS GS
for kind in $KINDS; do
	wait "$(cat "$T/$kind.pid")"
	rc=$?
	is "$rc $(grep -c '^ok' "$T/$kind.out")" "0 40" "$kind keeps what stores promise" ||
		note "$(grep -A 6 '^not ok' "$T/$kind.out" | head -n 40)"
	sh "$ROOT/tests/servers/fakecloud.sh" stop "$T/$kind"
done
finish
