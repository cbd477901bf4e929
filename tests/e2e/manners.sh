#!/bin/sh
# Manners of a program in a shell: readers that go away, closed and full streams,
# odd homes, narrow and dumb terminals, locales, strange argv, plug-ins.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

gpc submit --name ended -- sh -c 'echo out; echo err >&2' >/dev/null 2>&1
cat >saves.yaml <<'Y'
name: saves
checkpoint: {path: ck}
run: mkdir -p ck; echo a > ck/a; gpucloud checkpoint save
Y
gpc submit saves.yaml >/dev/null 2>&1
gpc submit --name long -- sh -c 'yes this is a long log | head -n 100000' >/dev/null 2>&1
ended=$(gpc status ended -o name)

# --- readers that go away ---
# gone WORDS…: status of gpucloud whose reader takes one line, and its stderr
gone() {
	run bash -c '"$@" 2>"$0/err2" | head -n 1 >"$0/line"; echo "${PIPESTATUS[0]}"' \
		"$T" "$GPUCLOUD_BIN" "$@"
}
gone logs long
is "$out $(cat "$T/err2" 2>/dev/null)" "141 " "logs | head ends by SIGPIPE, without a word"
is "$(cat "$T/line")" "this is a long log" "after the reader has what it wanted"
gone logs long --json
is "$out $(cat "$T/err2")" "141 " "so does logs --json | head"
gone logs long -t -f
is "$out $(cat "$T/err2")" "141 " "and logs -f | head"
run bash -c '"$0" status 2>&1 | true; echo "${PIPESTATUS[0]}"' "$GPUCLOUD_BIN"
like "$out" "^(0|141)$" "status whose reader reads nothing"
run bash -c 'trap "" PIPE; "$0" logs long 2>"$1" | head -n 1; echo "${PIPESTATUS[0]}"' \
	"$GPUCLOUD_BIN" "$T/err2"
unlike "$out" '^0$' "where SIGPIPE is ignored it is an error, not a success"

# --- a full disk ---
# full NAME WORDS…
full() {
	full_name=$1
	shift
	run sh -c '"$@" >/dev/full' sh "$GPUCLOUD_BIN" "$@"
	[ "$rc" -ne 0 ]
	ok $? "/dev/full: $full_name fails" || note "$err"
	like "$err" 'cannot write to stdout.*No space left' "/dev/full: $full_name says why"
}
full version version
full --version --version
full help help
full "help of a command" logs --help
full "help spec" help spec
full status status
full "one job" status ended
full "status --json" status --json
full "status -o csv" status -o csv
full logs logs ended
full "logs --json" logs ended --json
full offers offers
full cost cost
full "cost of a job" cost ended
full "cost of a spec" cost saves.yaml
full "a dry run" submit -n saves.yaml
full templates init --list
full "a template" init -o -
full checkpoints checkpoint list saves
full "pull --json" pull ended --json
full "cancel --json" cancel ended --json
full "release" release ended
full "wait --json" wait ended --json
run sh -c '"$0" submit -d --name full -- true >/dev/full' "$GPUCLOUD_BIN"
[ "$rc" -ne 0 ]
ok $? "/dev/full: submit -d fails"
like "$err" "full-[a-z2-7]{6} is submitted, but" "and names the job that it has made all the same"
like "$err" 'hint: full-[a-z2-7]{6} itself goes on' "and how to go on with it"
unlike "$err" 'repeat' "but not to submit another one"
run gpc wait full
is "$rc" 0 "which runs"
run sh -c '"$0" submit --name floods -- sh -c "echo hi; sleep 600" >/dev/full' "$GPUCLOUD_BIN"
[ "$rc" -ne 0 ]
ok $? "/dev/full: submit fails once the job says something"
like "$err" 'hint: floods-[a-z2-7]{6} itself goes on; .*logs -f floods-.*cancel floods-' "and says that it goes on"
unlike "$err" 'repeat' "and not to repeat it"
run gpc cancel --now floods
is "$rc" 0 "as it does"

