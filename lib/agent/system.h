/* The few calls of the agent that only some systems have; elsewhere they do
 * nothing, and what they promise is then not promised. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

/* Orphans below this process become its children. */
void gpc_adopt_orphans(void);
/* SIGKILL for this process when `parent` (its parent now) dies; ends it at once
 * if that has happened already. Async-signal-safe. */
void gpc_die_with(pid_t parent);
/* When memory runs out, this process goes before the agent does.
 * Async-signal-safe. */
void gpc_be_first_victim(void);
/* Asks for a pipe of that many bytes. */
void gpc_pipe_size(int fd, int bytes);
/* Makes anonymous memory that was freed go back to the system. */
void gpc_trim_memory(void);
