#!/bin/sh
# Runs every test of gpucloud: unit tests, lint, golden files and end-to-end
# scripts on a plain build, unit tests and end-to-end scripts on a build with
# ASan and UBSan. Installs what is missing where apt-get exists.
#   sh tests/run.sh [--long | --valgrind] [--only PATTERN] [--no-install]
# --long adds what takes longer. --valgrind runs, instead of all that, the unit
# tests and those end-to-end scripts that make sense so under memcheck
# (tests/memcheck.sh); it takes about an hour.
# The last line is "N passed, N failed"; ", N skipped" may follow outside CI,
# while with CI=true a skipped check counts as failed.
set -u

PACKAGES="gcc libc6-dev binutils clang libclang-rt-14-dev meson ninja-build
	pkg-config openssl ca-certificates libcjson-dev libyaml-dev libarchive-dev libssl-dev libexpat1-dev
	libcurl4-openssl-dev libcmocka-dev
	curl openssh-client openssh-server scdoc groff-base shellcheck bash zsh fish git zstd jq strace faketime procps python3
	python3-numpy python3-torch python3-boto3 nginx wamerican"
OPTIONAL="libclang-rt-14-dev" # absent elsewhere: fewer checks

# What the end-to-end scripts show only slowly or not at all under sanitizers.
NOT_SANITIZED="aws aws_group aws_supervise bundle chaos completion examples far_nodes far_store gang install quickstart soak"
# What takes half a minute and more runs under the sanitizers alone; --long does both.
ONLY_SANITIZED="attack bad_input crash damage data_faults mounts paid recovery requests
	store_faults"
# What looks at sources, pages and texts is the same for every build.
NOT_SANITIZED_TESTS="lint/banned lint/crash lint/fake lint/headers lint/layering
	lint/man"
# Under memcheck the program is a script around itself, which cannot be bundled,
# installed or completed (bundle, completion, install, quickstart); it needs more
# memory and descriptors than limits and full disks leave it (attack, bad_input);
# the clock that is faked would be valgrind's (bad_input, manners); time or requests
# are measured (far_store, logs, terminal, soak); valgrind dies of an execve that
# fails, as for a huge environment (damage); examples and crash would take hours;
# gang, mounts, store_faults and stores run programs of other folders than the wrapped one; data and
# data_faults move hundreds of MiB.
NOT_MEMCHECKED="attack aws aws_group aws_supervise bad_input bundle chaos completion crash damage data data_faults examples
	far_nodes far_store gang install logs manners mounts quickstart soak store_faults stores
	terminal"
LONGEST="crash examples chaos soak store_faults aws aws_group aws_supervise far_nodes far_store recovery bad_input"
ALONE="logs" # it measures
# What is also done over a store that bills each request (the stand-in's S3), the
# longest first; and what --long adds, besides the same over Swift, which can only
# have the data. Not the others: they spoil, age, fill or look at the folder that the
# store is (attack, bad_input, crash, damage, prune, shared), bring servers and stores
# of their own (aws*, ca_file, chaos, check, data*, far_*, gang, mounts, setup,
# store_faults, stores), ask which store is meant (config), have none (install,
# manners, spec_errors), measure (completion), or show once more what others do there
# (bundle, examples).
OVER_S3="requests recovery two_nodes main_job update results"
OVER_S3_LONG="soak quickstart json hook ssh git_workdir terminal logs tether inputs paid watch
	credentials notify priority"

cd "$(dirname "$0")/.." || exit 1
builds=$(realpath -m "${GPUCLOUD_TEST_BUILDS:-build-tests}")
in_ci=${CI:-}
unset CI
only=
install=yes
memcheck=

while [ $# -gt 0 ]; do
	case $1 in
	--long) export GPUCLOUD_TEST_LONG=1 ;;
	--only)
		[ $# -gt 1 ] || { echo "run.sh: --only needs a pattern" >&2; exit 2; }
		only=$2
		shift
		;;
	--no-install) install= ;;
	--valgrind) memcheck="sh '$PWD/tests/memcheck.sh'" ;;
	*)
		echo "usage: sh tests/run.sh [--long | --valgrind] [--only PATTERN]" \
			"[--no-install]" >&2
		exit 2
		;;
	esac
	shift
