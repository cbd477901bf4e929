/* Metrics from output and from a file.
 *
 * A line ends at a newline or a carriage return, as progress bars write. Most
 * lines match nothing, so each expression's leading literal text is searched
 * first, which costs a fraction of running it. Matching takes up to the square
 * of a line's length, so that lines of more than 4 KiB are passed over. A name
 * gives at most ten values a second from output: of a burst the newest counts. */
#define _DEFAULT_SOURCE
#include "agent/metrics.h"

#include <fcntl.h>
#include <math.h>
#include <regex.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/time.h"
#include "base/vec.h"
#include "dep/json.h"

enum { LINE_MAX_BYTES = 4096, MIN_GAP_MS = 100, FILE_CHUNK = 256 * 1024,
	MAX_NAMES_A_LINE = 256 };

struct expr {
	char *name, *literal;
	regex_t regex;
	double value;
	bool held;                 /* value waits for its turn */
	int64_t last_ms;           /* boot clock */
};

struct gpc_metrics {
	GPC_VEC(struct expr) exprs;
	struct gpc_buf line[2];
	bool skipping[2];          /* inside a line that is too long */
	char *file;
	int64_t offset;
	gpc_metrics_fn *fn;
	void *arg;
};

static void emit(struct gpc_metrics *m, int64_t t_ms, const char *name,
	double value)
{
	gpc_autoptr(gpc_json) *j = gpc_json_object();
	gpc_autostr *text = NULL;
	size_t n;

	gpc_json_set_int(j, "t", t_ms);
	gpc_json_set_str(j, "name", name);
	gpc_json_set(j, "value", gpc_json_number(value));
	text = gpc_json_print(j);
	n = strlen(text);
	text[n] = '\n';            /* instead of the terminator */
	m->fn(m->arg, text, n + 1);
}

void gpc_metrics_put(struct gpc_metrics *m, const char *name, double value)
{
	emit(m, gpc_wall_ms(), name, value);
}

/* The text that every match begins with; "" when there is no such. */
static char *leading_literal(const char *expr)
{
	size_t n = strcspn(expr, "\\^$.[]|()*+?{}");

	if (strchr(expr, '|'))
		n = 0;
	if (n && expr[n] && strchr("*?{", expr[n]))
		n--;               /* the last character may be absent */
	return gpc_strndup(expr, n);
}

static int add_expr(struct gpc_metrics *m, const char *name, const char *text,
	struct gpc_error *err)
{
	struct expr *e = gpc_vec_push(&m->exprs);
	int r = regcomp(&e->regex, text, REG_EXTENDED);
	char why[128];

	if (r != 0) {
		regerror(r, &e->regex, why, sizeof(why));
		m->exprs.n--;
		return gpc_fail(err, GPC_ECONFIG, "metrics.%s: %s", name, why);
	}
	e->name = gpc_strdup(name);
	e->literal = leading_literal(text);
	return 0;
}

int gpc_metrics_new(const struct gpc_pairs *exprs, const char *file,
	gpc_metrics_fn *fn, void *arg, struct gpc_metrics **ret_m,
	struct gpc_error *err)
{
	struct gpc_metrics *m = gpc_alloc(sizeof(*m));
	int r = 0;

	m->file = gpc_strdup(file);
	m->fn = fn;
	m->arg = arg;
	for (int i = 0; i < 2; i++)
		gpc_buf_init(&m->line[i], LINE_MAX_BYTES + 1);
	for (size_t i = 0; r == 0 && i < exprs->n; i++)
		r = add_expr(m, exprs->v[i].key, exprs->v[i].value, err);
	if (r < 0) {
		gpc_metrics_free(m);
		return r;
	}
	*ret_m = m;
	return 0;
}

void gpc_metrics_free(struct gpc_metrics *m)
{
	if (!m)
		return;
	gpc_vec_each(e, &m->exprs) {
		regfree(&e->regex);
		free(e->name);
		free(e->literal);
	}
	gpc_vec_free(&m->exprs);
	for (int i = 0; i < 2; i++)
		gpc_buf_clear(&m->line[i]);
	free(m->file);
	free(m);
}

/* --- output --------------------------------------------------------------- */

static bool number_at(const char *s, size_t n, double *ret_x)
{
	gpc_autostr *text = gpc_strndup(s, n);

	return gpc_parse_double(text, -HUGE_VAL, HUGE_VAL, "value", ret_x,
		NULL) == 0 && isfinite(*ret_x);
}

/* "loss=0.25," behind a match without a group: the longest number there. */
static bool number_after(const char *s, double *ret_x)
{
	size_t n;

	s += strcspn(s, "+-.0123456789");
	n = strspn(s, "+-.0123456789eE");
	while (n > 0 && !number_at(s, n, ret_x))
		n--;
	return n > 0;
}

