#!/bin/sh
# `gpucloud ssh`, with the system's own ssh and sshd: nothing listens before it is asked
# for, one key gets in, the host key is pinned, and nothing of it outlives the job.
# shellcheck source=tests/e2e/lib.sh disable=SC2016
. "$(dirname "$0")/lib.sh"
PATH=$PATH:/usr/sbin:/sbin
for program in ssh sshd ssh-keygen; do
	command -v "$program" >/dev/null || skip_all "there is no $program"
done

CONFIG=$XDG_CONFIG_HOME/gpucloud/ssh_config
KEYS=$XDG_STATE_HOME/gpucloud/ssh
servers() { # how many of ours run
	n=0
	for p in /proc/[0-9]*; do # its environment it writes over
		case $(readlink "$p/exe") in */sshd) ;; *) continue ;; esac
		tr '\0' ' ' <"$p/cmdline" | grep -qF "$T/" && n=$((n + 1))
	done
	echo "$n"
}
no_server() { [ "$(servers)" = 0 ]; }
free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
has_ended() { ! alive "$1"; }

# --- what is refused before anything is asked --------------------------------
run gpc ssh nobody -L 80x
is "$rc" 2 "a port that is none is refused"
like "$err" "-L 8888" "with one that works"
run gpc ssh nobody -L "$(printf '1:a\nb:2')"
is "$rc" 2 "and so is a line that is two"

# --- a command on the node ---------------------------------------------------
port=$(free_port)
echo "very secret" >token
echo "over the way" >page
job=$(gpc submit -q -d --infra local --name web --secret TOKEN=@token --workdir . \
	--env PLAIN="it's \$5" -- python3 -m http.server --bind 127.0.0.1 "$port")
wait_until 60 in_state "$job" RUNNING
is "$(servers):$(ls "$KEYS" 2>/dev/null)" "0:" "nothing listens, and there is no key, before it is asked for"
run gpc ssh web -- sh -c 'echo "$1|$GPUCLOUD_JOB_ID|$PLAIN|${TOKEN-no secret}"; cat page; echo oops >&2; exit 7' \
	sh 'two  words'
is "$rc:$out" "7:two  words|$job|it's \$5|no secret
over the way" "a command runs in the job's folder and environment, and its exit status arrives"
like "$err" "oops" "and its stderr"
is "$(servers)" 1 "by one server"
is "$(stat -c %a "$CONFIG" "$KEYS/id_ed25519" | tr '\n' ' ')" "600 600 " "entry and key are for this user alone"
run gpc ssh web -- 'read x; echo "<$x>"; exit 0'
is "$rc:$out" "0:<>" "a single word is a command line"
is "$(grep -c '^Host ' "$CONFIG")" 1 "the entry is written once"
run ssh -F "$CONFIG" "gpucloud-$job" pwd
is "$rc" 0 "plain ssh finds the node by the entry"
like "$out" "/sky_workdir$" "and lands there too"
if far; then :; else
	unlike "$(cat "$STORE/jobs/$job/events/"*)" "PRIVATE KEY|very secret" \
		"no private key is in the journal"
fi
run ssh -F "$CONFIG" -o IdentityFile=none -o IdentityAgent=none -o BatchMode=yes \
	-i /dev/null -p "$(sed -n 's/.*Port //p' "$CONFIG")" 127.0.0.1 -o StrictHostKeyChecking=no true
is "$rc" 255 "nobody gets in without the key"

# --- a port of the node ------------------------------------------------------
here=$(free_port)
"$GPUCLOUD_BIN" ssh web -N -L "$here:$port" 2>"$T/forward" &
forward=$!
fetched() { [ "$(curl -sf "http://127.0.0.1:$here/page")" = "over the way" ]; }
wait_until 60 fetched
ok $? "-L makes a port of the node one of this machine" || note "$(cat "$T/forward")"
kill_pids TERM "$forward"
wait "$forward" 2>/dev/null

# --- another host key --------------------------------------------------------
known=$KEYS/known-gpucloud-$job
cp "$known" "$T/known"
ssh-keygen -q -t ed25519 -N '' -f "$T/other"
{
	head -n 1 "$T/known"
	echo "gpucloud-$job $(cut -d' ' -f1,2 "$T/other.pub")"
} >"$known"
run ssh -F "$CONFIG" "gpucloud-$job" true
is "$rc" 255 "ssh refuses a host with another key than the pinned one"
run gpc ssh web -- true
is "$rc" 8 "and so does gpucloud"
like "$err" "another host key" "and says why"
cp "$T/known" "$known"
run gpc ssh web -- true
is "$rc" 0 "with the right one it works again"

# --- the end -----------------------------------------------------------------
"$GPUCLOUD_BIN" ssh web -- 'touch here; exec sleep 300' 2>/dev/null &
login=$!
logged_in() { gpc ssh web -- test -e here; }
wait_until 60 logged_in
ok $? "two may be logged in at a time"
run gpc release web
is "$rc" 0 "a job with somebody logged in is released"
wait_until 60 has_ended "$login"
ok $? "who is cut off with the node"
wait "$login" 2>/dev/null
entry_gone() { ! grep -q "$job" "$CONFIG" && [ ! -e "$known" ]; }
wait_until 60 entry_gone
ok $? "entry and pinned key go with the job"
wait_until 60 no_server
ok $? "and the server"
run gpc ssh "$job" -- true
is "$rc" 8 "a job without a node has none to log in to"

# --- a node that is kept -----------------------------------------------------
cat >kept.yaml <<'Y'
name: kept
resources: {infra: local}
run: echo 42 >answer; exit 3
limits: {keep_on_failure: 10m}
Y
job=$(gpc submit -q -d kept.yaml)
run gpc ssh "$job" -- cat answer
is "$rc:$out" "0:42" "a failed job's node can be looked at while it is kept"
is "$(servers)" 1 "by a server again"
began=$(date +%s)
run timeout 300 "$GPUCLOUD_BIN" release "$job"
is "$rc:$(($(date +%s) - began < 300)):$(gpc status "$job" --json | jq -r '.reason')" \
	0:1:exit_code "release gives it back long before, and the job's end stays what it was"
job=$(gpc submit -q -d kept.yaml)
run gpc ssh "$job" -- cat answer
for p in $(pids_with "$T/"); do
	case $(program_args "$p") in agent*) kill_pids KILL "$p" ;; esac
done
wait_until 60 no_server
ok $? "which dies with the node's agent, however that ends"
run gpc release "$job"
is "$rc" 0 "and nothing is held"
finish
