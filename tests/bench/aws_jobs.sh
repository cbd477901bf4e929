#!/bin/sh
# Many jobs on the stand-in's EC2 from one shell loop: what is asked until they run,
# whether anything is bought twice or left, and what the one supervisor of all needs.
# JOBS sets the number, SECONDS_ how long each of them runs: with 300, all of 200 live at
# the same time. Each machine is booted by real processes, so as root; 200 of them take
# some minutes.
# shellcheck disable=SC2016 source=tests/bench/lib.sh
. "$(dirname "$0")/lib.sh"
JOBS=${JOBS:-200}
SECONDS_=${SECONDS_:-0}

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

supervisor() { # its pid
	for p in $(pids); do
		tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline" | grep -q ' supervise ' &&
			echo "$p"
	done 2>/dev/null | tail -n 1
}
supervisor_kb() { # now
	sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$(supervisor)/status" 2>/dev/null ||
		echo 0
}
# Its memory in KiB, threads, open files, and seconds of processor time.
supervisor_now() {
	p=$(supervisor)
	[ -n "$p" ] || return 0
	echo "$(supervisor_kb) $(sed -n 's/^Threads:[^0-9]*//p' "/proc/$p/status") $(
		find "/proc/$p/fd" -type l 2>/dev/null | wc -l) $(
		awk '{ print int(($14 + $15) / 100) }' "/proc/$p/stat")"
}
# per_service [UNTIL]: counts by service and operation, of requests read from stdin; the
# user's are its client's and supervisor's, the others' its machine's.
per_service() {
	jq -r --argjson until "${1:-null}" '
		[.requests[] | select(($until == null or .time < $until) and
			(.service | startswith("imds") | not))] |
		group_by(.identity // "" | endswith("user/tester")) | reverse[] |
		(if .[0].identity // "" | endswith("user/tester") then "ours" else "the machine" end) +
		" \(length): " + (group_by(.service) | map("\(.[0].service) \(length) (" +
		(group_by(.operation) | map("\(.[0].operation) \(length)") | join(", ")) + ")") |
		join(", "))'
}
running_since() { # JOB: unix time
	gpc status "$1" -o json | jq '.attempts[0].running |
		capture("(?<s>.*)\\.(?<f>[0-9]+)Z$") | (.s + "Z" | fromdate) + ("0." + .f | tonumber)'
}
ended() { gpc status -a -o json | jq '[.rows[] | select(.ended)] | length'; }

# The bundle is made and sent, and everything is warm.
gpc submit -y -q --infra aws --name first -- true
control requests | per_service "$(running_since first)" |
	while read -r line; do result "requests until it runs, with its bundle" "$line"; done
since=$(control requests | jq .next)
gpc submit -y -q -d --infra aws --name second -- true >/dev/null
gpc wait -q second >/dev/null
control "requests?since=$since" | per_service "$(running_since second)" |
	while read -r line; do result "and of the next job" "$line"; done
since=$(control requests | jq .next)

most=0
began=$(date +%s)
for i in $(seq "$JOBS"); do
	measure "$GPUCLOUD_BIN" submit -y -q -d --infra aws --name "many-$i" -- \
		sleep "$SECONDS_"
	[ "$rss_kb" -le "$most" ] || most=$rss_kb
	[ "$i" -ne $((JOBS / 2)) ] || half=$(supervisor_kb)
done
each=$((($(date +%s) - began) * 1000 / JOBS))
result "$JOBS submits" "$each ms each, $((most >> 10)) MiB a client"
result "supervisor after half of them, after all" "$((half >> 10)), $(($(supervisor_kb) >> 10)) MiB"
kb=0 threads=0 files=0 cpu=0 live=0
# Nothing here asks the store while it is counted what is asked of it.
while [ "$(control machines | jq '[.machines[] | select(.tags["gpucloud-job"] |
	startswith("many-")) | select(.state == "terminated")] | length')" -lt "$JOBS" ]; do
	supervisor_now >"$T/now"
	read -r now t f c <"$T/now" || now=0 t=0 f=0 c=$cpu
	[ "$now" -le "$kb" ] || kb=$now
	[ "$t" -le "$threads" ] || threads=$t
	[ "$f" -le "$files" ] || files=$f
	cpu=$c
	now=$(control machines | jq '[.machines[] | select(.state == "running")] | length')
	[ "$now" -le "$live" ] || live=$now
	[ $(($(date +%s) - began)) -lt 1800 ] || break
	sleep 2
done
until=$(date +%s)
control "requests?since=$since" >"$T/requests"
while [ "$(ended)" -lt $((JOBS + 2)) ] && [ $(($(date +%s) - until)) -lt 120 ]; do sleep 2; done
result "have ended" "$(($(ended) - 2)) of $JOBS after $((until - began)) s, $live at once"
result "supervisor of all: most" \
	"$((kb >> 10)) MiB, $threads threads, $files files, $cpu s of processor"
control machines >"$T/machines"
result "machines bought, left, tokens" "$(jq -r '.machines | map(select(.tags["gpucloud-job"] |
	startswith("many-"))) | "\(length), \(map(select(.state != "terminated")) | length), \(
	map(.token) | unique | length)"' "$T/machines")"
result "ledger, meter in millionths" "$(gpc cost -o json | jq '[.rows[].cost.amount |
	tonumber * 1000000 | round] | add'), $(jq '[.machines[].bill[]] | add' "$T/machines")"
jq -r --argjson n "$JOBS" '
	[.requests[] | select(.identity // "" | endswith("user/tester"))] |
	group_by(.service)[] | "\(.[0].service) \(length / $n * 10 | round / 10)",
	(group_by(.operation)[] | "  \(.[0].operation) \(length / $n * 10 | round / 10)")' "$T/requests" |
	while read -r what count; do result "requests a job: $what" "$count"; done

# The peer: AWS's own tool buys the same machine, tagged, without any job on it.
if command -v aws >/dev/null; then
	for n in 1 2 3 4 5; do
		measure aws ec2 run-instances --endpoint-url "$FAKE_EC2" --count 1 \
			--region us-east-1 --image-id "$(jq -r '.machines[0].image' "$T/machines")" \
			--instance-type "$(jq -r '.machines[0].type' "$T/machines")" \
			--client-token "peer-$n" --tag-specifications \
			'ResourceType=instance,Tags=[{Key=bench,Value=peer}]' --output text \
			--query 'Instances[0].InstanceId' 2>"$T/peer-said" || cat "$T/peer-said" >&2
		echo "$ms"
	done >"$T/peer"
	result "a submit beside aws ec2 run-instances" \
		"$(ratio "$each" "$(median <"$T/peer")") ($(median <"$T/peer") ms)"
fi
