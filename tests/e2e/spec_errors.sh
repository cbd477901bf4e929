#!/bin/sh
# A wrong spec is refused with its place, what was expected and what is near.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

refused() { # NAME REGEX < SPEC; not behind a pipe, it counts
	cat >"$1.yaml"
	run gpc submit --dry-run "$1.yaml"
	is "$rc" 3 "$1: exit 3"
	like "$err" "$2" "$1: the message"
	unlike "$err" "runtime error|Sanitizer" "$1: no accident"
}

refused typo 'typo\.yaml:2:1:.*num_node.*num_nodes' <<'Y'
run: echo
num_node: 2
Y
refused section 'section\.yaml:3:3:.*pth.*path' <<'Y'
run: echo
checkpoint:
  pth: x
Y
refused type 'type\.yaml:1:12:' <<'Y'
num_nodes: many
run: echo
Y
refused range 'range\.yaml:1:12:' <<'Y'
num_nodes: 0
run: echo
Y
refused duplicate 'duplicate\.yaml:3:1:.*run' <<'Y'
run: echo
name: x
run: echo again
Y
refused gpu 'H1000|accelerators' <<'Y'
run: echo
resources: {accelerators: "H100:none"}
Y
refused needed 'TOKEN.*' <<'Y'
envs: {TOKEN: null, OTHER: null}
run: echo
Y
like "$err" OTHER "needed: names them all at once"
# What is in the way beside the spec's own mistakes, too.
refused obstacles '^gpucloud: obstacles\.yaml:3:8: no value for envs TOKEN' <<'Y'
name: obstacles
workdir: nowhere
envs: {TOKEN: }
file_mounts: {data: ./absent, "$TOKEN": ./here, more: "./$TOKEN"}
limits: {deadline: 2020-01-31}
resources: {accelerators: H100:8}
run: echo
Y
like "$err" "workdir: cannot read .*/nowhere: " "obstacles: a folder that is not there"
like "$err" "file_mounts: cannot read .*/absent: " "obstacles: a file that is not there"
like "$err" "file_mounts: cannot read .*/here: " "obstacles: and another one"
unlike "$err" 'cannot read .*[$]TOKEN' "obstacles: what needs a value that is not set is not looked for"
like "$err" "limits.deadline is over" "obstacles: a deadline"
like "$err" "H100" "obstacles: GPUs that are not here"
run gpc submit --dry-run --env TOKEN=x --store /dev/null obstacles.yaml
like "$err" "the store cannot be /dev/null" "obstacles: a store that cannot be one"
like "$err" "cannot read .*/nowhere: " "obstacles: keeps nobody from looking at the rest"
is "$(printf '%s\n' "$err" | grep -c '^  hint: ')" "$(printf '%s\n' "$err" | grep -c '^gpucloud: ')" \
	"obstacles: each has its hint" || note "$err"
refused norun 'run' <<'Y'
name: nothing
Y
refused service_shape 'service_shape\.yaml:2:1: service is not built yet' <<'Y'
run: echo
service: {replicas: 2}
Y
refused several '^gpucloud: several\.yaml:1:1: .*nmae.*name' <<'Y'
nmae: x
num_nodes: two
resources:
  use_spot: maybe
  memory: 8+
  disk: 4
launcher: torchrun
envs: {1A: x, B: [y]}
file_mounts: {/a: {mode: COPYY, source: /tmp}}
run: echo
Y
told=$(printf '%s\n' "$err" | sed -n 's/^gpucloud: several\.yaml:\([0-9:]*\): .*/\1/p' |
	tr '\n' ' ')
