/* See pipe.h. One part is filled from the pipe while up to three are sent, by turns:
 * whoever writes into the pipe may be slow, and so may be the service. */
#include "transfer/pipe.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"

enum { FLYING = 3, READ_AT_ONCE = 1 << 20, TURN_MS = 20, WAIT_MS = 100, LAST_MS = 5000 };
#define PART ((size_t)16 << 20)

/* A part on its way. */
struct flight {
	struct up *up;
	char *bytes;                    /* owned while it flies */
	int number;
	struct gpc_body body;
};

struct up {
	const struct gpc_pipe_settings *set;
	struct gpc_objects *o;
	struct gpc_net_loop *loop;
	const char *key;
	const struct gpc_object_options *options;
	int fd;
	char *filling;                  /* the next part */
	size_t n, size;                 /* bytes in it, and how many it takes */
	bool ended;                     /* the pipe */
	char *id;                       /* of the upload, once it began */
	GPC_VEC(struct gpc_object_part) parts;
	struct flight flights[FLYING];
	uint64_t all;
	bool waiting;                   /* for a step that is alone on its way */
	int r;                          /* the first failure */
	struct gpc_error err;
};

static void note(struct up *u, int r, const struct gpc_error *err)
{
	if (r == 0 || u->r)
		return;
	u->r = r;
	u->err = *err;
}

/* --- steps that are waited for ------------------------------------------------ */

static void step_done(void *arg, int r, const struct gpc_object_result *result,
	const struct gpc_error *err)
{
	struct up *u = arg;

	u->waiting = false;
	note(u, r, err);
	if (!r && result->text && !u->id)
		u->id = gpc_strdup(result->text);
}

static int wait_step(struct up *u, int r, struct gpc_error *err)
{
	u->waiting = r == 0;
	while (!r && u->waiting)
		r = gpc_net_loop_run(u->loop, -1, NULL, err);
	if (!r && u->r && err)
		*err = u->err;
	return r ? r : u->r;
}

static int begin(struct up *u, struct gpc_error *err)
{
	return wait_step(u, gpc_objects_begin(u->o, u->loop, u->key, u->options,
		step_done, u, err), err);
}

static int end(struct up *u, struct gpc_error *err)
{
	return wait_step(u, gpc_objects_end(u->o, u->loop, u->key, u->id,
		u->parts.v, (int)u->parts.n, u->options, step_done, u, err),
		err);
}

static int put_whole(struct up *u, struct gpc_error *err)
{
	const struct gpc_body body = { .data = u->filling, .fd = -1,
		.size = u->n };

	return wait_step(u, gpc_objects_put(u->o, u->loop, u->key, &body,
		u->options, step_done, u, err), err);
}

/* --- parts -------------------------------------------------------------------- */

static size_t part_size(size_t number)
{
	return number <= 1000 ? PART : number <= 2000 ? 2 * PART : 4 * PART;
}

static void part_done(void *arg, int r, const struct gpc_object_result *result,
	const struct gpc_error *err)
{
	struct flight *f = arg;
	struct gpc_object_part *part = &f->up->parts.v[f->number - 1];

	free(f->bytes);
	f->bytes = NULL;
	note(f->up, r, err);
	if (r)
		return;
	part->etag = gpc_strdup(result->text);
	part->sum = result->sum;
	f->up->all += part->size;
	if (f->up->set->progress)
		f->up->set->progress(f->up->set->arg, f->up->all);
}

static struct flight *free_flight(struct up *u)
{
	for (int i = 0; i < FLYING; i++)
		if (!u->flights[i].bytes)
			return &u->flights[i];
	return NULL;
}

static bool any_flies(const struct up *u)
{
	for (int i = 0; i < FLYING; i++)
		if (u->flights[i].bytes)
			return true;
	return false;
}

static int send_part(struct up *u, struct flight *f, struct gpc_error *err)
{
	struct gpc_object_part *part;
	int r = u->id ? 0 : begin(u, err);

	if (r)
		return r;
	if (u->parts.n >= GPC_OBJECT_PARTS)
		return gpc_fail(err, GPC_EIO, "the pipe gives more than an upload "
			"from one can have");
	part = gpc_vec_push(&u->parts);
	part->size = u->n;
	f->up = u;
	f->number = (int)u->parts.n;
	f->bytes = gpc_steal(&u->filling);
	f->body = (struct gpc_body){ .data = f->bytes, .fd = -1, .size = u->n };
	u->n = 0;
	r = gpc_objects_part(u->o, u->loop, u->key, u->id, f->number, &f->body,
		part_done, f, err);
	if (r) {
		free(f->bytes);
		f->bytes = NULL;
	}
	return r;
}

static int make_room(struct up *u, struct gpc_error *err)
{
	if (u->filling)
		return 0;
	u->size = part_size(u->parts.n + 1);
	u->filling = gpc_try_grow(NULL, u->size, 1);
	return u->filling ? 0 : gpc_fail_memory(err, "a part of an upload");
}

/* As much as is there now. *ret_some: something was read, or the end. */
static int read_some(struct up *u, int wait_ms, bool *ret_some,
	struct gpc_error *err)
{
	struct pollfd p = { .fd = u->fd, .events = POLLIN };
	size_t want = u->size - u->n;
	ssize_t n;

