#!/bin/sh
# Bad surroundings get a clear error, a documented status and nothing half-made.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

jobs_made() { find "$STORE/jobs" -name job.json 2>/dev/null | wc -l; }
root() { [ "$(id -u)" -eq 0 ]; }
# unpriv COMMAND…: as somebody whom permissions bind.
unpriv() {
	if root; then
		setpriv --reuid 65534 --regid 65534 --clear-groups "$T/gpucloud" "$@"
	else
		"$T/gpucloud" "$@"
	fi
}
# The build may lie where nobody else can look.
cp "$GPUCLOUD_BIN" "$T/gpucloud"
as_nobody() { # N COMMAND…: with a home of their own, which others share
	n=$1
	shift
	(
		export HOME="$T/nobody" XDG_STATE_HOME="$T/nobody/s$n" \
			XDG_CACHE_HOME="$T/nobody/c$n" XDG_CONFIG_HOME="$T/nobody/k" \
			XDG_DATA_HOME="$T/nobody" ASAN_OPTIONS='' UBSAN_OPTIONS=''
		unpriv "$@"
	)
}

cat >job.yaml <<'Y'
name: bad
run: echo ran
Y

run gpc submit --workdir nowhere job.yaml
is "$rc" 3 "a missing workdir" || note "$err"
like "$err" "nowhere" "is named"
run gpc submit --workdir / job.yaml
is "$rc" 3 "/ as a workdir is refused"
run sh -c "cd '$HOME' && '$GPUCLOUD_BIN' submit --workdir . '$T/work/job.yaml'"
is "$rc" 3 "the home folder as a workdir is refused"
run gpc submit --gpus H100:8 job.yaml
is "$rc" 6 "GPUs that are not here"
like "$err" "H100" "are named"
run gpc submit --infra moon job.yaml
is "$rc" 2 "an unknown provider on the command line" || note "$err"
run gpc submit --infra gcp job.yaml
[ "$rc" -ne 0 ]
ok $? "a provider that is not built"
like "$err" "gcp" "is named"
for at in /etc/passwd /etc/passwd/x /dev/null /proc/x "$T/work/job.yaml/x"; do
	run gpc submit --store "$at" job.yaml
	is "$rc" 3 "$at as the store"
	like "$err" "the store cannot be $at: .*no folder" "$at: says why"
	like "$err" "hint: .*--store" "$at: says what to do"
done
run gpc status --store /dev/null
is "$rc" 3 "the same for who only reads"
is "$(jobs_made)" 0 "no job came of all that"

mkdir tree
echo open >tree/open.txt
echo closed >tree/closed.txt
chmod 0 tree/closed.txt
chmod -R o+rX "$T/work"
chmod 0 tree/closed.txt
chmod 711 "$T"
mkdir "$T/nobody"
chmod 777 "$T/nobody"
run as_nobody 1 submit --workdir tree job.yaml
is "$rc" 4 "an unreadable file ends the submit"
like "$err" "closed.txt" "and is named"
like "$err" "skip-unreadable" "with the way out"
run as_nobody 1 submit --skip-unreadable --workdir tree -- ls
is "$rc:$out" "0:open.txt" "--skip-unreadable leaves it out"
like "$err" "closed.txt" "and says so"
rm -rf tree

run gpc submit -q -d job.yaml
like "$out" "^bad-" "a good one in between"
gpc wait "$out" >/dev/null 2>&1
run gpc status nosuch
is "$rc" 5 "an unknown job is not found"
run gpc logs nosuch
is "$rc" 5 "for logs too"
run gpc pull nosuch
is "$rc" 5 "for pull too"

