#!/bin/sh
# Many jobs on the stand-in's EC2 from one shell loop: what is asked until they run,
# whether anything is bought twice or left, and what the one supervisor of all needs.
# JOBS sets the number. Each machine is booted by real processes, so as root; 200 of
# them take some minutes.
# shellcheck disable=SC2016 source=tests/bench/lib.sh
. "$(dirname "$0")/lib.sh"
JOBS=${JOBS:-200}

sh "$ROOT/tests/servers/fakecloud.sh" start "$T/fake" --set ec2_boot=true
end() {
	sh "$ROOT/tests/servers/fakecloud.sh" stop "$T/fake"
	cleanup
}
trap end EXIT
set -a
# shellcheck disable=SC1091  # made just now
. "$T/fake/env"
set +a
export AWS_ENDPOINT_URL_EC2="$FAKE_EC2" AWS_ENDPOINT_URL_SSM="$FAKE_SSM" \
	AWS_ENDPOINT_URL_S3="$FAKE_S3" AWS_EC2_METADATA_DISABLED=true \
	GPUCLOUD_STORE="s3://bucket/many"
control() { curl -sf "$FAKE_CONTROL/_control/$1"; }

supervisor_kb() { # now
	for p in $(pids); do
		tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline" | grep -q ' supervise ' &&
			sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$p/status"
	done 2>/dev/null | sort -n | tail -n 1
}
ended() { gpc status -a -o json | jq '[.rows[] | select(.ended)] | length'; }

# The bundle is made and sent, and everything is warm.
gpc submit -y -q --infra aws --name first -- true
gpc status first -o json >"$T/first.json"
control "requests" >"$T/requests"
jq -r --slurpfile job "$T/first.json" '
	($job[0].attempts[0].running | sub("\\.[0-9]+Z$"; "Z") | fromdate + 1) as $until |
	[.requests[] | select(.time < $until and (.identity // "" | endswith("user/tester")))] |
	group_by(.service) | map("\(.[0].service) \(length)") | join(", ")' \
	"$T/requests" >"$T/one"
result "requests of one job until it runs, and its bundle" "$(cat "$T/one")"
since=$(jq .next "$T/requests")

most=0
began=$(date +%s)
for i in $(seq "$JOBS"); do
	measure "$GPUCLOUD_BIN" submit -y -q -d --infra aws --name "many-$i" -- true
	[ "$rss_kb" -le "$most" ] || most=$rss_kb
	[ "$i" -ne $((JOBS / 2)) ] || half=$(supervisor_kb)
done
result "$JOBS submits" "$((($(date +%s) - began) * 1000 / JOBS)) ms each, $((most >> 10)) MiB a client"
result "supervisor after half of them, after all" "$((half >> 10)), $(($(supervisor_kb) >> 10)) MiB"
kb=0
while [ "$(ended)" -le "$JOBS" ] || [ "$(control machines |
	jq '[.machines[] | select(.state != "terminated")] | length')" -gt 0 ]; do
	now=$(supervisor_kb)
	[ "${now:-0}" -le "$kb" ] || kb=$now
	[ $(($(date +%s) - began)) -lt 1800 ] || break
	sleep 2
done
result "have ended" "$(($(ended) - 1)) of $JOBS after $(($(date +%s) - began)) s"
result "supervisor of all: most memory" "$((kb >> 10)) MiB"
control machines >"$T/machines"
result "machines bought, left, tokens" "$(jq -r '.machines | map(select(.tags["gpucloud-job"] |
	startswith("many-"))) | "\(length), \(map(select(.state != "terminated")) | length), \(
	map(.token) | unique | length)"' "$T/machines")"
control "requests?since=$since" | jq -r --argjson n "$JOBS" '
	[.requests[] | select(.identity // "" | endswith("user/tester"))] |
	group_by(.service)[] | "\(.[0].service) \(length / $n * 10 | round / 10)",
	(group_by(.operation)[] | "  \(.[0].operation) \(length / $n * 10 | round / 10)")' |
	while read -r what count; do result "requests a job: $what" "$count"; done
