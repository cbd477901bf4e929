#!/bin/sh
# workdir: {url, ref}: a commit of a repository becomes the workspace, by the
# system's git, with no shell, no hook, no secret in a record, and nothing left.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
command -v git >/dev/null || skip_all "there is no git"

export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=n@example.org \
	GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=n@example.org
CACHE=$XDG_CACHE_HOME/gpucloud/git
REPO="$T/a repo"
URL=file://$REPO

# A repository with what may go wrong: an executable, a link, a tracked file that
# is ignored, a filter, a submodule's folder, a hook.
git init -q -b main "$REPO"
(
	cd "$REPO" || exit 1
	mkdir -p src/deep
	echo one >src/deep/data
	printf '#!/bin/sh\necho ran\n' >run.sh
	chmod 755 run.sh
	ln -s src/deep/data link
	echo '*.log' >.gitignore
	echo kept >kept.log
	git add -f .
	git commit -qm one
	git tag -a v1 -m v1
	git checkout -qb dev
	echo two >src/deep/data
	git commit -qam two
	git checkout -q main
)
ONE=$(git -C "$REPO" rev-parse main)
TWO=$(git -C "$REPO" rev-parse dev)
cat >job.yaml <<Y
name: g
workdir: {url: "$URL", ref: main}
run: cat src/deep/data link kept.log; ./run.sh; ls -A; ls -ld run.sh | cut -c1-10
Y
head_of() { gpc status "$1" --json | sed -n 's/.*"workspace": "\(.*\)".*/\1/p'; }
commit_of() { gpc status "$1" --json | sed -n 's/.*"commit": "\(.*\)".*/\1/p'; }
scratches() { find "$CACHE/scratch" -mindepth 1 2>/dev/null | grep -c .; }
# A git that notes each call.
mkdir -p "$T/bin"
cat >"$T/bin/git" <<X
#!/bin/sh
printf '%s\\n' "\$*" >>"$T/calls"
exec "$(command -v git)" "\$@"
X
chmod 755 "$T/bin/git"
with_git_noted() { PATH="$T/bin:$PATH" run gpc "$@"; }
fetches() { grep -c ' fetch ' "$T/calls"; }

# --- the tree ---------------------------------------------------------------
run gpc submit job.yaml
is "$rc" 0 "a branch of a repository runs"
is "$out" "one
one
kept
ran
.gitignore
kept.log
link
run.sh
src
-rwxr-xr-x" "with every file of the commit, modes and links, without .git"
like "$err" "workdir +$URL@main \\($(echo "$ONE" | cut -c1-12)\\): 4 files" "the plan names the commit"
is "$(commit_of @)" "$ONE" "the job's record has it"
like "$(gpc status @)" "^Workdir: .*@main \\($(echo "$ONE" | cut -c1-12)\\)" "and status shows it"
is "$(scratches)" 0 "no scratch folder is left"
first=$(head_of @)

# A clone elsewhere, other umask, an hour later by its clock: the same blobs.
git clone -q "$REPO" "$T/clone"
rm -rf "$CACHE"
(umask 077 && gpc submit -d job.yaml --git-url "$T/clone") >/dev/null 2>&1
gpc wait @ 2>/dev/null
is "$(head_of @)" "$first" "the same commit from elsewhere makes the same snapshot"

# --- what a ref may be ------------------------------------------------------
for ref in v1 "$ONE" "$(echo "$ONE" | tr a-f A-F)" refs/heads/main HEAD; do
	run gpc submit -n --json job.yaml --git-ref "$ref"
	like "$out" "\"commit\": \"$ONE\"" "ref $ref"
done
run gpc submit -n --json job.yaml --git-ref dev
like "$out" "\"commit\": \"$TWO\"" "ref dev"
run gpc submit -n --json --git-url "$URL" -- true
like "$out" "\"commit\": \"$ONE\"" "no ref is the default branch"
short=$(echo "$TWO" | cut -c1-8)
run gpc submit -n --json job.yaml --git-ref "$short"
like "$out" "\"commit\": \"$TWO\"" "the first digits of a commit"
(cd "$REPO" && git checkout -q dev && echo three >src/deep/data && git commit -qam three && git checkout -q main)
rm -rf "$CACHE"
run gpc submit -n --json job.yaml --git-ref "$short"
like "$out" "\"commit\": \"$TWO\"" "also of one that no branch ends in"
run gpc submit -n --json job.yaml --git-ref "$TWO"
like "$out" "\"commit\": \"$TWO\"" "and all its digits"
(cd "$T/work" && ln -s "$REPO" here)
run gpc submit -n --json --git-url ./here -- true
like "$out" "\"url\": \"$T/work/here\"" "a path is made absolute"