# A corrupt event.
job=$(gpc submit -q -d job.yaml)
gpc wait "$job" >/dev/null 2>&1
wait_until 20 none_left
last=$(find "$STORE/jobs/$job/events" -name '0*.json' | sort | tail -n 1)
chmod u+w "$last"
printf '{"v": 1, "n": ' >"$last"
run gpc status "$job"
[ "$rc" -ne 0 ] && [ "$rc" -lt 126 ]
ok $? "a corrupt event is an error ($rc)"
like "$err" "$(basename "$last" .json)" "that names the event"
run gpc status
[ "$rc" -lt 126 ]
ok $? "and the other jobs are still shown ($rc)"
rm -rf "$STORE/jobs/$job" "$STORE"/index/*/*"$job"*

# An event of a newer gpucloud: read, never written.
job=$(gpc submit -q -d job.yaml)
gpc wait "$job" >/dev/null 2>&1
wait_until 20 none_left
last=$(find "$STORE/jobs/$job/events" -name '0*.json' | sort | tail -n 1)
next=$(printf '%08d' $(($(basename "$last" .json | sed 's/^0*//') + 1)))
jq '.v = 999' "$last" >"$STORE/jobs/$job/events/$next.json"
run gpc resume "$job"
[ "$rc" -ne 0 ]
ok $? "a newer event makes us read-only"
like "$err" "newer|version|read-only" "and it says so"
rm -rf "$STORE/jobs/$job" "$STORE"/index/*/*"$job"*

# Clocks: the client's, the supervisor's and the store's times jump while the
# node's stays. (Sanitizers must be loaded first, which faketime wants as well, so
# this is not for them.)
if [ "$SLOW" -gt 1 ]; then
	:
elif command -v faketime >/dev/null 2>&1; then
	cat >clock.yaml <<'Y'
name: clock
run: sleep 2.5; echo through
limits: {time: 30m}
Y
	echo +0 >"$T/clock"
	libfaketime=$(faketime now printenv LD_PRELOAD)
	jumpy() {
		env LD_PRELOAD="$libfaketime" FAKETIME_TIMESTAMP_FILE="$T/clock" \
			FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1 \
			DONT_FAKE_MONOTONIC=1 "$GPUCLOUD_BIN" "$@"
	}
	for jump in +3h -3h; do
		echo +0 >"$T/clock"
		jumpy submit clock.yaml >jump.out 2>jump.err &
		client=$!
		wait_until 20 in_state @ RUNNING
		echo $jump >"$T/clock"
		wait $client
		is $? 0 "the clock jumps by $jump: no limit is met, the job ends well" ||
			note "$(cat jump.err)"
		is "$(cat jump.out)" through "its output arrives"
		run gpc status @ -o json
		ran=$(printf '%s' "$out" | jq '[.. | .ran_ms? // empty] | max')
		[ "${ran:-99999999}" -ge 0 ] && [ "${ran:-99999999}" -lt 60000 ]
		ok $? "it ran for seconds ($ran ms)"
		run jumpy resume @
		is "$rc" 0 "and can be resumed at that time"
		run gpc cost @
		is "$rc" 0 "its cost can be told"
		unlike "$out" " -[0-9]+[smh]" "and no time is negative"
	done
	job=$(gpc submit -q -d clock.yaml)
	echo -3h >"$T/clock"
	run jumpy wait "$job"
	is "$rc" 0 "a client three hours late waits as well"
	run jumpy logs @ --since 5h --stdout
	is "$out" through "and reads what the future wrote"
else
	skip "a clock that jumps" "needs faketime"
fi

# Places.
mkdir gone
run sh -c "cd gone && rmdir ../gone && '$GPUCLOUD_BIN' status"
is "$rc" 0 "a deleted current folder does not matter to status"
run sh -c "mkdir gone && cd gone && rmdir ../gone && '$GPUCLOUD_BIN' submit -q '$T/work/job.yaml'"
[ "$rc" -lt 126 ]
ok $? "nor kills submit ($rc)"

big=$(/usr/bin/python3 -c 'print("x" * 120000)')
run env A="$big" B="$big" C="$big" D="$big" E="$big" "$GPUCLOUD_BIN" submit -q job.yaml
is "$out" ran "a huge environment of ours"
/usr/bin/python3 - >bigenv.yaml <<'P'
print("run: echo ${#BIG0}")
print("envs:")
for i in range(8):
    print(f"  BIG{i}: {'y' * 100000}")
P
run gpc submit -q bigenv.yaml
is "$out" 100000 "a huge environment of the job"
/usr/bin/python3 - >toobig.yaml <<'P'
print("run: echo never")
print("envs:")
print(f"  BIG: {'y' * 200000}")
P
run gpc submit -q toobig.yaml
[ "$rc" -ne 0 ] && [ "$rc" -lt 126 ]
ok $? "a variable that no process can have is an error ($rc)"

# A read-only store.
chmod -R a-w "$STORE"
chmod -R a+rX "$XDG_DATA_HOME"
run as_nobody 2 submit --store "file://$STORE" job.yaml
is "$rc" 4 "a read-only store" || note "$err"
like "$err" "$STORE" "is named"
chmod -R u+w "$STORE"
mkdir closed
chmod 555 closed
run as_nobody 2 submit --store "file://$T/work/closed/store" job.yaml
is "$rc" 4 "a store in a read-only folder" || note "$err"
like "$err" "hint: .*writable" "and what to do is said"
chmod 700 closed
run as_nobody 2 status --store "file://$T/work/closed"
is "$rc" 4 "a store that may not be read" || note "$err"
like "$err" "hint: .*permissions" "and what to do is said"

# A store that is not there: never made, on a disk that is not mounted, or made
# anew. Its jobs may run, so "no jobs" alone would mislead.
run gpc status --store "file://host/$T"
is "$rc" 3 "a file:// URL with a host is refused"
like "$err" "hint: write file:///PATH" "and what to write is said"
run gpc status --store "$T/disk/store"
is "$rc $err" "0 no jobs: there is no store at file://$T/disk/store" "a store that nobody has made"
run gpc submit -q --store "$T/disk/store" -- true
is "$rc $err" "0 " "the first submit makes it"
mv "$T/disk" "$T/away"
mkdir -p "$T/disk/store"
run gpc status --store "$T/disk/store"
like "$err" "warning: file://$T/disk/store: the store that was here is gone" \
	"status warns where a store was before"
run gpc logs --store "$T/disk/store"
is "$rc" 5 "a job of it is not found"
like "$err" "hint: .*mount its disk" "and what may have happened is said"
run gpc submit --store "$T/disk/store" -- true
like "$err" "warning: file://$T/disk/store holds another store than before" "submit warns too"
run gpc submit --store "$T/disk/store" -- true
unlike "$err" "warning" "once"

# Limits where no cgroup can be made: memory by looking, processors by affinity.
if root && unshare -m true 2>/dev/null; then
	cat >eats.yaml <<'Y'
name: eats
resources: {memory: 100MB, cpus: 1}
run: |
  nproc
  # neither is too much by itself
  for i in 1 2; do head -c 70000000 /dev/zero | tail | (sleep 60; wc -c) & done
  sleep 60
Y
	run unshare -m timeout -k 5 $((60 * SLOW)) sh -c "mount -t tmpfs none /sys/fs/cgroup &&
		exec '$GPUCLOUD_BIN' submit --store 'file://$T/nogroup' eats.yaml"
	is "$rc" 137 "no cgroups: too much memory ends the job"
	like "$err" "out_of_memory" "no cgroups: with that reason"
	like "$out" "^1$" "no cgroups: one processor is all it sees"
else
	skip "no cgroups" "needs root and a mount namespace"
fi

# A full disk: a small file system of its own.
full() { # MIB SCRIPT: runs it with the store on a file system of that size
	unshare -m timeout -k 5 $((60 * SLOW)) sh -c "mkdir -p '$T/small' && mount -t tmpfs -o size=$1m none '$T/small' &&
		cd '$T/work' && $2"
}
if root && unshare -m true 2>/dev/null; then
	mkdir -p wide
	head -c 30000000 /dev/urandom >wide/a.bin
	run full 8 "'$GPUCLOUD_BIN' submit --store file://$T/small/store --workdir wide job.yaml"
	[ "$rc" -ne 0 ] && [ "$rc" -lt 124 ]
	ok $? "disk full while packing is an error ($rc)"
	like "$err" "[Nn]o space|full" "and says so"
	run full 8 "'$GPUCLOUD_BIN' submit --store file://$T/small/store --workdir wide job.yaml;
		find $T/small/store -name job.json; find $T/small/store -name '.tmp-*'"
	unlike "$out" "job.json|tmp-" "nothing half-made is left"
	cat >chatty.yaml <<'Y'
name: chatty
run: head -c 40000000 /dev/zero | tr '\0' 'x'; echo end
Y
	run full 12 "'$GPUCLOUD_BIN' submit --store file://$T/small/store chatty.yaml >/dev/null"
	is "$rc" 125 "disk full while logging: a success that cannot be read is none"
	like "$err" "disk_full" "and says so"
	like "$err" "No space left" "and why"
	cat >flood.yaml <<'Y'
name: flood
run: tr '\0' 'x' </dev/zero
limits: {time: 5m}
Y
	run full 12 "'$GPUCLOUD_BIN' submit --store file://$T/small/store flood.yaml >/dev/null"
	is "$rc" 125 "disk full while the job goes on logging ends it"
	like "$err" "disk_full" "with that reason"
	# the program's own end counts, and that its log is cut is told beside it
	cat >failing.yaml <<'Y'
name: failing
run: head -c 40000000 /dev/zero | tr '\0' 'x'; exit 3
Y
	run full 12 "'$GPUCLOUD_BIN' submit --store file://$T/small/store failing.yaml >/dev/null
		echo \$?; '$GPUCLOUD_BIN' status --store file://$T/small/store failing
		echo stored: \$('$GPUCLOUD_BIN' logs --store file://$T/small/store failing | wc -c)
		'$GPUCLOUD_BIN' logs --store file://$T/small/store failing --json >json
		echo logs: \$?"
	like "$out" "^3$" "disk full while a job that fails is logging: its own status"
	like "$out" "^Log: +the end of attempt 1's could not be stored: [0-9]+ bytes are missing: .*No space left" \
		"status says that the log is cut"
	stored=$(printf '%s\n' "$out" | sed -n 's/^stored: //p')
	missing=$(printf '%s\n' "$out" | sed -n 's/^Log: .* \([0-9]*\) bytes are missing: .*/\1/p')
	is "$((stored + missing))" 40000000 "and by how many bytes"
	like "$err" "the end of attempt 1's log could not be stored" "so does logs"
	like "$out" "^logs: 1$" "whose own status says that something is missing"
	is "$(tail -n 1 json | jq -r '[.type, .attempt, (.log_cut | split(" ")[0])] | map(tostring) | join(" ")')" \
		"log_cut 1 $missing" "and so does the last line of logs --json"
	# room that comes in time: the job itself makes it once its log is held up
	cat >patient.yaml <<Y
