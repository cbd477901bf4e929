#!/bin/sh
# Runs every test of gpucloud: unit tests, lint, golden files and end-to-end
# scripts on a plain build, then unit tests and end-to-end scripts on a build
# with ASan and UBSan. Installs what is missing where apt-get exists.
#   sh tests/run.sh [--long] [--only PATTERN] [--no-install]
# The last line is "N passed, N failed"; ", N skipped" may follow outside CI,
# while with CI=true a skipped check counts as failed.
set -u

PACKAGES="gcc libc6-dev clang libclang-rt-14-dev meson ninja-build pkg-config libcjson-dev
	libyaml-dev libarchive-dev libssl-dev libcmocka-dev scdoc shellcheck bash
	zstd jq strace mandoc python3 python3-numpy python3-torch wamerican"
OPTIONAL="libclang-rt-14-dev mandoc" # absent elsewhere: fewer checks

# What the end-to-end scripts show only slowly or not at all under sanitizers.
NOT_SANITIZED="examples quickstart"

cd "$(dirname "$0")/.." || exit 1
builds=${GPUCLOUD_TEST_BUILDS:-build-tests}
in_ci=${CI:-}
unset CI
only=
install=yes

while [ $# -gt 0 ]; do
	case $1 in
	--long) export GPUCLOUD_TEST_LONG=1 ;;
	--only)
		[ $# -gt 1 ] || { echo "run.sh: --only needs a pattern" >&2; exit 2; }
		only=$2
		shift
		;;
	--no-install) install= ;;
	*)
		echo "usage: sh tests/run.sh [--long] [--only PATTERN] [--no-install]" >&2
		exit 2
		;;
	esac
	shift
done

logs=$(mktemp -d "${TMPDIR:-/tmp}/gpucloud-tests.XXXXXX")
passed=0
failed=0
skipped=0
: >"$logs/summary"

say() { printf '==> %s\n' "$*"; }

as_root() {
	if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
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

install_packages() {
	if ! command -v apt-get >/dev/null 2>&1; then
		for c in cc clang meson ninja pkg-config scdoc shellcheck zstd jq; do
			command -v "$c" >/dev/null 2>&1 || printf '%s ' "$c"
		done >"$logs/missing"
		[ ! -s "$logs/missing" ] || {
			echo "run.sh: no apt-get here; please install:" \
				"$(cat "$logs/missing")" >&2
			exit 1
		}
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
		*)
			echo "run.sh: cannot install $p" >&2
			exit 1
			;;
		esac
	done
}

# Adds N to one of the three counts, with a line for the closing list.
count_pass() { passed=$((passed + $1)); }
count_fail() {
	failed=$((failed + 1))
	echo "FAILED  $1" >>"$logs/summary"
}
count_skip() {
	skipped=$((skipped + 1))
	echo "SKIPPED $1" >>"$logs/summary"
}

# Counts the TAP lines of a log; without any, the exit status is the check.
count_log() { # NAME STATUS LOG
	cl_good=$(grep -E '^ok [0-9]+' "$3" | grep -vc '# *[Ss][Kk][Ii][Pp]')
	cl_bad=$(grep -Ec '^not ok [0-9]+' "$3")
	cl_skip=$(grep -Ec '^ok [0-9]+.*# *[Ss][Kk][Ii][Pp]' "$3")
	cl_plan=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$3" |
		awk '{ n += $1 } END { print NR ? n : "none" }')
	count_pass "$cl_good"
	grep -E '^not ok [0-9]+' "$3" >"$logs/bad"
	while read -r line; do count_fail "$1: $line"; done <"$logs/bad"
	grep -E '^ok [0-9]+.*# *[Ss][Kk][Ii][Pp]' "$3" >"$logs/skips"
	while read -r line; do count_skip "$1: $line"; done <"$logs/skips"
	if [ "$cl_plan" = none ] && [ $((cl_good + cl_bad + cl_skip)) -eq 0 ]; then
		case $2 in
		0) count_pass 1 ;;
		77) count_skip "$1" ;;
		*) count_fail "$1: exit status $2" ;;
		esac
	elif [ "$cl_plan" = 0 ] && [ "$2" -eq 0 ]; then
		count_skip "$1: $(sed -n 's/^1\.\.0 *//p' "$3")"
	elif [ "$cl_plan" != "$((cl_good + cl_bad + cl_skip))" ]; then
		count_fail "$1: planned $cl_plan checks, ran $((cl_good + cl_bad + cl_skip))"
	elif [ "$2" -ne 0 ] && [ "$cl_bad" -eq 0 ]; then
		count_fail "$1: every check passed, yet the exit status is $2"
	fi
}