# --- a job whose supervisor is killed ---
cat >left.yaml <<Y
name: left
checkpoint: {path: ck}
run: mkdir -p ck; echo a > ck/a; until [ -e '$T/go' ]; do sleep 0.1; done
Y
gpc submit -q -d left.yaml >/dev/null
supervisor() { gpc status left | sed -n 's/^Supervisor:.*process \([0-9]*\) on this machine$/\1/p'; }
runs() { [ -n "$(supervisor)" ] && gpc status left | grep -q 'RUNNING'; }
wait_until 60 runs
at_terminal --size 24x80 --screen '' "$GPUCLOUD_BIN" checkpoint save left
like "$out" '^1-[0-9]+-user *$' "checkpoint save leaves its id alone on its line" || note "$out"
kill -9 "$(supervisor)"
killed() { gpc status left | grep -q '^Supervisor:  *nobody'; }
wait_until 60 killed
run gpc status left
like "$out" 'nobody: process [0-9]+ .*the job waits' "a job without a supervisor says so"
like "$out" 'gpucloud supervise. goes on with it' "and what goes on with it"
touch "$T/go"
over() { gpc status left | grep -q SUCCEEDED; }
wait_until 60 over
run gpc status left
like "$out" 'nobody: .gpucloud release left-[a-z2-7]{6}. gives back' "once it has ended, what gives its node back"
unlike "$out" 'the job waits' "for it does not wait any more"
run gpc status
like "$out" 'left-.*1 node being given back \(gpucloud release left-' "the list says so too"
run gpc release left
is "$rc" 0 "and that does it"
run gpc status
unlike "$out" 'given back' "so nothing is held"

# --- closed streams ---
for words in version status 'status ended' 'logs ended' offers 'help spec' --help; do
	# shellcheck disable=SC2086  # split into words
	run sh -c '"$@" >&-' sh "$GPUCLOUD_BIN" $words
	[ "$rc" -ne 0 ] && [ "$rc" -lt 126 ]
	ok $? "stdout closed: $words fails (status $rc)"
done
run sh -c '"$0" wait ended >&-' "$GPUCLOUD_BIN"
is "$rc" 0 "what prints nothing there needs no stdout"
run sh -c '"$0" status <&-' "$GPUCLOUD_BIN"
is "$rc" 0 "stdin closed: status"
run sh -c '"$0" submit - <&-' "$GPUCLOUD_BIN"
[ "$rc" -ne 0 ] && [ "$rc" -lt 126 ]
ok $? "stdin closed: a spec from there is an error (status $rc)" || note "$err"
run sh -c '"$0" status 2>&-' "$GPUCLOUD_BIN"
is "$rc" 0 "stderr closed: status"
run sh -c '"$0" status nosuch 2>&-' "$GPUCLOUD_BIN"
is "$rc" 5 "stderr closed: an error has its status"
run sh -c '"$0" submit -d --name closed -- sh -c "echo marker; echo marker2 >&2" <&- >&- 2>&-' \
	"$GPUCLOUD_BIN"
run gpc wait closed
is "$rc" 0 "all closed: submit -d makes a job that runs"
run gpc logs closed
is "$out $err" "marker marker2" "whose output is where it belongs"
run sh -c '"$0" submit --name closed2 -- sh -c "echo marker; sleep 0.3; exit 3" <&- >&- 2>&-' \
	"$GPUCLOUD_BIN"
gpc wait closed2 >/dev/null 2>&1
is "$?" 3 "all closed: attached submit leaves a job that runs to its end"
# talk must not have got into a file that was opened as 1 or 2
is "$(grep -rlE 'Plan for|gpucloud: (submitted|RUNNING)' "$XDG_DATA_HOME" "$XDG_STATE_HOME" \
	"$XDG_CACHE_HOME" 2>/dev/null)" "" "no talk has got into a file of the store"