# --- the cache --------------------------------------------------------------
rm -rf "$CACHE"
: >"$T/calls"
with_git_noted submit -n job.yaml
is "$(fetches)" 1 "a commit is fetched once"
with_git_noted submit -n job.yaml
is "$(fetches)" 1 "and not again"
: >"$T/calls"
with_git_noted submit -n job.yaml --git-ref "$ONE"
unlike "$(cat "$T/calls")" 'ls-remote| fetch ' "a whole commit id that is there needs no server"
for d in "$CACHE"/*/objects; do find "$d" -type f -exec rm -f {} +; done
run gpc submit -n --json job.yaml
like "$out" "\"commit\": \"$ONE\"" "a damaged cache is made anew"
rm -rf "$CACHE"
: >"$T/calls"
(PATH="$T/bin:$PATH" gpc submit -n job.yaml >/dev/null 2>&1) &
other=$!
with_git_noted submit -n job.yaml
is "$rc" 0 "two submits at once"
wait "$other"
is $? 0 "both work"
is "$(fetches)" 1 "with one fetch"

# --- what was submitted is what runs ----------------------------------------
cat >later.yaml <<Y
name: later
workdir: {url: "$REPO", ref: dev}
run: while [ ! -e "$T/go" ]; do sleep 0.1; done; cat src/deep/data
Y
run gpc submit -d later.yaml
(cd "$REPO" && git checkout -q dev && echo four >src/deep/data && git commit -qam four && git checkout -q main)
: >"$T/go"
gpc wait later 2>/dev/null
is "$(gpc logs later)" three "the branch moved, the job did not"

# --- killed in the middle ---------------------------------------------------
mkdir -p "$CACHE/scratch/dead/tree"
: >"$CACHE/scratch/dead/tree/file"
run gpc submit -n job.yaml
is "$(scratches)" 0 "what a killed run left goes with the next one"
cat >"$T/bin/slow-git" <<X
#!/bin/sh
case " \$* " in *" read-tree "*) : >"$T/reading"; exec sleep 600 ;; esac
exec "$(command -v git)" "\$@"
X
chmod 755 "$T/bin/slow-git"
mkdir "$T/slow" && ln -s "$T/bin/slow-git" "$T/slow/git"
for signal in KILL TERM INT; do
	rm -f "$T/reading"
	PATH="$T/slow:$PATH" "$GPUCLOUD_BIN" submit -n job.yaml >/dev/null 2>"$T/err" &
	pid=$!
	wait_until 20 test -e "$T/reading"
	if [ $signal = KILL ]; then
		is "$(find "$CACHE/scratch" -mindepth 1 -maxdepth 1 -type d | grep -c .)" 1 "while it works there is one"
	fi
	# sh starts what runs in the background with SIGINT ignored
	[ $signal = INT ] && signal=TERM
	kill -$signal "$pid"
	wait "$pid" 2>/dev/null
	rc=$?
	if [ $signal = KILL ]; then
		# its git lives on until somebody ends it, here we
		for p in $(pids_with "GIT_INDEX_FILE=$CACHE/scratch"); do kill "$p"; done
		run gpc submit -n job.yaml
		is "$rc" 0 "after kill -9 the next submit works"
	else
		is "$rc" 143 "interrupted: 143"
		is "$(pids_with "GIT_INDEX_FILE=$CACHE/scratch")" "" "its git is gone"
	fi
	is "$(scratches)" 0 "no scratch folder is left"
done

# What a git that was killed locked stays locked to every git: the copy, which is one
# of many, is made anew.
for lock in shallow.lock refs/gpucloud/incoming.lock; do
	rm -rf "$CACHE"
	gpc submit -q -n job.yaml >/dev/null 2>&1
	locked=$(find "$CACHE" -name '*.lock' ! -name 'scratch*')
	mkdir -p "$(dirname "${locked%.lock}/$lock")"
	: >"${locked%.lock}/$lock"
	run gpc submit -n job.yaml --git-ref dev
	is "$rc:$(test -e "${locked%.lock}/$lock" && echo left)" 0: \
		"a $lock that a killed git left holds up nobody"
done

# --- copies that nobody uses ------------------------------------------------
copies() { find "$CACHE" -mindepth 1 -maxdepth 1 -type d ! -name scratch | grep -c .; }
n=$(copies)
run gpc prune -y
is "$(copies)" "$n" "prune keeps the copies of repositories"
find "$CACHE" -maxdepth 1 -name '*.lock' -exec touch -d '40 days ago' {} +
run gpc prune --dry-run
like "$err" "$n cached git repositor(y|ies) .*30 days would go" "until they lie unused for 30 days"
is "$(copies)" "$n" "a dry run only says so"
run gpc prune --jobs -y
is "$(copies)" "$n" "--jobs leaves them"
run gpc prune -y -o json
is "$rc:$(copies)" "0:0" "prune removes them" || note "$err"
is "$(printf '%s' "$out" | jq -c '.rows[] | select(.what == "git") | [.objects, .result]')" \
	"[$n,\"removed\"]" "and says how many"
is "$(find "$CACHE" -maxdepth 1 ! -name 'scratch*' | grep -c .)" 1 "with their locks"
run gpc submit -n job.yaml
is "$rc" 0 "the next submit fetches again"

# --- errors -----------------------------------------------------------------
refused() { # STATUS REGEX NAME ARGUMENT…
	want=$1 regex=$2 name=$3
	shift 3
	run gpc submit -n "$@"
	is "$rc" "$want" "$name"
	like "$err" "$regex" "$name: says why"
}
cached() { (cd "$CACHE" && ls -A); }
before=$(cached)
refused 3 'did you mean dev' "no such ref" job.yaml --git-ref devv
refused 3 'no branch, tag or commit "0123abcd"' "no such commit" job.yaml --git-ref 0123abcd
refused 3 'does not appear to be a git repository' "no repository" --git-url "$T/nowhere" -- true
refused 7 'Connection refused|unable to connect' "no server" --git-url git://127.0.0.1:9/x -- true
refused 3 'helper|may be asked only' "a helper program" --git-url 'ext::sh -c date' -- true
refused 3 'begins with -' "an option" --git-url=--upload-pack=date -- true
refused 3 'cannot begin with -' "a host that is an option" --git-url=ssh://-oProxyCommand=date/x -- true
refused 3 'name of a branch' "a ref that is an option" --git-url "$URL" --git-ref=--force -- true
refused 2 'exclude each other' "a folder and a repository" --git-url "$URL" --workdir . -- true
git init -q "$T/empty"
refused 3 'no default branch.*empty' "an empty repository" --git-url "$T/empty" -- true
refused 3 'does not appear to be a git repository' "a whole commit id of no repository" \
	--git-url "$T/nowhere" --git-ref "$ONE" -- true
is "$(cached)" "$before" "nothing stays in the cache of what could not be had"
mkdir "$T/nogit"
for p in $(printf %s "$PATH" | tr : ' '); do
	for f in "$p"/*; do
		case ${f##*/} in git*) ;; *) ln -s "$f" "$T/nogit/" 2>/dev/null ;; esac
	done
