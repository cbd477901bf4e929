#!/bin/sh
# The examples do what their comments say.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$ROOT" || exit 1
RUN_SECONDS=200

run gpc submit --pull "$T/shell" examples/shell.yaml
is "$rc" 0 "shell.yaml"
is "$(cat "$T/shell/out/sum.txt")" "$(seq 1 20 | sha256sum)" "gives the right sum"

# quickstart.yaml is run by quickstart.sh.
if /usr/bin/python3 -c 'import torch' 2>/dev/null; then
	run gpc submit --env STEPS=100 --pull "$T/torch" examples/torch2.yaml
	is "$rc" 0 "torch2.yaml"
	like "$out" "done: held_out=[0-9.]+ on 2 ranks" "two ranks learned together"
	cp "$T/torch/out/model.pt" "$T/undisturbed.pt"
	job=$(gpc submit -q -d --env STEPS=100 examples/torch2.yaml)
	wait_until 30 has_checkpoint "$job"
	# shellcheck disable=SC2046  # a list of ids
	kill_pids KILL $(node_pids "$(node_of "$(rank_pid "$job" 1)")")
	run gpc wait "$job"
	is "$rc" 0 "torch2.yaml with a lost rank ends well"
	like "$(gpc logs "$job" --stdout)" "rank 1 resumed at step [1-9]" \
		"both ranks resume from rank 0's checkpoint"
	gpc pull "$job" "$T/torch-lost" >/dev/null 2>&1
	cmp -s "$T/undisturbed.pt" "$T/torch-lost/out/model.pt"
	ok $? "and the model is the same, byte for byte"
else
	skip "torch2.yaml" "needs python3-torch"
fi
finish