# --- homes ---
nohome() { env -u HOME -u XDG_CONFIG_HOME -u XDG_DATA_HOME -u XDG_STATE_HOME -u XDG_CACHE_HOME "$@"; }
run nohome "$GPUCLOUD_BIN" version
is "$rc" 0 "no HOME: version"
run nohome "$GPUCLOUD_BIN" --store "$T/store2" status
like "$rc" "^[0-9]$" "no HOME: status ends (status $rc)"
at_home() { # NAME HOME
	run nohome env "HOME=$2" "$GPUCLOUD_BIN" version
	is "$rc" 0 "$1: version"
	run nohome env "HOME=$2" "$GPUCLOUD_BIN" status
	like "$rc" "^[0-9]$" "$1: status ends (status $rc)"
	[ "$rc" -eq 0 ] || like "$err" "^gpucloud: .*($2|HOME)" "$1: which says where"
}
touch "$T/afile"
for home in "$T/afile" /proc; do
	at_home "HOME=${home#"$T"}" "$home"
	run nohome env "HOME=$home" "$GPUCLOUD_BIN" --store "$T/store9" submit -d -- true
	[ "$rc" -ne 0 ] && [ "$rc" -lt 126 ]
	ok $? "HOME=${home#"$T"}: submit fails (status $rc)"
	like "$err" "gpucloud: .*($home|HOME)" "HOME=${home#"$T"}: and says where"
	like "$err" "hint: .*XDG_STATE_HOME" "HOME=${home#"$T"}: and what to set"
	[ ! -e "$T/store9" ]
	ok $? "HOME=${home#"$T"}: and makes nothing in the store"
	run nohome env "HOME=$home" "$GPUCLOUD_BIN" config set owner me
	[ "$rc" -ne 0 ] && [ "$rc" -lt 126 ]
	ok $? "HOME=${home#"$T"}: config set fails (status $rc)"
	like "$err" "hint: .*XDG_CONFIG_HOME" "HOME=${home#"$T"}: and says what to set"
done
run gpc submit /
is "$rc" 3 "a folder is no spec"
like "$err" "hint: .*submit /job.yaml" "and what to name is said"
# these mean the home of the password file, as no HOME does: only looked at here
at_home "HOME is relative" some/where
at_home "HOME is empty" ""
[ ! -e some ]
ok $? "and nothing is made in a relative one"
run nohome env HOME=/proc "XDG_STATE_HOME=$T/s3" "XDG_CACHE_HOME=$T/c3" "$GPUCLOUD_BIN" \
	--store "$T/store3" submit --name away -- true
is "$rc" 0 "HOME cannot be written, all else is set: a job runs" || note "$err"
nohome env HOME=/proc "XDG_STATE_HOME=$T/s3" "XDG_CACHE_HOME=$T/c3" "$GPUCLOUD_BIN" \
	--store "$T/store3" release away >/dev/null 2>&1

# --- terminals ---
terminal() { # COLUMNS COMMAND…
	size=50x$1
	shift
	at_terminal --size "$size" '' "$@"
	plain=$(printf '%s\n' "$out" | sed 's/\x1b\[[0-9;?]*[A-Za-z]//g')
}
longest() { printf '%s\n' "$plain" | LC_ALL=C.UTF-8 wc -L; }
fits() { # COLUMNS NAME
	[ "$(longest)" -le "$1" ]
	ok $? "$2" || note "$plain"
}
for columns in 40 80 200; do
	terminal $columns "$GPUCLOUD_BIN" status
	fits $columns "status fits $columns columns"
	like "$plain" "$ended  *SUCCEEDED" "$columns columns: ids and states are whole"
	terminal $columns "$GPUCLOUD_BIN" cost
	fits $columns "cost fits $columns columns"
	like "$plain" "$ended .*[$]0.00" "$columns columns: with the cost"
	terminal $columns "$GPUCLOUD_BIN" checkpoint list saves
	fits $columns "checkpoint list fits $columns columns"
	terminal $columns "$GPUCLOUD_BIN" offers --gpus H100:8
	fits $columns "offers fits $columns columns"
	terminal $columns "$GPUCLOUD_BIN" offers --infra fake
	fits $columns "many offers fit $columns columns"
	like "$plain" "ZONE .*PER HOUR" "$columns columns: with what tells them apart"
	terminal $columns sh -c '"$0" submit -n saves.yaml >/dev/null' "$GPUCLOUD_BIN"
	fits $columns "a plan fits $columns columns"
	terminal $columns "$GPUCLOUD_BIN" submit -d --wait saves.yaml
	fits $columns "an error fits $columns columns"
	terminal $columns "$GPUCLOUD_BIN" submit -d --name shown -- true
	fits $columns "submit -d fits $columns columns"
	gpc wait shown >/dev/null 2>&1
