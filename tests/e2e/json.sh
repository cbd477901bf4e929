#!/bin/sh
# What programs read: the JSON of every command, word for word but for ids,
# times and what this machine is; each field is described in gpucloud-json(5),
# and each field that is described there is printed. And that a script can follow
# a job to its end.
#   GOLDEN_UPDATE=1 writes tests/golden/json/*.json anew.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

golden=$ROOT/tests/golden/json
host=$(uname -n)
export TZ=UTC
mkdir docs

# keep NAME: what the last run printed, one document or several
keep() {
	cp "$T/out" "docs/$1"
	jq -e -s 'length > 0 and all(.[]; keys_unsorted[0] == "schema" and
		(.schema | test("^gpucloud[.][a-z]+/1$")))' "docs/$1" >/dev/null
	ok $? "$1: names its schema first" || note "$(head -n 5 "docs/$1")"
	jq --arg tmp "$T" --arg host "$host" -f "$golden/normal.jq" "docs/$1" \
		>"$T/normal" || ok 1 "$1: can be read"
	if [ -n "${GOLDEN_UPDATE:-}" ]; then
		cp "$T/normal" "$golden/$1.json"
	fi
	diff -u "$golden/$1.json" "$T/normal" >"$T/diff"
	ok $? "$1: as in tests/golden/json/$1.json" || note "$(head -n 40 "$T/diff")"
}
json() { # NAME WORDS…: exits with 0
	json_name=$1
	shift
	run gpc "$@"
	is "$rc" 0 "$json_name: exits with 0" || note "$err"
	keep "$json_name"
}

mkdir -p src/skip
echo skip >src/.gpucloudignore
echo x >src/skip/x
printf 'hello\n' >src/file
cat >full.yaml <<'Y'
name: Full
workdir: src
file_mounts: {~/data: src/file}
checkpoint: {path: ck}
artifacts: [out]
metrics: {loss: 'loss=([0-9.]+)'}
limits: {time: 1h, setup: 1h, expected: 30m}
resources: {priority: 2}
notify:
  - {command: ['false'], on: [start]}
  - {url: 'http://127.0.0.1:9/hook?key=x', on: recovering}
run: |
  mkdir -p ck
  echo a > ck/a
  echo loss=0.5
  gpucloud checkpoint save
  echo result > out
Y

json version version --json
json template init --list --json
json config config get color --json
echo 'store: /srv' >.gpucloud.yaml
gpc config trust 2>/dev/null
json trust config trust --list --json
gpc config trust --remove
rm .gpucloud.yaml
json job-none status --json
json cost-none cost --json
json release-none release --orphans --json
json offer offers --json
mkdir -p data/sub
printf 'abc' >data/file
printf 'abcd' >data/sub/file
ln -s gone data/link
touch -d '2026-01-02 03:04:05Z' data/file data/sub/file
json object data ls data/file --json
run gpc data cp -r data/ s3://bucket/data -n --json
is "$rc" 1 "data cp --json of what is not all there"
keep data
rm data/link
json data-one data cp data/file s3://bucket -n --json
# no metadata service is asked: what answers there depends on the machine
export AWS_EC2_METADATA_DISABLED=true ALIBABA_CLOUD_ECS_METADATA_DISABLED=true \
	GCE_METADATA_HOST=127.0.0.1:1 GCE_METADATA_DETECT_RETRIES=1
if far; then # it would ask the cloud who we are
	cp "$golden/check.json" docs/check
else
	json check check --json
fi
unset AWS_EC2_METADATA_DISABLED ALIBABA_CLOUD_ECS_METADATA_DISABLED \
	GCE_METADATA_HOST GCE_METADATA_DETECT_RETRIES
json offer-misfit offers --gpus H100:8 --json
json plan submit --dry-run --json full.yaml
json forecast cost full.yaml --json
export GPUCLOUD_LOCAL_PRICE_PER_HOUR=0.60
json plan-paid submit --dry-run --json full.yaml
json forecast-paid cost full.yaml --json
unset GPUCLOUD_LOCAL_PRICE_PER_HOUR
git init -q repo
printf -- '-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaA==\n-----END OPENSSH PRIVATE KEY-----\n' >repo/id_ed25519
git -C repo add id_ed25519
GIT_COMMITTER_DATE='2026-01-01T00:00:00Z' git -C repo -c user.name=n -c user.email=e \
	commit -q -m one --date '2026-01-01T00:00:00Z'
