# shellcheck shell=sh disable=SC2034,SC2016
# What every end-to-end script shares: a scratch home of its own, assertions that
# print TAP, waiting that ends, and an end that leaves no process behind.
#   . "$(dirname "$0")/lib.sh"; …; finish
# Set from outside: GPUCLOUD_BIN (the program), GPUCLOUD_TEST_SANITIZED=1 (be
# patient), GPUCLOUD_TEST_VALGRIND=1 (be very patient), GPUCLOUD_TEST_LONG=1 (do
# the slow parts).
set -u

ROOT=$(cd "$(dirname "$0")/../.." && pwd)
GPUCLOUD_BIN=$(realpath "${GPUCLOUD_BIN:-$ROOT/build/cmd/gpucloud}")
SLOW=${GPUCLOUD_TEST_VALGRIND:+20}
SLOW=${SLOW:-${GPUCLOUD_TEST_SANITIZED:+4}}
SLOW=${SLOW:-1} # factor for every time limit
TESTS=0
RUN_SECONDS=60
TAB=$(printf '\t')
export TAB

unset CI GPUCLOUD_STORE NO_COLOR
T=$(mktemp -d "${TMPDIR:-/tmp}/gpucloud-e2e.XXXXXX")
# Searches for processes begin among those that carry this folder in their
# environment, so that no text, be it empty, can name anybody else's.
case $T in
/*/gpucloud-e2e.??????) ;;
*)
	echo "Bail out! no scratch folder: '$T'"
	exit 1
	;;
esac
chmod 755 "$T"
export HOME="$T/home" XDG_CONFIG_HOME="$T/config" XDG_DATA_HOME="$T/data" \
	XDG_CACHE_HOME="$T/cache" XDG_STATE_HOME="$T/state" TMPDIR="$T/tmp" LC_ALL=C
export ASAN_OPTIONS="log_path=$T/sanitizer:detect_leaks=1:abort_on_error=0" \
	UBSAN_OPTIONS="log_path=$T/sanitizer:print_stacktrace=1:halt_on_error=1" \
	GPUCLOUD_TEST_FINDINGS="$T/sanitizer"
mkdir -p "$HOME" "$XDG_CONFIG_HOME" "$XDG_DATA_HOME" "$XDG_CACHE_HOME" \
	"$XDG_STATE_HOME" "$TMPDIR" "$T/work"
STORE=$XDG_DATA_HOME/gpucloud/store
# Set to "s3://BUCKET?…", the same is asked of a store in there.
if [ -n "${GPUCLOUD_TEST_STORE:-}" ]; then
	GPUCLOUD_STORE=$(printf '%s' "$GPUCLOUD_TEST_STORE" |
		sed "s|?|/${T##*.}?|")
	export GPUCLOUD_STORE
fi
cd "$T/work" || exit 1

# Over a store that is no folder; what looks into the folder is skipped then.
far() { [ -n "${GPUCLOUD_TEST_STORE:-}" ]; }

gpc() { "$GPUCLOUD_BIN" "$@"; }

# The keys that the store has below a folder of it, without that: "" or "jobs/".
stored() { # FOLDER
	if far; then
		AWS_ENDPOINT_URL_S3=$(printf %s "$GPUCLOUD_STORE" |
			sed 's/.*[?&]endpoint=//; s/&.*//') \
			"$GPUCLOUD_BIN" data ls -r -o name "${GPUCLOUD_STORE%%\?*}/$1" 2>/dev/null
	else
		find "$STORE/$1" -type f 2>/dev/null | sed "s|^$STORE/$1||"
	fi
}
note() { printf '%s\n' "$*" | sed 's/^/# /'; }
now_ms() { date +%s%3N; }

