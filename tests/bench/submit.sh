#!/bin/sh
# Handing jobs over: one tiny detached submit against /bin/true, and 1,000 from
# eight shells at once (JOBS sets the number), of which none may be lost.
# shellcheck disable=SC2016 source=tests/bench/lib.sh
. "$(dirname "$0")/lib.sh"
ROUNDS=${ROUNDS:-15}
JOBS=${JOBS:-1000}

one() {
	mkdir "$T/tiny"
	echo 'print("hello")' >"$T/tiny/hello.py"
	for _ in $(seq "$ROUNDS"); do
		measure /bin/true
		echo "$ms" >>"$T/true"
		measure "$GPUCLOUD_BIN" submit -q -d --name tiny --workdir "$T/tiny" -- true
		echo "$ms" >>"$T/tiny.ms"
		gpc wait "$(cat "$T/measured.out")" >/dev/null 2>&1
		# the supervisor that the last one left is not to help the next
		for _ in $(seq 100); do
			[ -n "$(pids)" ] || break
			sleep 0.1
		done
	done
	result "submit -d of a tiny job, no supervisor yet" "$(median <"$T/tiny.ms") ms (/bin/true: $(
		median <"$T/true") ms)"
}

supervisor_kb() {
	for p in $(pids); do
		tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline" | grep -q ' supervise ' &&
			sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$p/status"
	done 2>/dev/null | sort -n | tail -n 1
}

succeeded() { gpc status -a -o json | jq '[.rows[] | select(.state == "SUCCEEDED")] | length'; }

many() {
	fresh_home
	measure sh -c 'seq "$1" | xargs -P 8 -I {} "$0" submit -q -d --name "many-{}" -- true' \
		"$GPUCLOUD_BIN" "$JOBS"
	result "$JOBS submits from xargs -P 8" "$(awk -v n="$JOBS" -v ms="$ms" \
		'BEGIN { printf "%.0f", n * 1000 / ms }') jobs handed over a second, $((rss_kb >> 10)) MiB a client"
	result "ids that were printed, and different" "$(sort -u "$T/measured.out" | grep -c .)"
	began=$(date +%s)
	kb=0
	while [ "$(succeeded)" -lt "$JOBS" ]; do
		now=$(supervisor_kb)
		[ "${now:-0}" -le "$kb" ] || kb=$now
		[ $(($(date +%s) - began)) -lt 900 ] || break
		sleep 1
	done
	result "of them have succeeded" "$(succeeded) of $JOBS after $(($(date +%s) - began)) s more"
	result "supervisor of all: peak memory" "$((kb >> 10)) MiB"
}

one
many
