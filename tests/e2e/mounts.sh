#!/bin/sh
# file_mounts from buckets, over the stand-in of S3: what is looked at before anything is
# bought, and what a job then finds.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
unset GPUCLOUD_TEST_STORE GPUCLOUD_STORE AWS_PROFILE AWS_SESSION_TOKEN

start_fakecloud
export AWS_EC2_METADATA_DISABLED=true

STORE_DO=${STORE_DO:-$(dirname "$GPUCLOUD_BIN")/../tests/e2e/store-do}
[ -x "$STORE_DO" ] || skip_all "there is no $STORE_DO"
control() { # METHOD PATH [JSON]
	curl -sf -X "$1" ${3:+-d "$3"} "$FAKE_CONTROL/_control/$2"
}
fault() { control POST faults "$1" >/dev/null; }
no_faults() { control DELETE faults >/dev/null; }
put() { # KEY FILE
	"$STORE_DO" "s3://bucket?endpoint=$FAKE_S3" put "$1" "$2"
}
get() { "$STORE_DO" "s3://bucket?endpoint=$FAKE_S3" get "$1" 2>&1; }
url() { echo "s3://bucket/$1?endpoint=$FAKE_S3"; }
spec() { # RUN MOUNT…: job.yaml
	{
		echo "name: job"
		echo "file_mounts:"
		spec_run=$1
		shift
		printf '  %s\n' "$@"
		echo "run: |"
		printf '%s\n' "$spec_run" | sed 's/^/  /'
	} >job.yaml
}
jobs_made() { gpc status -a -o name | wc -l; }

echo one >one
echo two >two
put set/a.txt one
put set/deep/b.txt two
put settled one
# neither counts: a folder that somebody made, and what an unfinished download has left
control POST objects '{"service": "s3", "bucket": "bucket", "size": 0, "keys": ["set/made/",
	"set/deep/.gpucloud-part-0123456789abcdef"]}' >/dev/null
control POST objects '{"service": "s3", "bucket": "bucket", "prefix": "many/", "count": 300,
	"size": 1000, "distinct": true}' >/dev/null

# --- COPY -------------------------------------------------------------------------
# shellcheck disable=SC2088  # the node's home
spec 'cd ~/sky_workdir
cat set/a.txt set/deep/b.txt two/settled mine ~/long/deep/b.txt
find many -type f | wc -l
env | grep -c ^AWS_' \
	"set: $(url set/)" "two/: $(url settled)" "mine: $(url settled)" "many: $(url many)" \
	"~/long: {source: '$(url set)', mode: COPY}"
run gpc submit --dry-run job.yaml
is "$rc" 0 "a dry run looks at buckets" || note "$err"
like "$err" "s3://bucket/set/.* -> set: 2 files, 8 B, copied to each node \(COPY\)" \
	"the plan counts a folder"
like "$err" " -> two/: 1 file, 4 B" "and an object"
like "$err" " -> many: 300 files, 293 KiB" "and many of them"
run gpc submit --dry-run -o json job.yaml
is "$(printf '%s' "$out" | jq -c '[.plans[0].mounts[] | [.target, .files, .size_bytes, .mode,
	.complete, .why]] | .[0]')" '["set",2,8,"COPY",true,null]' "as JSON too" || note "$out"
is "$(jobs_made)" 0 "nothing is made"

run gpc submit -q job.yaml
is "$(printf '%s' "$out" | tr '\n' ' ')" "one two one one two 300 0" \
	"the job finds all, and no credentials" || note "$err"
job=$(gpc status -a -o name)
like "$(cat "$STORE/jobs/$job"/1/0/agent/*)" "file_mounts.many: has 300 of 300 files" "the agent tells of it"

# --- several nodes ------------------------------------------------------------------
spec 'cat set/a.txt' "set: $(url set/)"
echo 'num_nodes: 2' >>job.yaml
run gpc submit -q job.yaml
is "$(printf '%s' "$out" | grep -c one)" 2 "each node gets all of it" || note "$err"

