#!/bin/sh
# Pipes as input: read like files, waited for, and left on a signal.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2016  # the job expands it
printf 'name: in\nrun: echo "$A ${#K}"\n' >job.yaml
mkfifo pipe

# waits NAME EXPECTED-STATUS SIGNAL COMMAND…: nobody ever writes
waits() {
	waits_name=$1 want=$2 signal=$3
	shift 3
	"$GPUCLOUD_BIN" "$@" >"$T/out" 2>"$T/err" </dev/null &
	pid=$!
	wait_until 20 holds_pipe "$pid"
	ok $? "$waits_name: is opened" || note "$(cat "$T/err")"
	kill "-$signal" "$pid"
	wait_until 10 gone "$pid"
	ok $? "$waits_name: SIG$signal ends the wait" || kill -9 "$pid"
	wait "$pid"
	is $? "$want" "$waits_name: and is told by the exit status"
	like "$(cat "$T/err")" "interrupted.* pipe" "$waits_name: and by a message"
}
gone() { ! alive "$1"; }
holds_pipe() { find "/proc/$1/fd" -lname "$T/work/pipe" 2>/dev/null | grep -q .; }

waits "a pipe as spec" 143 TERM submit -n pipe
waits "a pipe as --env-file" 143 TERM submit -n --env-file pipe job.yaml
waits "a pipe as a secret" 129 HUP submit -n --secret K=@pipe job.yaml
waits "a pipe as a secret of cost" 143 TERM cost --secret K=@pipe job.yaml

# slow writers are waited for
(sleep 1 && printf 'A=late\n' && sleep 1 && printf 'B=1\n') >pipe &
run gpc submit -q --env-file pipe job.yaml
is "$out" "late 0" "a slow pipe is read to its end" || note "$err"
cat job.yaml >pipe &
run gpc submit -q --env A=1 pipe
is "$out" "1 0" "a pipe as spec" || note "$err"
(sleep 1 && cat job.yaml) | gpc submit -q --env A=2 - >"$T/out" 2>"$T/err"
is "$(cat "$T/out")" "2 0" "stdin as spec" || note "$(cat "$T/err")"

if command -v bash >/dev/null; then
	run bash -c "'$GPUCLOUD_BIN' submit -q --env A=3 --secret K=@<(printf geheim) <(cat job.yaml)"
	is "$out" "3 6" "process substitution as spec and secret" || note "$err"
	run bash -c "'$GPUCLOUD_BIN' submit -q --env-file <(sleep 1; echo A=4) job.yaml"
	is "$out" "4 0" "process substitution as --env-file" || note "$err"
else
	skip "process substitution" "needs bash"
fi

# limits hold for pipes too
run sh -c "head -c 20000000 /dev/zero | '$GPUCLOUD_BIN' submit -n -"
is "$rc" 3 "too large a spec by a pipe is refused" || note "$err"
like "$err" "larger than" "and says so"

finish
