#!/bin/sh
# Servers with a certificate of one's own authority: the key ca_file, from each place
# where keys are said, for stores, credentials and check, and for whoever works for us
# in the background.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
unset GPUCLOUD_TEST_STORE GPUCLOUD_STORE GPUCLOUD_CA_FILE SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE AWS_CA_BUNDLE

new_pair() { # NAME
	openssl req -x509 -newkey rsa:2048 -nodes -keyout "$1.key" -out "$1.pem" -days 2 \
		-subj "/CN=127.0.0.1" -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>/dev/null
}
if ! new_pair own || ! new_pair other; then
	skip_all "no openssl"
fi
start_fakecloud --cert "$PWD/own.pem" --key "$PWD/own.key" --set ec2_boot=true
export AWS_ENDPOINT_URL_STS="$FAKES_STS" AWS_ENDPOINT_URL_EC2="$FAKES_EC2" \
	AWS_ENDPOINT_URL_IAM="$FAKES_IAM" AWS_ENDPOINT_URL_SSM="$FAKES_SSM" \
	AWS_ENDPOINT_URL_SERVICE_QUOTAS="$FAKES_SERVICEQUOTAS" AWS_EC2_METADATA_DISABLED=true \
	GPUCLOUD_STORE="s3://bucket/x?endpoint=$FAKES_S3"
CONFIG=$XDG_CONFIG_HOME/gpucloud/config.yaml
mkdir -p "${CONFIG%/*}"

# --- nobody vouches for it --------------------------------------------------------
for what in aws store; do
	run gpc check $what
	is "$rc" 7 "check $what: the server of an unknown authority is not believed" || note "$err"
	like "$err" "hint: .*ca_file of the configuration" "check $what: and says what helps"
done

# --- where the key may stand ----------------------------------------------------------
believed() { # NAME [VARIABLE=VALUE…]
	believed_name=$1
	shift
	for believed_what in aws store; do
		run env "$@" "$GPUCLOUD_BIN" check "$believed_what"
		is "$rc" 0 "$believed_name: check $believed_what" || note "$err"
	done
}
believed "a variable" GPUCLOUD_CA_FILE="$PWD/own.pem"
believed "a variable, from here" GPUCLOUD_CA_FILE=own.pem
believed "it wins over what OpenSSL is told" GPUCLOUD_CA_FILE=own.pem SSL_CERT_FILE="$PWD/other.pem"
believed "what OpenSSL is told" SSL_CERT_FILE="$PWD/own.pem"
believed "what AWS's tools are told" AWS_CA_BUNDLE="$PWD/own.pem" SSL_CERT_FILE="$PWD/other.pem"
printf '[profile tls]\nca_bundle = %s\n' "$PWD/own.pem" >aws.config
believed "what AWS's profile says" AWS_CONFIG_FILE="$PWD/aws.config" AWS_PROFILE=tls
believed "it gives way to ours" GPUCLOUD_CA_FILE=own.pem AWS_CA_BUNDLE="$PWD/other.pem"
run env AWS_CA_BUNDLE="$PWD/nosuch.pem" "$GPUCLOUD_BIN" check aws
is "$rc" 3 "one of AWS's that is not there: 3" || note "$err"
like "$err" "hint: it is named in AWS_CA_BUNDLE or ca_bundle" "and where it was named"
printf 'profiles:\n  lab: {ca_file: %s}\n' "$PWD/own.pem" >"$CONFIG"
believed "a profile" GPUCLOUD_PROFILE=lab
printf 'ca_file: %s\n' "$PWD/other.pem" >"$CONFIG"
run gpc check aws
is "$rc" 7 "another authority in the user's file: not believed" || note "$err"
believed "the variable wins over the file" GPUCLOUD_CA_FILE=own.pem
printf 'ca_file: %s/nosuch.pem\n' "$PWD" >"$CONFIG"
run gpc check store
is "$rc" 3 "a file that is not there: 3" || note "$err"
like "$err" "no CA certificates can be read from .*/nosuch.pem" "it is named"
like "$err" "hint: it is named in ca_file" "and the key"
run env GPUCLOUD_STORE="$T/folder" "$GPUCLOUD_BIN" submit -q -- echo here
is "$rc:$out" "0:here" "a store that asks no server does not need it" || note "$err"
printf 'ca_file: %s\n' "$PWD/own.pem" >"$CONFIG"
believed "the user's file"
printf 'ca_file: own.pem\n' >.gpucloud.yaml
run gpc check store
is "$rc" 3 "a project's file may not say it" || note "$err"
rm .gpucloud.yaml

# --- in the background ------------------------------------------------------------------
rm "$CONFIG"
printf 'profiles:\n  lab: {ca_file: %s}\n' "$PWD/own.pem" >"$CONFIG"
# shellcheck disable=SC2016  # the job's own
job=$(gpc submit --profile lab -q -d -- sh -c 'echo hello; echo "with $GPUCLOUD_CA_FILE"')
run gpc wait --profile lab "$job"
is "$rc" 0 "a job that goes on without us: supervisor and node know the file" ||
	note "$err $(gpc status --profile lab "$job" 2>&1)"
run gpc logs --profile lab "$job"
is "$out" "hello
with $PWD/own.pem" "its log is there, and it was told"
run gpc status
is "$rc" 7 "without the profile the store is not believed" || note "$err"

# --- on machines of a cloud ---------------------------------------------------------------
RUN_SECONDS=120
export AWS_ENDPOINT_URL_EC2="$FAKE_EC2" AWS_ENDPOINT_URL_SSM="$FAKE_SSM"
if [ "$(id -u)" -eq 0 ]; then # who alone boots machines
	run gpc submit --profile lab -q -y --infra aws -- sh -c 'echo "with $GPUCLOUD_CA_FILE"'
	is "$rc:$out" "0:with /var/lib/gpucloud/ca.pem" "the machine's script and agent believe it" ||
		note "$err"
	run env SSL_CERT_FILE="$PWD/own.pem" "$GPUCLOUD_BIN" submit -q -y --infra aws -- true
	is "$rc" 125 "what only this machine is told helps no other one"
	like "$err" "store_unreachable" "the reason"
	like "$err" "does not trust the store's certificate.*ca_file" "in words, with what to do"
	for _ in 1 2 3 4 5 6; do
		new_pair other && cat other.pem
	done >many.pem
	cat own.pem >>many.pem
	before=$(curl -sf "$FAKE_CONTROL/_control/machines" | jq '.machines | length')
	run env GPUCLOUD_CA_FILE=many.pem "$GPUCLOUD_BIN" submit -q -y --infra aws -- true
	is "$rc:$(curl -sf "$FAKE_CONTROL/_control/machines" | jq ".machines[$before:] | length")" \
		125:0 "more than a machine can begin with: none is bought"
	like "$err" "user data of a node would be [0-9]+ bytes, and EC2 takes 16384 .*certificates of ca_file are [0-9]+ bytes of it: name a file with that one alone" "which is said, with what to do"
fi

stop_fakecloud
# shellcheck disable=SC2046  # a list of ids
kill_pids TERM $(pids_with "$T/") # the supervisor looks around for a while yet
finish
