#!/bin/sh
# A gang of NODES (1000) nodes for SECONDS_ (120), of which one fails then, each opened
# at PORT where that is set: what all of it asks of a store that bills each request
# against what its machines cost, how soon the failure is found, how large the journal
# is, what the supervisor needs, and how long people wait. The agents are real in what
# they read and write, in one process (tests/e2e/gang_ranks.c); machines are records of
# the stand-in's EC2, or, over a folder, of the pretend cloud. The stand-in answers some
# 700 requests a second, which stretches the start of a thousand. Not part of run.sh.
# On two cores, December 2026:
#   1,000 nodes over S3, 60 s: found by rank 0 after 1.2 s, all others stopped after
#     7.0 s; 11 events; one RunInstances (2.2 MB of answer), 17 DescribeInstances, one
#     TerminateInstances; the supervisor needs 28 MiB and 1.8 s of CPU in 150 s
#   100 nodes of a T4 each, five minutes: requests are 0.95 % of the price; found after
#     4.4 s, stopped after 9.4 s. Both are looks of 5 s one after the other, so that the
#     worst case is 5 and 10 s and the requests' own time
# shellcheck disable=SC2016 source=tests/bench/lib.sh
. "$(dirname "$0")/lib.sh"
NODES=${NODES:-1000}
SECONDS_=${SECONDS_:-120}
FAILS=$((NODES * 617 / 1000))
RANKS=$(dirname "$(dirname "$GPUCLOUD_BIN")")/tests/e2e/gang-ranks

end() {
	sh "$ROOT/tests/servers/fakecloud.sh" stop "$T/fake" 2>/dev/null || true
	cleanup
}
trap end EXIT
control() { curl -sf "$FAKE_CONTROL/_control/$1"; }
supervisor() { # its pid
	for p in $(pids); do
		tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline" | grep -q ' supervise ' &&
			echo "$p"
	done 2>/dev/null | head -n 1
}
# What a part of the gang's life took, in ms.
between() { # FROM TO
	awk -v a="$1" -v b="$2" '$2 == a { x = $1 } $2 == b { y = $1 } END { print y - x }' "$T/ranks"
}

gang() { # INFRA
	printf 'name: gang\nnum_nodes: %s\nresources: {infra: %s%s%s}\nrun: train\n' "$NODES" "$1" \
		"$([ "$1" != aws ] || echo ', accelerators: "T4:1"')" \
		"${PORT:+, ports: $PORT, allow: 192.0.2.0/24}" >gang.yaml
	job=$(gpc submit -y -q -d gang.yaml)
	"$RANKS" "$GPUCLOUD_STORE" "$job" "$SECONDS_" "$FAILS" >"$T/ranks" &
	ranks=$!
	until grep -q ' run ' "$T/ranks"; do sleep 1; done
	measure "$GPUCLOUD_BIN" status "$job"
	result "status while it runs" "$ms ms, $((rss_kb >> 10)) MiB"
	rm -rf "${XDG_CACHE_HOME:?}/gpucloud/jobs"
	until grep -q ' verdict ' "$T/ranks"; do
		kill -0 "$ranks" 2>/dev/null || break
		sleep 1
	done
	pid=$(supervisor)
	[ -z "$pid" ] || result "supervisor" "$(awk '/^VmHWM/ { print int($2 / 1024) }' \
		"/proc/$pid/status") MiB, $(awk '{ print ($14 + $15) / 100 }' "/proc/$pid/stat") s of CPU in $(
		ps -o etimes= -p "$pid" | tr -d ' ') s"
	gpc wait -q "$job" >/dev/null 2>&1 || true
	wait "$ranks"
	result "all born, all run after" "$(between nodes born), $(between born run) ms"
	result "the failure is found by rank 0 after" "$(between failed told) ms"
	result "all others are stopped after" "$(between failed stopped) ms"
	result "the verdict is there after" "$(between failed verdict) ms"
	measure "$GPUCLOUD_BIN" logs "$job"
	result "logs of rank 0 and the failing one" "$ms ms"
	measure "$GPUCLOUD_BIN" release "$job"
	result "release" "$ms ms"
	gpc status "$job" -o json >"$T/end.json"
	result "end, rank, nodes released" "$(jq -r '"\(.reason), \([.nodes[] |
		select(.released)] | length)"' "$T/end.json"), $(gpc status "$job" | sed -n 's/^State: *//p')"
}

