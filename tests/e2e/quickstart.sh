#!/bin/sh
# The quickstart of the README, as a newcomer runs it, on the build at hand.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
GPUCLOUD_BUILD=$(dirname "$(dirname "$GPUCLOUD_BIN")")
export GPUCLOUD_BUILD
cd / || exit 1
RUN_SECONDS=400
run sh "$ROOT/examples/quickstart.sh"
is "$rc" 0 "examples/quickstart.sh"
like "$out" "^done: held_out=[0-9.]+ against [0-9.]+ for the table" "it learned"
first=$(printf '%s\n' "$out" | sed -n 's/^step=20 loss=//p' | head -n 1)
last=$(printf '%s\n' "$out" | sed -n 's/^step=800 loss=//p' | head -n 1)
awk "BEGIN { exit !(${last:-9} < ${first:-0}) }"
ok $? "the loss went down ($first to $last)"
like "$(gpc status quickstart -o json)" '"loss"' "its loss is in the status"
like "$out" "^resumed at step [1-9]" "the killed job goes on"
like "$err" "same, byte for byte" "the killed job lost nothing"
[ "$rc" -eq 0 ] || note "$(tail -n 30 "$T/err")"
finish