name: patient
run: head -c 9000000 /dev/zero | tr '\\0' 'x'; sleep 1; rm '$T/small/ballast'; echo end
Y
	run full 16 "head -c 9000000 /dev/zero >$T/small/ballast
		'$GPUCLOUD_BIN' submit --store file://$T/small/store patient.yaml >patient.log
		echo \$?; '$GPUCLOUD_BIN' status --store file://$T/small/store patient
		'$GPUCLOUD_BIN' logs --store file://$T/small/store patient | cmp - patient.log"
	like "$out" "^0$" "a log that finds room again: the job succeeds" || note "$err"
	unlike "$out$err" "^Log:|missing|differ|EOF" "and nothing of it is missing"
	is "$(tr -d x <patient.log | tail -c 4) $(wc -c <patient.log)" "end 9000004" "to its last byte"
	# the store's disk alone, and to the last page
	cat >brim.yaml <<Y
name: brim
run: cat /dev/zero >'$T/small/filler' 2>/dev/null; exit 3
Y
	run full 4 "'$GPUCLOUD_BIN' submit --store file://$T/small/store brim.yaml; echo \$?
		'$GPUCLOUD_BIN' status --store file://$T/small/store brim -o json >brim.json
		find '$T/small/store' -name reserve"
	is "$out" 3 "a store without a page left takes a job's end all the same" || note "$err"
	is "$(jq -r .state brim.json)" FAILED "and tells it"
else
	skip "disk full" "needs root and a mount namespace"
fi
finish