done
for columns in 30 40 80; do
	terminal $columns "$GPUCLOUD_BIN" status ended
	fits $columns "one job fits $columns columns"
	terminal $columns "$GPUCLOUD_BIN" checkpoint --help
	fits $columns "help of a command fits $columns columns"
	terminal $columns "$GPUCLOUD_BIN" status floods
	fits $columns "so does what to do with a job" # a long command to copy
done
terminal 40 "$GPUCLOUD_BIN" release -n ended
like "$plain" 'RESULT' "40 columns: a release shows what came of it"
terminal 40 "$GPUCLOUD_BIN" status ended
like "$plain" "^Submitted:   [-0-9]+ [0-9:]+ " "40 columns: what one job is stands"
like "$plain" "^             [a-z(]" "40 columns: below itself"
terminal 40 "$GPUCLOUD_BIN" checkpoint --help
is "$(printf '%s\n' "$plain" | tr -d '\r' | sed -n '1,4p')" "usage: gpucloud checkpoint save
         [OPTION]... [JOB]
       gpucloud checkpoint list
         [OPTION]... [JOB]" "40 columns: each way to call it hangs alike"
terminal 80 "$GPUCLOUD_BIN" offers --all --infra fake
like "$plain" "MARKET +PER HOUR +WHY NOT" "80 columns: an offer's market and why it does not fit"
like "$plain" " south-a +8 +A100-80GB +spot +[$]5.76 +it is sold" "80 columns: before what its type says"
terminal 80 "$GPUCLOUD_BIN" help
fits 80 "help fits 80 columns"
terminal 10 "$GPUCLOUD_BIN" status
is "$rc" 0 "10 columns: status works"
terminal 1 "$GPUCLOUD_BIN" status
is "$rc" 0 "1 column: status works"
COLUMNS=10 run gpc status
like "$out" "AGE.*DETAIL" "COLUMNS cuts nothing where no terminal is"
run gpc release
is "$(printf '%s\n' "$err" | grep -c .)" 2 "where no terminal is, a message is one line and a hint one"

terminal 80 "$GPUCLOUD_BIN" status
like "$out" "$(printf '\033')" "a terminal has colours"
NO_COLOR=1 terminal 80 "$GPUCLOUD_BIN" status
unlike "$out" "$(printf '\033')" "NO_COLOR: none"
NO_COLOR=1 terminal 80 "$GPUCLOUD_BIN" --color status
like "$out" "$(printf '\033')" "--color asks for them all the same"
TERM_IS=dumb terminal 80 "$GPUCLOUD_BIN" status
unlike "$out" "$(printf '\033')" "TERM=dumb: none"
TERM_IS='' terminal 80 "$GPUCLOUD_BIN" status
unlike "$out" "$(printf '\033')" "no TERM: none"
TERM_IS=dumb terminal 80 "$GPUCLOUD_BIN" submit --name dumb -- sleep 0.3
unlike "$out" "$(printf '\033|\r')" "TERM=dumb: no progress line either"
run gpc status
unlike "$out$err" "$(printf '\033')" "no terminal: none"

# --- locales ---
gpc submit --name 'größe 中文' -- true >/dev/null 2>&1
for locale in C C.UTF-8 xx_YY.ISO-8859-1; do
	run env LC_ALL=$locale "$GPUCLOUD_BIN" status @
	like "$out" 'größe 中文' "LC_ALL=$locale: a name is shown as it was written"
	run env LC_ALL=$locale "$GPUCLOUD_BIN" status @ --json
	is "$(printf '%s' "$out" | jq -r .name)" 'größe 中文' "LC_ALL=$locale: in JSON too"
