#!/bin/sh
# A store that bills each request (S3, here the stand-in's): how many requests a job,
# a look and a wait take, what goes wrong and how it is told, and that a job without
# credentials for it can still be saved from inside.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
unset GPUCLOUD_TEST_STORE GPUCLOUD_STORE

tls=
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 \
	-subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 2>/dev/null &&
	tls="--cert $T/work/cert.pem --key $T/work/key.pem"
# shellcheck disable=SC2086  # options
start_fakecloud $tls
S3="s3://bucket/team?endpoint=$FAKE_S3"
export GPUCLOUD_STORE="$S3"

control() { # METHOD PATH [JSON]
	curl -sf -X "$1" ${3:+-d "$3"} "$FAKE_CONTROL/_control/$2"
}
mark() { since=$(control GET 'requests?since=999999999' | jq .next); }
asked() { # JQ-CONDITION: how many such requests since the mark
	control GET "requests?since=$since" | jq "[.requests[] | select($1)] | length"
}
kinds() {
	control GET "requests?since=$since" | jq -r '.requests[] | "\(.operation) \(.key // .query)
		\(.status)"' | tr -d '\n' | sed 's/\([A-Z][a-zA-Z0-9]* \)/\n\1/g' | sort | uniq -c |
		sort -rn | head -n 25
}
billed='.operation | IN("PutObject", "ListObjectsV2")' # what costs twelve times as much
at_most() { # LIMIT JQ-CONDITION NAME
	am_n=$(asked "$2")
	[ "$am_n" -le "$1" ]
	ok $? "$3: $am_n, at most $1" || note "$(kinds)"
}

# --- requests --------------------------------------------------------------------
run gpc submit -q -- echo first # makes the store
is "$rc:$out" "0:first" "a job in S3" || note "$err"
mark
run gpc submit -q -- echo hello
is "$rc:$out" "0:hello" "another one"
at_most $((140 * SLOW)) true "requests of a job of a second, with its client"
at_most $((70 * SLOW)) "$billed" "puts and lists among them"

job=$(gpc submit -q -d -- sleep 600)
wait_until 20 in_state "$job" RUNNING
# The job asks by its own key all the while, a reader by another one.
control POST keys '{"cloud": "aws", "id": "AKIAREADER", "secret": "reads", "arn": "reader"}' >/dev/null
by_reader='.identity == "reader"'
reader() { env AWS_ACCESS_KEY_ID=AKIAREADER AWS_SECRET_ACCESS_KEY=reads "$@"; }
quiet() { # LIMIT NAME COMMAND…
	quiet_limit=$1
	quiet_name=$2
	shift 2
	mark
	run reader "$@"
	is "$rc" 0 "$quiet_name: exit status" || note "$err"
	at_most "$quiet_limit" "$by_reader" "$quiet_name"
}
sleep 10 # the job has come to rest
mark
sleep 30
at_most 60 true "half a minute of a job that is silent"
at_most 12 "$billed" "puts and lists of it"

quiet 4 "requests of status JOB" "$GPUCLOUD_BIN" status "$job"
quiet 4 "requests of status JOB --json" "$GPUCLOUD_BIN" status "$job" --json

mark
reader timeout 30 "$GPUCLOUD_BIN" logs -f "$job" >/dev/null 2>&1
at_most 110 true "half a minute of logs -f that shows nothing, with the job"
# At 0, 1, 2.5, 4.8 and 8.1 seconds, then every 5: nine times, on a busy machine fewer.
at_most 10 "$by_reader and .operation == \"ListObjectsV2\" and (.query | contains(\"%2Flog%2F\"))" \
	"it looks less and less often whether there is more"
rest=$(control GET "requests?since=$since" | jq "[.requests[] | select($by_reader and .operation != \"PutObject\") |
	.time] | [.[1:], .[:-1]] | transpose | map(.[0] - .[1]) | max * 1000 | floor")
[ "$rest" -ge 4000 ]
ok $? "it rests for up to 5 seconds: $rest ms" || note "$(kinds)"
at_most 40 "$billed" "puts and lists of it"
[ "$(asked '.operation == "PutObject" and (.key | endswith("/watch"))')" -ge 2 ]
ok $? "it says that it reads along"
gpc cancel "$job" 2>/dev/null
run gpc wait "$job"
is "$rc" 125 "it is cancelled"

sleep 1
mark
run gpc status "$job"
at_most 4 true "status of a job that has ended"
mark
run gpc logs "$job"
at_most 8 true "logs of it"
gpc status >/dev/null
mark
run gpc status
like "$out" "SUCCEEDED.*completed" "status lists them"
at_most 3 true "status of jobs that were seen before"