# --- before anything is bought ---------------------------------------------------------
made=$(jobs_made)
refused() { # CODE REGEX NAME MOUNT…
	rf_code=$1 rf_like=$2 rf_name=$3
	shift 3
	spec 'echo hi' "$@"
	run gpc submit -q job.yaml
	is "$rc" "$rf_code" "$rf_name: exit $rf_code" || note "$err"
	like "$err" "$rf_like" "and says so"
}
refused 3 "file_mounts.d: .*s3://bucket/nowhere.*nothing is there" "a prefix that is not there" \
	"d: $(url nowhere/)"
refused 3 "file_mounts.d: .*nothing is there" "a key that is not there" "d: $(url set/a)"
refused 3 "file_mounts.d: .*no-such-bucket" "a bucket that is not there" \
	"d: s3://no-such-bucket/x?endpoint=$FAKE_S3"
refused 3 "is one object" "an object where a folder is needed" \
	"d: {source: '$(url settled)', type: DATASET_RO}"
refused 3 "r2:// are not built yet" "another cloud's bucket" "d: r2://bucket/x"
refused 3 "new bucket" "a new bucket" "d: {source: ., name: b, store: s3}"
fault '{"service": "s3", "operation": "CreateMultipartUpload", "prefix": "set/", "count": 0,
	"do": "error", "status": 403, "code": "AccessDenied"}'
refused 4 "file_mounts.d: s3://bucket/set/ cannot be written: .*AccessDenied" "a folder that may not be written" \
	"d: {source: '$(url set/)', mode: MOUNT_CACHED}"
no_faults
right=$AWS_SECRET_ACCESS_KEY
AWS_SECRET_ACCESS_KEY=wrong
refused 4 "file_mounts.d" "credentials that are refused" "d: $(url set/)"
AWS_SECRET_ACCESS_KEY=$right
control POST objects '{"service": "s3", "bucket": "bucket", "prefix": "large/", "count": 3,
	"size": 536870912}' >/dev/null
spec 'echo hi' "d: $(url large/)"
echo 'resources: {disk_size: 1}' >>job.yaml
run gpc submit -q job.yaml
is "$rc" 3 "more than resources.disk_size: exit 3" || note "$err"
like "$err" "have 1.5 GiB, more than the 1 GiB of resources.disk_size" "and says so"
spec 'echo hi' "d: $(url set/)"
echo 'resources: {disk_size: 1000000}' >>job.yaml
run gpc submit --dry-run job.yaml
is "$rc" 0 "a larger disk than this machine has is no error"
like "$err" "job.yaml:[0-9]*:[0-9]*: resources.disk_size asks for 976.6 TiB, and this machine has .* free" \
	"but a warning"
spec 'echo hi' "d: $(url large/)" "e: {source: '$(url large/)', mode: COPY}"
echo 'resources: {disk_size: 2}' >>job.yaml
run gpc submit -q job.yaml
is "$rc" 3 "more than that together: exit 3" || note "$err"
is "$(jobs_made)" "$made" "no job was made by any"

# --- MOUNT that is only read ---------------------------------------------------------
only_read="config: {mount: {read_only: true}}"
spec 'cat d/a.txt' "d: {source: '$(url set)', $only_read}"
run gpc submit -q job.yaml
is "$rc:$out" "0:one" "a mount that is only read" || note "$err"
run gpc submit --dry-run job.yaml
like "$err" "copied to each node \(COPY\)" "is copied"
like "$err" "instead of MOUNT: .*no FUSE tool" "and the plan says why"
spec 'true' "d: {source: '$(url large)', $only_read}"
echo 'resources: {disk_size: 2}' >>job.yaml
run gpc submit --dry-run job.yaml
like "$err" "MOUNT_CACHED, only read" "but not what takes more than half the disk" || note "$err"

