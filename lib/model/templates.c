/* Starter specs: each runs as it is, on this machine with no account, so that
 * the first thing a newcomer changes is a thing that works. */
#include "model/templates.h"

#include <stddef.h>

#include "base/str.h"

#define HEAD "# gpucloud-spec(5) explains every field.\n"
#define NEXT "# See what would happen: gpucloud submit --dry-run FILE\n" \
	"# Run it:                gpucloud submit FILE\n"

static const char minimal[] =
HEAD NEXT
"name: hello\n"
"\n"
"# The folder that is sent to the node; without it nothing is sent.\n"
"# workdir: .\n"
"\n"
"# Bash. It ends the job with its own exit code.\n"
"run: |\n"
"  echo \"hello from rank $GPUCLOUD_NODE_RANK of $GPUCLOUD_NUM_NODES\"\n";

static const char train[] =
HEAD NEXT
"name: train\n"
"\n"
"# The folder with your program. Sent as a snapshot: what you submitted is what\n"
"# runs, whatever you change later. Paths start in your current folder.\n"
"# workdir: .\n"
"\n"
"resources:\n"
"  # Where to run. local is this machine.\n"
"  infra: local\n"
"  # GPUs per node: NAME:COUNT, or by memory (80GB+), or {L4:1, A10G:1} for\n"
"  # either of the two.\n"
"  # accelerators: A100:1\n"
"\n"
"# Values as you write them; null means: must be given with --env.\n"
"envs:\n"
"  STEPS: \"20\"\n"
"# Kept out of every record, and given with --secret HF_TOKEN.\n"
"# secrets:\n"
"#   HF_TOKEN: null\n"
"\n"
"# Runs once on each node, before run.\n"
"# setup: pip install -r requirements.txt\n"
"\n"
"run: |\n"
"  # A program that resumes: it starts from $GPUCLOUD_RESUME_FROM when it is\n"
"  # set, and saves into $GPUCLOUD_CHECKPOINT_DIR.\n"
"  step=0\n"
"  if [ -n \"${GPUCLOUD_RESUME_FROM:-}\" ]; then\n"
"    step=$(cat \"$GPUCLOUD_RESUME_FROM/step\")\n"
"  fi\n"
"  while [ \"$step\" -lt \"$STEPS\" ]; do\n"
"    step=$((step + 1))\n"
"    echo \"step=$step loss=$(awk \"BEGIN { print 1 / $step }\")\"\n"
"    # Under another name first: a checkpoint is whole or absent.\n"
"    echo \"$step\" > \"$GPUCLOUD_CHECKPOINT_DIR/.step\"\n"
"    mv \"$GPUCLOUD_CHECKPOINT_DIR/.step\" \"$GPUCLOUD_CHECKPOINT_DIR/step\"\n"
"    sleep 0.2\n"
"  done\n"
"  mkdir -p out && echo done > out/result.txt\n"
"\n"
"# Saved while the job runs; the next attempt resumes from the newest one.\n"
"checkpoint:\n"
"  path: checkpoints\n"
"  keep: 3\n"
"\n"
"# Numbers from the log: POSIX extended expressions with one group.\n"
"metrics:\n"
"  loss: 'loss=([0-9.]+)'\n"
"\n"
"# Kept at the end; fetched with gpucloud pull.\n"
"artifacts:\n"
"  - path: out\n"
"\n"
"limits:\n"
"  # Running time over all attempts.\n"
"  time: 1h\n"
"  # All that the job may cost: a number is USD, or \"80 CNY\".\n"
"  # cost: 20\n";

static const char torchrun[] =
HEAD NEXT
"# Several nodes with torchrun: nodes, rank, address and port come from PET_*\n"
"# variables that are set for the job, so torchrun needs no options.\n"
"name: torchrun\n"
"num_nodes: 2\n"
"\n"
"# The folder with train.py.\n"
"# workdir: .\n"
"\n"
"resources:\n"
"  infra: local\n"
"  # accelerators: H100:8\n"
"\n"
"# The ranks of one machine meet at 127.0.0.x; leave this out elsewhere.\n"
"envs:\n"
"  GLOO_SOCKET_IFNAME: lo\n"
"\n"
"# Replace it by: exec torchrun train.py\n"
"run: |\n"
"  echo \"rank $GPUCLOUD_NODE_RANK of $GPUCLOUD_NUM_NODES meets at\" \\\n"
"    \"$GPUCLOUD_MASTER_ADDR:$GPUCLOUD_MASTER_PORT\"\n"
"\n"
"# Rank 0 saves. Sharded checkpoints of every rank: ranks: all.\n"
"checkpoint:\n"
"  path: checkpoints\n"
"  grace: 30s\n"
"\n"
"# Lost nodes and interruptions start the next attempt by themselves. This adds\n"
"# restarts after errors of the program itself.\n"
"recovery:\n"
"  restarts: 2\n"
"\n"
"limits:\n"
"  time: 12h\n";

static const char loop[] =
HEAD NEXT
"# Several settings in one job, one after the other. A lost node resumes with\n"
"# the first setting that is not done.\n"
"name: loop\n"
"\n"
"envs:\n"
"  RATES: 0.1 0.01 0.001\n"
"\n"
"run: |\n"
"  done_before=${GPUCLOUD_RESUME_FROM:-/nonexistent}\n"
"  for rate in $RATES; do\n"
"    if [ -e \"$done_before/$rate\" ]; then\n"
"      cp \"$done_before/$rate\" \"$GPUCLOUD_CHECKPOINT_DIR/$rate\"\n"
"      continue\n"
"    fi\n"
"    echo \"rate=$rate\"\n"
"    # Your program here: python3 train.py --lr \"$rate\"\n"
"    echo \"$rate\" > \"$GPUCLOUD_CHECKPOINT_DIR/.part\"\n"
"    mv \"$GPUCLOUD_CHECKPOINT_DIR/.part\" \"$GPUCLOUD_CHECKPOINT_DIR/$rate\"\n"
"  done\n"
"\n"
"checkpoint:\n"
"  path: done\n"
"\n"
"artifacts:\n"
"  - path: done\n"
"    when: always\n";

const struct gpc_template gpc_templates[] = {
	{"minimal", "one command", minimal},
	{"train", "a training that saves, resumes and reports", train},
	{"torchrun", "several nodes with torchrun", torchrun},
	{"sweep-free", "several settings in one job", loop},
	{NULL, NULL, NULL},
};

const struct gpc_template *gpc_template_find(const char *name)
{
	for (const struct gpc_template *t = gpc_templates; t->name; t++) {
		if (gpc_eq(t->name, name))
			return t;
	}
	return NULL;
}
