#!/bin/sh
# A machine of EC2's stand-in, from RunInstances' answer to the first line of its job
# on our stdout, and where that time goes: until its script asks its first question it
# boots, which is none of ours. Needs root.
# shellcheck source=tests/bench/lib.sh
. "$(dirname "$0")/lib.sh"
ROUNDS=${ROUNDS:-3}
[ "$(id -u)" -eq 0 ] || {
	result "boot" "machines are booted by root alone"
	exit 0
}
sh "$ROOT/tests/servers/fakecloud.sh" start "$T/fake" --set ec2_boot=true >/dev/null
trap 'sh "$ROOT/tests/servers/fakecloud.sh" stop "$T/fake"; cleanup' EXIT
set -a
# shellcheck source=/dev/null
. "$T/fake/env"
set +a
export AWS_ENDPOINT_URL_EC2="$FAKE_EC2" AWS_ENDPOINT_URL_SSM="$FAKE_SSM" \
	AWS_ENDPOINT_URL_S3="$FAKE_S3" AWS_EC2_METADATA_DISABLED=true \
	GPUCLOUD_STORE="s3://bucket/bench"
gpc submit -q -y --infra aws --name first -- true >/dev/null # the bundle is there then

/usr/bin/python3 - "$GPUCLOUD_BIN" "$ROUNDS" "$FAKE_CONTROL" <<'PY'
import json, statistics, subprocess, sys, time, urllib.request

program, rounds, control = sys.argv[1], int(sys.argv[2]), sys.argv[3]
parts = ("boot", "metadata", "bundle", "unpack and start", "birth",
         "restore and the program's line", "to us", "all", "all but the boot")
times = {name: [] for name in parts}


def asked(since):
    url = "%s/_control/requests?since=%d" % (control, since)
    return json.load(urllib.request.urlopen(url))


def first(found, fits, after=0.0):
    return min((r for r in found if r["time"] >= after and fits(r)), key=lambda r: r["time"])


def got(request, text):
    return request["operation"] == "GetObject" and text in (request["key"] or "")


def put(request, text):
    return request["operation"] == "PutObject" and text in (request["key"] or "")


def end(request):
    return request["time"] + request["ms"] / 1000


for _ in range(rounds):
    since = asked(0)["next"]
    job = subprocess.Popen([program, "submit", "-q", "-y", "--infra", "aws", "--name", "b",
                            "--", "date", "+%s.%N"], stdout=subprocess.PIPE)
    line = float(job.stdout.readline())
    here = time.time()
    job.wait()
    found = asked(since)["requests"]
    begin = end(first(found, lambda r: r["operation"] == "RunInstances"))
    booted = first(found, lambda r: r["service"].startswith("imds"), begin)["time"]
    bundle = first(found, lambda r: got(r, "/blobs/"), booted)
    agent = first(found, lambda r: got(r, "/store.json"), end(bundle))["time"]
    beat = first(found, lambda r: put(r, "/beats/00000"), agent)["time"]
    for name, spent in zip(parts, (booted - begin, bundle["time"] - booted,
                                   end(bundle) - bundle["time"], agent - end(bundle),
                                   beat - agent, line - beat, here - line, here - begin,
                                   here - booted)):
        times[name].append(spent * 1000)
for name in parts:
    print("%-32s %6.0f ms" % (name, statistics.median(times[name])))
PY
