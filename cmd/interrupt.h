/* SIGINT, SIGTERM and SIGHUP become a flag; SIGPIPE becomes EPIPE. */
#pragma once
#include "base/cancel.h"

/* Installs the handlers and returns the process's only token. A second SIGINT
 * kills at once. SIGHUP that was ignored at start (nohup) stays ignored. */
const struct gpc_cancel *gpc_signals_install(void);
/* The signal was heeded: what comes now is judged anew. */
void gpc_signals_forget(void);
/* Default actions again: for a child between fork and exec (async-signal-safe)
 * and for dying of a signal. */
void gpc_signals_restore(void);
