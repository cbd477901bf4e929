#!/bin/sh
# Data in a bucket whose service refuses conditional writes, the journal in a folder of
# this machine: the machines of EC2 that the stand-in boots reach the bucket alone.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_fakecloud --set ec2_boot=true --set conditions=refuse
[ "$(id -u)" -eq 0 ] || skip_all "machines are booted by root alone"
export AWS_ENDPOINT_URL_EC2="$FAKE_EC2" AWS_ENDPOINT_URL_SSM="$FAKE_SSM" \
	AWS_ENDPOINT_URL_S3="$FAKE_S3" AWS_EC2_METADATA_DISABLED=true \
	GPUCLOUD_STORE="s3://bucket/data?profile=mine&journal=$T/journal"
mkdir "$HOME/.aws"
printf '[mine]\naws_access_key_id = %s\naws_secret_access_key = %s\n' "$AWS_ACCESS_KEY_ID" \
	"$AWS_SECRET_ACCESS_KEY" >"$HOME/.aws/credentials"
RUN_SECONDS=120
control() { # PATH [JSON]
	curl -sf ${2:+-d "$2"} "$FAKE_CONTROL/_control/$1"
}
machines() { # FILTER: of all that were ever bought
	control machines | jq -r ".machines | $1"
}
machine_of() { # JOB: its newest
	machines "map(select(.tags[\"gpucloud-job\"] == \"$1\")) | max_by(.launched).id"
}
live() { machines 'map(select(.state != "terminated")) | length'; }
live_of() { # JOB
	machines "map(select(.tags[\"gpucloud-job\"] == \"$1\" and .state != \"terminated\")) | length"
}
gone() { [ "$(live_of "$1")" = 0 ]; }
kept() { control 'objects?sha256=0' | jq -r '.objects[].key' | sort; }

# --- a pair that works, and pairs that do not ---------------------------------
run gpc submit -y --infra aws --store s3://bucket/data -- true
is "$rc:$(machines length)" 3:0 "a bucket that keeps no writers apart has no jobs of its own"
run gpc submit -y --infra aws --store "file://$T/folder?journal=$T/journal2" -- true
is "$rc:$(machines length)" 3:0 "data in a folder is nothing for machines of EC2"
like "$err" "store in a bucket" "and it says what is"

# --- three at a time ------------------------------------------------------------
cat >spot.yaml <<'Y'
name: spot
resources: {infra: aws, use_spot: true}
secrets: {TOKEN: null}
run: |
  cd "$GPUCLOUD_CHECKPOINT_DIR"
  echo "store $GPUCLOUD_STORE, secret ${#TOKEN}, from $(cat n 2>/dev/null) on"
  [ ! -e n ] || exit 0
  echo 1 >n
  while [ ! -e stop ]; do sleep 0.1; done
checkpoint: {path: ck, grace: 1s}
Y
cat >sleep.yaml <<'Y'
resources: {infra: aws}
run: |
  trap 'echo told >"$GPUCLOUD_CHECKPOINT_DIR/told"; exit 143' TERM
  echo begun
  while :; do sleep 0.1; done
checkpoint: {path: ck}
Y
spot=$(TOKEN=geheim gpc submit -q -y -d spot.yaml)
asked=$(gpc submit -q -y -d --name asked sleep.yaml)
"$GPUCLOUD_BIN" submit -q -y --wait --name tied --tether=10s sleep.yaml >tied.out 2>tied.err &
client=$!
wait_until 120 in_state "$spot" RUNNING
says() { gpc logs "$1" | grep -q "$2"; }
wait_until 60 says "$spot" "secret 6, from  on"
ok $? "a job runs, has its secret, and its log is read" || note "$(gpc logs "$spot")"
like "$(gpc logs "$spot")" "store s3://bucket/data[^&?]*, " "its machine knows the bucket alone"

run gpc checkpoint save -q --label mine "$spot"
is "$rc" 0 "it saves when asked to" || note "$err"
like "$(gpc checkpoint list "$spot" -o name)" "^1-1-mine$" "which is listed"
control machines "{\"id\": \"$(machine_of "$spot")\", \"do\": \"notice\", \"seconds\": 120}" >/dev/null

wait_until 120 in_state tied RUNNING
tied=$(gpc status tied -o name)
kill -KILL "$client"
wait "$client" 2>/dev/null
wait_until 60 gone "$tied"
ok $? "a job whose client is killed misses it, and its machine goes"
run gpc wait "$tied"
is "$rc $(gpc checkpoint pull -q "$tied" "$T/tied" >/dev/null && cat "$T/tied/told")" "125 told" \
	"cancelled, and saved before"

wait_until 120 says "$asked" begun
run gpc cancel "$asked"
run gpc wait "$asked"
is "$rc $(gpc checkpoint pull -q "$asked" "$T/asked" >/dev/null && cat "$T/asked/told")" "125 told" \
	"a job that is cancelled saves and ends"

run gpc wait "$spot"
is "$rc" 0 "after a notice the first one goes on on another machine, to its end"
like "$(gpc logs "$spot" --attempt 2)" "secret 6, from 1 on" "from what it had saved"
like "$(gpc status "$spot")" "spot_interrupted" "and says why"

# --- what lies where --------------------------------------------------------------
run gpc status "$spot"
mark=$(control 'requests?since=999999999' | jq .next)
run gpc status "$spot"
n=$(control "requests?since=$mark" | jq '.requests | length')
[ "$rc" -eq 0 ] && [ "$n" -le 4 ]
ok $? "status of it takes $n requests, at most 4"
is "$(cd "$T/journal" && find . -type f | sed -n 's|^\./jobs/[^/]*/||p' | sed 's|/.*|/|' |
	grep -v '^supervisor$' | sort -u | tr '\n' ' ')" "events/ head job.json " "the journal has records alone"
is "$(kept | grep -c '^data/secrets/')" 0 "the bucket keeps no secret of what has ended"
is "$(kept | sed 's|/.*||' | sort -u)" data "and has nothing beside the store"

# --- nothing is left ----------------------------------------------------------------
left=$(gpc submit -q -y -d --name left --infra aws -- sleep 600)
wait_until 120 in_state "$left" RUNNING
run gpc release --all -y
is "$rc:$(live)" 0:0 "release --all leaves no machine"
run gpc prune --jobs --older-than 0s -y
is "$rc:$(kept | grep -c '^data/jobs/'):$(find "$T/journal" -path '*/jobs/*' -type f | wc -l)" 0:0:0 \
	"prune removes both halves of each job" || note "$err" "$(kept | grep '^data/jobs/' | head)"
stop_fakecloud
finish
