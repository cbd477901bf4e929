#!/bin/sh
# status --watch: in place on a terminal, a line for each change elsewhere.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

at_screen() {
	NO_COLOR=1 at_terminal --screen --size "$@"
}
count() { printf '%s\n' "$out" | grep -Ec -- "$1"; }

cat >hold.yaml <<'Y'
name: hold
run: while [ ! -e "$GO" ]; do sleep 0.1; done
Y
start() { # NAME: a job that ends when $T/NAME exists
	gpc submit -d --name "$1" -e GO="$T/$1" hold.yaml 2>/dev/null
}
runs() { gpc status "$1" --json | grep -q '"state": "RUNNING"'; }

# Without a terminal: once, then at each change, then nothing until the end.
first=$(start first)
wait_until 20 runs first
run sh -c '"$1" status first --watch=0.2 >"$2/seen" & p=$!; until [ -s "$2/seen" ]; do sleep 0.1; done; sleep 1; : >"$2/first"; wait $p' \
	sh "$GPUCLOUD_BIN" "$T"
is "$rc" 0 "status JOB --watch ends with the job, with 0"
out=$(cat "$T/seen")
is "$(count '^State: +RUNNING')" 1 "a state is shown once, not at each look"
is "$(count '^State: +SUCCEEDED')" 1 "the end is shown"

# JSON: one object on one line for each change.
start json >/dev/null
wait_until 20 runs json
rm "$T/seen"
run sh -c '"$1" status json --watch=0.2 --json >"$2/seen" & p=$!; until [ -s "$2/seen" ]; do sleep 0.1; done; sleep 0.5; : >"$2/json"; wait $p' \
	sh "$GPUCLOUD_BIN" "$T"
is "$rc" 0 "with --json it ends too"
if /usr/bin/python3 - "$T/seen" <<'P'; then ok 0 "each line is one object of gpucloud.job/1"; else ok 1 "each line is one object of gpucloud.job/1"; fi
import json, sys
states = []
for line in open(sys.argv[1]):
    o = json.loads(line)
    assert o["schema"] == "gpucloud.job/1", o
    states.append(o["state"])
assert states[0] == "RUNNING" and states[-1] == "SUCCEEDED", states
assert len(states) == len(set(zip(states, range(len(states))))) and states.count("RUNNING") == 1, states
P
run gpc status "$first" --watch --json
is "$rc" 0 "a job that has ended is shown once"
is "$(count .)" 1 "on one line"

# The list, ended by a signal.
none_held() { ! gpc status --json | grep -q '"nodes_held": [1-9]'; }
wait_until 30 none_held
run sh -c 'timeout -s TERM 2 "$1" status --watch=0.2 --json >"$2/seen"; echo $?' \
	sh "$GPUCLOUD_BIN" "$T"
like "$out" '^(124|143)$' "the list is watched until somebody ends it"
out=$(cat "$T/seen")
is "$(count '"rows":')" 1 "nothing changed: it is printed once"

# A reader that went away ends it, although nothing changes.
run sh -c '"$1" status --watch=0.2 | head -n 1' sh "$GPUCLOUD_BIN"
is "$rc" 0 "it ends with its reader"

# A terminal: in place, one table however often it is drawn.
start term >/dev/null
wait_until 20 runs term
at_screen 24x80 "term-.*RUNNING[^|]*again every 0.2s|\\003" "$GPUCLOUD_BIN" status --watch=0.2
is "$rc" 130 "Ctrl-C ends it with 130"
is "$(count '^JOB ')" 1 "there is one table"
like "$out" '^term-.*RUNNING' "which stays on the screen"
unlike "$err" 'WRAPPED|TIMED OUT' "no line wraps"
like "$err" '^scrolled 0 left 0 ' "and nothing scrolls"

# Low and narrow, then another size while it runs.
at_screen 4x30 "more lines|size 24 80
^(.*\\n)*first-.*(.*\\n)*.*Ctrl-C ends|\\003" "$GPUCLOUD_BIN" status --watch=0.2
like "$rc $err" '^130 scrolled 0 left 0 ' "it follows the size of the window"
unlike "$err$out" 'WRAPPED|TIMED OUT|more lines' "and shows all that fits"
is "$(count '^JOB ')" 1 "once"

# One job at a terminal, to its end.
(sleep 2 && : >"$T/term") &
at_screen 24x80 "" "$GPUCLOUD_BIN" status term --watch=0.2
like "$rc $err" '^0 scrolled 0 left 0 ' "a job's detail is drawn in place and ends"
like "$out" '^State: +SUCCEEDED' "with its last state"
is "$(count '^Job: ')" 1 "once"

# Narrow, and a name that alone fills a line: its state is there all the same.
long=a-very-long-job-name-that-fills-a-line
start "$long" >/dev/null
wait_until 20 runs "$long"
at_screen 24x40 "RUNNING[^|]*again every 0.2s|\\003" "$GPUCLOUD_BIN" status --watch=0.2
like "$out" '^a-very-long-job[^ ]*…  RUNNING' "a long name is cut, its state stays"
unlike "$err" 'WRAPPED|TIMED OUT' "and no line wraps"
at_screen 24x40 "" "$GPUCLOUD_BIN" status
like "$out" '^a-very-long-job[^ ]*…  RUNNING' "so it is without --watch"
: >"$T/$long"

run gpc status --watch=0
is "$rc" 2 "--watch=0 is refused"
run gpc status --watch=0.01
is "$rc" 2 "so is what would be a busy loop"

# From before there is a store: the first job makes it.
timeout $((60 * SLOW)) "$GPUCLOUD_BIN" status --watch=0.2 --store "$T/later" >"$T/seen" 2>"$T/seen.err" &
watcher=$!
says() { grep -q "$1" "$T/seen"; }
wait_until 20 says "there is no store at file://$T/later"
ok $? "that there is no store is said"
run gpc submit -q --name born --store "$T/later" -- true
wait_until 20 says '^born-.*SUCCEEDED'
ok $? "the first job of a new store is seen"
kill "$watcher"
wait "$watcher"
is "$(cat "$T/seen.err")" "" "without a warning"
finish