# ok STATUS NAME: the check that all others end in.
ok() {
	TESTS=$((TESTS + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $TESTS - $2"
	else
		echo "not ok $TESTS - $2"
		return 1
	fi
}

# check NAME COMMAND…: the command succeeds.
check() {
	check_name=$1
	shift
	"$@"
	ok $? "$check_name"
}

is() { # GOT WANT NAME
	if [ "$1" = "$2" ]; then ok 0 "$3"; else
		ok 1 "$3"
		note "got:  $1"
		note "want: $2"
	fi
}

like() { # TEXT REGEX NAME
	if printf '%s\n' "$1" | grep -Eq -- "$2"; then ok 0 "$3"; else
		ok 1 "$3"
		note "no match for: $2"
		note "$(printf '%s\n' "$1" | head -n 15)"
	fi
}

unlike() { # TEXT REGEX NAME
	if ! printf '%s\n' "$1" | grep -Eq -- "$2"; then ok 0 "$3"; else
		ok 1 "$3"
		note "should not match: $2"
		note "$(printf '%s\n' "$1" | grep -E -- "$2" | head -n 5)"
	fi
}

skip() { # NAME WHY
	TESTS=$((TESTS + 1))
	echo "ok $TESTS - $1 # SKIP $2"
}

skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

# The stand-in of the clouds in $T/fake, with what its env file says exported; it ends
# with the script.
start_fakecloud() { # OPTION...
	sh "$ROOT/tests/servers/fakecloud.sh" start "$T/fake" "$@" 2>"$T/fake.err" ||
		skip_all "the stand-in does not start: $(tail -n 1 "$T/fake.err")"
	trap end_fakecloud EXIT
	set -a
	# shellcheck disable=SC1091  # made just now
	. "$T/fake/env"
	set +a
}
stop_fakecloud() { sh "$ROOT/tests/servers/fakecloud.sh" stop "$T/fake"; }
end_fakecloud() {
	stop_fakecloud
	cleanup
}

# run COMMAND…: leaves stdout, stderr and status in $out, $err, $rc.
# RUN_SECONDS is its time limit.
run() {
	if [ "$1" = gpc ]; then
		shift
		set -- "$GPUCLOUD_BIN" "$@"
	fi
	run_limit="timeout -k 5 $((RUN_SECONDS * SLOW))"
	# timeout cannot run a function of ours
	case $(command -v "$1") in */*) ;; *) run_limit= ;; esac
	$run_limit "$@" >"$T/out" 2>"$T/err" </dev/null
	rc=$?
	out=$(tr -d '\0' <"$T/out")
	err=$(tr -d '\0' <"$T/err")
}

# at_terminal [--size ROWSxCOLUMNS] [--screen] SCRIPT COMMAND…: like run, at a
# terminal of its own; what SCRIPT may say stands in terminal.py.
at_terminal() {
	run env AT_MOST=$((40 * SLOW)) "TERM=${TERM_IS-xterm}" \
		/usr/bin/python3 "$ROOT/tests/e2e/terminal.py" "$@"
}

# wait_until SECONDS COMMAND…: tries ten times a second.
wait_until() {
	wait_end=$(($(now_ms) + $1 * SLOW * 1000))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$(now_ms)" -lt "$wait_end" ] || return 1
		sleep 0.1
	done
}

# Ids of our processes whose environment holds a text. The search itself runs
# without our environment, so as not to find itself.
pids_with() {
	[ -n "$1" ] || return 0
	env -i -C / "PATH=$PATH" sh -c 'grep -lazF -- "$1" /proc/[0-9]*/environ |
		xargs -r grep -lazF -- "$2" | sed "s|^/proc/||; s|/.*||"' \
		sh "$T/" "$1" 2>/dev/null
}
job_pids() { [ -z "$1" ] || pids_with "GPUCLOUD_JOB_ID=$1"; }
none_left() { [ -z "$(pids_with "$T/")" ]; }
# Whether it is a process of ours, not of a job; memcheck runs it as itself.
is_program() { # PID
	case $(readlink "/proc/$1/exe") in
	"$GPUCLOUD_BIN" | */valgrind/memcheck-*) ;;
	*) return 1 ;;
	esac
}
# The arguments of such a process, without those of memcheck.
program_args() { # PID
	tr '\0' ' ' <"/proc/$1/cmdline" 2>/dev/null | sed 's/^.*gpucloud //'
}
alive() { [ -e "/proc/$1" ] && ! grep -q '^State:.Z' "/proc/$1/status"; }
rank_pid() { # JOB RANK: one process of that rank's program
	for p in $(job_pids "$1"); do
		tr '\0' '\n' 2>/dev/null <"/proc/$p/environ" |
			grep -qx "GPUCLOUD_NODE_RANK=$2" && echo "$p" && return
	done
}
node_of() { # PID
	[ -n "$1" ] &&
		tr '\0' '\n' 2>/dev/null <"/proc/$1/environ" | sed -n 's/^GPUCLOUD_NODE_ID=//p'
}
# Launcher, agent and program of one node.
node_pids() {
	[ -n "$1" ] || return 0
	pids_with "$1"
	for p in $(pids_with "$T/"); do
		tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline" | grep -qF -- "$1" && echo "$p"
	done
}

# kill_pids SIGNAL PID…: some may be gone already; what does not carry our
# scratch folder is left alone, whatever a search has found.
kill_pids() {
	kill_signal=$1
	shift
	for pid in "$@"; do
		case $pid in '' | *[!0-9]* | 0 | 1) continue ;; esac
		grep -qaF -- "$T/" "/proc/$pid/environ" 2>/dev/null &&
			kill "-$kill_signal" "$pid" 2>/dev/null
	done
	return 0
}

state_of() { gpc status "$1" -o json | jq -r '.. | .state? // empty' | head -n 1; }
reason_of() { gpc status "$1" -o json | jq -r '.. | .reason? // empty' | head -n 1; }
in_state() { [ "$(state_of "$1")" = "$2" ]; }
has_checkpoint() { [ -n "$(gpc checkpoint list "$1" -o name)" ]; }

# Ends a script: nothing may run any more, no sanitizer may have spoken.
finish() {
	wait_until 20 none_left
	ok $? "nothing is left running" ||
		note "$(for p in $(pids_with "$T/"); do
			tr "\0" " " 2>/dev/null <"/proc/$p/cmdline"
			echo
		done)"
	cat "$T"/sanitizer.* >"$T/findings" 2>/dev/null
	[ -s "$T/findings" ] && note "$(head -n 60 "$T/findings")"
	if [ "$SLOW" -gt 1 ]; then
		[ ! -s "$T/findings" ]
		ok $? "the sanitizers found nothing"
	fi
	echo "1..$TESTS"
}

cleanup() {
	# shellcheck disable=SC2046  # a list of ids
	kill_pids KILL $(pids_with "$T/")
	cd / || exit 1
	[ -n "${GPUCLOUD_TEST_KEEP:-}" ] || rm -rf "$T"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