done

[ -z "$memcheck" ] || PACKAGES="$PACKAGES valgrind"
# With it comes s3rver. It may be there from elsewhere than Debian.
[ -n "$memcheck" ] || command -v npm >/dev/null 2>&1 || PACKAGES="$PACKAGES npm"

started=$(date +%s)
patience=2 # meson's limits are those of an idle machine
e2e_limit=${GPUCLOUD_TEST_LONG:+10}600
logs=$(mktemp -d "${TMPDIR:-/tmp}/gpucloud-tests.XXXXXX")
: >"$logs/results"

# As many tests at a time as there are tokens in this pipe. They mostly wait, so a
# core has room for three; under memcheck they do not.
cores=$(getconf _NPROCESSORS_ONLN)
at_a_time=$((cores < 4 ? cores * 3 : 12))
[ -z "$memcheck" ] || at_a_time=$cores
at_a_time=${GPUCLOUD_TEST_JOBS:-$at_a_time}
mkfifo "$logs/places"
exec 9<>"$logs/places"
for _ in $(seq "$at_a_time"); do echo >&9; done

say() { printf '==> %s\n' "$*"; }

give_up() {
	echo "run.sh: $*" >&2
	rm -rf "$logs"
	exit 1
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null 2>&1; then
		sudo "$@"
	else
		give_up "installing packages needs root or sudo; missing:$missing"
	fi
}

missing_packages() {
	for p in $PACKAGES; do
		dpkg-query -W -f '${Status}\n' "$p" 2>/dev/null |
			grep -q ' installed$' || printf ' %s' "$p"
	done
}

apt_get() {
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q \
		-o DPkg::Lock::Timeout=300 "$@"
}

# Elsewhere than on Debian the things themselves are looked for.
missing_things() {
	for c in cc clang meson ninja pkg-config curl scdoc groff shellcheck bash zstd jq \
		strace python3 ${memcheck:+valgrind}; do
		command -v "$c" >/dev/null 2>&1 || printf ' %s' "$c"
	done
	for l in libcjson yaml-0.1 libarchive libcrypto libcurl expat cmocka; do
		pkg-config --exists "$l" 2>/dev/null || printf ' %s' "$l"
	done
}

install_packages() {
	if ! command -v apt-get >/dev/null 2>&1; then
		missing=$(missing_things)
		[ -z "$missing" ] || give_up "no apt-get here; please install:$missing"
		return
	fi
	missing=$(missing_packages)
	[ -n "$missing" ] || return 0
	say "installing$missing"
	apt_get update
	# shellcheck disable=SC2086  # a list of words
	apt_get install -y --no-install-recommends $missing && return
	for p in $missing; do
		apt_get install -y --no-install-recommends "$p" && continue
		case " $OPTIONAL " in
		*" $p "*) echo "run.sh: goes on without $p" ;;
		*) give_up "cannot install $p" ;;
		esac
	done
}

# Results go to a file as lines "pass N", "fail TEXT" and "skip TEXT".
result() { printf '%s %s\n' "$1" "$2" >>"$logs/results"; }

