/* From pipes to streams.
 *
 * Bytes are read as soon as they come after a pause, then gathered for a moment
 * so that a talkative job costs few wake-ups; a pipe that was found nearly full
 * is read without such rests until it calms down. When the store takes no more
 * (it is slow or full), what was read is held and nothing further is read: the
 * job then blocks on its own pipe, and no byte is lost. */
#include "agent/logs.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "agent/system.h"
#include "base/fd.h"
#include "base/time.h"
#include "record/stream.h"

enum {
	/* Below the 200 ms that are promised, and above what a stream gathers by
	 * itself, so that each batch goes out in the round that read it. */
	GATHER_MS = 80,
	TALK_MS = 500,             /* nobody waits for metrics and talk */
	FLOOD_BYTES = 48 * 1024,   /* of the 64 KiB that a pipe has anywhere */
	FLOOD_MS = 200,
	CHUNK = 128 * 1024, ROUNDS = 8, PIPE_BYTES = 1 << 20,
	MARK_MS = 100,             /* one source's run is split that often */
	INTERVAL_MS = 10000, SLOW_INTERVAL_MS = 60000,
	RETRY_MS = 500, FAR_MS = 60000, TALK_MAX = 1 << 20,
};
/* Marks go out before the bytes that they are about: readers rely on it. */
enum { MARKS, LOG, AGENT, METRICS, STREAMS };
static const char *const folders[] = { "marks/", "log/", "agent/", "metrics/" };

struct gpc_logs {
	int in[GPC_LOGS_PIPES], out[GPC_LOGS_PIPES];
	struct gpc_stream_writer *w[STREAMS];
	int64_t due_ms[STREAMS];
	bool far;                  /* each put is a request */
	int64_t interval_ms;
	int64_t rest_until_ms, flood_until_ms;
	char *chunk;
	size_t held;               /* bytes of chunk that the store refused */
	int held_source;
	int last_source;
	int64_t last_mark_ms;
	gpc_logs_fn *fn;
	void *arg;
	struct gpc_error failure;
	int64_t failing_since_ms;
	pthread_mutex_t talk_lock; /* the worker talks as well */
	struct gpc_buf talk;
};

int gpc_logs_new(struct gpc_store *s, const char *job, int attempt, int rank,
	struct gpc_logs **ret_l, struct gpc_error *err)
{
	struct gpc_logs *l = gpc_alloc(sizeof(*l));
	int r = 0;

	for (int i = 0; i < GPC_LOGS_PIPES; i++)
		l->in[i] = l->out[i] = -1;
	l->last_source = -1;
	pthread_mutex_init(&l->talk_lock, NULL);
	gpc_buf_init(&l->talk, TALK_MAX);
	for (int i = 0; r == 0 && i < GPC_LOGS_PIPES; i++) {
		int fds[2];

		r = gpc_pipe(fds, err);
		if (r < 0)
			break;
		l->in[i] = fds[0];
		l->out[i] = fds[1];
		gpc_pipe_size(fds[1], PIPE_BYTES);
		r = gpc_set_nonblock(fds[0], err);
	}
	if (r < 0) {
		gpc_logs_free(l);
		return r;
	}
	l->far = !(s->caps & GPC_STORE_APPEND);
	l->interval_ms = INTERVAL_MS;
	for (int i = 0; i < STREAMS; i++) {
		gpc_key key;

		l->w[i] = gpc_stream_writer_new(s,
			gpc_key_rank(key, job, attempt, rank, folders[i]),
			i <= LOG ? INTERVAL_MS : SLOW_INTERVAL_MS);
		/* Whoever writes here writes that one first. */
		if (l->far && i != AGENT)
			gpc_stream_trust_new(l->w[i]);
	}
	l->chunk = gpc_alloc(CHUNK);
	*ret_l = l;
	return 0;
}

void gpc_logs_free(struct gpc_logs *l)
{
	if (!l)
		return;
	for (int i = 0; i < GPC_LOGS_PIPES; i++) {
		gpc_close(&l->in[i]);
		gpc_close(&l->out[i]);
	}
	for (int i = 0; i < STREAMS; i++)
		gpc_stream_writer_free(l->w[i]);
	pthread_mutex_destroy(&l->talk_lock);
	gpc_buf_clear(&l->talk);
	free(l->chunk);
	free(l);
}