done
run env LC_ALL=de_DE.UTF-8 LC_NUMERIC=de_DE.UTF-8 "$GPUCLOUD_BIN" cost ended
like "$out" '[$]0[.]00' "a decimal point is a point in every locale"

# --- CI ---
run env CI=true "$GPUCLOUD_BIN" submit --name ci -- sh -c 'echo from ci'
is "$rc" 0 "CI=true: a job runs"
is "$out" "from ci" "and shows its output alone on stdout"
unlike "$err" "$(printf '\033|\r')" "no progress, no colours"
mkdir -p "$XDG_STATE_HOME/gpucloud/fake"
echo '{"boot": true, "faults": []}' >"$XDG_STATE_HOME/gpucloud/fake/script.json"
run env CI=true "$GPUCLOUD_BIN" submit --infra fake -- true
is "$rc" 2 "CI=true: what costs money asks for -y, and does not hang"

# --- argv ---
run bash -c 'exec -a "" "$0" version' "$GPUCLOUD_BIN"
is "$rc" 0 "an empty argv[0]"
cat >noargs.py <<'P'
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
none = (ctypes.c_char_p * 1)(None)
environ = [f"{k}={v}".encode() for k, v in os.environ.items()] + [None]
libc.execve(sys.argv[1].encode(), none, (ctypes.c_char_p * len(environ))(*environ))
P
run /usr/bin/python3 noargs.py "$GPUCLOUD_BIN"
is "$rc" 2 "no argv at all is a wrong command line"
like "$err" "no command given" "and it says so"
big=$(head -c 100000 /dev/zero | tr '\0' x)
run "$GPUCLOUD_BIN" "$big"
is "$rc" 2 "a command of 100,000 letters"
[ "$(printf '%s' "$err" | wc -c)" -lt 2000 ]
ok $? "has a short message" || note "$(printf '%s' "$err" | wc -c)"
run "$GPUCLOUD_BIN" logs "$big"
is "$rc" 5 "a job of 100,000 letters"
run "$GPUCLOUD_BIN" logs "--$big"
is "$rc" 2 "an option of 100,000 letters"
run "$GPUCLOUD_BIN" version "--output=$big"
is "$rc" 2 "a value of 100,000 letters"
/usr/bin/python3 - "$GPUCLOUD_BIN" <<'P' >"$T/out" 2>&1
import subprocess, sys
r = subprocess.run([sys.argv[1], "wait"] + ["nosuch"] * 20000, capture_output=True)
print(r.returncode)
P
is "$(cat "$T/out")" 5 "20,000 words"
run "$GPUCLOUD_BIN" status "$(printf 'a\nb\033[2J')"
is "$rc" 5 "control bytes in a word"
unlike "$err" "$(printf '\033')" "do not reach the terminal"
run "$GPUCLOUD_BIN" ''
is "$rc" 2 "an empty command"
run "$GPUCLOUD_BIN" -- version
is "$rc" 0 "-- before the command"

