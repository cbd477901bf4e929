/* Errors as values. A message is composed in a scratch copy first, so that a
 * caller may build a new error out of the text of the old one, and one that
 * does not fit says so by ending in "...". The two tables here are the only
 * places that decide what is retried and which exit status a cause has.
 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

static const struct {
	const char *word;
	int exit;
	bool retryable;
} codes[GPC_CODE__COUNT] = {
	[GPC_OK] = {"ok", 0, false},
	[GPC_EUSAGE] = {"usage", 2, false},
	[GPC_ECONFIG] = {"config", 3, false},
	[GPC_EAUTH] = {"auth", 4, false},
	[GPC_ENOTFOUND] = {"not_found", 5, false},
	[GPC_ECONFLICT] = {"conflict", 8, false},
	[GPC_EQUOTA] = {"quota", 6, false},
	[GPC_ECAPACITY] = {"capacity", 6, true},
	[GPC_ERATE] = {"rate", 7, true},
	[GPC_ETIMEOUT] = {"timeout", 7, true},
	[GPC_ENET] = {"net", 7, true},
	[GPC_EPROTO] = {"proto", 1, false},
	[GPC_EIO] = {"io", 1, false},
	[GPC_ECANCELED] = {"canceled", 130, false},
	[GPC_EOVERCAP] = {"over_cap", 9, false},
	[GPC_EUNSUPPORTED] = {"unsupported", 3, false},
	[GPC_ENOROOM] = {"no_room", 1, false},
};

/* Cuts at a whole UTF-8 character, so that the mark never follows half a one. */
static void mark_cut(char *text, size_t size)
{
	size_t at = size - 4;

	while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80)
		at--;
	memcpy(text + at, "...", 4);
}

static gpc_printf(3, 0) void put(char *text, size_t size, const char *fmt,
	va_list ap)
{
	int n = vsnprintf(text, size, fmt, ap);

	if (n < 0)
		snprintf(text, size, "(a message that cannot be formatted)");
	else if ((size_t)n >= size)
		mark_cut(text, size);
}

static void join(char *out, size_t size, const char *a, const char *b)
{
	int n = snprintf(out, size, "%s: %s", a, b);

	if (n < 0 || (size_t)n >= size)
		mark_cut(out, size);
}

static void set(struct gpc_error *err, enum gpc_code code, int sys,
	const char *msg)
{
	memset(err, 0, sizeof(*err));
	err->code = code;
	err->sys = sys;
	memcpy(err->msg, msg, strlen(msg) + 1);
}

int gpc_fail(struct gpc_error *err, enum gpc_code code, const char *fmt, ...)
{
	char msg[sizeof(err->msg)];
	va_list ap;

	if (!err)
		return -(int)code;
	va_start(ap, fmt);
	put(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	set(err, code, 0, msg);
	return -(int)code;
}

static enum gpc_code code_of_errno(int sys)
{
	switch (sys) {
	case ENOENT:
		return GPC_ENOTFOUND;
	case EEXIST:
		return GPC_ECONFLICT;
	case ETIMEDOUT:
		return GPC_ETIMEOUT;
	case ECANCELED:
		return GPC_ECANCELED;
	case ECONNREFUSED:
	case ECONNRESET:
	case ECONNABORTED:
	case EHOSTUNREACH:
	case ENETUNREACH:
	case ENETDOWN:
		return GPC_ENET;
	case ENOTSUP:
	case ENOSYS:
		return GPC_EUNSUPPORTED;
	default:
		return GPC_EIO;
	}
}

static const char *hint_of_errno(int sys)
{
	switch (sys) {
	case ENOSPC:
		return "free space on that disk, then repeat";
	case EDQUOT:
		return "free space within your disk quota, then repeat";
	case EMFILE:
		return "raise the limit of open files (ulimit -n), then repeat";
	case EROFS:
		return "name a place that is not mounted read-only";
	case EACCES:
	case EPERM:
		return "check its permissions, and those of the folders above it";
	default:
		return "";
	}
}

int gpc_fail_sys(struct gpc_error *err, int sys, const char *fmt, ...)
{
	enum gpc_code code = code_of_errno(sys);
	char what[sizeof(err->msg)];
	char why[128];
	char msg[sizeof(err->msg)];
	va_list ap;

	if (!err)
		return -(int)code;
	va_start(ap, fmt);
	put(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (strerror_r(sys, why, sizeof(why)) != 0)
		snprintf(why, sizeof(why), "error %d", sys);
	join(msg, sizeof(msg), what, why);
	set(err, code, sys, msg);
	gpc_hint(err, "%s", hint_of_errno(sys));
	return -(int)code;
}

int gpc_wrap(struct gpc_error *err, int r, const char *fmt, ...)
{
	char what[sizeof(err->msg)];
	char msg[sizeof(err->msg)];
	va_list ap;

	if (!err || r == 0)
		return r;
	va_start(ap, fmt);
	put(what, sizeof(what), fmt, ap);
	va_end(ap);
	join(msg, sizeof(msg), what, err->msg);
	memcpy(err->msg, msg, sizeof(msg));
	return r;
}

int gpc_recode(struct gpc_error *err, enum gpc_code code)
{
	if (err)
		err->code = code;
	return -(int)code;
}

void gpc_hint(struct gpc_error *err, const char *fmt, ...)
{
	char hint[sizeof(err->hint)];
	va_list ap;

	if (!err)
		return;
	va_start(ap, fmt);
	put(hint, sizeof(hint), fmt, ap);
	va_end(ap);
	memcpy(err->hint, hint, sizeof(hint));
}

void gpc_hint_then(struct gpc_error *err, const char *text)
{
	char before[sizeof(err->hint)];

	if (!err || strstr(err->hint, text))
		return;
	memcpy(before, err->hint, sizeof(before));
	gpc_hint(err, "%s%s%s", before, *before ? "; then " : "", text);
}

char *gpc_error_words(const struct gpc_error *err)
{
	return err->request_id[0] && !strstr(err->msg, err->request_id) ?
		gpc_format("%s (request %s)", err->msg, err->request_id) :
		gpc_strdup(err->msg);
}

const char *gpc_error_advice(const struct gpc_error *err)
{
	if (err->hint[0])
		return err->hint;
	switch (err->code) {
	case GPC_ERATE:
		return "the service is asked too often: try again a little later";
	case GPC_ENET:
	case GPC_ETIMEOUT:
		return err->http ?
			"the service has trouble of its own: try again later" :
			"check the network between here and there, then try again";
	case GPC_EPROTO:
		return err->http ? "-vv shows what was asked and what was answered" :
			"";
	default:
		return "";
	}
}

bool gpc_code_retryable(enum gpc_code code)
{
	return (unsigned)code < GPC_CODE__COUNT && codes[code].retryable;
}

int gpc_code_exit(enum gpc_code code)
{
	return (unsigned)code < GPC_CODE__COUNT ? codes[code].exit : 1;
}

int gpc_error_exit(const struct gpc_error *err)
{
	bool forbidden = err->sys == EACCES || err->sys == EPERM ||
		err->sys == EROFS;

	return gpc_code_exit(err->code == GPC_EIO && forbidden ? GPC_EAUTH :
		err->code);
}

const char *gpc_code_to_str(enum gpc_code code)
{
	return (unsigned)code < GPC_CODE__COUNT ? codes[code].word : "unknown";
}
