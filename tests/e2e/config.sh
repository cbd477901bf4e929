#!/bin/sh
# The configuration: files, profiles, trust, and an option's key; and that what
# people wrote stays as they wrote it.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

FILE=$XDG_CONFIG_HOME/gpucloud/config.yaml
value() { gpc config get "$@" 2>/dev/null; }
origin() { gpc config list -o json | jq -r --arg k "$1" '.rows[] | select(.key == $k).origin'; }
mode() { stat -c %a "$1"; }
# The program as somebody whom permissions stop. The build may lie where nobody
# else can look.
as_user() {
	[ -x "$T/gpucloud" ] || cp "$GPUCLOUD_BIN" "$T/gpucloud"
	if [ "$(id -u)" -ne 0 ]; then
		"$T/gpucloud" "$@"
	else
		# memcheck writes files of its own, which finish() looks for here
		mkdir -p "$T/user" && chmod 777 "$T/user"
		ASAN_OPTIONS='' UBSAN_OPTIONS='' TMPDIR="$T/user" \
			GPUCLOUD_TEST_FINDINGS="$T/user/found" setpriv --reuid 65534 \
			--regid 65534 --clear-groups "$T/gpucloud" "$@"
		user_rc=$?
		cat "$T"/user/found.* >"$T/sanitizer.user" 2>/dev/null
		return $user_rc
	fi
}

as_user_of_ro() { (unset XDG_CONFIG_HOME && HOME=$PWD/ro && as_user "$@"); }

# --- nothing there
run gpc config path
is "$out" "$FILE" "path prints where the file would be"
run gpc config get color
is "$rc:$out" "0:auto" "a default"
run gpc config get profile
is "$rc:$out" "5:" "get of what is not set"
like "$err" "profile is not set" "says so"
is "$(value owner)" "$(id -un)@$(uname -n)" "the default owner"
is "$(value local.price_per_hour)" 0 "the default price"
is "$(value submit.credentials):$(origin submit.credentials)" warn:default \
	"the default of an option with words"
is "$(value output):$(origin output)" table:default "that of every command"
run gpc config get status.output
is "$rc" 5 "which one of them alone has not"
run gpc config get store
is "$out" "file://$STORE" "the default store"
run gpc config get logs.tail
is "$rc" 5 "an option's key is not set either"
run gpc config get release.timeout
is "$out" "10m" "an option's default"
run gpc config unset color
is "$rc" 5 "unset of what is not there"
[ ! -e "$FILE" ]
ok $? "nothing is made"

