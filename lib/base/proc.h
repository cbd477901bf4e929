/* Processes by identity: a pid alone may be reused, pid and start time on one
 * boot may not. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Start time of a process in the kernel's own ticks; 0 when it is gone, or cannot
 * be looked at now. */
uint64_t gpc_proc_start(pid_t pid);
/* True while that very process exists and is no zombie; also when only its pid
 * can be told, because nothing can be opened now. */
bool gpc_proc_alive(pid_t pid, uint64_t start);
/* Absolute path of this program's file; NULL where it cannot be found. Owned. */
char *gpc_proc_self(void);