now=$(now_ms)
control POST objects "{\"service\": \"s3\", \"bucket\": \"bucket\", \"count\": 9999, \"prefix\":
	\"many/index/done/$(date -u +%Y-%m)/j-aaaaaa.1~SUCCEEDED~completed~0USD~$now~$now~\"}" >/dev/null
listed() {
	control GET objects?sha256=0 | jq -r '.objects[].key' | grep -c '^many/index/done/'
}
is "$(listed)" 9999 "ten thousand entries of jobs that are done"
run gpc submit -q --store "s3://bucket/many?endpoint=$FAKE_S3" -- true
mark
run gpc status -a --all-users --store "s3://bucket/many?endpoint=$FAKE_S3" -o name
at_most 15 true "status of ten thousand entries, one job new"
mark
run gpc status -a --all-users --store "s3://bucket/many?endpoint=$FAKE_S3" -o name
at_most 12 true "and again"

run gpc status -v
like "$err" '[0-9]+ requests, .* received' "-v says how many requests it took"

# --- from inside -------------------------------------------------------------------
cat >inside.yaml <<'Y'
name: inside
checkpoint: {path: ck}
run: |
  env | grep -c '^AWS_' >&2
  gpucloud checkpoint save && exit 1 # nothing is there yet
  echo 1 > ck/a
  gpucloud checkpoint save || exit 2
  gpucloud checkpoint save --label again --json || exit 3
  gpucloud checkpoint save --label Bad && exit 4
  exit 0
Y
sed -i 's|  gpucloud checkpoint save && exit 1|  mkdir -p ck; &|' inside.yaml
run gpc submit -q inside.yaml
is "$rc" 0 "a job saves itself, without credentials for the store" || note "$err"
like "$out" "^1-[0-9]+-user$" "its agent says which checkpoint it is"
like "$err" "nothing to save: .* has no file yet" "or why there is none"
like "$err" "use up to 24 of a-z" "labels are checked"
like "$(gpc checkpoint list inside -o name)" "-again$" "and they are there"
run gpc submit -q -- gpucloud checkpoint save
is "$rc" 8 "a job without checkpoint.path cannot"
like "$err" "names no checkpoint.path" "and hears why"

# --- what goes -----------------------------------------------------------------------
id=$(gpc status inside -o name)
control POST objects "{\"service\": \"s3\", \"bucket\": \"bucket\", \"count\": 2500, \"prefix\":
	\"team/jobs/$id/1/blobs/ff/left\"}" >/dev/null
left() { control GET objects?sha256=0 | jq -r '.objects[].key' | grep -c "^team/jobs/$id/$1"; }
one='.operation == "DeleteObject"'
many='.operation == "DeleteObjects"'
mark
run gpc checkpoint prune inside --keep 2
is "$rc $(left 1/blobs/ff/left)" "0 0" "checkpoint prune deletes what nothing needs" || note "$err"
is "$(asked "$one") $(asked "$many")" "0 3" "2500 objects in three requests" || note "$(kinds)"
run gpc checkpoint verify inside --all
is "$rc" 0 "what is needed stays" || note "$err"
mark
run gpc prune --jobs --older-than 0s -y
is "$rc $(left "")" "0 0" "prune removes the job" || note "$err"
# secrets, hook, entry, job.json and the newest event of each go by themselves
jobs=$(printf '%s\n' "$out" | grep -c .)
at_most $((8 * jobs)) "($one) or ($many)" "requests that delete $jobs jobs"

# --- what goes wrong ---------------------------------------------------------------
fails() { # NAME WANT-RC SECONDS COMMAND…
	f_name=$1
	f_want=$2
	f_limit=$3
	shift 3
	f_start=$(now_ms)
	run "$@"
	f_ms=$(($(now_ms) - f_start))
	is "$rc" "$f_want" "$f_name: exit status" || note "$err"
	[ $f_ms -lt $((f_limit * 1000 * SLOW)) ]
	ok $? "$f_name: in $f_ms ms"
	like "$err" "hint: " "$f_name: with a remedy"
}
export AWS_SECRET_ACCESS_KEY=wrong
for words in "status" "status $job" "logs $job" "checkpoint list $job" cost "release $job" \
	"submit -- true"; do
	# shellcheck disable=SC2086  # words
	fails "wrong secret, ${words%% *}" 4 4 gpc $words
	like "$err" "SignatureDoesNotMatch.*\(request [0-9A-F]+\)" "with the request's id"
