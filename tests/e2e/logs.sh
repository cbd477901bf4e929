#!/bin/sh
# Log bytes arrive exact, apart and soon.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

py=/usr/bin/python3
cat >speak.py <<'P'
import os, random, sys, time
def put(fd, data):
    while data:
        data = data[os.write(fd, data):]
what = sys.argv[1]
rng = random.Random(what)
if what == "binary":
    put(1, bytes(range(256)) * 4000 + b"\0\0\n\r\n")
    put(2, rng.randbytes(300000))
elif what == "longline":
    put(1, (b"x" * 999 + b"\t") * 10000 + b"\n" + b"after\n")
elif what == "progress":
    for i in range(200):
        put(1, b"\r[%-20s] %d%%" % (b"#" * (i // 10), i // 2))
        put(2, b"\r%d it/s" % i)
    put(1, b"\ndone without an end")
elif what == "flood":
    line = bytes(97 + i % 26 for i in range(99)) + b"\n"
    for tick in range(50):
        began = time.monotonic()
        put(1, b"%09d" % tick + (line * 10486)[9:])
        time.sleep(max(0, 0.1 - (time.monotonic() - began)))
P

exact() { # WHAT
	"$py" speak.py "$1" >"$1.want1" 2>"$1.want2"
	GPUCLOUD_X=1 timeout $((120 * SLOW)) "$GPUCLOUD_BIN" submit -q --workdir . \
		--name "$1" -- "$py" speak.py "$1" >"$1.got1" 2>"$1.err"
	cmp -s "$1.want1" "$1.got1"
	ok $? "$1: stdout arrives byte for byte"
	gpc logs "$1" --stdout >"$1.log1" 2>/dev/null
	cmp -s "$1.want1" "$1.log1"
	ok $? "$1: logs gives the same stdout afterwards"
	gpc logs "$1" --stderr >"$1.log2" 2>/dev/null
	cmp -s "$1.want2" "$1.log2" || {
		gpc logs "$1" --stderr 2>"$1.log2" >/dev/null
		cmp -s "$1.want2" "$1.log2"
	}
	ok $? "$1: and the same stderr"
}
exact binary
exact longline
exact progress
exact flood

# The flood kept its pace: 52 MB in 5 s of writing.
run gpc status flood -o json
ran=$(printf '%s' "$out" | jq -r '[.. | .ran_ms? // empty] | first // empty')
if [ -n "$ran" ]; then
	[ "$ran" -lt $((9000 * SLOW)) ]
	ok $? "the flood was not held up ($ran ms)"
fi

# Fifty lines with the time of their writing, and their age when shown.
cat >age.py <<'P'
import sys, time
ages = []
for line in iter(sys.stdin.readline, ""):
    ages.append((time.time() - float(line)) * 1000)
ages = sorted(ages[10:])  # what was written before we looked is old
print(f"{ages[len(ages) // 2]:.0f} {ages[-1]:.0f} {len(ages)}")
P
cat >clock.py <<'P'
import time
for _ in range(60):
    print(f"{time.time():.6f}", flush=True)
    time.sleep(0.05)
P
job=$(gpc submit -q -d --workdir . -- "$py" clock.py)
ages=$(timeout $((60 * SLOW)) "$GPUCLOUD_BIN" logs -f "$job" 2>/dev/null | "$py" age.py)
# shellcheck disable=SC2086  # three numbers
set -- $ages
far && soon=2500 || soon=300 # elsewhere each look and each put is billed
[ "${3:-0}" -eq 50 ] && [ "$2" -lt $((soon * SLOW)) ]
ok $? "a line is shown within $soon ms (median ${1:-?}, worst ${2:-?} ms of ${3:-?})"

cat >two.sh <<'P'
echo one; sleep 1.2; echo two; echo bad >&2; sleep 1.2; echo three
P
job=$(gpc submit -q -d --workdir . --name two -- sh two.sh)
gpc wait "$job" >/dev/null 2>&1
is "$(gpc logs "$job" --stdout --tail 2)" "two
three" "--tail 2"
is "$(gpc logs "$job" --stderr 2>&1)" bad "--stderr"
like "$(gpc logs "$job" --timestamps --stdout)" \
	"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z one$" "--timestamps"
is "$(gpc logs "$job" --stdout --attempt 1 --rank 0)" "one
two
three" "--attempt and --rank"
run gpc logs "$job" --since 1h --stdout
like "$out" "^one$" "--since 1h shows all"
run gpc logs nosuchjob
is "$rc" 5 "logs of an unknown job is not found"

# The same command before there is anything.
job=$(gpc submit -q -d -- sh -c 'sleep 1; echo late')
run gpc logs -f "$job"
is "$out" late "logs -f waits for the job and ends with it"
finish