# --- set and get
run gpc config set color never
is "$rc:$out" "0:" "set"
is "$(cat "$FILE")" "color: never" "writes the file"
is "$(mode "$FILE"):$(mode "${FILE%/*}")" "600:700" "for its user only"
is "$(origin color)" "$FILE:1:1" "its origin"
is "$(GPUCLOUD_COLOR=always gpc config get color)" always "the environment wins"
run env GPUCLOUD_COLOR=always "$GPUCLOUD_BIN" config set color auto
like "$err" "another value holds here, from GPUCLOUD_COLOR" "set says when it is in vain"
is "$(gpc config list --store /x -o json | jq -r '.rows[] | select(.key == "store") | .value + " " + .origin')" \
	"/x --store" "an option's origin"

cat >"$FILE" <<'Y'
# mine, and it stays so
store:   "~/jobs"     # where
local: {enabled: yes}

submit:
    detach: true   # always
    env:
      - A=1
logs.tail: 5
# the end
Y
cp "$FILE" before
run gpc config set local.price_per_hour 0.60
run gpc config set submit.env A=2 'B=x, y'
run gpc config set submit.max_cost 12
run gpc config set store /srv
run gpc config unset logs.tail
run diff before "$FILE"
is "$out" '2,3c2,3
< store:   "~/jobs"     # where
< local: {enabled: yes}
---
> store:   /srv     # where
> local: {enabled: yes, price_per_hour: 0.60}
7,9c7,8
<     env:
<       - A=1
< logs.tail: 5
---
>     env: [A=2, "B=x, y"]
>     max_cost: 12' "only the values change"
is "$(value submit.env)" "A=2
B=x, y" "a list, one value a line"
cp "$FILE" before
for bad in "color allways" "colr auto" "local.enabled perhaps" "confirm_above lots" \
	"logs.tail many" "submit.max_cost lots" "release.timeout soon" "color a b" \
	"store s3://b/p" "store s3://bucket/p?x=y" "store ftp://x/y"; do
	# shellcheck disable=SC2086  # two words
	run gpc config set $bad
	[ "$rc" -ne 0 ] && [ "$rc" -le 3 ] && cmp -s before "$FILE"
	ok $? "refused: $bad ($(printf '%s' "$err" | head -n 1))"
done
run gpc config set profile nosuch
is "$rc" 3 "a profile that is not there cannot become the standing one"
cmp -s before "$FILE"
ok $? "and nothing is written"

# --- links
mkdir dots
mv "$FILE" dots/config.yaml
ln -s "$PWD/dots/config.yaml" "$FILE"
run gpc config set color always
[ -L "$FILE" ] && grep -q '^color: always$' dots/config.yaml
ok $? "a link stays a link, and its target is written"
rm dots/config.yaml
run gpc config set color always
[ -L "$FILE" ] && [ "$(cat dots/config.yaml)" = "color: always" ]
ok $? "also when its target is not there yet"
rm -r "$FILE" dots
# A device is not replaced by a file. Root can do harm here: it gets one to lose.
device=/dev/null
[ "$(id -u)" -ne 0 ] || device=$PWD/null
if [ "$(id -u)" -ne 0 ] || mknod null c 1 3 2>/dev/null; then
	ln -s "$device" "$FILE"
	run gpc config set color always
	[ "$rc" -eq 3 ] && [ -c "$device" ]
	ok $? "nor is a device replaced by a file"
	like "$err" "config.yaml is a link to .*null, which is not a file" "and it says so"
	rm -f "$FILE" null
fi

# --- options take their keys
cat >count.yaml <<'Y'
run: echo hello
Y
run gpc submit --dry-run count.yaml
unlike "$out" "limits" "no limit by itself"
run gpc config set submit.max_cost 12
run gpc submit --dry-run count.yaml
like "$out" "^ +cost: 12" "submit.max_cost holds"
run gpc submit --dry-run --max-cost 3 count.yaml
like "$out" "^ +cost: 3" "the option wins"
run env GPUCLOUD_SUBMIT_MAX_COST=4 "$GPUCLOUD_BIN" submit --dry-run count.yaml
like "$out" "^ +cost: 4" "the environment wins over the file"
printf 'run: echo hello\nlimits: {cost: 7}\n' >limit.yaml
run gpc submit --dry-run limit.yaml
like "$out" "^ +cost: 7" "the spec wins over the file"
run env GPUCLOUD_SUBMIT_MAX_COST=4 "$GPUCLOUD_BIN" submit --dry-run limit.yaml
like "$out" "^ +cost: 4" "but not over the environment"
run gpc config set submit.env WHO=file ALSO=this
printf 'run: echo hello\nenvs: {WHO: spec}\n' >envs.yaml
run gpc submit --dry-run envs.yaml
like "$out" "^ +WHO: spec" "a variable of the spec stays"
like "$out" "^ +ALSO: this" "another one is added"
run gpc config unset submit.env
# what a job asks for
run gpc config set submit.gpus L4:2
run gpc config set submit.cpus 2+
run gpc config set submit.memory 4
run gpc config set submit.nodes 3
run gpc config set submit.deadline 2099-12-24T00:00:00Z
run gpc submit --dry-run count.yaml
asked='s/^ *((accelerators|cpus|memory|num_nodes|deadline|instance_type): .*)/\1/p'
is "$(printf '%s\n' "$out" | sed -nE "$asked")" 'num_nodes: 3
accelerators: L4:2
cpus: "2+"
memory: 4
deadline: "2099-12-24T00:00:00.000Z"' "GPUs, processors, memory, nodes and the deadline have keys"
printf 'run: echo hello\nnum_nodes: 1\nresources: {accelerators: null, cpus: 1, memory: 1}\n' >small.yaml
run gpc submit --dry-run small.yaml
unlike "$out" "L4|num_nodes: 3|2[+]|memory: 4" "the spec wins, also with no GPU"
run gpc submit --dry-run --instance-type t count.yaml
unlike "$out" "accelerators|cpus|memory" "a type of machine is not mixed with them"
printf 'run: echo hello\nresources: {instance_type: t}\n' >type.yaml
run gpc submit --dry-run type.yaml
unlike "$out" "accelerators|cpus|memory" "nor that of a spec"
run gpc config set submit.deadline soon
is "$rc" 3 "a wrong deadline is refused when it is set"
for k in gpus cpus memory nodes deadline; do gpc config unset "submit.$k"; done
run gpc config set submit.secret TOKEN_A TOKEN_B=hidden
is "$rc" 3 "a secret's value is refused"
like "$err" "submit.secret: expected NAME or NAME=@FILE" "with what is taken"
unlike "$err" hidden "and not shown"
run gpc config set owner "$(printf 'a\377')"
is "$rc" 3 "so is what is not UTF-8"
like "$err" 'owner: "a\\xff" is not UTF-8' "and called so"
printf 'b-value\n' >b.txt
run gpc config set submit.secret TOKEN_A TOKEN_B=@b.txt
run gpc submit --dry-run count.yaml
is "$rc" 3 "a secret that is not set"
like "$err" TOKEN_A "is named"
run env TOKEN_A=a-value "$GPUCLOUD_BIN" submit --dry-run count.yaml
like "$out" "TOKEN_A" "submit.secret: from the environment"
like "$out" "TOKEN_B" "and from a file"
unlike "$out$err" "[ab]-value" "neither value is shown"
run gpc submit --dry-run --secret TOKEN_A=@b.txt count.yaml
like "$out" TOKEN_A "an option may give it instead"
run gpc config unset submit.secret
run env GPUCLOUD_CHECKPOINT_KEEP=1 "$GPUCLOUD_BIN" checkpoint prune
like "$err" "keep 1: the newest 2 always stay" "checkpoint.keep is heeded"
run gpc config set submit.detach true
run gpc submit count.yaml
like "$out" "^count-[a-z0-9]{6}$" "submit.detach: the id alone"
gpc wait "$out" >/dev/null 2>&1
run gpc submit --wait count.yaml
is "$rc:$out" "0:" "--wait wins over submit.detach"
run gpc submit -d --wait count.yaml
is "$rc" 2 "both as options clash"
job=$(gpc submit -q count.yaml)
gpc wait "$job" >/dev/null 2>&1
run gpc config set output json
run gpc status
is "$(printf '%s' "$out" | jq -r .schema)" "gpucloud.job/1" "output: of every command"
run gpc status -q
is "$out" "$(gpc status -o name)" "-q wins over output"
run gpc config set status.output name
is "$(gpc status)" "$(gpc status -o name)" "status.output wins over output"
is "$(GPUCLOUD_OUTPUT=csv gpc config list | head -n 1 | tr -d '\r')" "key,value,origin,source,expected,about" \
	"GPUCLOUD_OUTPUT"
run env GPUCLOUD_LOGS_TAIL=x "$GPUCLOUD_BIN" logs "$job"
is "$rc" 3 "a wrong value of the environment"
like "$err" "GPUCLOUD_LOGS_TAIL: logs.tail: expected a whole number" "says which"
run env GPUCLOUD_LOGS_TAIL=x "$GPUCLOUD_BIN" status
is "$rc" 0 "and matters only to its command"
rm "$FILE"

# --- profiles
cat >"$FILE" <<'Y'
color: never
logs: {tail: 1}
profiles:
  eu:
    color: always
    local: {price_per_hour: 0.90}
  big: {submit.max_cost: 500}
Y
is "$(value color)" never "without a profile"
is "$(gpc config get color --profile eu)" always "--profile"
is "$(GPUCLOUD_PROFILE=eu gpc config get color)" always "GPUCLOUD_PROFILE"
is "$(gpc --profile eu config get color)" always "before the command"
is "$(gpc config list --profile eu -o json | jq -r '.rows[] | select(.key == "color") | .source + " " + .origin')" \
	"profile $FILE:5:5" "its origin"
run gpc status --profile ue
is "$rc" 3 "an unknown profile"
like "$err" 'no profile "ue".*' "is named"
like "$err" "did you mean eu\? there are eu, big" "with those that are there"
run gpc config set profile eu
is "$(value color):$(value local.price_per_hour)" "always:0.90" "the key profile"
run gpc config set --profile us color auto
is "$(tail -n 3 "$FILE")" "  us:
    color: auto
profile: eu" "set makes a profile"
run gpc config unset --profile big submit.max_cost
like "$(cat "$FILE")" "^  big: \{\}" "unset within one"
sed 's/0.90/lots/' "$FILE" >x && mv x "$FILE"
run gpc status --profile big
is "$rc" 3 "a wrong value in a profile that is not in use"
like "$err" "config.yaml:6:13: local.price_per_hour" "is found, too"
rm "$FILE"

# --- a project's file
mkdir -p proj/sub
cd proj || exit 1
run gpc config set --project logs.tail 3
is "$rc:$(cat .gpucloud.yaml)" "0:logs:
  tail: 3" "set --project"
is "$(origin logs.tail)" ".gpucloud.yaml:2:3" "its origin"
is "$(cd sub && gpc config get logs.tail 2>&1)" "gpucloud: logs.tail is not set" "it holds in that folder alone"
for key in "store /x" "submit.yes true" "submit.pull x" "submit.env A" "confirm_above 100" \
	"submit.max_cost 100" "init.output x" "profile x"; do
	# shellcheck disable=SC2086  # two words
	run gpc config set --project $key
	is "$rc" 3 "a project may not set ${key% *}"
done
echo "store: $T/theirs" >>.gpucloud.yaml
run gpc status
is "$rc" 3 "a strange project that sets a store"
like "$err" "\.gpucloud\.yaml:3:1: a project's file may not set store unless you trust it" "is refused"
like "$err" "config trust" "with a hint"
at_terminal 'Trust it. \[y/N\] $|n\n' "$GPUCLOUD_BIN" config trust
is "$rc" 130 "config trust asks at a terminal"
like "$out" "store: $T/theirs" "and shows before what it would allow"
run gpc status
is "$rc" 3 "no means no"
at_terminal 'Trust it. \[y/N\] $|y\n' "$GPUCLOUD_BIN" -q config trust
is "$rc" 0 "yes means yes, also with -q"
like "$out" "store: $T/theirs" "which shows it as well"
is "$(value store)" "$T/theirs" "and then it holds"
gpc config trust --remove
run gpc config trust
is "$rc" 0 "without a terminal it is an answer by itself"
like "$err" "store: $T/theirs" "shows what it allows"
is "$(value store)" "$T/theirs" "and then it holds"
is "$(gpc config trust --list -o json | jq -r '.rows[0] | .state + " " + .path')" \
	"trusted $PWD/.gpucloud.yaml" "trust --list"
(cd / && sha256sum --status -c "$XDG_STATE_HOME/gpucloud/trusted")
ok $? "the list is one of sha256sum"
run gpc config set --project logs.tail 4
is "$(value store):$(value logs.tail)" "$T/theirs:4" "what we change ourselves stays trusted"
echo "# and more" >>.gpucloud.yaml
run gpc status
is "$rc" 3 "a changed file is a stranger again"
is "$(gpc config trust --list | tail -n 1 | cut -d' ' -f1)" changed "trust --list says so"
is "$(GPUCLOUD_JOB_ID=x-aaaaaa gpc config get store)" "file://$STORE" "a job passes it over"
run gpc config trust
run gpc config trust --remove
is "$rc" 0 "trust --remove"
run gpc status
is "$rc" 3 "takes it back"
run gpc config trust --remove
is "$rc" 5 "once"
cd ..
cp proj/.gpucloud.yaml proj/sub
run gpc config trust proj
like "$(gpc config trust --list -o name)" "/proj/\.gpucloud\.yaml$" "trust FOLDER"
(cd proj/sub && gpc status >/dev/null 2>&1)
is $? 3 "the same text elsewhere is not trusted"
ln -s proj link
(cd link && gpc status >/dev/null 2>&1)
is $? 0 "a link to the folder is the same folder"
rm -r proj link

# --- edit
cat >fake-editor <<'S'
#!/bin/sh
# MODE -w FILE
echo "$1|$2|${3##*/}" >>"$T/ed.log"
case $1 in
good) printf 'color: never\n' >"$3" ;;
bad) printf 'color: purple\n' >"$3" ;;
same) ;;
fail) printf 'color: auto\n' >"$3"; exit 3 ;;
twice)
	n=$(grep -c '^twice' "$T/ed.log")
	[ "$n" -gt 1 ] && printf 'color: auto\n' >"$3" || printf 'color: purple\n' >"$3"
	;;