static void try_expr(struct gpc_metrics *m, struct expr *e, const char *line)
{
	regmatch_t at[2];
	double x;
	bool ok;

	if (*e->literal && !strstr(line, e->literal))
		return;
	if (regexec(&e->regex, line, 2, at, 0) != 0)
		return;
	if (e->regex.re_nsub > 0 && at[1].rm_so >= 0)
		ok = number_at(line + at[1].rm_so,
			(size_t)(at[1].rm_eo - at[1].rm_so), &x);
	else
		ok = number_at(line + at[0].rm_so,
			(size_t)(at[0].rm_eo - at[0].rm_so), &x)
			|| number_after(line + at[0].rm_eo, &x);
	if (!ok)
		return;
	e->value = x;
	e->held = true;
	if (gpc_boot_ms() - e->last_ms < MIN_GAP_MS)
		return;
	e->held = false;
	e->last_ms = gpc_boot_ms();
	emit(m, gpc_wall_ms(), e->name, x);
}

static void end_line(struct gpc_metrics *m, int source)
{
	struct gpc_buf *b = &m->line[source];

	if (!m->skipping[source] && b->len && !memchr(b->data, '\0', b->len))
		gpc_vec_each(e, &m->exprs)
			try_expr(m, e, gpc_buf_str(b));
	gpc_buf_reset(b);
	m->skipping[source] = false;
}

static size_t line_part(const char *data, size_t n)
{
	const char *nl = memchr(data, '\n', n);
	size_t part = nl ? (size_t)(nl - data) : n;
	const char *cr = memchr(data, '\r', part);

	return cr ? (size_t)(cr - data) : part;
}

void gpc_metrics_feed(struct gpc_metrics *m, int source, const char *data,
	size_t n)
{
	if (m->exprs.n == 0)
		return;
	while (n > 0) {
		size_t part = line_part(data, n);

		if (m->line[source].len + part > LINE_MAX_BYTES)
			m->skipping[source] = true;
		if (!m->skipping[source])
			gpc_buf_add(&m->line[source], data, part);
		if (part == n)
			return;
		end_line(m, source);
		data += part + 1;
		n -= part + 1;
	}
}

/* --- file ----------------------------------------------------------------- */

static void take_json(struct gpc_metrics *m, const struct gpc_json *j)
{
	int64_t t = gpc_json_get_int(j, "t", gpc_wall_ms());
	const char *name = gpc_json_get_str(j, "name");
	const struct gpc_json *value = gpc_json_get(j, "value");
	int n = 0;

	if (name && gpc_json_is_number(value)) {
		emit(m, t, name, gpc_json_number_or(value, 0));
		return;
	}
	for (value = gpc_json_first(j); value && n < MAX_NAMES_A_LINE;
		value = gpc_json_next(value), n++)
		if (gpc_json_is_number(value) && strcmp(gpc_json_key(value), "t"))
			emit(m, t, gpc_json_key(value),
				gpc_json_number_or(value, 0));
}

static void take_line(struct gpc_metrics *m, const char *line, size_t n)
{
	gpc_autoptr(gpc_json) *j = NULL;

	if (gpc_json_parse(line, n, &j, NULL) == 0 && gpc_json_is_object(j))
		take_json(m, j);
}

static void read_file(struct gpc_metrics *m)
{
	gpc_autofd fd = -1;
	gpc_autostr *text = NULL;
	struct stat st;
	ssize_t n;
	size_t at = 0;

	if (!m->file || stat(m->file, &st) < 0 || st.st_size == m->offset
		|| !S_ISREG(st.st_mode))
		return;
	if (st.st_size < m->offset)
		m->offset = 0;         /* begun anew */
	if (gpc_open(m->file, O_RDONLY | O_NONBLOCK, 0, &fd, NULL) < 0)
		return;
	text = gpc_alloc(FILE_CHUNK + 1);
	n = pread(fd, text, FILE_CHUNK, m->offset);
	while (n > 0 && at < (size_t)n) {
		char *end = memchr(text + at, '\n', (size_t)n - at);

		if (!end)
			break;
		take_line(m, text + at, (size_t)(end - text) - at);
		at = (size_t)(end - text) + 1;
	}
	/* No line is that long: pass by it. */
	m->offset += n == FILE_CHUNK && at == 0 ? FILE_CHUNK : (int64_t)at;
}

void gpc_metrics_tick(struct gpc_metrics *m)
{
	gpc_vec_each(e, &m->exprs) {
		if (!e->held)
			continue;
		e->held = false;
		e->last_ms = gpc_boot_ms();
		emit(m, gpc_wall_ms(), e->name, e->value);
	}
	read_file(m);
}