done
# shellcheck disable=SC1091
. "$T/fake/env"
no_bucket="s3://nobucket/x?endpoint=$FAKE_S3"
for words in status "logs $job" "submit -- true"; do
	# shellcheck disable=SC2086
	fails "no bucket, ${words%% *}" 3 4 env GPUCLOUD_STORE="$no_bucket" "$GPUCLOUD_BIN" $words
	like "$err" "NoSuchBucket.*\(request [0-9A-F]+\)" "with the request's id"
done
for words in status "logs $job" "submit -- true"; do
	# shellcheck disable=SC2086
	fails "server down, ${words%% *}" 7 20 env \
		GPUCLOUD_STORE="s3://bucket/x?endpoint=http://127.0.0.1:1" "$GPUCLOUD_BIN" $words
done
fails "no TLS there" 7 20 env \
	GPUCLOUD_STORE="s3://bucket/x?endpoint=https://${FAKE_S3#http://}" "$GPUCLOUD_BIN" status
if [ -n "${FAKES_S3:-}" ]; then
	fails "unknown authority" 7 20 env \
		GPUCLOUD_STORE="s3://bucket/x?endpoint=$FAKES_S3" "$GPUCLOUD_BIN" submit -- true
	like "$err" "certificate" "which is named"
fi

# --- no place for journals ---------------------------------------------------------
for how in ignore refuse racy; do
	control POST settings "{\"conditions\": \"$how\"}" >/dev/null
	fails "conditions: $how" 3 20 env \
		GPUCLOUD_STORE="s3://bucket/$how?endpoint=$FAKE_S3" "$GPUCLOUD_BIN" submit -- true
	like "$err" "can hold data, but no jobs" "which is said"
	is "$(control GET objects?sha256=0 | jq -r '.objects[].key' | grep "^$how/" |
		grep -v '^[a-z]*/probe/')" "$how/store.json" "and nothing was begun"
done

# Such a one may have the data, with the journal in a folder.
control POST settings '{"conditions": "refuse"}' >/dev/null
export GPUCLOUD_STORE="s3://bucket/split?endpoint=$FAKE_S3&journal=$T/journal"
mkdir src && echo here >src/file
cat >split.yaml <<'Y'
name: split
workdir: src
checkpoint: {path: ck}
artifacts: [out]
run: cat file; mkdir -p ck; echo 1 >ck/a; echo result >out
Y
run gpc submit -q split.yaml
is "$rc:$out" "0:here" "a job with its data here and its journal there" || note "$err"
is "$(control GET objects?sha256=0 | jq -r '.objects[].key' |
	sed -n 's|^split/jobs/[^/]*/||p; s|^split/\(blobs\)/.*|\1|p' |
	sed 's|[^/]*$||; s|blobs/.*|blobs/|' | sort -u | tr '\n' ' ')" \
	" 1/ 1/0/ 1/0/agent/ 1/0/log/ 1/0/marks/ 1/beats/ 1/blobs/ artifacts/ checkpoints/ events/ " \
	"the data is here, with all that the node wrote"
is "$(cd "$T/journal" && find . -type f | sed -n 's|^\./jobs/[^/]*/||p; s|^\./store.json|&|p' |
	sed 's|^events/.*|events/|; /^supervisor$/d' | sort -u | tr '\n' ' ')" \
	"./store.json events/ head job.json " "the journal is there, and nothing else"
copies() { # with the sums of what is there
	control GET objects | jq -r '.objects[] | select(.key | test("^split/jobs/.*/(events/|job.json)")) |
		"\(.sha256)  \(.key | sub("^split/"; ""))"' | sort -k 2 >copies
	(cd "$T/journal" && sha256sum jobs/split-*/job.json jobs/split-*/events/*) | sort -k 2 |
		diff - copies >copies.diff
}
wait_until 60 copies
ok $? "with copies for nodes, byte by byte" || note "$(head -n 20 copies.diff)"
is "$(gpc logs split)" here "logs reads both"
run gpc pull split got
is "$(cat got/out 2>/dev/null)" result "so does pull"
run gpc checkpoint verify split
is "$rc" 0 "and verify" || note "$err"

# The store goes away while a job runs.
control POST settings '{"conditions": "honour"}' >/dev/null
export GPUCLOUD_STORE="$S3"
job=$(gpc submit -q -d -- sleep 600)
wait_until 20 in_state "$job" RUNNING
stop_fakecloud
run gpc release --all -y
is "$rc" 0 "release --all when the store is down"
like "$out" "$job .*released" "says what it released"
none_of_job() { [ -z "$(job_pids "$job")" ]; }
wait_until 20 none_of_job
ok $? "and it is gone"
# shellcheck disable=SC2046  # a list of ids
kill_pids TERM $(pids_with "$T/") # its supervisor waits for the store
finish
