#!/bin/sh
# Runs a program of ours under valgrind's memcheck: errors and definite leaks
# give the exit status 99. Programs that it starts are checked as well when
# they are ours, not when they are the system's or a job's. Reports go to
# $GPUCLOUD_TEST_FINDINGS.PID where that is set, and whoever set it looks for
# them; else they are shown at the end, those of its descendants included.
#   sh tests/memcheck.sh PROGRAM [ARGUMENT…]
findings=${GPUCLOUD_TEST_FINDINGS:-}
[ -n "$findings" ] || dir=$(mktemp -d "${TMPDIR:-/tmp}/gpucloud-memcheck.XXXXXX") ||
	exit
set -- valgrind "--log-file=${findings:-$dir/found}.%p" \
	-q --error-exitcode=99 --num-callers=25 \
	"--suppressions=$(dirname "$(realpath "$0")")/memcheck.supp" \
	--leak-check=full --errors-for-leak-kinds=definite \
	--show-leak-kinds=definite \
	--trace-children=yes --trace-children-skip='/bin/*,/usr/*,/sbin/*,*.sh,*/gpucloud-test-*,*/gpucloud-e2e.*/work/*' \
	--fair-sched=yes --vgdb=no "$@"
[ -z "$findings" ] || exec "$@"

trap 'rm -rf "$dir"; exit 143' HUP INT TERM
"$@"
status=$?
cat "$dir"/found.* >"$dir/all"
if [ -s "$dir/all" ]; then
	sed 's/^/# /' "$dir/all"
	status=99
fi
rm -rf "$dir"
exit $status