is "$told" "1:1 2:12 4:13 6:3 7:1 8:8 8:18 9:26 " "all mistakes are told, each with its place"
like "$err" "hint: did you mean 'COPY'" "and with its hint"
run gpc --log-format json submit --dry-run several.yaml
is "$(printf '%s\n' "$err" | grep -c '^{.*several\.yaml:.*}$')" 8 "as JSON each is a line of its own"
{
	echo 'run: echo'
	for i in $(seq 1 30); do
		echo "wrong$i: 1"
	done
} >text
refused many 'there may be more' <text
is "$(printf '%s\n' "$err" | grep -c '^gpucloud: many\.yaml')" 20 "their number is bounded"
refused unclosed 'unclosed\.yaml:[0-9]+:[0-9]+:' <<'Y'
run: [echo
Y
refused tab 'tab\.yaml:2:1' <<'Y'
envs:
	A: 1
Y
refused service 'service' <<'Y'
run: echo
service: {readiness_probe: /}
Y
printf 'run: "a\200b"\n' >text
refused utf8 'utf8\.yaml|UTF-8' <text
printf '\377\376r\000u\000n\000:\000 \000x\000\n\000' >text
refused utf16 'utf16\.yaml:1: this file is saved as UTF-16' <text
like "$err" 'hint: .*UTF-8' "utf16: and what to save it as"
printf 'run: "a\000b"\n' >text
refused nul 'nul\.yaml' <text
{
	echo 'a0: &a0 [x, x]'
	for i in $(seq 1 40); do
		echo "a$i: &a$i [*a$((i - 1)), *a$((i - 1)), *a$((i - 1)), *a$((i - 1))]"
	done
	echo 'run: echo'
} >text
refused bomb 'bomb\.yaml|alias|limit|unknown' <text
/usr/bin/python3 -c 'print("run: " + "[" * 100000)' >text
refused deep 'deep\.yaml|depth|nest' <text
/usr/bin/python3 -c 'print("run: " + "x" * 40000000)' >text
refused huge 'huge\.yaml|size|large|MiB' <text
rm text

for words in 'submit|--dry-run|' 'submit|--dry-run|--env-file=|--|true' 'status|--store=' \
	'status|--profile='; do
	IFS='|'
	# shellcheck disable=SC2086 # an empty last word is the one that counts
	set -- $words
	unset IFS
	[ "$words" != 'submit|--dry-run|' ] || set -- submit --dry-run ''
	run gpc "$@"
	is "$rc" 2 "$words: an empty word is a mistake of the command line"
	like "$err" "empty" "$words: and called so"
done
run gpc submit --dry-run --workdir "$(printf 'x\ngpucloud: all is well')" -- true
unlike "$err" '^gpucloud: all is well' "a name's second line is no message of ours"
run gpc submit --dry-run missing.yaml
is "$rc" 3 "a missing spec file: exit 3" || note "$err"
like "$err" 'missing\.yaml' "a missing spec file is named"
printf 'run: x\nlimits: {deadline: 2020-01-31}\n' >late.yaml
run gpc submit late.yaml
is "$rc" 3 "a deadline that is over: exit 3"
like "$err" 'late\.yaml:2:[0-9]+: limits\.deadline is over' "and says where"
printf 'run: x\nfile_mounts:\n  data: nowhere\n' >mount.yaml
run gpc submit mount.yaml
is "$rc" 3 "a file mount that is not there: exit 3"
like "$err" 'mount\.yaml:2:[0-9]+: .*nowhere' "and is named"
[ ! -e "$STORE" ]
ok $? "none of this made a store"
run gpc submit
is "$rc" 2 "no spec at all is a usage error"
run gpc submit --no-such-option x.yaml
is "$rc" 2 "an unknown option is a usage error"
run gpc submt
is "$rc" 2 "an unknown command is a usage error"
like "$err" submit "and the near one is named"
run gpc offers --gpus H10:8
like "$err" "warning: --gpus: no known GPU is called .H10.; did you mean" "a GPU that nobody knows, too"

# What --dry-run prints parses back to itself.
for example in "$ROOT"/examples/*.yaml; do
	cd "$ROOT" || exit 1
	run gpc submit --dry-run "$example"
	is "$rc" 0 "$(basename "$example"): --dry-run"
	cp "$T/out" "$T/work/once.yaml"
	run gpc submit --dry-run "$T/work/once.yaml"
	cmp -s "$T/out" "$T/work/once.yaml"
	ok $? "$(basename "$example"): what it prints reads back to itself"
	run gpc submit --dry-run --json "$example"
	printf '%s' "$out" | jq -e . >/dev/null
	ok $? "$(basename "$example"): --json is JSON"
	cd "$T/work" || exit 1
done
[ ! -e "$STORE/jobs" ] || [ -z "$(ls "$STORE/jobs")" ]
ok $? "nothing was made"
printf 'name: one\nrun: echo\n---\nname: two\nrun: echo\n' >several.yaml
run gpc submit --dry-run several.yaml
is "$rc" 0 "several tasks are shown by --dry-run"
run gpc submit several.yaml
is "$rc" 3 "and refused when run"
mkdir sized && printf 12345 >sized/big && printf 1 >sized/small
printf 'name: My Plan\nworkdir: sized\nrun: echo\nlimits:\n  idle: {gpu_below: 5}\n' >plan.yaml
run gpc submit --dry-run --json plan.yaml
like "$err" "plan.yaml:5:3: limits.idle never ends this job" \
	"an idle rule without GPUs is said to be of no use"
is "$(printf '%s' "$out" | jq -r '.plans[0] | .name, .workspace.biggest[0].path, .workspace.biggest[1].size_bytes, (.offer | has("price_ms"))' | tr '\n' ' ')" \
	"my-plan big 1 false " "the plan as JSON has the name and the biggest files"
like "$(printf '%s' "$out" | jq -r '.plans[0].offer.price_at')" '^20[0-9-]+T[0-9:.]+Z$' \
	"and times in RFC 3339"
is "$(printf '%s' "$out" | jq -r .spec.name)" "My Plan" "the spec keeps the name as written"
mkdir fresh && cd fresh || exit 1
run gpc init
is "$rc" 0 "init writes a starter spec"
run gpc submit --dry-run "$(find . -type f | head -n 1)"
is "$rc" 0 "which is a good spec"
run gpc init
[ "$rc" -ne 0 ]
ok $? "init does not overwrite it"
cd ..
run gpc submit -d --secret K=value --dry-run several.yaml
unlike "$out$err" value "a secret's value is never shown"
finish