# one_test NAME SECONDS COMMAND…: runs it, counts it, shows a failure's log.
one_test() {
	ot_name=$1
	ot_limit=$2
	shift 2
	case $ot_name in *"$only"*) ;; *) return ;; esac
	ot_log=$logs/$(printf '%s' "$ot_name" | tr -c 'A-Za-z0-9._-' '_').log
	ot_failed=$failed
	ot_start=$(date +%s)
	timeout -k 10 "$ot_limit" "$@" >"$ot_log" 2>&1 </dev/null
	ot_status=$?
	count_log "$ot_name" "$ot_status" "$ot_log"
	ot_word=ok
	if [ "$failed" -gt "$ot_failed" ]; then
		ot_word=FAILED
		grep -A 12 '^not ok' "$ot_log" | head -n 60 | sed 's/^/    | /'
		echo "    | …" && tail -n 15 "$ot_log" | sed 's/^/    | /'
	fi
	printf '%-7s %3d s  %s\n' "$ot_word" $(($(date +%s) - ot_start)) "$ot_name"
}

# build NAME [MESON-ARGUMENT…]: a build is a check too: no warning, no error.
build() {
	b_name=$1
	shift
	if [ ! -e "$builds/$b_name/build.ninja" ]; then
		meson setup "$builds/$b_name" "$@" >"$logs/setup-$b_name.log" 2>&1 || {
			tail -n 20 "$logs/setup-$b_name.log"
			count_fail "build $b_name: meson setup"
			return 1
		}
	fi
	if ninja -C "$builds/$b_name" >"$logs/build-$b_name.log" 2>&1; then
		count_pass 1
		say "built $builds/$b_name"
	else
		grep -E -A 5 'error:|FAILED:' "$logs/build-$b_name.log" | head -n 40
		count_fail "build $b_name"
		return 1
	fi
}

# Everything that meson knows as a test: name, seconds, folder, command.
meson_tests() { # BUILD PREFIX
	meson introspect --tests "$builds/$1" >"$logs/tests.json" || return
	jq -r '.[] | [(.suite[0] | sub(".*:"; "")), .name, .timeout, (.workdir // "."),
		(.env | to_entries | map("\(.key)=\(.value)") | map(@sh) | join(" ")),
		(.cmd | map(@sh) | join(" "))] | join("\u001f")' \
		"$logs/tests.json" >"$logs/tests.list"
	while IFS=$(printf '\037') read -r suite name limit dir env cmd; do
		one_test "$2$suite/$name" "$limit" sh -c \
			"cd '$dir' && exec env CMOCKA_MESSAGE_OUTPUT=TAP $env $cmd" 3<&-
	done <"$logs/tests.list"
}

e2e_tests() { # BUILD PREFIX EXCEPT
	GPUCLOUD_BIN=$PWD/$builds/$1/cmd/gpucloud
	export GPUCLOUD_BIN
	for script in tests/e2e/*.sh; do
		name=$(basename "$script" .sh)
		case " lib $3 " in *" $name "*) continue ;; esac
		one_test "${2}e2e/$name" 600 sh "$script"
	done
}

closing() {
	if [ "$in_ci" = true ]; then
		failed=$((failed + skipped))
		skipped=0
	fi
	cat "$logs/summary"
	[ "$failed" -gt 0 ] && echo "logs: $logs"
	[ "$failed" -eq 0 ] && rm -rf "$logs"
	tail_text=
	[ "$skipped" -gt 0 ] && tail_text=", $skipped skipped"
	echo "$passed passed, $failed failed$tail_text"
	[ "$failed" -eq 0 ]
}

[ -z "$install" ] || install_packages

say "plain build"
if build plain; then
	meson_tests plain ""
	e2e_tests plain "" ""
fi
say "build with sanitizers"
export GPUCLOUD_TEST_SANITIZED=1
if build sanitized -Db_sanitize=address,undefined -Db_lundef=false; then
	export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
	meson_tests sanitized "sanitized "
	e2e_tests sanitized "sanitized " "$NOT_SANITIZED"
fi
say "build with clang"
CC=clang build clang
closing
