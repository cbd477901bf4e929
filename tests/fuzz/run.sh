#!/bin/sh
# Looks for new inputs that break a promise: builds the fuzz targets with
# libFuzzer, ASan and UBSan, and lets each run for a while, one after another,
# from a copy of its corpus.
#   sh tests/fuzz/run.sh [SECONDS] [TARGET...]
# SECONDS is 60, TARGET all of them. What breaks one lies at the path that is
# printed; made small (-minimize_crash=1), it belongs into corpus/TARGET/.
# FUZZ_BUILD is the build folder (build-fuzz), CC a clang.
set -u

here=$(cd "$(dirname "$0")" && pwd) || exit 1
root=$(cd "$here/../.." && pwd)
build=$(realpath -m "${FUZZ_BUILD:-$root/build-fuzz}")
seconds=60
case ${1:-} in
[0-9]*)
	seconds=$1
	shift
	;;
-*)
	echo "usage: sh tests/fuzz/run.sh [SECONDS] [TARGET...]" >&2
	exit 2
	;;
esac

if [ ! -e "$build/build.ninja" ]; then
	CC=${CC:-clang} meson setup "$build" "$root" -Dfuzz=libfuzzer \
		-Db_sanitize=address,undefined -Db_lundef=false \
		"-Dc_args=-fsanitize=fuzzer-no-link -fno-sanitize-recover=undefined" ||
		exit 1
fi
# shellcheck disable=SC2046  # lists of words
[ $# -gt 0 ] || set -- $(cd "$here/corpus" && ls)
# shellcheck disable=SC2046
ninja -C "$build" $(printf 'tests/fuzz/fuzz-%s ' "$@") || exit 1

scratch=$(mktemp -d "${TMPDIR:-/tmp}/gpucloud-fuzz.XXXXXX") || exit 1
TMPDIR=$scratch/tmp
export TMPDIR
mkdir "$TMPDIR" "$scratch/found"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
broken=0

# Inputs that are made of few bytes for much gain nothing from long ones.
length() {
	case $1 in
	fold | restore) echo 512 ;;
	*) echo 4096 ;;
	esac
}

for target; do
	corpus=$scratch/$target
	mkdir "$corpus"
	cp "$here/corpus/$target/"* "$corpus/"
	case $target in
	spec | yaml) cp "$root/tests/vectors/spec/"*.yaml "$corpus/" ;;
	esac
	"$build/tests/fuzz/fuzz-$target" -max_total_time="$seconds" \
		-max_len="$(length "$target")" -timeout=10 -rss_limit_mb=1024 \
		-report_slow_units=5 -print_final_stats=1 \
		-artifact_prefix="$scratch/found/$target-" "$corpus" \
		>"$scratch/$target.log" 2>&1
	status=$?
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$scratch/$target.log")
	edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$scratch/$target.log" | tail -n 1)
	if [ $status -eq 0 ]; then
		printf 'ok      %-10s %s runs in %s s, %s edges\n' "$target" \
			"${runs:-no}" "$seconds" "${edges:-no}"
	else
		broken=$((broken + 1))
		printf 'BROKEN  %-10s see %s\n' "$target" "$scratch/$target.log"
		grep -E 'broken promise|runtime error|ERROR: ' "$scratch/$target.log" |
			head -n 3 | sed 's/^/    | /'
	fi
done
find "$scratch/found" -type f
if [ $broken -eq 0 ] && [ -z "$(ls "$scratch/found")" ]; then
	rm -rf "$scratch"
fi
[ $broken -eq 0 ]
