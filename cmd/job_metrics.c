/* Only the end of a stream is read: whoever asks how a job is doing wants its
 * newest numbers, however long it has been running.
 */
#include "cmd/job_metrics.h"

#include <string.h>

#include "base/str.h"
#include "cmd/phrase.h"
#include "record/keys.h"
#include "record/roll.h"
#include "record/stream.h"

#define TAIL ((uint64_t)64 << 10)
enum { MAX_NAMES = 64 };

void gpc_metric_list_clear(struct gpc_metric_list *l)
{
	gpc_vec_each(m, l)
		free(m->name);
	gpc_vec_free(l);
}

static void note(struct gpc_metric_list *l, const char *name, double value,
	int64_t at_ms, int rank)
{
	struct gpc_metric *m = NULL;

	gpc_vec_each(x, l) {
		if (gpc_eq(x->name, name))
			m = x;
	}
	if (!m) {
		if (l->n >= MAX_NAMES)
			return;
		m = gpc_vec_push(l);
		m->name = gpc_strdup(name);
	}
	if (at_ms < m->at_ms)
		return;
	m->value = value;
	m->at_ms = at_ms;
	m->rank = rank;
}

static void take_line(struct gpc_metric_list *l, struct gpc_str line, int rank)
{
	gpc_autoptr(gpc_json) *j = NULL;
	const struct gpc_json *value;
	const char *name;

	if (gpc_json_parse(line.ptr, line.len, &j, NULL))
		return;
	name = gpc_json_get_str(j, "name");
	value = gpc_json_get(j, "value");
	if (name && gpc_json_is_number(value))
		note(l, name, gpc_json_number_or(value, 0),
			gpc_json_get_int(j, "t", 0), rank);
}

/* A first line that was cut is no JSON and falls away by itself. */
static int read_rank(struct gpc_store *s, const char *job, int attempt,
	int rank, struct gpc_metric_list *l, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autoptr(gpc_stream_reader) *reader = NULL;
	uint64_t size = 0;
	gpc_key folder;
	struct gpc_str rest, line;
	int r;

	gpc_key_rank(folder, job, attempt, rank, "metrics/");
	r = gpc_stream_size(s, folder, &size, err);
	if (r || !size)
		return r == -GPC_ENOTFOUND ? 0 : r;
	reader = gpc_stream_reader_new(s, folder, size > TAIL ? size - TAIL : 0);
	r = gpc_stream_read(reader, TAIL, &b, err);
	if (r)
		return r;
	rest = (struct gpc_str){b.data, b.len};
	while (gpc_str_split(&rest, '\n', &line))
		take_line(l, line, rank);
	return 0;
}

int gpc_metrics_newest(struct gpc_store *s, const char *job, int attempt,
	int num_nodes, struct gpc_metric_list *ret_l, struct gpc_error *err)
{
	gpc_auto(gpc_metric_list) struct gpc_metric_list l = {0};

	if (gpc_roll_is_kept(num_nodes))
		num_nodes = 1;          /* rank 0 speaks for all */
	for (int rank = 0; rank < num_nodes; rank++) {
		int r = read_rank(s, job, attempt, rank, &l, err);
		if (r)
			return r;
	}
	*ret_l = l;
	l = (struct gpc_metric_list){0};
	return 0;
}

struct gpc_json *gpc_metrics_json(const struct gpc_metric_list *l)
{
	struct gpc_json *all = gpc_json_object();

	gpc_vec_each(m, l) {
		struct gpc_json *j = gpc_json_object();

		gpc_json_set(j, "value", gpc_json_number(m->value));
		gpc_json_set(j, "at", gpc_phrase_time_json(m->at_ms));
		gpc_json_set_int(j, "rank", m->rank);
		gpc_json_set(all, m->name, j);
	}
	return all;
}