# --- links and plug-ins ---
mkdir -p bin other
ln -s "$GPUCLOUD_BIN" bin/gpucloud-version
ln -s "$GPUCLOUD_BIN" bin/gpucloud-status
ln -s "$GPUCLOUD_BIN" bin/gpucloud-nosuch
run bin/gpucloud-version
like "$out" '^gpucloud [0-9]' "gpucloud-version, a link, is gpucloud version"
run bin/gpucloud-status ended -o name
is "$out" "$ended" "a link takes options and words"
run bin/gpucloud-status --help
like "$out" '^usage: gpucloud status' "and --help"
run bin/gpucloud-nosuch version
like "$out" '^gpucloud [0-9]' "a link of another name is plain gpucloud"
cat >bin/gpucloud-hello <<'P'
#!/bin/sh
echo "name=$0 n=$#"
for a; do echo "<$a>"; done
cat
echo talk >&2
exit 42
P
cp bin/gpucloud-hello bin/gpucloud-logs
cp bin/gpucloud-hello other/gpucloud-other
printf 'not a program' >bin/gpucloud-data
chmod +x bin/gpucloud-hello bin/gpucloud-logs other/gpucloud-other
with_path() { env "PATH=$1:$PATH" "$GPUCLOUD_BIN" hello "$@"; }
run sh -c 'echo input | PATH=$1:$PATH "$0" hello -v --name="a b" -- "" "*"' "$GPUCLOUD_BIN" "$PWD/bin"
is "$rc" 42 "a plug-in's exit status passes"
is "$out" "name=$PWD/bin/gpucloud-hello n=5
<-v>
<--name=a b>
<-->
<>
<*>
input" "it has all that follows its name, and stdin"
is "$err" talk "and stderr"
cat >bin/gpucloud-told <<'P'
#!/bin/sh
echo "$#,${GPUCLOUD_STORE-},${GPUCLOUD_PROFILE-},${GPUCLOUD_COLOR-}"
echo "${GPUCLOUD_LOG_LEVEL-},${GPUCLOUD_LOG_FORMAT-}"
env | grep -c '^GPUCLOUD_STORE='
P
chmod +x bin/gpucloud-told
told() { run env "PATH=$PWD/bin:$PATH" GPUCLOUD_STORE=/mine "$GPUCLOUD_BIN" "$@"; }
told told
is "$out" "0,/mine,,
,
1" "a plug-in has the environment as it is"
told --store "/some where" --profile work --no-color -vv --log-format json told
is "$out" "0,/some where,work,never
trace,json
1" "options before it are told it by their variables"
told -v --color told
is "$out" "0,/mine,,always
verbose,
1" "what is not said there stays"
told -qv help told
is "$out" "1,/mine,,
error,
1" "when it is asked for help, too"
cat >bin/gpucloud-again <<'P'
#!/bin/sh
exec "$GPUCLOUD_BIN" status -o name
P
chmod +x bin/gpucloud-again
run env "PATH=$PWD/bin:$PATH" "GPUCLOUD_BIN=$GPUCLOUD_BIN" "$GPUCLOUD_BIN" --store "$T/none" -v again
is "$rc,$out" "0," "a gpucloud that it runs finds that store"
run env "PATH=$PWD/bin:$PATH" "$GPUCLOUD_BIN" logs ended
is "$out" out "a plug-in does not shadow a command"
run env "PATH=$PWD/bin:$PATH" "$GPUCLOUD_BIN" hallo
is "$rc" 2 "an unknown command"
like "$err" "did you mean hello" "the hint knows plug-ins"
run env "PATH=$PWD/bin:$PATH" "$GPUCLOUD_BIN" data
is "$rc" 2 "a file that cannot be run is no plug-in"
cp bin/gpucloud-hello gpucloud-here
for path in "" . ":" "other"; do
	run env "PATH=$path:/usr/bin:/bin" "$GPUCLOUD_BIN" here
	is "$rc" 2 "PATH \"$path\": the current folder is not searched"
	run env "PATH=$path:/usr/bin:/bin" "$GPUCLOUD_BIN" other
	is "$rc" 2 "PATH \"$path\": nor is a relative one"
done
run env "PATH=$PWD/bin:$PATH" "$GPUCLOUD_BIN" ../work/bin/gpucloud-hello
is "$rc" 2 "a path is no plug-in"
run env "PATH=$PWD/bin:/usr/bin:/bin" "$GPUCLOUD_BIN" help hello
is "$rc" 42 "help of a plug-in is its own affair"
is "$out" "name=$PWD/bin/gpucloud-hello n=1
<--help>" "it is asked by --help"
run env "PATH=$PWD/bin:/usr/bin:/bin" "$GPUCLOUD_BIN" help hallo
is "$rc" 2 "help of nothing"
like "$err" "did you mean hello" "its hint knows plug-ins"
finish
