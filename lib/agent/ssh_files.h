/* The files that the node's sshd reads; see agent/ssh.h. */
#pragma once
#include "agent/context.h"
#include "model/ssh.h"

/* Writes its configuration for what fact says. dir: its folder, which has the key
 * host_key. */
int gpc_agent_ssh_config(const char *dir, const struct gpc_ssh_fact *fact,
	struct gpc_error *err) gpc_must_check;
/* Who may log in, from now on. */
int gpc_agent_ssh_keys(const char *dir, const struct gpc_strv *keys,
	struct gpc_error *err) gpc_must_check;
/* What a login runs: a shell, or the command that was sent, in the job's folder and
 * with its environment as it is now, but for its secrets. */
int gpc_agent_ssh_session(const struct gpc_agent *a, const char *dir,
	struct gpc_error *err) gpc_must_check;
/* The path of its configuration, and of what it has to say; owned. */
char *gpc_agent_ssh_config_path(const char *dir);
char *gpc_agent_ssh_log_path(const char *dir);
