/* A node of this machine is a folder with a node.json: what it was asked for,
 * whose it is, and which process is its launcher. The provider writes it
 * before a launcher starts; the launcher adds itself; nobody else writes. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "dep/json.h"

struct gpc_node_file {
	int v;
	char *id, *token, *job;
	int attempt, index;          /* index: position within the launch */
	char *store_url;
	struct gpc_strv buckets;     /* as in struct gpc_launch */
	struct gpc_pairs tags;
	char *provider;              /* whose machine it is; NULL: this one's */
	char *market;                /* "on-demand" or "spot" */
	char *group;                 /* id of the group that started it; or NULL */
	char *boot;                  /* boot id of this machine at create */
	int pid;                     /* launcher; 0 = not started yet */
	int64_t start;               /* its start time, as gpc_proc_start says */
	int64_t created_ms;          /* wall */
	int64_t created_boot_ms;     /* the same moment by the boot clock */
	int64_t expires_ms;          /* wall; 0 = no lifetime */
	struct gpc_json *gpus;       /* array of NVML indexes; NULL = none */
	int n_gpus;                  /* or: all that the machine has, at least so many */
	int64_t cpus_milli;          /* 0 = no limit */
	int64_t memory_bytes;        /* 0 = no limit */
	bool user_home;              /* the job's HOME is the user's own */
	char *why;                   /* how it ended, in words */
	struct gpc_json *rest;
};
#define GPC_NODE_FILE "node.json"
#define GPC_NODE_LOCK "lock"         /* held by the launcher while it lives */
#define GPC_NODE_LOG "agent.log"     /* what the launcher has to say */
#define GPC_NODE_ENV "GPUCLOUD_NODE_ID" /* marks each process of a node */

int gpc_node_file_read(const char *dir, struct gpc_node_file *ret_n,
	struct gpc_error *err) gpc_must_check;
/* Atomic: the old one or the new one. */
int gpc_node_file_write(const char *dir, const struct gpc_node_file *n,
	struct gpc_error *err) gpc_must_check;
/* False when the machine was restarted since. */
bool gpc_node_file_on_this_boot(const struct gpc_node_file *n);
/* True while its launcher runs, on this boot. */
bool gpc_node_file_alive(const struct gpc_node_file *n);
void gpc_node_file_clear(struct gpc_node_file *n);
GPC_CLEANUP_VALUE(gpc_node_file);