void gpc_logs_on_bytes(struct gpc_logs *l, gpc_logs_fn *fn, void *arg)
{
	l->fn = fn;
	l->arg = arg;
}

int gpc_logs_write_fd(const struct gpc_logs *l, int source)
{
	return l->out[source];
}

int gpc_logs_poll_fd(const struct gpc_logs *l, int source, int64_t now_ms)
{
	if (l->held || now_ms < l->rest_until_ms)
		return -1;
	return l->in[source];
}

static void note_result(struct gpc_logs *l, int r, const struct gpc_error *err)
{
	if (r == 0) {
		l->failing_since_ms = 0;
		return;
	}
	if (!l->failing_since_ms)
		l->failing_since_ms = gpc_boot_ms();
	l->failure = *err;
}

static void tick(struct gpc_logs *l, int stream, int64_t now_ms)
{
	struct gpc_error err = {0};
	int64_t next = now_ms + FAR_MS;
	int r = 0;

	/* With the log's bytes is soon enough where a put costs money. */
	if (stream == MARKS && l->far) {
		l->due_ms[MARKS] = next;
		return;
	}
	/* The two have clocks of their own, and a full one goes out early. */
	if (stream == LOG && gpc_stream_is_due(l->w[LOG], now_ms))
		r = gpc_stream_send(l->w[MARKS], now_ms, &err);
	if (r == 0)
		r = gpc_stream_tick(l->w[stream], now_ms, &next, &err);
	l->due_ms[stream] = r < 0 ? now_ms + RETRY_MS : next;
	/* The others share its store: the log's fate is theirs. */
	if (stream == LOG)
		note_result(l, r, &err);
}

static void put_mark(struct gpc_logs *l, int source)
{
	struct gpc_mark m = { .offset = gpc_stream_offset(l->w[LOG]),
		.wall_ms = gpc_wall_ms(), .source = source + 1 };
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	int64_t now = gpc_boot_ms();

	if (source == l->last_source && now - l->last_mark_ms < MARK_MS)
		return;
	gpc_mark_format(&m, &b);
	if (b.len && b.data[b.len - 1] != '\n')
		gpc_buf_addc(&b, '\n');
	if (gpc_stream_write(l->w[MARKS], b.data, b.len, NULL) == 0) {
		l->last_source = source;
		l->last_mark_ms = now;
	}
}

/* False: the store took nothing, and the bytes stay in chunk. */
static bool pass_on(struct gpc_logs *l, int source, size_t n)
{
	uint64_t before = gpc_stream_offset(l->w[LOG]);

	put_mark(l, source);
	if (gpc_stream_write(l->w[LOG], l->chunk, n, NULL) < 0
		&& gpc_stream_offset(l->w[LOG]) == before) {
		l->held = n;
		l->held_source = source;
		return false;
	}
	l->held = 0;
	if (l->fn)
		l->fn(l->arg, source, l->chunk, n);
	return true;
}

/* Bytes read from this pipe now. */
static size_t read_pipe(struct gpc_logs *l, int source)
{
	size_t total = 0;

	for (int i = 0; i < ROUNDS && l->in[source] >= 0 && !l->held; i++) {
		ssize_t n = read(l->in[source], l->chunk, CHUNK);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		if (n == 0) {
			gpc_close(&l->in[source]);
			break;
		}
		total += (size_t)n;
		if (!pass_on(l, source, (size_t)n) || n < CHUNK)
			break;
	}
	return total;
}

static void put_line(struct gpc_logs *l, int stream, const char *text, size_t n)
{
	/* Refused only while 64 MiB wait: such lines are not worth more. */
	if (gpc_stream_write(l->w[stream], text, n, NULL) == 0
		&& l->due_ms[stream] > gpc_boot_ms() + TALK_MS)
		l->due_ms[stream] = gpc_boot_ms() + TALK_MS;
}

static void pass_on_talk(struct gpc_logs *l)
{
	pthread_mutex_lock(&l->talk_lock);
	if (l->talk.len) {
		put_line(l, AGENT, l->talk.data, l->talk.len);
		gpc_buf_reset(&l->talk);
	}
	pthread_mutex_unlock(&l->talk_lock);
}

