#!/bin/sh
# What a log costs and how soon it arrives: the agent's CPU and memory while a
# job prints 1,000 lines a second, and the age of each line when `logs -f`
# prints it. SECONDS_LONG sets the length (default 20).
# shellcheck source=tests/bench/lib.sh
. "$(dirname "$0")/lib.sh"
LENGTH=${SECONDS_LONG:-20}

cat >"$T/talk.py" <<'PY'
import sys, time
rate, length = int(sys.argv[1]), float(sys.argv[2])
began, n = time.monotonic(), 0
while (now := time.monotonic() - began) < length:
    while n < now * rate:
        sys.stdout.write(f"{time.time_ns()} step={n} loss=0.1234 ........\n")
        n += 1
    sys.stdout.flush()
    time.sleep(0.005)
PY
cat >"$T/age.py" <<'PY'
import sys, time
ages = []
for line in iter(sys.stdin.readline, ""):
    if line.split(" ", 1)[0].isdigit():
        ages.append((time.time_ns() - int(line.split(" ", 1)[0])) / 1e6)
ages = sorted(ages[len(ages) // 4:])  # what was there before we looked is old
if not ages:
    sys.exit("no lines")
at = lambda q: f"{ages[min(len(ages) - 1, int(len(ages) * q))]:.0f}"
print(f"median {at(.5)} ms, 99% {at(.99)} ms, worst {at(1)} ms, {len(ages)} lines")
PY

# Launcher and agent of the node: our binary with the word agent.
agent_pids() {
	for p in $(pids); do
		[ "$(readlink "/proc/$p/exe")" = "$GPUCLOUD_BIN" ] || continue
		tr '\0' ' ' <"/proc/$p/cmdline" | grep -q '^[^ ]* agent ' && echo "$p"
	done
}
# Nanoseconds on a CPU, of all threads.
cpu_ns() {
	for p in "$@"; do cat "/proc/$p/task"/*/schedstat; done |
		awk '{ n += $1 } END { printf "%.0f\n", n }'
}
peak_kb() {
	for p in "$@"; do sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$p/status"; done |
		sort -n | tail -n 1
}

agent_cost() {
	job=$(gpc submit -q -d --name talk -- /usr/bin/python3 "$T/talk.py" 1000 "$LENGTH")
	for _ in $(seq 100); do
		[ -z "$(gpc logs "$job" --tail 1 2>/dev/null)" ] || break
		sleep 0.1
	done
	# shellcheck disable=SC2046  # a list of ids
	set -- $(agent_pids)
	sleep 2
	before=$(cpu_ns "$@")
	sleep $((LENGTH / 2))
	after=$(cpu_ns "$@")
	result "agent at 1,000 lines/s, nobody looks: CPU" "$(awk \
		"BEGIN { printf \"%.2f\", ($after - $before) / 1e7 / int($LENGTH / 2) }") % of a core"
	result "agent at 1,000 lines/s: peak memory" "$(awk \
		"BEGIN { printf \"%.1f\", $(peak_kb "$@") / 1024 }") MiB"
	gpc wait "$job" >/dev/null 2>&1
}

latency() { # LINES-PER-SECOND
	job=$(gpc submit -q -d --name talk -- /usr/bin/python3 "$T/talk.py" "$1" "$((LENGTH / 2))")
	result "age of a line in logs -f at $1 lines/s" "$(
		gpc logs -f "$job" 2>/dev/null | /usr/bin/python3 "$T/age.py")"
}

agent_cost
latency 10
latency 1000