printf '%s nodes, a folder\n' "$NODES"
GPUCLOUD_STORE="file://$T/store" && export GPUCLOUD_STORE
gang fake
result "journal" "$(find "$T/store/jobs/$job/events" -name '*.json' | wc -l) events, $(
	du -sk --apparent-size "$T/store/jobs/$job/events" | cut -f 1) KiB"
jq -rs 'group_by(.op)[] | "calls of the cloud: \(.[0].op) \(length)"' \
	"$XDG_STATE_HOME/gpucloud/fake/ledger"

printf '\n%s nodes, S3 and EC2\n' "$NODES"
sh "$ROOT/tests/servers/fakecloud.sh" start "$T/fake"
set -a
# shellcheck disable=SC1091  # made just now
. "$T/fake/env"
set +a
export AWS_ENDPOINT_URL_EC2="$FAKE_EC2" AWS_ENDPOINT_URL_SSM="$FAKE_SSM" \
	AWS_ENDPOINT_URL_S3="$FAKE_S3" AWS_EC2_METADATA_DISABLED=true GPUCLOUD_STORE="s3://bucket/gang"
gang aws
control requests >"$T/requests"
python3 - "$T/requests" "$T/ranks" "$T/end.json" <<'PY'
import collections, json, re, sys, time
told = json.load(open(sys.argv[1]))["requests"]
at = {line.split()[1]: int(line.split()[0]) / 1000 for line in open(sys.argv[2])}
job = json.load(open(sys.argv[3]))
nodes, rate = job["num_nodes"], sum(float(n["rate_per_hour"]["amount"]) for n in job["nodes"])
wall = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
begin, end = at["run"] + wall + 10, at["failed"] + wall
hours = (end - begin) / 3600
def line(what, text):
    print("%-44s %s" % (what, text))
def micros(r):
    return 0.4 if r["operation"].startswith(("Get", "Head")) else 5
def kind(r):
    key = re.sub(r"^gang/jobs/[^/]*/", "", r["key"] or "")
    key = re.sub(r"^\d+/\d+/", "RANK/", re.sub(r"^\d+/(?=[a-z])", "", key))
    return re.sub(r"/?(\d{5,}|[0-9a-f]{16}-).*", "", key) or "lists"
s3 = [r for r in told if r["service"] == "s3"]
steady = [r for r in s3 if begin <= r["time"] < end]
groups = collections.Counter()
for r in steady:
    groups[r["operation"], kind(r)] += 1
for (operation, what), n in groups.most_common(12):
    line("a node-hour: %s %s" % (operation, what), "%.1f" % (n / nodes / hours))
spent = sum(map(micros, steady)) / 1e6 / hours
line("requests while it runs, an hour", "$%.2f of $%.2f: %.2f %%" % (spent, rate, spent / rate * 100))
line("requests of start and end, a node", "%.1f, $%.6f" % (
    (len(s3) - len(steady)) / nodes,
    sum(map(micros, (r for r in s3 if not begin <= r["time"] < end))) / 1e6 / nodes))
events = [r for r in s3 if "/events/" in (r["key"] or "") and r["method"] == "PUT" and r["status"] == 200]
line("journal", "%d events, %d KiB" % (len(events), sum(r["got"] for r in events) / 1024))
for (operation, n) in collections.Counter(
        r["operation"] for r in told if r["service"] == "ec2").items():
    line("calls of EC2: " + operation, n)
PY
