/* Crash points: the places between two steps that each survive a crash, by
 * name, so that tests can die at every one of them and look at what is left.
 *
 * In a debug build (meson option crash_points) a process that passes
 * GPC_CRASH("submit.job_put") while GPUCLOUD_CRASH names that point ends itself
 * with SIGKILL: no handler, no cleanup, as when the machine loses its power.
 * Elsewhere the macro is nothing, and no name is in the binary.
 *
 *   GPUCLOUD_CRASH      points, separated by commas. "NAME:N" dies at its Nth
 *                       passing, counted over all processes (needs the folder).
 *                       "NAME=stop" is stopped there by SIGSTOP, and goes on
 *                       when somebody wakes it.
 *   GPUCLOUD_CRASH_DIR  an existing folder. Each passing is written down there
 *                       in the file `passed`, a line "NAME PID"; a point that
 *                       killed leaves NAME.died and kills nobody after that, as
 *                       a supervisor that is started again shall get further.
 *
 * Nodes of provider local inherit both variables. Names are "room.step": what
 * has just become durable, or what begins. tests/e2e/crash.sh collects all of
 * them from the sources and fails when one is never passed. */
#pragma once

#ifdef GPC_CRASH_POINTS
void gpc_crash(const char *name);
#define GPC_CRASH(name) gpc_crash(name)
/* Entries of a list of variables that a node inherits. */
#define GPC_CRASH_ENV "GPUCLOUD_CRASH", "GPUCLOUD_CRASH_DIR",
#else
#define GPC_CRASH(name) ((void)0)
#define GPC_CRASH_ENV
#endif
