#!/bin/sh
# Several nodes: ranks, addresses, each one's log, the first that fails.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
cat >meet.yaml <<'Y'
name: meet
num_nodes: 3
run: |
  echo "rank $GPUCLOUD_NODE_RANK of $GPUCLOUD_NUM_NODES"
  echo "also $SKYPILOT_NODE_RANK of $SKYPILOT_NUM_NODES"
  echo "master $GPUCLOUD_MASTER_ADDR:$GPUCLOUD_MASTER_PORT"
  echo "ips" $GPUCLOUD_NODE_IPS
  echo "pet $PET_NNODES $PET_NODE_RANK $PET_MASTER_ADDR:$PET_MASTER_PORT"
  echo "home $HOME in $PWD"
Y
run gpc submit meet.yaml
is "$rc" 0 "three nodes run"
for r in 0 1 2; do
	one=$(gpc logs meet --rank $r --stdout)
	like "$one" "rank $r of 3" "rank $r knows itself"
	like "$one" "also $r of 3" "rank $r by SkyPilot's names"
	like "$one" "ips 127.0.0.1 127.0.0.2 127.0.0.3" "rank $r knows all addresses"
	like "$one" "pet 3 $r 127.0.0.1:[0-9]+" "rank $r is ready for torchrun"
done
is "$(gpc logs meet --stdout | grep -o 'master.*' | sort -u | wc -l)" 1 \
	"all have the same master and port"
is "$(gpc logs meet --stdout | grep -o 'home.*' | sort -u | wc -l)" 3 \
	"each has a home and a folder of its own"

cat >fail.yaml <<'Y'
name: fail
num_nodes: 2
run: |
  [ "$GPUCLOUD_NODE_RANK" = 1 ] && { sleep 0.5; echo "rank 1 fails"; exit 5; }
  sleep 60
  echo "rank 0 was not stopped"
Y
run gpc submit fail.yaml
is "$rc" 5 "the first failing rank gives the status"
unlike "$out" "not stopped" "and ends the others"
like "$(gpc status fail -o json)" '"rank": *1' "and is named"

cat >lose.yaml <<'Y'
name: lose
num_nodes: 2
run: |
  n=$(cat "${GPUCLOUD_RESUME_FROM:-/nowhere}/n" 2>/dev/null || echo 0)
  echo "rank $GPUCLOUD_NODE_RANK starts at $n in attempt $GPUCLOUD_ATTEMPT"
  # without end until it is lost
  last=3000; [ "$GPUCLOUD_ATTEMPT" -gt 1 ] && last=$((n + 5))
  while [ "$n" -lt "$last" ]; do
    n=$((n + 1)); sleep 0.1
    [ "$GPUCLOUD_NODE_RANK" = 0 ] && echo $n > $GPUCLOUD_CHECKPOINT_DIR/p && mv $GPUCLOUD_CHECKPOINT_DIR/p $GPUCLOUD_CHECKPOINT_DIR/n
  done
  echo "rank $GPUCLOUD_NODE_RANK is through"
checkpoint: {path: state, upload_every: 1s}
Y
for lost in 1 0; do
	job=$(gpc submit -q -d lose.yaml)
	wait_until 20 has_checkpoint "$job"
	node=$(node_of "$(rank_pid "$job" "$lost")")
	[ -n "$node" ] || note "no node of rank $lost found"
	# shellcheck disable=SC2046
	kill_pids KILL $(node_pids "$node")
	run gpc wait "$job"
	is "$rc" 0 "rank $lost lost: the job ends well"
	for r in 0 1; do
		like "$(gpc logs "$job" --rank $r --stdout)" \
			"rank $r starts at [1-9][0-9]* in attempt 2" \
			"rank $lost lost: rank $r resumes from the checkpoint"
	done
	like "$(gpc status "$job" -o json)" "node_lost" "rank $lost lost: and is called so"
done
finish