# --- what is written ------------------------------------------------------------------
objects() { control GET "objects?sha256=0" | jq -r ".objects[] | select(.key | startswith(\"$1\")) | .key"; }
has() { [ -n "$(objects "$1")" ]; }
uploads() { # SINCE: keys in the order in which they came
	control GET "requests?since=$1" | jq -r '.requests[] | select(.service == "s3" and
		(.operation | IN("PutObject", "CompleteMultipartUpload", "DeleteObjects",
		"DeleteObject")) and .status < 300) | .key' | tr '\n' ' '
}
seen() { control GET "requests?since=999999999" | jq .next; }
cached() { echo "out: {source: '$(url "$1")', mode: MOUNT_CACHED${2:-}}"; }
put runs/old one
put runs/deep/kept two
put runs/gone one
since=$(seen)
# The order of writing is another one than that of names.
spec 'cat out/old out/deep/kept
echo changed >out/old
rm out/gone
mkdir out/new
head -c 300000 /dev/urandom >out/new/z
ln -s z out/new/link
cp out/new/z ~/copy
cat ~/copy >out/new/y
touch -d "2026-01-02 03:04:06" out/new/z
touch -d "2026-01-02 03:04:05" out/new/y
echo done >out/done
base64 -w 0 ~/copy | sha256sum' "$(cached runs)"
run gpc submit --dry-run job.yaml
like "$err" "changes are uploaded \(MOUNT_CACHED\)" "the plan says that changes are uploaded"
is "$(objects runs/ | wc -l) $(control GET "objects?sha256=0" | jq ".uploads | length")" "3 0" \
	"and leaves nothing of having tried"
run gpc submit -q job.yaml
is "$rc:$(printf '%s' "$out" | head -n 2 | tr '\n' ' ')" "0:one two " "a folder of a bucket is filled first" ||
	note "$err"
is "$(objects runs/ | sort | tr '\n' ' ')" \
	"runs/deep/kept runs/done runs/new/y runs/new/z runs/old " \
	"and the bucket has what the job has left, when it has ended"
get runs/new/z >z
is "$(base64 -w 0 z | sha256sum)" "$(printf '%s' "$out" | tail -n 1)" "to the byte"
is "$(get runs/old) $(get runs/done)" "changed done" "with what was changed"
is "$(uploads "$since")" "runs/new/y runs/new/z runs/old runs/done runs/gone " \
	"in the order in which it was written, deletions last"
job=$(gpc status -a -o name | head -n 1)
like "$(cat "$STORE/jobs/$job"/1/0/agent/*)" "new/link is a link" "links are told of"

# MOUNT means the same here. While it runs: what is closed goes, what is open waits. A
# node that dies leaves what was uploaded to the next attempt.
spec "cat out/*
[ \$GPUCLOUD_ATTEMPT = 1 ] || exit 0
exec 3>out/open
echo half >&3
echo first >out/first
until [ -e '$T/go' ]; do sleep 0.2; done
kill -9 \$PPID" "out: {source: '$(url live)'}"
run gpc submit --dry-run job.yaml
like "$err" "instead of MOUNT: .*may be written" "MOUNT that may be written is cached, and the plan says why"
gpc submit -q job.yaml >live.out 2>live.err &
client=$!
wait_until 60 has live/first
ok $? "files are uploaded while the job runs"
has live/open
is $? 1 "but none that is open for writing"
touch "$T/go"
wait "$client"
is "$?:$(cat live.out)" "0:first" "the next attempt finds what the lost node has uploaded" || note "$(cat live.err)"

# It does not get there: the job has failed, says so, and its files are kept.
fault '{"service": "s3", "operation": "PutObject", "prefix": "shut/b", "count": 0,
	"do": "error", "status": 403, "code": "AccessDenied"}'
spec 'echo 1 >out/a; sleep 0.1; echo 2 >out/b; sleep 0.1; echo 3 >out/c' "$(cached shut)"
run gpc submit -q job.yaml
is "$rc" 125 "a job whose files are refused has failed" || note "$err"
like "$err" "file_mounts.out: 1 file \(b\) not uploaded: .*AccessDenied.*gpucloud pull" "and says which and why"
job=$(gpc status -a -o name | head -n 1)
is "$(reason_of "$job")" auth "by its reason too"
is "$(objects shut/ | sort | tr '\n' ' ')" "shut/a shut/c " "the others are there"
run gpc pull "$job" pulled
is "$(cat pulled/not-uploaded/0/out/b)" 2 "pull fetches the file"
no_faults
# More failures than one upload bears: the last round is begun again.
fault '{"service": "s3", "operation": "PutObject", "prefix": "ill/a", "count": 7,
	"do": "error", "status": 500, "code": "InternalError"}'
