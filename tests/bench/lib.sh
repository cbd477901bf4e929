# shellcheck shell=sh disable=SC2034,SC2016
# Shared by the benches: a scratch place, medians, one line a result.
#   GPUCLOUD_BIN=build/cmd/gpucloud sh tests/bench/NAME.sh [--long]
set -eu

ROOT=$(cd "$(dirname "$0")/../.." && pwd)
GPUCLOUD_BIN=$(realpath "${GPUCLOUD_BIN:-$ROOT/build/cmd/gpucloud}")
LONG=
[ "${1:-}" != --long ] || LONG=1
unset CI GPUCLOUD_STORE
T=$(mktemp -d "${TMPDIR:-/tmp}/gpucloud-bench.XXXXXX")

# A home without jobs, caches or a store.
fresh_home() {
	rm -rf "${T:?}/home"
	export HOME="$T/home" XDG_CONFIG_HOME="$T/home/config" \
		XDG_DATA_HOME="$T/home/data" XDG_CACHE_HOME="$T/home/cache" \
		XDG_STATE_HOME="$T/home/state"
	mkdir -p "$T/home"
}

gpc() { "$GPUCLOUD_BIN" "$@"; }

# measure COMMAND…: sets $ms (wall), $cpu_ms (with its children, which another
# load of the machine hardly changes) and $rss_kb (peak of the process).
measure() {
	/usr/bin/python3 - "$T/measured" "$@" <<'PY' || return
import os, sys, time
began = time.monotonic()
pid = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ, file_actions=[
    (os.POSIX_SPAWN_OPEN, 1, sys.argv[1] + ".out",
     os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)])
_, status, used = os.wait4(pid, 0)
with open(sys.argv[1], "w") as f:
    f.write(f"{round((time.monotonic() - began) * 1000)} "
            f"{round((used.ru_utime + used.ru_stime) * 1000)} {used.ru_maxrss}\n")
sys.exit(os.waitstatus_to_exitcode(status))
PY
	read -r ms cpu_ms rss_kb <"$T/measured"
}

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }
result() { printf '%-44s %s\n' "$1" "$2"; }

# Ids of our own processes: those that carry the scratch folder.
pids() {
	case $T in /*/gpucloud-bench.??????) ;; *) return ;; esac
	env -i -C / "PATH=$PATH" sh -c 'grep -lazF -- "$1" /proc/[0-9]*/environ |
		sed "s|^/proc/||; s|/.*||"' sh "$T/" 2>/dev/null || true
}

cleanup() {
	gpc release --all -y >/dev/null 2>&1 || true
	for pid in $(pids); do kill -9 "$pid" 2>/dev/null || true; done
	cd /
	rm -rf "${T:?}"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
fresh_home
cd "$T"