# Judges the TAP lines of a log; without any, the exit status is the check.
judge() { # NAME STATUS LOG
	# cmocka says "not ok N # SKIP" of what was skipped
	grep -E '^(ok|not ok) [0-9]+' "$3" |
		sed -E 's/^not ok ([0-9]+ # *[Ss][Kk][Ii][Pp])/ok \1/' >"$3.tap"
	j_good=$(grep '^ok' "$3.tap" | grep -vc '# *[Ss][Kk][Ii][Pp]')
	j_bad=$(grep -c '^not ok' "$3.tap")
	j_skip=$(grep -c '^ok.*# *[Ss][Kk][Ii][Pp]' "$3.tap")
	j_all=$((j_good + j_bad + j_skip))
	j_plan=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$3" |
		awk '{ n += $1 } END { print NR ? n : "none" }')
	echo "pass $j_good"
	sed -n "s|^not ok|fail $1: &|p" "$3.tap"
	grep '^ok.*# *[Ss][Kk][Ii][Pp]' "$3.tap" | sed "s|^|skip $1: |"
	if [ "$j_plan" = none ] && [ "$j_all" -eq 0 ]; then
		case $2 in
		0) echo "pass 1" ;;
		77) echo "skip $1" ;;
		*) echo "fail $1: exit status $2" ;;
		esac
	elif [ "$j_plan" = 0 ] && [ "$2" -eq 0 ]; then
		echo "skip $1: $(sed -n 's/^1\.\.0 *//p' "$3")"
	elif [ "$j_plan" != "$j_all" ]; then
		echo "fail $1: planned $j_plan checks, ran $j_all, exit status $2"
	elif [ "$2" -ne 0 ] && [ "$j_bad" -eq 0 ]; then
		echo "fail $1: every check passed, yet the exit status is $2"
	fi
}

# In the background: runs it, judges it, shows a failure's log, frees its place.
run_test() { # LOG NAME SECONDS COMMAND…
	rt_log=$1
	rt_name=$2
	rt_limit=$3
	shift 3
	rt_start=$(date +%s)
	timeout -k 10 "$rt_limit" "$@" >"$rt_log" 2>&1 </dev/null 9>&-
	judge "$rt_name" $? "$rt_log" >"$rt_log.result"
	cat "$rt_log.result" >>"$logs/results"
	rt_word=ok
	! grep -q '^fail' "$rt_log.result" || rt_word=FAILED
	{
		printf '%-7s %3d s  %s\n' "$rt_word" $(($(date +%s) - rt_start)) "$rt_name"
		if [ "$rt_word" = FAILED ]; then
			grep -A 12 '^not ok' "$rt_log" | head -n 60 | sed 's/^/    | /'
			echo "    | …" && tail -n 15 "$rt_log" | sed 's/^/    | /'
		fi
	} >"$rt_log.shown"
	cat "$rt_log.shown"
	echo >&9
}

# one_test NAME SECONDS COMMAND…: begins it when a place is free.
one_test() {
	case $1 in *"$only"*) ;; *) return ;; esac
	read -r _ <&9
	run_test "$logs/$(printf '%s' "$1" | tr -c 'A-Za-z0-9._-' '_').log" "$@" &
}

# build NAME [MESON-ARGUMENT…]: a build is a check too: no warning, no error.
build() {
	b_name=$1
	shift
	if [ ! -e "$builds/$b_name/build.ninja" ]; then
		meson setup "$builds/$b_name" "$@" >"$logs/setup-$b_name.log" 2>&1 || {
			tail -n 20 "$logs/setup-$b_name.log"
			result fail "build $b_name: meson setup"
			return 1
		}
	fi
	if nice -n 5 ninja -C "$builds/$b_name" >"$logs/build-$b_name.log" 2>&1; then
		result pass 1
		say "built $builds/$b_name"
	else
		grep -E -A 5 'error:|FAILED:' "$logs/build-$b_name.log" | head -n 40
		result fail "build $b_name"
		return 1
	fi
}

in_list() { # WORD LIST
	for w in $2; do
		[ "$w" != "$1" ] || return 0
	done
	return 1
}

