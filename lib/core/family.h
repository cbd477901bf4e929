/* A child of ours and what it has started in turn, ended together. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

/* Asks all of them to end, kills what does not within 2 s, and waits for the
 * child unless it was waited for before (reaped); *ret_status is its status
 * then. own_group: it leads a process group of its own; else they are found by
 * descent, where the system tells. */
void gpc_family_end(pid_t child, bool own_group, bool reaped, int *ret_status);