done
run env PATH="$T/nogit" "$GPUCLOUD_BIN" submit -n job.yaml
is "$rc" 3 "no git"
like "$err" 'install git' "no git: says what to do"

# --- nothing of the repository runs here ------------------------------------
(
	cd "$REPO" || exit 1
	printf '* filter=evil\n' >.gitattributes
	printf '[submodule "x"]\n\tpath = x\n\turl = ext::touch %s/owned\n' "$T" >.gitmodules
	git update-index --add --cacheinfo "160000,$ONE,x"
	git add .gitattributes .gitmodules
	git commit -qm evil
	printf '#!/bin/sh\ntouch "%s/owned"\n' "$T" >.git/hooks/post-checkout
	cp .git/hooks/post-checkout .git/hooks/post-upload-pack
	chmod 755 .git/hooks/post-checkout
	git config uploadpack.packObjectsHook "touch $T/owned"
)
mkdir -p "$HOME"
cat >"$HOME/.gitconfig" <<X
[filter "evil"]
	smudge = touch $T/owned; cat
	required = true
[init]
	templateDir = $T/template
X
mkdir -p "$T/template/hooks"
cp "$REPO/.git/hooks/post-checkout" "$T/template/hooks/reference-transaction"
run gpc submit -n job.yaml
is "$rc" 0 "a repository with filter, submodule and hooks"
[ ! -e "$T/owned" ]
ok $? "runs nothing"
like "$err" 'has submodules, which are not fetched' "and its submodules are named"
rm "$HOME/.gitconfig"
(cd "$REPO" && git reset -q --hard "$ONE")