esac
S
chmod +x fake-editor
export T
run env VISUAL= EDITOR="$PWD/fake-editor good -w" "$GPUCLOUD_BIN" config edit
is "$rc:$(cat "$FILE")" "0:color: never" "edit"
like "$(cat "$T/ed.log")" '^good\|-w\|\.config-edit-.*\.yaml$' "an editor with words"
run env VISUAL= EDITOR="'$PWD/fake-editor' bad -w" "$GPUCLOUD_BIN" config edit
is "$rc:$(cat "$FILE")" "3:color: never" "a wrong text does not take its place"
like "$err" 'config.yaml:1:1: color: "purple" is not one of auto, always, never' "and is explained"
copy=$(printf '%s\n' "$err" | sed -n 's/.*your text is in //p')
is "$(cat "$copy")" "color: purple" "nor is it lost"
rm -f "$copy"
run env VISUAL="$PWD/fake-editor same -w" EDITOR=false "$GPUCLOUD_BIN" config edit
is "$rc" 0 "VISUAL first; nothing changed"
like "$err" "nothing was changed" "is said"
run env VISUAL= EDITOR="$PWD/fake-editor fail -w" "$GPUCLOUD_BIN" config edit
is "$rc:$(cat "$FILE")" "1:color: never" "an editor that fails"
rm -f "${FILE%/*}"/.config-edit-*
run env VISUAL= EDITOR=/no/such/editor "$GPUCLOUD_BIN" config edit
is "$rc" 1 "no such editor"
is "$(ls -A "${FILE%/*}")" config.yaml "no copy is left behind"
mkdir -p "$T/a b;touch owned"
run env VISUAL= EDITOR="$PWD/fake-editor good -w" XDG_CONFIG_HOME="$T/a b;touch owned" "$GPUCLOUD_BIN" config edit
[ "$rc" -eq 0 ] && [ ! -e owned ]
ok $? "a path is never part of the command"
# a terminal is asked: the answer is typed when the question stands there
edit_twice() { # ANSWER
	VISUAL='' EDITOR="$PWD/fake-editor twice -w" \
		at_terminal "\[y/N\] \$|$1\n" "$GPUCLOUD_BIN" config edit
}
edit_twice y
is "$rc:$(cat "$FILE")" "0:color: auto" "a wrong text can be edited again"
: >"$T/ed.log"
edit_twice n
is "$rc:$(cat "$FILE")" "3:color: auto" "or not"
like "$out" "config.yaml is as it was; your text is in" "and that is said"
rm -f "${FILE%/*}"/.config-edit-*
printf 'colr: x\n' >"$FILE"
run env VISUAL= EDITOR="$PWD/fake-editor good -w" "$GPUCLOUD_BIN" config edit
is "$rc:$(cat "$FILE")" "0:color: never" "edit mends a broken file"

# --- what is wrong with files
printf 'color: never\nstroe: x\n' >"$FILE"
run gpc status
is "$rc" 3 "an unknown key"
like "$err" "config.yaml:2:1: unknown key \"stroe\"" "is named with its place"
run gpc version
is "$rc" 0 "version does not care"
run gpc config set owner me
is "$rc" 0 "set works all the same"
run gpc config unset stroe
is "$rc:$(cat "$FILE")" "0:color: never
owner: me" "unset mends it"
run gpc config get max-cost
like "$err" "hint: did you mean submit.max_cost" "an option's name leads to its key"
run gpc config get submit.store
like "$err" "hint: did you mean store" "and so does a key in the wrong section"
run gpc config trust
is "$rc" 5 "config trust without a project's file"
like "$err" "hint: .*\.gpucloud\.yaml.*config --project set" "says how one is made"
printf 'a: {\n' >"$FILE"
run gpc config set owner me
is "$rc" 3 "what is not YAML is left alone"
is "$(cat "$FILE")" "a: {" "indeed"
rm "$FILE"
mkdir "$FILE"
run gpc status
is "$rc" 3 "a folder in its place"
like "$err" "config.yaml: it is a folder" "is named"
run gpc config set owner me
is "$rc" 3 "and cannot be set"
rmdir "$FILE"
mkfifo "$FILE"
run timeout 10 "$GPUCLOUD_BIN" status
is "$rc" 3 "a pipe in its place makes nobody wait"
rm "$FILE"
ln -s /dev/null "$FILE"
run gpc status
is "$rc" 0 "/dev/null is an empty file"
rm "$FILE"
echo "color: never" >"$FILE"
chmod 666 "$FILE"
run gpc status
is "$rc" 0 "a file that others can write"
like "$err" "others can write it.*chmod go-w" "gives a warning"
chmod 600 "$FILE"
chmod 000 "$FILE"
chmod 755 "${FILE%/*}"
run as_user status
is "$rc" 3 "a file that cannot be read"
like "$err" "config.yaml: Permission denied" "is said"
chmod 644 "$FILE"
chmod 555 "${FILE%/*}"
run as_user config set owner me
is "$rc" 4 "a folder that cannot be written"
like "$err" "config.yaml: Permission denied" "is said, too"
chmod 700 "${FILE%/*}"
head -c 2000000 /dev/zero | tr '\0' '#' >"$FILE"
run gpc status
is "$rc" 3 "a file that is far too large"
{
	echo 'a: &a [x, x, x, x, x, x, x, x, x]'
	for i in b c d e f g h i j; do
		p=$(printf '%s' "$i" | tr b-j a-i)
		echo "$i: &$i [*$p, *$p, *$p, *$p, *$p, *$p, *$p, *$p]"
	done
} >"$FILE"
run gpc status
is "$rc" 3 "a file of many aliases"
printf 'color: "\033[2J"\n' >"$FILE"
run gpc status
is "$rc" 3 "escapes"
unlike "$(cat -v "$T/err")" '\^\[' "do not reach the terminal"
rm "$FILE"

# --- homes
run env -u XDG_CONFIG_HOME HOME=/dev/null "$GPUCLOUD_BIN" config list
is "$rc" 0 "HOME=/dev/null"
run env XDG_CONFIG_HOME=relative "$GPUCLOUD_BIN" config path
is "$out" "$HOME/.config/gpucloud/config.yaml" "a relative XDG folder is ignored"
run env -u HOME -u XDG_CONFIG_HOME "$GPUCLOUD_BIN" config path
is "$rc" 0 "no HOME: the password database"
mkdir ro
chmod 555 ro
run as_user_of_ro config set color never
is "$rc" 4 "a read-only HOME"
like "$err" "Permission denied" "is said"
run env -u XDG_CONFIG_HOME HOME="$PWD/ro" "$GPUCLOUD_BIN" config list
is "$rc" 0 "a read-only HOME can be read"
rmdir ro

# --- variables that are no key
run env GPUCLOUD_SUBMIT_MAXCOST=1 "$GPUCLOUD_BIN" submit -n -- true
is "$rc" 3 "a wrong variable of a command"
like "$err" "GPUCLOUD_SUBMIT_MAXCOST: there is no such key" "is named"
like "$err" "did you mean GPUCLOUD_SUBMIT_MAX_COST[?]" "with the near one"
run env GPUCLOUD_SUBMIT_MAXCOST=1 "$GPUCLOUD_BIN" status
is "$rc" 3 "for another command too, as in a file"
run env GPUCLOUD_SUBMIT_MAXCOST=1 GPUCLOUD_JOB_ID=x "$GPUCLOUD_BIN" status
is "$rc" 3 "inside a job too"
run env GPUCLOUD_SUBMIT_MAXCOST= "$GPUCLOUD_BIN" status
is "$rc" 0 "an empty one counts as not set"
run env GPUCLOUD_SUBMIT_MAXCOST=1 "$GPUCLOUD_BIN" version
is "$rc:$err" "0:" "version does not care"
run env GPUCLOUD_STROE=x "$GPUCLOUD_BIN" config get color
is "$rc" 0 "a name that is near a key"
like "$err" "warning: GPUCLOUD_STROE .*: did you mean GPUCLOUD_STORE[?]" "gives a warning"
run env GPUCLOUD_STROE=x GPUCLOUD_JOB_ID=x "$GPUCLOUD_BIN" config get color
is "$rc:$err" "0:" "but none inside a job"
run env GPUCLOUD_CITY=x GPUCLOUD_TEST_STORES=x "$GPUCLOUD_BIN" config get color
is "$rc:$err" "0:" "nor when it is like nothing"
# with values that no key takes; the job's id would silence the warnings
# shellcheck disable=SC2046  # a list of words
run env $(grep -hoE '"GPUCLOUD_[A-Z_]+["=]' "$ROOT/lib/agent/env.c" "$ROOT/lib/agent/ask.h" \
	"$ROOT/lib/core/notify.c" "$ROOT/lib/provider/node_file.h" | tr -d '"=' | sort -u |
	grep -vxE 'GPUCLOUD_(STORE|JOB_ID|)' | sed 's/$/=x/') "$GPUCLOUD_BIN" config get color
is "$rc:$err" "0:" "what a job and a notice find there is known"

# --- two at once
for i in 1 2 3 4 5 6 7 8; do
	gpc config set --profile "p$i" owner "me$i" 2>>"$T/both" &
done
wait
is "$(grep -c owner "$FILE")" 8 "eight at once: each is written"
is "$(cat "$T/both")" "" "without a word"
run gpc config list
is "$rc" 0 "and the file is whole"
is "$(ls -A "${FILE%/*}")" config.yaml "nothing is left beside it"
rm "$FILE"

# --- every option has its key, or stands in the manual
page=$ROOT/man/gpucloud-config.5.scd
gpc config list -o name >keys
# "COMMAND OPTION" of each that the manual excepts
awk '/^# / { on = ($0 == "# OPTIONS WITHOUT A KEY") } on' "$page" | tr '\n' ' ' |
	sed 's/ - /\n/g' | grep -- '--' | while IFS=: read -r who what; do
	for c in $(printf '%s' "$who" | grep -oE '\*[a-z]+\*|every' | tr -d '*'); do
		printf '%s' "$what" | grep -oE -- '--[a-z-]+' | sed "s/^--/$c /"
	done
done | sort -u >excepted
for c in $(gpc help | sed -nE 's/^  ([a-z]+)  .*/\1/p'); do
	gpc "$c" --help | sed -nE 's/^  (-[A-Za-z],|   ) --(\[no-\])?([a-z0-9-]+).*/\3/p' |
		while read -r o; do
			case $o in store | profile | color | verbose | quiet | json | help) continue ;; esac
			k=$(printf '%s' "$o" | tr - _)
			if grep -qxE "($c\.)?$k" keys && ! grep -qx "$c $o" excepted; then continue; fi
			if [ "$c" = cost ] && grep -qx "submit.$k" keys; then continue; fi
			grep -qx "$c $o" excepted && ! grep -qx "$c\.$k" keys && continue
			echo "$c --$o"
		done
