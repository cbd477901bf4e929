/* What comes to the fingers of people who come from SkyPilot, dstack, Slurm and the
 * clouds' own tools. It makes hints alone: such a word is an error all the same, or
 * it could never become a command or an option of ours.
 */
#include "cmd/habit.h"

#include <stddef.h>

#include "base/str.h"

static const struct {
	const char *theirs, *ours;
} commands[] = {
	{"apply", "submit"}, {"exec", "submit"}, {"launch", "submit"},
	{"run", "submit"}, {"sbatch", "submit"}, {"srun", "submit"},
	{"start", "submit"}, {"jobs", "status"}, {"list", "status"},
	{"ps", "status"}, {"queue", "status"}, {"show", "status"},
	{"squeue", "status"}, {"attach", "logs -f"}, {"tail", "logs"},
	{"kill", "cancel"}, {"scancel", "cancel"}, {"stop", "cancel"},
	{"delete", "release"}, {"down", "release"}, {"rm", "prune"},
	{"terminate", "release"}, {"sacct", "cost"}, {"gpus", "offers"},
	{"show-gpus", "offers"}, {"sinfo", "offers"}, {"cp", "data cp"},
	{"ls", "data ls"}, {"s3", "data"}, {"storage", "data"},
	{"sync", "data sync"}, {"login", "check"}, {"whoami", "check"},
};

static const struct {
	const char *command, *theirs, *ours;
} options[] = {
	{"submit", "cloud", "--infra PROVIDER"},
	{"submit", "region", "--infra PROVIDER/REGION"},
	{"submit", "zone", "--infra PROVIDER/REGION/ZONE"},
	{"submit", "num-nodes", "--nodes N"},
	{"submit", "use-spot", "--spot"},
	{"submit", "cluster", "--name NAME"},
	{"submit", "job-name", "--name NAME"},
	{"submit", "cpus-per-task", "--cpus N"},
	{"submit", "mem", "--memory GB"},
	{"submit", "gres", "--gpus NAME:COUNT"},
	{"submit", "gpus-per-node", "--gpus NAME:COUNT"},
	{"submit", "detach-run", "-d"},
	{"submit", "down", "what happens anyway: nodes go with their job"},
	{"data", "endpoint-url", "?endpoint=URL at the end of s3://BUCKET/KEY"},
	{"data", "profile", "?profile=NAME at the end of s3://BUCKET/KEY"},
	{"data", "region", "?region=NAME at the end of s3://BUCKET/KEY"},
};

const char *gpc_habit_command(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		if (gpc_eq(commands[i].theirs, name))
			return commands[i].ours;
	}
	return NULL;
}

const char *gpc_habit_option(const char *command, const char *name)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		if (gpc_eq(options[i].command, command) &&
			gpc_eq(options[i].theirs, name))
			return options[i].ours;
	}
	return NULL;
}
