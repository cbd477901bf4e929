/* Bytes to stdout, with no error lost.
 *
 * stdio remembers that a write failed but not why, and a full disk often shows
 * only at the last flush. So every function looks, gpc_out_finish looks again,
 * and main calls it before it may exit with 0. A reader that went away is told
 * apart from a disk that is full: the first ends us quietly.
 */
#include "cmd/out.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>

#include "base/buf.h"

const char *const gpc_out_formats[] = {
	"table", "wide", "json", "csv", "name", NULL,
};

static int write_failed(struct gpc_out *o, int sys, struct gpc_error *err)
{
	o->broken = o->broken || sys == EPIPE;
	/* stdio forgets why; what fails later fails for the same reason */
	o->failed = o->failed ? o->failed : sys;
	if (o->failed == EINTR)
		return gpc_fail(err, GPC_ECANCELED, "interrupted");
	return gpc_fail_sys(err, o->failed ? o->failed : EIO,
		"cannot write to stdout");
}

static int put(struct gpc_out *o, const void *data, size_t n, bool flush,
	struct gpc_error *err)
{
	sigset_t stops, before;
	int sys = 0;

	/* An interrupted write of stdio has lost what it had left. A terminal
	 * takes it in a moment; a pipe may be stuck, and stays interruptible. */
	sigemptyset(&stops);
	sigaddset(&stops, SIGINT);
	sigaddset(&stops, SIGTERM);
	sigaddset(&stops, SIGHUP);
	if (o->width)
		pthread_sigmask(SIG_BLOCK, &stops, &before);
	errno = 0;
	if ((n && fwrite(data, 1, n, o->to) != n) || (flush && fflush(o->to)))
		sys = errno ? errno : EIO;
	if (o->width)
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	return sys ? write_failed(o, sys, err) : 0;
}

int gpc_out_write(struct gpc_out *o, const void *data, size_t n,
	struct gpc_error *err)
{
	return put(o, data, n, true, err);
}

int gpc_out_print(struct gpc_out *o, struct gpc_error *err,
	const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	gpc_autostr *text = gpc_vformat(fmt, ap);
	va_end(ap);
	struct gpc_str s = gpc_str_of(text);
	return put(o, s.ptr, s.len, false, err);
}

int gpc_out_finish(struct gpc_out *o, struct gpc_error *err)
{
	errno = 0;
	if (fflush(o->to) || ferror(o->to))
		return write_failed(o, errno, err);
	return 0;
}

/* The object again with "schema" in front. */
static struct gpc_json *with_schema(const char *thing, const struct gpc_json *j)
{
	gpc_autostr *schema = gpc_format("gpucloud.%s/1", thing);
	struct gpc_json *out = gpc_json_object();

	gpc_json_set_str(out, "schema", schema);
	for (const struct gpc_json *m = gpc_json_first(j); m;
	     m = gpc_json_next(m))
		gpc_json_set(out, gpc_json_key(m), gpc_json_copy(m));
	return out;
}

int gpc_out_json(struct gpc_out *o, const char *thing, struct gpc_json *taken,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *j = taken;
	gpc_autoptr(gpc_json) *full = with_schema(thing, j);
	gpc_autostr *text = gpc_json_print_pretty(full);

	return gpc_out_print(o, err, "%s\n", text);
}

int gpc_out_event(struct gpc_out *o, const char *thing, struct gpc_json *taken,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *j = taken;
	gpc_autoptr(gpc_json) *full = with_schema(thing, j);
	gpc_autostr *text = gpc_json_print(full);
	gpc_autostr *line = gpc_format("%s\n", text);
	struct gpc_str s = gpc_str_of(line);

	return put(o, s.ptr, s.len, true, err);
}