spec 'echo 1 >out/a; sleep 0.1; echo 2 >out/b' "$(cached ill)"
since=$(seen)
run gpc submit -q job.yaml
is "$rc:$(uploads "$since")" "0:ill/a ill/b " "an ill service is asked again, and nothing overtakes" ||
	note "$err"
no_faults

# Its end by others: what is left goes all the same, but not what was being written when it
# was killed if another attempt goes on.
spec "ls out | tr '\n' ' '
[ \$GPUCLOUD_ATTEMPT = 1 ] || { exec 3>out/late; echo late >&3; echo ready; sleep 1000; }
trap '' TERM
exec 3>out/torn
echo half >&3
echo whole >out/whole
echo ready
while :; do sleep 1; done" "$(cached stop)"
echo 'checkpoint: {path: ck, grace: 1s}' >>job.yaml
job=$(gpc submit -q -d job.yaml)
ready() { gpc logs "$job" 2>/dev/null | grep -q "$1"; }
wait_until 60 ready '^ready'
run gpc signal "$job" interrupt
wait_until 60 ready '^whole ready'
ok $? "a node that is warned uploads what is whole" || note "$(gpc logs "$job")"
run gpc cancel "$job"
run gpc wait "$job"
is "$(objects stop/ | sort | tr '\n' ' ')" "stop/late stop/whole " "a job that is cancelled uploads what is there"

# --- when it goes wrong on the node --------------------------------------------------
spec 'cat set/a.txt' "set: $(url set/)"
fault '{"service": "s3", "operation": "GetObject", "prefix": "set/a.txt", "count": 6,
	"do": "error", "status": 500, "code": "InternalError"}'
run gpc submit -q job.yaml
is "$rc:$out" 0:one "an ill service is asked again" || note "$err"
no_faults
# The agent dies when it has them: the next attempt does what this one did.
if grep -qa GPUCLOUD_CRASH_DIR "$GPUCLOUD_BIN"; then
	mkdir crash
	run env GPUCLOUD_CRASH=buckets.fetched "GPUCLOUD_CRASH_DIR=$PWD/crash" \
		"$GPUCLOUD_BIN" submit -q job.yaml
	is "$rc:$out" 0:one "a node that dies with them is replaced" || note "$err"
	[ -e crash/buckets.fetched.died ]
	ok $? "it died there"
	put dies/old one
	spec 'ls out | tr "\n" " "
[ -e out/a ] || { echo 1 >out/a; sleep 0.1; }
echo 2 >out/b
rm -f out/old' "$(cached dies)"
	run env GPUCLOUD_CRASH=mirror.file_put,mirror.deleted "GPUCLOUD_CRASH_DIR=$PWD/crash" \
		"$GPUCLOUD_BIN" submit -q job.yaml
	is "$rc:$out" "0:old a old a b " "nodes that die while they upload leave what they had" || note "$err"
	is "$(objects dies/ | sort | tr '\n' ' ')" "dies/a dies/b " "and nothing is lost or comes back"
	[ -e crash/mirror.file_put.died ] && [ -e crash/mirror.deleted.died ]
	ok $? "they died there"
fi
spec 'cat set/a.txt' "set: $(url set/)"
fault '{"service": "s3", "operation": "GetObject", "prefix": "set/a.txt", "count": 0,
	"do": "error", "status": 403, "code": "AccessDenied"}'
job=$(gpc submit -q -d job.yaml)
run gpc wait "$job"
[ "$rc" -ne 0 ]
ok $? "what may not be read ends the job"
is "$(reason_of "$job")" spec_invalid "as the spec's fault"
like "$(gpc status "$job")" "file_mounts.set" "and says where"
no_faults

stop_fakecloud
finish
