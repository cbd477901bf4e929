#!/bin/sh
# How long gpucloud needs before it does anything: against /bin/true, in turns,
# in the same run. Each figure is a median, so that another load does not count.
# shellcheck source=tests/bench/lib.sh
. "$(dirname "$0")/lib.sh"
ROUNDS=${ROUNDS:-60}

# A store with so many jobs that ended today: copies of a real one.
fill_store() { # COUNT
	gpc submit -q --name seed -- true >/dev/null 2>&1
	gpc release -q seed >/dev/null 2>&1 || true
	/usr/bin/python3 - "$XDG_DATA_HOME/gpucloud/store" "$1" <<'PY'
import os, random, sys, time
store, count = sys.argv[1], int(sys.argv[2])
root = f"{store}/index/done"
while not os.path.isdir(root) or os.path.isdir(f"{store}/index/live"):
    time.sleep(0.1)
month = os.listdir(root)[0]
name = os.listdir(f"{root}/{month}")[0]
rest = name.split("~")
seed = rest[0].rsplit(".", 1)[0]
files = [os.path.relpath(os.path.join(at, f), f"{store}/jobs/{seed}")
         for at, _, names in os.walk(f"{store}/jobs/{seed}") for f in names
         if f in ("job.json", "head") or "/events" in at]
texts = {f: open(f"{store}/jobs/{seed}/{f}").read() for f in files}
rng, letters = random.Random(5), "abcdefghijklmnopqrstuvwxyz234567"
for i in range(count):
    job = f"train-{i % 20}-" + "".join(rng.choices(letters, k=6))
    rest[0] = f"{job}.1"
    at = int(rest[4]) - rng.randrange(20 * 3600 * 1000)
    rest[4], rest[5] = str(at), str(at + 60000)
    open(f"{root}/{month}/" + "~".join(rest), "w").close()
    os.makedirs(f"{store}/jobs/{job}/events")
    for f, text in texts.items():
        with open(f"{store}/jobs/{job}/{f}", "w") as out:
            out.write(text.replace(seed, job))
    rest[4] = name.split("~")[4]
PY
}

# Median milliseconds of each line of commands, in turns: NAME, a tab, COMMAND.
cat >"$T/turns.py" <<'PY'
import os, subprocess, sys, time
rounds = int(sys.argv[1])
commands = [line.rstrip("\n").split("\t") for line in open(sys.argv[2])]
took = {name: [] for name, *_ in commands}
null = open(os.devnull, "r+b")
for _ in range(rounds):
    for name, *argv in commands:
        began = time.perf_counter()
        pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=[
            (os.POSIX_SPAWN_DUP2, null.fileno(), n) for n in (0, 1, 2)])
        _, status = os.waitpid(pid, 0)
        took[name].append((time.perf_counter() - began) * 1000)
        if status:
            sys.exit(f"{argv}: {status}")
for name, *_ in commands:
    t = sorted(took[name])
    print(f"{name}\t{t[len(t) // 2]:.2f}")
PY
row() { # NAME COMMAND…
	printf '%s' "$1"
	shift
	printf '\t%s' "$@"
	echo
}
against_true() {
	row true /bin/true >"$T/commands"
	cat >>"$T/commands"
	/usr/bin/python3 "$T/turns.py" "$ROUNDS" "$T/commands" >"$T/turns"
	base=$(sed -n 's/^true\t//p' "$T/turns")
	sed 1d "$T/turns" | while IFS="$(printf '\t')" read -r name took; do
		result "$name" "$(ratio "$took" "$base") times /bin/true ($took ms)"
	done
}

fill_store 1000
# shellcheck disable=SC1010  # words of a command line
{
	row "version" "$GPUCLOUD_BIN" version
	row "--help" "$GPUCLOUD_BIN" --help
	row "submit --help" "$GPUCLOUD_BIN" submit --help
	row "completion of an option" "$GPUCLOUD_BIN" __complete -- submit --na
	row "completion of a job" "$GPUCLOUD_BIN" __complete -- logs train
	row "status, 1,000 finished jobs" "$GPUCLOUD_BIN" status
	row "bash -c true" /bin/bash -c true
	row "python3 -c pass" /usr/bin/python3 -c pass
} | against_true
fresh_home
fill_store 10000
ROUNDS=$((ROUNDS / 4))
{
	row "status, 10,000 finished jobs" "$GPUCLOUD_BIN" status
	row "status -o json, 10,000 finished jobs" "$GPUCLOUD_BIN" status -o json
	row "ls of the same folder" /bin/ls -lU "$(echo "$XDG_DATA_HOME"/gpucloud/store/index/done/*)"
} | against_true
