/* Talk goes to an injected sink on stderr (or an agent's stream); data never
 * does. A library function returns an error or logs a recovered one, never
 * both. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

enum gpc_level { GPC_ERROR, GPC_WARN, GPC_INFO, GPC_VERBOSE, GPC_TRACE };

struct gpc_log {
	enum gpc_level level;       /* what is still shown; zero = errors only */
	bool json;                  /* one JSON object a line */
	bool color;
	/* Takes one line without its newline; NULL writes to stderr. */
	void (*sink)(void *arg, enum gpc_level level, const char *line);
	void *sink_arg;
};

/* log may be NULL: then nothing is shown. */
void gpc_log(const struct gpc_log *log, enum gpc_level level,
	const char *fmt, ...) gpc_printf(3, 4);