	*ret_some = false;
	if (poll(&p, 1, wait_ms) <= 0)
		return 0;
	n = read(u->fd, u->filling + u->n, want < READ_AT_ONCE ? want :
		READ_AT_ONCE);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n < 0)
		return gpc_fail_sys(err, errno, "cannot read what is to be put");
	u->n += (size_t)n;
	u->ended = n == 0;
	*ret_some = true;
	return 0;
}

/* Reads, sends, or waits for either. */
static int turn(struct up *u, struct gpc_error *err)
{
	struct flight *f = free_flight(u);
	bool some = false, flying = any_flies(u);
	int r = make_room(u, err);

	if (gpc_canceled(u->set->cancel))
		return gpc_fail(err, GPC_ECANCELED, "interrupted");
	if (!r && u->n < u->size && !u->ended)
		r = read_some(u, flying ? 0 : WAIT_MS, &some, err);
	/* what fits into one part is put in one request */
	if (!r && f && (u->n == u->size || (u->ended && u->id && u->n)))
		r = send_part(u, f, err);
	if (!r && any_flies(u))
		r = gpc_net_loop_run(u->loop, some ? 0 : TURN_MS, NULL, err);
	if (!r && u->r && err)
		*err = u->err;
	return r ? r : u->r;
}

static int run(struct up *u, struct gpc_error *err)
{
	int r = 0;

	while (!r && !(u->ended && !any_flies(u) && !(u->id && u->n)))
		r = turn(u, err);
	if (r)
		return r;
	if (u->id)
		return end(u, err);
	u->all = u->n;
	return put_whole(u, err);
}

/* --- its end ------------------------------------------------------------------ */

/* By a net that was not cancelled, and not for long. */
static void drop(struct up *u)
{
	const struct gpc_net_settings how = { .ca_file = u->set->ca_file,
		.log = u->set->log, .max_tries = 2 };
	gpc_autoptr(gpc_net) *net = gpc_net_new(&how);
	gpc_autoptr(gpc_net_loop) *loop = gpc_net_loop_new(net);
	struct gpc_error err;
	int r = gpc_objects_drop(u->o, loop, u->key, u->id, step_done, u, &err);

	u->loop = NULL;
	u->waiting = r == 0;
	u->r = 0;
	if (!r)
		r = gpc_net_loop_run(loop, LAST_MS, NULL, &err);
	if (!r && u->r)
		err = u->err;
	if (r || u->r)
		gpc_log(u->set->log, GPC_WARN, "parts of the upload may stay: %s",
			err.msg);
	else if (u->waiting)
		gpc_log(u->set->log, GPC_WARN, "parts of the upload may stay, and "
			"cost, until they are removed");
}

static void up_clear(struct up *u)
{
	for (int i = 0; i < FLYING; i++)
		free(u->flights[i].bytes);
	gpc_vec_each(p, &u->parts)
		free(p->etag);
	gpc_vec_free(&u->parts);
	free(u->filling);
	free(u->id);
}

int gpc_pipe_up(const struct gpc_pipe_settings *s, int fd, struct gpc_objects *o,
	const char *key, const struct gpc_object_options *options,
	uint64_t *ret_size, struct gpc_error *err)
{
	struct gpc_net_loop *loop = gpc_net_loop_new(s->net);
	struct up u = { .set = s, .o = o, .loop = loop, .key = key,
		.options = options, .fd = fd };
	int r = run(&u, err);

	/* what still flies is forgotten before its bytes go */
	gpc_net_loop_free(loop);
	if (r && u.id)
		drop(&u);
	else if (!r)
		*ret_size = u.all;
	up_clear(&u);
	return r;
}

/* --- down --------------------------------------------------------------------- */

struct down {
	const struct gpc_pipe_settings *set;
	gpc_sink_fn *sink;
	void *arg;
	uint64_t all;
	int r;
	struct gpc_error err;
};

static int take(void *arg, const void *data, size_t n, struct gpc_error *err)
{
	struct down *d = arg;
	int r = d->sink(d->arg, data, n, err);

	d->all += n;
	if (!r && d->set->progress)
		d->set->progress(d->set->arg, d->all);
	return r;
}

static void down_done(void *arg, int r, const struct gpc_object_result *result,
	const struct gpc_error *err)
{
	struct down *d = arg;

	(void)result;
	d->r = r;
	if (r)
		d->err = *err;
}

int gpc_pipe_down(const struct gpc_pipe_settings *s, struct gpc_objects *o,
	const char *key, gpc_sink_fn *sink, void *arg, uint64_t *ret_size,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_net_loop) *loop = gpc_net_loop_new(s->net);
	struct down d = { .set = s, .sink = sink, .arg = arg };
	const struct gpc_object_get get = { .key = key, .length = -1,
		.sink = take, .arg = &d };
	int r = gpc_objects_get(o, loop, &get, down_done, &d, err);

	if (!r)
		r = gpc_net_loop_run(loop, -1, NULL, err);
	if (!r && d.r && err)
		*err = d.err;
	if (!r && !d.r)
		*ret_size = d.all;
	return r ? r : d.r;
}