# Everything that meson knows as a test: name, seconds, folder, command. Under
# memcheck only programs of ours: the units and the suites of each backend.
meson_tests() { # BUILD PREFIX EXCEPT
	meson introspect --tests "$builds/$1" >"$logs/tests.json" || return
	jq -r --arg build "$builds/$1" '.[] |
		[(.suite[0] | sub(".*:"; "")), .name, .timeout, (.workdir // $build),
		(.env | to_entries | map("\(.key)=\(.value)") | map(@sh) | join(" ")),
		(.cmd | map(@sh) | join(" "))] | join("\u001f")' \
		"$logs/tests.json" >"$logs/tests.list"
	while IFS=$(printf '\037') read -r suite name limit dir env cmd; do
		case ${memcheck:+memcheck}/$suite in
		/* | memcheck/unit | memcheck/conformance) ;;
		*) continue ;;
		esac
		in_list "$suite/$name" "$3" && continue
		one_test "$2$suite/$name" $((limit * patience)) sh -c \
			"cd '$dir' && exec env CMOCKA_MESSAGE_OUTPUT=TAP $env $memcheck $cmd" 3<&-
	done <"$logs/tests.list"
}

# The longest begin first.
e2e_tests() { # BUILD PREFIX EXCEPT
	e2e_done=
	for script in $LONGEST $(basename -s .sh -a tests/e2e/*.sh); do
		in_list "$script" "lib $ALONE $3 $e2e_done" && continue
		e2e_done="$e2e_done $script"
		e2e_test "$1" "$2" "$script"
	done
}

e2e_test() { # BUILD PREFIX SCRIPT
	one_test "${2}e2e/$3" $e2e_limit env "GPUCLOUD_BIN=$builds/$1/cmd/gpucloud" \
		sh "tests/e2e/$3.sh"
}

# What measures time runs while nothing else does.
e2e_tests_alone() { # BUILD PREFIX EXCEPT
	for script in $ALONE; do
		in_list "$script" "$3" && continue
		wait
		e2e_test "$1" "$2" "$script"
		wait
	done
}

# Swift begins without a bucket.
make_bucket() { # SERVER
	[ "$1" = swift ] || return 0
	/usr/bin/python3 - "$(sed -n 's/^SWIFT_URL=//p' "$logs/swift/env")" <<-'X'
		import sys, urllib.request as web
		who = {"X-Auth-User": "test:tester", "X-Auth-Key": "testing"}
		told = web.urlopen(web.Request(sys.argv[1] + "/auth/v1.0", headers=who)).headers
		web.urlopen(web.Request(told["X-Storage-Url"] + "/bucket", method="PUT",
		                        headers={"X-Auth-Token": told["X-Auth-Token"]}))
	X
}

# What a server does with If-None-Match where a journal cannot live in it.
conditions_of() { # SERVER
	case $1 in
	swift) echo refused ;;
	s3rver) echo ignored ;;
	esac
}

# The same scripts, each with a store of its own; the server runs until closing().
# STORE may name what the server's DIR/env has, and $script.
over_store_tests() { # BUILD NAME SERVER STORE SCRIPTS
	os_any=
	for script in $5; do
		case $2:e2e/$script in *"$only"*) os_any=yes ;; esac
	done
	[ -n "$os_any" ] || return
	servers="$servers $3"
	if sh tests/servers/"$3".sh start "$logs/$3" >"$logs/$3.log" 2>&1 9>&- &&
		make_bucket "$3" >>"$logs/$3.log" 2>&1; then
		for script in $5; do
			one_test "$2:e2e/$script" $e2e_limit sh -c "set -a
				script=$script
				. '$logs/$3/env'
				GPUCLOUD_TEST_STORE=\"$4\"
				GPUCLOUD_TEST_CONDITIONS=$(conditions_of "$3")
				GPUCLOUD_BIN='$builds/$1/cmd/gpucloud'
				exec sh tests/e2e/$script.sh"
		done
	else
		result skip "$2: $(tail -n 1 "$logs/$3.log")"
	fi
}

servers=
stop_servers() {
	for server in $servers; do
		sh tests/servers/"$server".sh stop "$logs/$server"
	done
	servers=
}
trap stop_servers EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

closing() {
	wait
	stop_servers
	passed=$(awk '$1 == "pass" { n += $2 } END { print n + 0 }' "$logs/results")
	failed=$(grep -c '^fail' "$logs/results")
	skipped=$(grep -c '^skip' "$logs/results")
	if [ "$in_ci" = true ]; then
		failed=$((failed + skipped))
		skipped=0
	fi
	sed -n 's/^fail /FAILED  /p; s/^skip /SKIPPED /p' "$logs/results"
	if [ "$failed" -gt 0 ]; then echo "logs: $logs"; else rm -rf "$logs"; fi
	say "took $((($(date +%s) - started) / 60)) min $((($(date +%s) - started) % 60)) s"
	tail_text=
	[ "$skipped" -gt 0 ] && tail_text=", $skipped skipped"
	echo "$passed passed, $failed failed$tail_text"
	[ "$failed" -eq 0 ]
}

# A build of its own, made where valgrind's headers are. The program that scripts
# call is a script, too.
memcheck_tests() {
	export GPUCLOUD_TEST_VALGRIND=1
	patience=20
	e2e_limit=2400
	build memcheck || return
	mkdir -p "$builds/memcheck/wrapped/cmd"
	printf '#!/bin/sh\nexec %s "%s/memcheck/cmd/gpucloud" "$@"\n' \
		"$memcheck" "$builds" >"$builds/memcheck/wrapped/cmd/gpucloud"
	chmod 755 "$builds/memcheck/wrapped/cmd/gpucloud"
	meson_tests memcheck "valgrind " ""
	e2e_tests memcheck/wrapped "valgrind " "$NOT_MEMCHECKED"
	e2e_tests_alone memcheck/wrapped "valgrind " "$NOT_MEMCHECKED"
}

[ -z "$install" ] || install_packages

if [ -n "$memcheck" ]; then
	say "build for memcheck"
	memcheck_tests
	closing
	exit
fi
plain_tests() {
	one_test lint/shell 400 sh -c \
		"shellcheck -x -S warning tests/*.sh tests/*/*.sh examples/*.sh"
	# shellcheck disable=SC2016  # known where it is used
	over_store_tests plain s3 fakecloud 's3://bucket?endpoint=$FAKE_S3' \
		"$OVER_S3 ${GPUCLOUD_TEST_LONG:+$OVER_S3_LONG}"
	# shellcheck disable=SC2016
	over_store_tests plain s3rver s3rver 's3://bucket?endpoint=$S3RVER_URL' stores
	[ -z "${GPUCLOUD_TEST_LONG:-}" ] || over_store_tests plain swift swift \
		"s3://bucket?endpoint=\$SWIFT_URL&journal=$logs/journal-\$script" \
		"stores $OVER_S3"
	e2e_tests plain "" "$ONLY_SANITIZED"
	one_test fakecloud/selftest 300 sh -c 'exec "$(command -v /usr/bin/python3 ||
		echo python3)" -B tests/fakecloud/selftest.py' # Debian'"'"'s has botocore
	meson_tests plain "" ""
}

sanitized_tests() {
	export GPUCLOUD_TEST_SANITIZED=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
	patience=6
	e2e_tests sanitized "sanitized " "$NOT_SANITIZED"
	meson_tests sanitized "sanitized " "$NOT_SANITIZED_TESTS"
}

# What tests run is built before the first of them begins, so that the long tests of
# one build do not wait for the last of another.
say "builds: plain, with sanitizers; with clang beside the tests"
[ -z "${GPUCLOUD_TEST_LONG:-}" ] || ONLY_SANITIZED=
plain=
sanitized=
build plain && plain=yes
build sanitized -Doptimization=1 -Db_sanitize=address,undefined -Db_lundef=false && sanitized=yes
# For its warnings, which it gives before it optimizes. Tests wait more than they work.
CC=clang build clang -Doptimization=0 -Ddebug=false &
[ -z "$plain" ] || plain_tests
[ -z "$sanitized" ] || sanitized_tests
[ -z "$sanitized" ] || e2e_tests_alone sanitized "sanitized " "$NOT_SANITIZED"
unset GPUCLOUD_TEST_SANITIZED UBSAN_OPTIONS
[ -z "$plain" ] || e2e_tests_alone plain "" "$ONLY_SANITIZED"
closing