json plan-git submit --dry-run --json --git-url ./repo -- true

# --- a job, followed ---
json submit submit -d --once one --json full.yaml
json submit-again submit -d --once one --json full.yaml
run gpc wait full --json
is "$rc" 0 "wait --json exits with the job's status"
is "$(jq -r .type "$T/out" | tail -n 1)" end "and ends with an end"
is "$(jq -rs '[.[] | select(.type == "log")] | length' "$T/out")" 0 "without its output"
wait_until 20 sh -c "'$GPUCLOUD_BIN' status full --json |
	jq -e '.nodes[0].released and .notify_failed'"
json job-succeeded status full --json
json checkpoint checkpoint list full --json
json pull pull full --json
json pull-checkpoint checkpoint pull full 1-1-user --json
json verify checkpoint verify full 1-1-user --json
json cost cost full --json
json cost-all cost --since 1h --json
json cancel-ended cancel full --json
json release release full --json
run gpc prune --older-than 0 --dry-run --json
is "$rc" 0 "prune --dry-run --json" || note "$err"
cp "$T/out" docs/prune

printf 'import sys\nsys.stdout.buffer.write(b"\\xff\\0\\n")\nsys.exit(7)\n' >bytes.py
cp bytes.py src/
run gpc submit --json --name bytes --workdir src -- /usr/bin/python3 bytes.py
is "$rc" 7 "submit --json exits with the job's status"
cp "$T/out" docs/events
is "$(jq -rs 'map(.type) | unique | join(" ")' docs/events)" "end log state" \
	"its lines are states, output and one end"
is "$(jq -rs '.[-1] | [.type, .reason, .exit_code, .exit_status, .state, .cost.amount] |
	map(tostring) | join(" ")' docs/events)" "end exit_code 7 7 FAILED 0.00" \
	"the end says why, with which status and for how much"
is "$(jq -rj 'select(.type == "log") | .data_base64 // empty' docs/events | base64 -d | od -An -tx1)" \
	" ff 00 0a" "bytes that are no text come as base64"
is "$(jq -rs 'map(select(.type == "state").n) | . == (sort | unique)' docs/events)" true \
	"entries are in order, each once"
jq -c 'select(.type == "end")' docs/events >"$T/out"
keep event-end
jq -c 'select(.type == "state" and .event == "submitted")' docs/events >"$T/out"
keep event-state
jq -c 'select(.type == "log")' docs/events >"$T/out"
keep event-log-bytes
cat >killed.yaml <<'Y'
name: killed
run: echo to stdout; echo to stderr >&2; kill -9 $$
Y
run gpc submit --json killed.yaml
is "$rc" 137 "a job that a signal ended"
is "$(jq -s '.[-1].signal' "$T/out")" 9 "its end has the signal"
cp "$T/out" docs/killed
run gpc logs killed --json
is "$(jq -rs 'map("\(.stream) \(.data)") | sort | join("")' "$T/out")" \
	"stderr to stderr
stdout to stdout" "logs --json tells the streams apart"
jq -s -c 'sort_by(.stream)[]' "$T/out" >"$T/sorted"
cp "$T/sorted" "$T/out"
keep event-log
# A log whose end is missing: the job writes its node's last word itself.
if ! far; then
	cat >cut.yaml <<Y
name: cut
run: |
  printf '{"v":1,"phase":"run","code":0,"reason":"disk_full","at_ms":%s000,"log_cut":"7 bytes are missing: full"}' \
    "\$(date +%s)" >exit.json
  mv exit.json "$STORE/jobs/\$GPUCLOUD_JOB_ID/1/0/exit.json"
Y
	run gpc submit -q cut.yaml
	is "$rc" 125 "a job whose log is cut" || note "$err"
	run gpc logs cut --json
	is "$rc" 1 "logs --json of it"
	keep event-log-cut
