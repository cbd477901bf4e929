#!/bin/sh
# Addresses are told what becomes of a job: each event, again after a refusal that may
# pass and by the next supervisor after a death, and never is the address seen where
# others look.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
unset http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY GPUCLOUD_CA_FILE SSL_CERT_FILE

python=/usr/bin/python3
[ -x $python ] || skip_all "no python3"
openssl req -x509 -newkey rsa:2048 -nodes -keyout own.key -out own.pem -days 2 \
	-subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 2>/dev/null || skip_all "no openssl"
for name in plain tls; do
	mkdir $name
	# shellcheck disable=SC2046  # two words or none
	$python "$ROOT/tests/servers/hook.py" "$PWD/$name" \
		$([ $name = plain ] || echo "$PWD/own.pem $PWD/own.key") 2>$name/err &
	wait_until 20 test -s $name/url || skip_all "the server does not start: $(tail -n 1 $name/err)"
done
HOOK=$(cat plain/url)
TLS=$(cat tls/url)
SECRET=T0p/s3cret
told() { jq -r "$1" plain/told 2>/dev/null; }
heard() { [ "$(told "$1" | grep -c .)" -ge "$2" ]; }

# --- what an address is -------------------------------------------------------------
refused() { # ADDRESS TEXT NAME
	run gpc submit --dry-run --notify "$1" -- true
	like "$rc $err" "^[23] .*$2" "$3" || note "$err"
	case $out$err in *hidden*) ok 1 "$3: not repeated" ;; esac
}
refused http://example.org/hidden "http:// would tell it to whoever listens" "plain HTTP over a network"
refused http://127.0.0.1.example.org/hidden "http:// would tell" "a name that looks like this machine"
refused https://user:hidden@example.org/ "no user and password" "a password before the host"
refused https:///hidden "names no host" "no host"
refused 'https://example.org/hidden#part' "has no #" "a fragment"
refused ftp://example.org/hidden "begins with https://" "another scheme"
refused "{url: 'https://example.org/hidden path'}" "printable ASCII" "a space"
refused "{url: 'https://example.org/x', command: [a]}" "not both" "an address and a command"
refused https://example.org/...#0123456789abcdef "write the whole address" "what gpucloud shows"

# --- a job ----------------------------------------------------------------------------
cat >told.yaml <<Y
name: Told
run: |
  if [ "\$GPUCLOUD_ATTEMPT" -gt 1 ]; then
    while [ ! -e "$T/go" ]; do sleep 0.1; done
    exit 4
  fi
  echo 1 >"\$GPUCLOUD_CHECKPOINT_DIR/n"
  gpucloud checkpoint save -q
  while :; do sleep 0.1; done
checkpoint: {path: state}
notify:
  - url: $HOOK/$SECRET?token=s3cret
    on: [start, recovering, checkpoint, failure]
Y
run gpc submit --dry-run told.yaml
like "$err" "is told, from here: $HOOK/\.\.\. \(on " "the plan names it, without what is secret"
run gpc submit --dry-run --json told.yaml
is "$(printf %s "$out" | jq -c '.tasks[0].notify // .plans[0].notify // .notify | .[0].url')" \
	"\"$HOOK/...\"" "so does its JSON" || note "$out"
printf '503\n500\n' >plain/answers
job=$(gpc submit -vv -d told.yaml 2>submit.err)
wait_until 60 heard 'select(.body.event == "checkpoint" and .answer == "200")' 1
is "$(told '.answer' | head -n 3 | tr '\n' ' ')" "503 500 200 " "a refusal that may pass: again"
is "$(told '.key' | head -n 3 | sort -u | wc -l)" 1 "by the same key"
is "$(told 'select(.answer == "200") | .path' | sort -u)" "/$SECRET?token=s3cret" "the whole address is told"
is "$(told '.body | [.schema, .event, .state, .name, .attempt, .id] | @csv' | head -n 1)" \
	"\"gpucloud.notice/1\",\"start\",\"RUNNING\",\"Told\",1,\"$job\"" "what is told"