# .gpucloudignore of the commit counts.
(cd "$REPO" && printf '/kept.log\n' >.gpucloudignore && git add . && git commit -qm ignore)
run gpc submit -n -v job.yaml
like "$err" '^ *- kept.log  by .gpucloudignore:1' ".gpucloudignore leaves out"

# --- ssh --------------------------------------------------------------------
mkdir "$T/ssh"
cat >"$T/ssh/ssh" <<X
#!/bin/sh
printf '%s\\n' "\$*" >>"$T/ssh-calls"
for last; do :; done
exec sh -c "\$last"
X
chmod 755 "$T/ssh/ssh"
: >"$T/my key"
PATH="$T/ssh:$PATH" GIT_SSH_KEY_PATH="$T/my key" run gpc submit -n --json --git-url "me@host:$T/clone" -- true
is "$rc" 0 "the scp form" || note "$err"
like "$(cat "$T/ssh-calls")" "^-i $T/my key -o IdentitiesOnly=yes -o BatchMode=yes .*me@host git-upload-pack" "with the key of GIT_SSH_KEY_PATH, and no question"
PATH="$T/ssh:$PATH" run gpc submit -n --json --git-url "ssh://me@host$T/clone" -- true
is "$rc" 0 "the ssh form"

# --- a transport that hangs -------------------------------------------------
# It heeds no signal that can be heeded, as one may that waits for a dead server.
mkdir "$T/hang"
cat >"$T/hang/ssh" <<X
#!/bin/sh
trap '' TERM INT HUP
echo \$\$ >"$T/hung.new" && mv "$T/hung.new" "$T/hung"
while :; do sleep 1; done
X
chmod 755 "$T/hang/ssh"
hung() { # COMMAND…: begins it, and waits until its transport hangs
	rm -f "$T/hung"
	PATH="$T/hang:$PATH" "$@" >/dev/null 2>"$T/err" </dev/null &
	shell=$!
	wait_until 20 test -e "$T/hung"
	ssh=$(cat "$T/hung")
}
gone() { ! alive "$1"; }
hung "$GPUCLOUD_BIN" submit -n --git-url me@host:r -- true
kill -TERM "$shell"
wait "$shell" 2>/dev/null
is $? 143 "interrupted while a transport hangs"
wait_until 10 gone "$ssh"
ok $? "it is gone"

hung "$GPUCLOUD_BIN" submit -n --git-url me@host:r -- true
kill_pids KILL "$(sed -n 's/^PPid:[^0-9]*//p' "/proc/$ssh/status")"
wait "$shell" 2>/dev/null
is $? 1 "a git that dies while its transport hangs is an error"
like "$(cat "$T/err")" "git ended with signal 9" "which says so"
wait_until 10 gone "$ssh"
ok $? "the transport is gone as well"

# At a terminal it stays in the foreground's process group, to be able to ask.
if command -v script >/dev/null; then
	hung script -qec "$GPUCLOUD_BIN submit -n --git-url me@host:r -- true" /dev/null
	client=$(for p in $(pids_with "$T/"); do
		is_program "$p" && program_args "$p" | grep -q "^submit -n --git-url" && echo "$p"
	done)
	kill_pids TERM "$client"
	wait "$shell" 2>/dev/null
	is $? 143 "interrupted at a terminal while a transport hangs"
	wait_until 10 gone "$ssh"
	ok $? "it is gone there too"
else
	skip "interrupted at a terminal" "there is no script"
fi