fi
json job-killed status killed --json

run gpc submit -d --json --name waits --ports 18080 --notify '[{command: [cat]}, {url: http://127.0.0.1:9/a, on: recovering}]' -- sleep 300
wait_until 20 in_state waits RUNNING
json signal signal waits CONT --rank 0 --json
json update update waits --max-cost 5 --time 2h --priority -3 \
	--notify '[{command: ["true"], on: [success, failure]},
		{url: http://127.0.0.1:9/b, on: recovering}]' --json
json cost-running cost waits --json
# the least that there is, whatever time it takes
GPUCLOUD_LOCAL_PRICE_PER_HOUR=0.000001 gpc submit -y -q --name paid -- true
wait_until 20 sh -c "'$GPUCLOUD_BIN' status paid --json | jq -e '.nodes[0].released'"
json cost-paid cost paid --json
json release-dry release --all --dry-run --json
if ! far; then
	echo '{"v":1,"id":"a","n":1,"within_ms":600000}' >tether
	cp tether "$STORE/jobs/$(gpc status waits -o name)/tether"
fi
run gpc status waits --json
cp "$T/out" docs/running
# As its node says it while files wait for a bucket; only a folder is looked into.
uploads() {
	beat=$(ls "$STORE"/jobs/waits-*/1/beats/00000)
	jq -c '.uploads = {files: 2, bytes: 3}' "$beat" >beat && cp beat "$beat" &&
		gpc status waits --json >docs/uploads && grep -q '"uploads"' docs/uploads
}
far || wait_until 60 uploads
gpc cancel waits --json >docs/cancel 2>/dev/null
run gpc wait waits
wait_until 20 sh -c "'$GPUCLOUD_BIN' status waits --json | jq -e '.nodes[0].released'"
json cancelled status waits --json
run gpc resume -d waits --json
is "$rc" 0 "resume -d --json" || note "$err"
keep resume
gpc release waits >/dev/null 2>&1

cat >saves.yaml <<'Y'
name: saves
checkpoint: {path: ck, keep: 9}
run: mkdir -p ck; echo a > ck/a; sleep 300
Y
run gpc submit -d saves.yaml
wait_until 20 in_state saves RUNNING
json checkpoint-save checkpoint save saves --json
gpc checkpoint save -q saves >/dev/null
gpc checkpoint save -q saves >/dev/null
run gpc checkpoint prune saves --keep 2 --json
is "$rc" 0 "checkpoint prune --json" || note "$err"
cp "$T/out" docs/pruned
gpc release --now saves >/dev/null 2>&1
far || for hurt in "$STORE"/jobs/saves-*/1/blobs/*/*; do
	chmod u+w "$hurt"
	printf x >>"$hurt"
done
run gpc checkpoint verify saves --json
if far; then
	note "checkpoint verify --json tells damage: needs the store's folder"
else
	is "$rc" 1 "checkpoint verify --json tells damage" || note "$err"
fi
cp "$T/out" docs/damaged

run gpc submit --name fromgit --git-url ./repo -- true
json job-git status fromgit --json
broken=$(gpc status killed -o name)
far || chmod u+w "$STORE/jobs/$broken/job.json"
far || echo '{' >"$STORE/jobs/$broken/job.json"
run gpc status --json
cp "$T/out" docs/list
if far; then
	note "a job that cannot be read is in the list: needs the store's folder"
else
	is "$(jq -r '.rows[] | select(.state == "UNREADABLE") | .error' docs/list |
		grep -c "$broken")" 1 \
		"a job that cannot be read is in the list, with the error"
fi

# --- a script that reads along ---
run sh -c "'$GPUCLOUD_BIN' submit --json --name along -- sh -c \
	'for i in 1 2 3; do echo line \$i; sleep 0.2; done' 2>/dev/null |
	jq --unbuffered -rj 'select(.type == \"log\").data // empty,
		(select(.type == \"end\") | .reason)'"
is "$out" "line 1
line 2
line 3
completed" "a pipe to jq shows the output and the end"
# each line at once: the first state is there while the job runs
"$GPUCLOUD_BIN" submit --json --name slow -- sleep 300 >lines 2>/dev/null &
slow_pid=$!
wait_until 20 grep -q '"state":"RUNNING"' lines
ok $? "lines are written when they happen"
kill -TERM "$slow_pid"
wait "$slow_pid"
is "$?" 143 "SIGTERM detaches"
is "$(jq -r 'select(.type == "end")' lines)" "" "and then there is no end"
jq -e -s . lines >/dev/null
ok $? "but every line is whole"
gpc release --now slow >/dev/null 2>&1
run gpc --log-format json submit --name talks -- true
is "$(jq -r .level "$T/err" 2>&1 | sort -u),$(grep -c 'SUCCEEDED: completed' "$T/err")" \
	"info,1" "with --log-format=json all that is said is an object a line"
for words in '--log-format json --bogus status' '--bogus --log-format json status' \
	'status --bogus --watch=x --log-format json'; do
	# shellcheck disable=SC2086  # a list of words
	run gpc $words
	like "$(jq -r .msg "$T/err" 2>&1)" '^unknown option --bogus; hint: ' "also of: $words"
done
# the reader goes away: the job runs on, and nobody hangs
"$GPUCLOUD_BIN" submit --json --name gone -- sh -c \
	'for i in $(seq 50); do echo $i; sleep 0.1; done' 2>gone.err | head -n 1 >gone.out
like "$(cat gone.out)" '"event":"submitted"' "a reader of one line has it"
like "$(cat gone.err)" "gone-[a-z0-9]* runs on" "submit says that the job runs on"
run gpc wait gone
is "$rc" 0 "and so it does"

# --- gpucloud-json(5) ---
page=$ROOT/man/gpucloud-json.5.scd
awk '/^# gpucloud[.]/ { split($2, a, /[.\/]/); on = a[2] }
	/^# / && !/^# gpucloud[.]/ { on = "" }
	on && /^\*[^*]+\*: / {
		name = $0; sub(/^\*/, "", name); sub(/\*: .*/, "", name)
		type = $0; sub(/^[^:]*: /, "", type); sub(/[+][+]$/, "", type)
		sub(/^map.*/, "map", type)
		print on, name, type
	}' "$page" | sort -u >described
