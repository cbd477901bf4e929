/* The one error convention of gpucloud.
 *
 * A function that can fail returns int: 0, or the negative of a gpc_code. It
 * takes `struct gpc_error *err` as its last argument, which may be NULL, and
 * fills it on failure only; its ret_ parameters stay untouched then. There is
 * no last-error global: errno becomes a gpc_error on the line it occurs.
 * Codes are decisions (retry? which exit status?), messages are for people.
 */
#pragma once
#include <stdbool.h>

#define gpc_must_check __attribute__((warn_unused_result))
#define gpc_printf(fmt_at, args_at) \
	__attribute__((format(printf, fmt_at, args_at)))

enum gpc_code {
	GPC_OK = 0,
	GPC_EUSAGE,       /* the command line is wrong */
	GPC_ECONFIG,      /* a spec or the configuration is wrong */
	GPC_EAUTH,        /* no or refused credentials, missing permission */
	GPC_ENOTFOUND,
	GPC_ECONFLICT,    /* exists already, or ambiguous */
	GPC_EQUOTA,
	GPC_ECAPACITY,
	GPC_ERATE,        /* throttled */
	GPC_ETIMEOUT,
	GPC_ENET,
	GPC_EPROTO,       /* bytes from outside that break their format or a cap */
	GPC_EIO,          /* the local machine failed; see sys */
	GPC_ECANCELED,
	GPC_EOVERCAP,     /* would pass a money cap */
	GPC_EUNSUPPORTED,
	GPC_ENOROOM,      /* a disk that machines are made on is full */
	GPC_CODE__COUNT,
};

#define GPC_NEVER_MS 2147483647
struct gpc_error {
	enum gpc_code code;
	int sys;                /* errno behind it, or 0 */
	int http;               /* HTTP status behind it, or 0 */
	int retry_after_ms;     /* what the service asked for, or 0; GPC_NEVER_MS:
	                         * that waits in vain, somebody has to do something */
	bool passes;            /* a service was out of reach or overloaded, or our
	                         * credentials have ended: what was asked for is none
	                         * the worse, and the same may work later */
	char request_id[64];
	char msg[768];
	char hint[1024];         /* what to do next; may be empty */
};

/* Sets *err and returns -code. A message that does not fit ends in "...". */
int gpc_fail(struct gpc_error *err, enum gpc_code code, const char *fmt, ...)
	gpc_printf(3, 4);
/* The same from an errno value; appends ": " and its text. ENOENT becomes
 * GPC_ENOTFOUND, EEXIST GPC_ECONFLICT, EACCES/EPERM/EROFS GPC_EIO. */
int gpc_fail_sys(struct gpc_error *err, int sys, const char *fmt, ...)
	gpc_printf(3, 4);
/* Puts "text: " before the message that err holds; returns r. */
int gpc_wrap(struct gpc_error *err, int r, const char *fmt, ...)
	gpc_printf(3, 4);
/* What failed is somebody else's matter than it said: gives err (which may be NULL)
 * another code and returns -code. */
int gpc_recode(struct gpc_error *err, enum gpc_code code);
/* Sets the line that says what to do next. Call it after gpc_fail. */
void gpc_hint(struct gpc_error *err, const char *fmt, ...) gpc_printf(2, 3);
/* The same beside what it says already: "do this; then that". */
void gpc_hint_then(struct gpc_error *err, const char *text);

/* Its message with the request's id, where that is not in it already; owned. */
char *gpc_error_words(const struct gpc_error *err);

/* What to do next: its hint, else what helps with any error of its code; borrowed, ""
 * when there is nothing to say. */
const char *gpc_error_advice(const struct gpc_error *err);

bool gpc_code_retryable(enum gpc_code code);
int gpc_code_exit(enum gpc_code code);          /* the table of gpucloud(1) */
/* The same for an error: what the system forbids is a missing permission. */
int gpc_error_exit(const struct gpc_error *err);
const char *gpc_code_to_str(enum gpc_code code); /* "not_found" */
