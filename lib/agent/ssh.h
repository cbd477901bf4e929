/* `gpucloud ssh`, the node's half: a private sshd that lets in the keys that requests
 * named, and nothing else. It begins with the first request and ends with the node. */
#pragma once
#include "agent/context.h"
#include "model/event.h"

/* An event of the type ssh. */
void gpc_agent_ssh_ask(struct gpc_agent *a, const struct gpc_event *e);
/* Starts, looks whether it listens, and tells: call it with each turn of the loop. */
void gpc_agent_ssh_tick(struct gpc_agent *a, int64_t now_ms);
/* True while something of it is awaited within the second. */
bool gpc_agent_ssh_is_busy(const struct gpc_agent *a);
/* The server, which is not the job's and does not end with its program; 0 = none. */
pid_t gpc_agent_ssh_pid(const struct gpc_agent *a);
/* It was waited for. */
void gpc_agent_ssh_ended(struct gpc_agent *a);
/* Ends it and whoever is logged in; removes its files. */
void gpc_agent_ssh_close(struct gpc_agent *a);
