#!/bin/sh
# From a fresh Debian or Ubuntu machine to a training job that survives the loss
# of its node: installs what is missing, builds gpucloud into build/, trains a
# small language model, then trains it again and kills its node half-way.
# Asks nothing and may be run again at any time.
#   sh examples/quickstart.sh
set -eu

PACKAGES="gcc libc6-dev meson ninja-build pkg-config libcjson-dev libyaml-dev
	libarchive-dev libcurl4-openssl-dev libexpat1-dev libssl-dev scdoc bash
	python3 python3-numpy wamerican"

cd "$(dirname "$0")/.."
build=${GPUCLOUD_BUILD:-build}
gpucloud=$build/cmd/gpucloud

say() {
	printf '\n==> %s\n' "$*" >&2
}

die() {
	printf 'quickstart: %s\n' "$*" >&2
	exit 1
}

# Shows a command as one would type it, then runs it.
show() {
	printf '\n$ gpucloud %s\n' "$*" >&2
	"$gpucloud" "$@"
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null 2>&1; then
		sudo "$@"
	else
		die "installing packages needs root or sudo; missing:$missing"
	fi
}

find_missing() {
	missing=
	for p in $PACKAGES; do
		dpkg-query -W -f '${Status}\n' "$p" 2>/dev/null |
			grep -q ' installed$' || missing="$missing $p"
	done
}

# Elsewhere than on Debian the tools themselves are looked for.
find_missing_tools() {
	missing=
	for c in cc meson ninja pkg-config scdoc bash; do
		command -v "$c" >/dev/null 2>&1 || missing="$missing $c"
	done
	for l in libcjson yaml-0.1 libarchive libcrypto libcurl expat; do
		pkg-config --exists "$l" 2>/dev/null || missing="$missing $l"
	done
	/usr/bin/python3 -c 'import numpy' 2>/dev/null ||
		missing="$missing python3-numpy"
	[ -r /usr/share/dict/american-english ] || missing="$missing wamerican"
}

install_packages() {
	if ! command -v apt-get >/dev/null 2>&1; then
		find_missing_tools
		[ -z "$missing" ] ||
			die "no apt-get here; please install:$missing"
		return 0
	fi
	find_missing
	[ -n "$missing" ] || return 0
	say "installing$missing"
	as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q \
		-o DPkg::Lock::Timeout=300
	# shellcheck disable=SC2086  # a list of words
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y \
		--no-install-recommends -o DPkg::Lock::Timeout=300 $missing
}

build_gpucloud() {
	if [ ! -e "$build/build.ninja" ]; then
		say "setting up $build/"
		setup_log=$(meson setup "$build" -Dtests=false -Dwerror=false 2>&1) || {
			printf '%s\n' "$setup_log" >&2
			die "the build could not be set up"
		}
	fi
	say "building $gpucloud"
	ninja -C "$build" --quiet
}

# Process ids of everything that runs for a job on this machine.
job_pids() {
	[ -n "$1" ] || die "no job to look for"
	grep -lazF "GPUCLOUD_JOB_ID=$1" /proc/[0-9]*/environ 2>/dev/null |
		sed 's|^/proc/||; s|/.*||'
}

# Succeeds once the job has a complete checkpoint; gives up after a minute.
await_checkpoint() {
	tries=0
	while [ -z "$("$gpucloud" checkpoint list "$1" -o name)" ]; do
		tries=$((tries + 1))
		[ "$tries" -lt 300 ] || die "job $1 has saved no checkpoint"
		sleep 0.2
	done
}

train_once() {
	say "a training job: its output is yours, its exit status too"
	show submit examples/quickstart.yaml
	show status
	show checkpoint list quickstart
	show pull quickstart "$results/undisturbed"
	show cost quickstart
}

train_and_kill() {
	say "the same again, detached; its node will be killed after a checkpoint"
	job=$(show submit -d examples/quickstart.yaml)
	await_checkpoint "$job"
	say "kill -9: the whole node of $job"
	# shellcheck disable=SC2046  # a list of ids
	kill -9 $(job_pids "$job") 2>/dev/null || true
	show wait "$job"
	show logs "$job" --attempt 2 | head -n 4
	show status "$job"
	show pull "$job" "$results/killed"
}

install_packages
build_gpucloud
results=$(mktemp -d)
train_once
train_and_kill

say "results are in $results"
cmp "$results/undisturbed/out/model.npz" "$results/killed/out/model.npz" ||
	die "the killed job's model differs from the undisturbed one"
say "both models are the same, byte for byte: nothing was lost with the node"