# --- tokens -----------------------------------------------------------------
# A server that wants a password, and shows what it was given. Plain http is
# fine here: it is this machine.
cat >server.py <<'P'
import base64, http.server, os, subprocess, sys, threading
repo, want, log = sys.argv[1], sys.argv[2], sys.argv[3]
class H(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a): pass
    def allowed(self):
        got = self.headers.get("Authorization", "")
        user_password = base64.b64decode(got[6:]).decode() if got.startswith("Basic ") else ""
        with open(log, "a") as f: f.write((user_password or "-") + "\n")
        if user_password.split(":")[-1] == want: return True
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.send_header("Content-Length", "0")
        self.end_headers()
    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def pack(self, *args, data=b""):
        env = dict(os.environ, GIT_PROTOCOL=self.headers.get("Git-Protocol", ""))
        return subprocess.run(["git", "upload-pack", "--stateless-rpc", *args, repo],
            input=data, stdout=subprocess.PIPE, env=env).stdout
    def do_GET(self):
        if self.path.startswith("/moved/"):
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.2:%d%s" % (self.server.server_port, self.path[6:]))
            self.send_header("Content-Length", "0")
            return self.end_headers()
        if not self.allowed(): return
        head = b"" if "version=2" in self.headers.get("Git-Protocol", "") else b"001e# service=git-upload-pack\n0000"
        self.answer("application/x-git-upload-pack-advertisement", head + self.pack("--advertise-refs"))
    def do_POST(self):
        if not self.allowed(): return
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Content-Encoding") == "gzip":
            import gzip; data = gzip.decompress(data)
        self.answer("application/x-git-upload-pack-result", self.pack(data=data))
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), H)
elsewhere = http.server.ThreadingHTTPServer(("127.0.0.2", s.server_port), H)
threading.Thread(target=elsewhere.serve_forever, daemon=True).start()
print(s.server_port, flush=True)
s.serve_forever()
P
SECRET=tok-$$-verysecret
: >"$T/seen"
/usr/bin/python3 server.py "$REPO" "$SECRET" "$T/seen" >"$T/port" &
server=$!
wait_until 20 test -s "$T/port"
WEB=http://127.0.0.1:$(cat "$T/port")/r.git
: >"$T/calls"
GIT_TOKEN=$SECRET with_git_noted submit -d --name web --git-url "$WEB" --git-ref main -- cat src/deep/data
is "$rc" 0 "GIT_TOKEN of the environment opens a private repository" || note "$err"
gpc wait web 2>/dev/null
is "$(gpc logs web)" one "and the job runs"
unlike "$(cat "$T/calls")" "$SECRET" "git's command line does not hold it"
gpc submit -n -vv --git-url "$WEB" --git-ref dev -- true >"$T/trace" 2>&1
GIT_TOKEN=$SECRET gpc submit -n -vv --git-url "$WEB" --git-ref dev -- true >>"$T/trace" 2>&1
unlike "$(cat "$T/trace")" "$SECRET" "no message shows it"
is "$(grep -rlF "$SECRET" "$STORE" "$XDG_CACHE_HOME" "$XDG_STATE_HOME" | head -n 3)" "" "no file holds it"
cat >web.yaml <<Y
name: private
workdir: {url: $WEB}
secrets: {GIT_TOKEN: }
run: 'true'
Y
rm -rf "$CACHE"
printf %s "$SECRET" >token
run gpc submit -n web.yaml --secret GIT_TOKEN=@token
is "$rc" 0 "a secret of that name does it too"
run gpc submit -n --git-url "$WEB" -- true
is "$rc" 4 "without a token: 4"
like "$err" 'GIT_TOKEN' "which names GIT_TOKEN"
GIT_TOKEN=wrong-token-wrong run gpc submit -n --git-url "$WEB" -- true
is "$rc" 4 "a wrong token: 4"
unlike "$err" 'wrong-token' "which is not shown"
: >"$T/seen"
GIT_TOKEN=$SECRET run gpc submit -n --git-url "${WEB%/r.git}/moved/r.git" -- true
like "$(cat "$T/seen")" '^-$' "the server may send git to another host"
unlike "$(cat "$T/seen")" "$SECRET" "which gets no token"
kill "$server"
wait "$server" 2>/dev/null
GIT_TOKEN=$SECRET run gpc submit -n --git-url "$WEB" --git-ref dev -- true
is "$rc" 7 "a server that is gone: 7"
unlike "$err" "$SECRET" "without the token"
run gpc submit -n --git-url "http://me:$SECRET@127.0.0.1/x" -- true
is "$rc" 3 "an address with a password is refused"
unlike "$err$out" "$SECRET" "without showing it"
finish