void gpc_logs_pump(struct gpc_logs *l, int64_t now_ms)
{
	size_t most = 0;

	pass_on_talk(l);
	if (l->held)
		pass_on(l, l->held_source, l->held);
	if (!l->held && now_ms >= l->rest_until_ms) {
		for (int i = 0; i < GPC_LOGS_PIPES; i++) {
			size_t n = read_pipe(l, i);

			most = n > most ? n : most;
		}
		if (most >= FLOOD_BYTES)
			l->flood_until_ms = now_ms + FLOOD_MS;
		if (most && now_ms >= l->flood_until_ms)
			l->rest_until_ms = now_ms + GATHER_MS;
	}
	for (int i = 0; i < STREAMS; i++)
		if (now_ms >= l->due_ms[i] || (i <= LOG && most))
			tick(l, i, now_ms);
}

int64_t gpc_logs_next_ms(const struct gpc_logs *l)
{
	int64_t next = l->due_ms[0];

	for (int i = 1; i < STREAMS; i++)
		next = l->due_ms[i] < next ? l->due_ms[i] : next;
	if (l->in[0] >= 0 || l->in[1] >= 0)
		if (l->rest_until_ms > gpc_boot_ms() && l->rest_until_ms < next)
			next = l->rest_until_ms;
	return next;
}

void gpc_logs_set_interval(struct gpc_logs *l, int64_t interval_ms)
{
	if (interval_ms == l->interval_ms)
		return;
	l->interval_ms = interval_ms;
	gpc_stream_set_interval(l->w[LOG], interval_ms);
	l->due_ms[LOG] = 0;
}

void gpc_logs_close_writers(struct gpc_logs *l)
{
	for (int i = 0; i < GPC_LOGS_PIPES; i++)
		gpc_close(&l->out[i]);
	l->rest_until_ms = 0;
}

bool gpc_logs_ended(const struct gpc_logs *l)
{
	return l->in[0] < 0 && l->in[1] < 0 && !l->held;
}

bool gpc_logs_flush(struct gpc_logs *l, struct gpc_error *err)
{
	struct gpc_error why = {0};
	bool held;
	int r = 0;

	pass_on_talk(l);
	held = l->held && !pass_on(l, l->held_source, l->held);
	for (int i = 0; i < STREAMS; i++) {
		struct gpc_error e = {0};
		int x = gpc_stream_flush(l->w[i], &e);

		if (x < 0 && r == 0) {
			r = x;
			why = e;
		}
	}
	if (held && r == 0) /* it has room again: the next call gets on */
		r = gpc_fail(&why, GPC_ERATE, "the store takes no more log");
	note_result(l, r, &why);
	if (r < 0 && err)
		*err = why;
	return r == 0;
}

size_t gpc_logs_unread(const struct gpc_logs *l)
{
	size_t n = l->held;

	for (int i = 0; i < GPC_LOGS_PIPES; i++)
		if (l->in[i] >= 0)
			n += gpc_pipe_filled(l->in[i]);
	return n;
}

size_t gpc_logs_missing(const struct gpc_logs *l)
{
	return gpc_stream_pending(l->w[LOG]) + gpc_logs_unread(l);
}

void gpc_logs_talk(struct gpc_logs *l, const char *line)
{
	char when[GPC_RFC3339_SIZE];

	pthread_mutex_lock(&l->talk_lock);
	/* What does not fit is dropped: nobody reads a megabyte of talk. */
	if (l->talk.len + strlen(line) + sizeof(when) + 2 < TALK_MAX)
		gpc_buf_addf(&l->talk, "%s %s\n",
			gpc_format_rfc3339(gpc_wall_ms(), when), line);
	pthread_mutex_unlock(&l->talk_lock);
}

void gpc_logs_metric(struct gpc_logs *l, const char *line, size_t n)
{
	put_line(l, METRICS, line, n);
}

int64_t gpc_logs_failing_since(const struct gpc_logs *l,
	struct gpc_error *ret_e)
{
	if (l->failing_since_ms && ret_e)
		*ret_e = l->failure;
	return l->failing_since_ms;
}