done >wrong
is "$(cat wrong)" "" "every option has its key or is excepted in gpucloud-config(5)"
while read -r c o; do
	[ "$c" = every ] && continue
	gpc "$c" --help 2>/dev/null | grep -qE -- "--(\[no-\])?$o( |\$|\[)" || echo "$c --$o"
done <excepted >gone
is "$(cat gone)" "" "and what is excepted is an option"
# what a project may not set is the manual's list
while read -r k; do
	for v in x 1 true x=1; do
		gpc config set --project "$k" "$v" 2>&1 | grep -q "a project's file may not set" &&
			echo "$k" && break
	done
done <keys | sort >guarded
rm -f .gpucloud.yaml
awk -v RS= '{ gsub(/[ \t\n]+/, " ") }
	/^\*[a-z_.]+\*: / && /Not in a project.s file[.]/ { sub(/\*: .*/, ""); print }
	sub(/.*Not in a project.s file: /, "") { print }' "$page" |
	grep -oE '\*[a-z][a-z_.]*' | tr -d '*' >listed
is "$(sort -u listed)" "$(cat guarded)" "gpucloud-config(5) says what a project may not set"
# a job's own variables are no keys
grep -hoE '"GPUCLOUD_[A-Z_]+"' "$ROOT/lib/agent/env.c" "$ROOT/cmd/main.c" | tr -d '"' | sort -u |
	grep -vx GPUCLOUD_STORE >names
tr 'a-z.' 'A-Z_' <keys | sed 's/^/GPUCLOUD_/' | grep -xFf names >clash
is "$(cat clash)" "" "no key's variable is one of a job"

finish