# shellcheck disable=SC2046  # a list of files
jq -r -f "$golden/fields.jq" $(ls docs/*) | sort -u >printed
grep -v ' null$' printed >with_value
is "$(comm -23 with_value described)" "" \
	"each field that is printed is described in gpucloud-json(5), with its type"
sed 's/ null$//' printed | cut -d' ' -f1,2 | sort -u >printed_names
cut -d' ' -f1,2 described | sort -u >described_names
if far; then sed -i '/^job uploads[.]/d; /^job tether_ms$/d; /^event log_cut$/d' described_names; fi
sed -i '/^setup /d' described_names # it takes an account: e2e/setup reads what it prints
# an empty list of objects stands for the fields of these
while IFS= read -r name; do
	case $name in *'[]') grep -qF "$name." described_names && continue ;; esac
	printf '%s\n' "$name"
done <printed_names >names && mv names printed_names
is "$(comm -23 printed_names described_names)" "" "so are those that were empty"
is "$(comm -13 printed_names described_names)" "" \
	"each field that is described is printed by one of these commands"
cut -d' ' -f1,2,3- described | sort | uniq -d >twice
is "$(cat twice)" "" "no field is described twice"
used=$(grep -oE '(gpc_out_json|gpc_out_event)\([^"]*"[a-z]+"|_?table = \{"[a-z]+"|gpc_table\)? *\{"[a-z]+"' \
	"$ROOT"/cmd/*.c | sed 's/.*"\([a-z]*\)"/\1/' | sort -u)
# attempts, nodes and refusals are tables of `status JOB`, never JSON of their own
for schema in $used; do
	case $schema in attempt | node | refused) continue ;; esac
	grep -q "^# gpucloud[.]$schema/1\$" "$page"
	ok $? "gpucloud-json(5) has gpucloud.$schema/1"
done
finish
