#!/bin/sh
# The quickstart of the README, as a newcomer runs it, on the build at hand.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
GPUCLOUD_BUILD=$(dirname "$(dirname "$GPUCLOUD_BIN")")
export GPUCLOUD_BUILD
cd / || exit 1
run timeout 170 sh "$ROOT/examples/quickstart.sh"
is "$rc" 0 "examples/quickstart.sh"
like "$err" "same, byte for byte" "the killed job lost nothing"
[ "$rc" -eq 0 ] || note "$(tail -n 30 "$T/err")"
finish