# A supervisor that dies while it tells: the next one tells again.
echo hang >plain/answers
gpc signal -q "$job" interrupt
wait_until 60 heard 'select(.answer == "hang")' 1
pid=$(gpc status "$job" -o json | jq .supervisor.pid)
kill_pids KILL "$pid"
gpc wait -q "$job" 2>wait.err & # brings the next one
waiter=$!
wait_until 60 heard 'select(.body.event == "start" and .body.attempt == 2 and .answer == "200")' 1
ok $? "a supervisor that dies while it tells: the next one goes on"
touch "$T/go"
wait $waiter
is $? 4 "the job ends as it ends" || note "$(cat wait.err)"
wait_until 60 heard 'select(.body.event == "end" and .answer == "200")' 1
ok $? "its end is told"
hung=$(told 'select(.answer == "hang") | .key')
is "$(told "select(.key == \"$hung\") | .answer" | tr '\n' ' ')" "hang 200 " "what was cut off is told again"
is "$(told 'select(.answer == "200") | .body.event' | uniq | tr '\n' ' ')" \
	"start checkpoint recovering start end " "all in order" || note "$(told -c .)"
like "$(told '.body.text' | tail -n 1)" "^Told \($job\) has ended: FAILED, exit_code, attempt 2, cost" \
	"with a line for people"
is "$(gpc status "$job" -o json | jq .notify_failed)" null "nothing went wrong"

# --- nobody sees it ------------------------------------------------------------------------
{
	gpc status "$job"
	gpc status "$job" --json
	gpc logs "$job"
	cat submit.err "$XDG_STATE_HOME"/gpucloud/*.log
	far || cat "$STORE/jobs/$job"/*.json "$STORE/jobs/$job"/events/* "$STORE/jobs/$job"/notified
} >seen 2>&1
is "$(grep -c 's3cret' seen)" 0 "neither status, logs nor records have the address" ||
	note "$(grep s3cret seen | head -n 3)"
like "$(cat seen)" "$HOOK/\.\.\." "but its short form"
far || is "$(grep -l s3cret -r "$STORE" | sed "s|$STORE/||; s|-[0-9a-f]*\$||")" \
	"secrets/$job.notify" "it lies with the secrets"

# --- what fails ------------------------------------------------------------------------------
failing() { # NAME ANSWER TEXT
	printf '%s\n' "$2" >plain/answers
	gpc submit -q --name "$1" --notify "$HOOK/$SECRET" -- true
	is $? 0 "$1: the job does not mind"
	failing_name=$1
	failing_text=$3
	said() { gpc status "$failing_name" | grep -Eq -- "$failing_text"; }
	wait_until 90 said
	ok $? "$1: status says what failed" || note "$(gpc status "$1")"
}
failing gone 404 "failed: $HOOK/\.\.\. \(end\): .*404"
is "$(told 'select(.body.name == "gone") | .answer' | grep -c .)" 1 "gone: a refusal for good is not repeated"
failing moved moved "failed: .* redirect, which is not followed"
is "$(told 'select(.path == "/elsewhere")' | grep -c .)" 0 "moved: nobody else is told"
gpc submit -q --name stranger --notify "$TLS/$SECRET" -- true
stranger() { gpc status stranger | grep -q 'failed: .*authority that is not known'; }
wait_until 60 stranger
ok $? "a server of an unknown authority is told nothing" || note "$(gpc status stranger)"
GPUCLOUD_CA_FILE=$PWD/own.pem
export GPUCLOUD_CA_FILE
no_supervisor() { [ "$(gpc status stranger -o json | jq .supervisor.pid)" = null ] && none_supervise; }
none_supervise() {
	for p in $(pids_with "$T/"); do program_args "$p"; done | grep -q ^supervise && return 1
	return 0
}
wait_until 60 none_supervise
gpc submit -q --name known --notify "$TLS/$SECRET" -- true
wait_until 60 grep -q known tls/told
ok $? "with ca_file it is" || note "$(gpc status known)"

# --- changed, and gone ---------------------------------------------------------------------------
mkdir hold
slow=$(gpc submit -q -d --name slow --notify none -- sh -c "while [ -d '$PWD/hold' ]; do sleep 0.1; done")
wait_until 60 in_state "$slow" RUNNING
printf '{url: "%s/%s", on: success}\n' "$HOOK" changed-s3cret >item
run gpc update "$slow" --notify @item
is "$rc" 0 "update names another address" || note "$err"
like "$out" "notify  .* -> $HOOK/\.\.\. \(on success\)" "in its short form"
rmdir hold
wait_until 60 heard 'select(.path == "/changed-s3cret")' 1
ok $? "that one is told"
# The supervisor may still be about to close the job.
pruned() {
	gpc prune --jobs --older-than 0s -y >prune.out 2>&1
	! gpc status "$slow" >/dev/null 2>&1
}
wait_until 60 pruned
ok $? "the job is pruned" || note "$(cat prune.out)"
far || is "$(ls "$STORE/secrets" 2>/dev/null)" "" "an address goes with its job"

# shellcheck disable=SC2046  # a list of ids
kill_pids TERM $(pids_with "$T/")
finish
