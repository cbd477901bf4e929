/* Fields that say what happens when: autostop, job_recovery, exit codes,
 * signals, which ranks save, and the deadline. */
#include <signal.h>
#include <string.h>

#include "base/parse.h"
#include "base/time.h"
#include "base/vec.h"
#include "model/spec_read.h"

#define N(a) (sizeof(a) / sizeof(*(a)))
#define MINUTE_MS 60000

/* --- exit codes ---------------------------------------------------------------- */

static int read_code(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, struct gpc_spec_codes *codes)
{
	int64_t n;

	if (!gpc_yaml_to_i64(node, &n) || n < 0 || n > 255)
		return gpc_spec_expected(r, f, node,
			"an exit code from 0 to 255");
	gpc_spec_surprise(r, f, node);
	for (size_t i = 0; i < codes->n; i++) {
		if (codes->v[i] == n)
			return gpc_spec_fail(r, node, "%s: %d is listed twice",
				f->name, (int)n);
	}
	if (n == 137)
		gpc_spec_warn(r, node, "%s: 137 also stands for a program that "
			"was killed for its memory", f->name);
	*gpc_vec_push(codes) = (int)n;
	return 0;
}

static int read_codes(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, void *slot)
{
	struct gpc_spec_codes codes = {0};
	int e = 0;

	if (node->kind == GPC_YAML_LIST) {
		for (size_t i = 0; i < node->n && i <= 256 && !e; i++)
			e = read_code(r, f, node->items[i], &codes);
	} else {
		e = read_code(r, f, node, &codes);
	}
	if (!e && slot) {
		gpc_vec_free((struct gpc_spec_codes *)slot);
		*(struct gpc_spec_codes *)slot = codes;
	} else {
		gpc_vec_free(&codes);
	}
	return e;
}

static struct gpc_json *write_codes(const struct gpc_spec_field *f,
	const void *slot)
{
	const struct gpc_spec_codes *codes = slot;
	struct gpc_json *list;

	(void)f;
	if (!codes->n)
		return NULL;
	list = gpc_json_array();
	for (size_t i = 0; i < codes->n; i++)
		gpc_json_add(list, gpc_json_int(codes->v[i]));
	return list;
}

static void clear_codes(const struct gpc_spec_field *f, void *slot)
{
	(void)f;
	gpc_vec_free((struct gpc_spec_codes *)slot);
}

const struct gpc_spec_kind gpc_kind_codes = {
	read_codes, write_codes, clear_codes,
};

/* --- job_recovery ---------------------------------------------------------------- */

static const char *const strategies[] = {
	"", "FAILOVER", "EAGER_NEXT_REGION", "none",
};

static int read_strategy(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	struct gpc_spec_job_recovery *rec)
{
	for (size_t i = 1; i < N(strategies); i++) {
		if (node->kind == GPC_YAML_SCALAR &&
		    gpc_eq_nocase(node->text, strategies[i])) {
			rec->strategy = (enum gpc_spec_strategy)i;
			return 0;
		}
	}
	return gpc_spec_expected(r, f, node,
		"FAILOVER, EAGER_NEXT_REGION or none");
}

static int read_recovery_key(struct gpc_spec_reader *r,
	const struct gpc_yaml_node *key, const struct gpc_yaml_node *value,
	struct gpc_spec_job_recovery *rec)
{
	const struct gpc_spec_field *f = gpc_spec_field_find("job_recovery",
		key->text);
	int64_t n = -1;
	int e;

	if (!f) {
		/* SkyPilot lets these pass; so do we, but not in silence */
		gpc_spec_warn(r, key, "unknown field '%s' in job_recovery is "
			"ignored", key->text);
		return 0;
	}
	if (gpc_spec_is_null(value))
		return 0;
	if (gpc_eq(f->name, "strategy"))
		return read_strategy(r, f, value, rec);
	if (gpc_eq(f->name, "recover_on_exit_codes"))
		return read_codes(r, f, value, &rec->exit_codes);
	e = gpc_spec_read_value(r, f, value, NULL);
	if (!e && gpc_yaml_to_i64(value, &n))
		rec->max_restarts = (int)n;
	return e;
}

static int read_job_recovery(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *slot)
{
	struct gpc_spec_job_recovery rec = {.set = true, .max_restarts = -1};
	int e = 0;

	if (node->kind == GPC_YAML_MAP) {
		for (size_t i = 0; i < node->n && !e; i++)
			e = read_recovery_key(r, node->keys[i], node->items[i],
				&rec);
	} else {
		e = read_strategy(r, f, node, &rec);
	}
	if (!e && slot) {
		struct gpc_spec_job_recovery *to = slot;

		gpc_vec_free(&to->exit_codes);
		*to = rec;
	} else {
		gpc_vec_free(&rec.exit_codes);
	}
	return e;
}

static struct gpc_json *write_job_recovery(const struct gpc_spec_field *f,
	const void *slot)
{
	const struct gpc_spec_job_recovery *rec = slot;
	struct gpc_json *object, *codes;

	if (!rec->set)
		return NULL;
	object = gpc_json_object();
	if (rec->strategy)
		gpc_json_set_str(object, "strategy", strategies[rec->strategy]);
	if (rec->max_restarts >= 0)
		gpc_json_set_int(object, "max_restarts_on_errors",
			rec->max_restarts);
	codes = write_codes(f, &rec->exit_codes);
	if (codes)
		gpc_json_set(object, "recover_on_exit_codes", codes);
	return object;
}

static void clear_job_recovery(const struct gpc_spec_field *f, void *slot)
{
	struct gpc_spec_job_recovery *rec = slot;

	(void)f;
	gpc_vec_free(&rec->exit_codes);
	*rec = (struct gpc_spec_job_recovery){0};
}

const struct gpc_spec_kind gpc_kind_job_recovery = {
	read_job_recovery, write_job_recovery, clear_job_recovery,
};

/* --- autostop --------------------------------------------------------------------- */

static const char *const wait_words[] = {
	"", "jobs_and_ssh", "jobs", "none",
};

static int read_wait_for(struct gpc_spec_reader *r,
	const struct gpc_yaml_node *node, struct gpc_spec_autostop *a)
{
	const struct gpc_spec_field *f = gpc_spec_field_find("autostop",
		"wait_for");

	for (size_t i = 1; i < N(wait_words); i++) {
		if (node->kind == GPC_YAML_SCALAR &&
		    gpc_eq_nocase(node->text, wait_words[i])) {
			a->wait_for = (enum gpc_spec_wait_for)i;
			return 0;
		}
	}
	return gpc_spec_expected(r, f, node, "jobs_and_ssh, jobs or none");
}

static int read_autostop_map(struct gpc_spec_reader *r,
	const struct gpc_yaml_node *node, struct gpc_spec_autostop *a)
{
	const struct gpc_yaml_node *hook = gpc_yaml_get(node, "hook");
	const struct gpc_yaml_node *wait = gpc_yaml_get(node, "wait_for");
	int64_t n;
	int e = gpc_spec_read_section(r, "autostop", node, NULL);

	if (!e && !gpc_spec_is_null(wait))
		e = read_wait_for(r, wait, a);
	if (e)
		return e;
	a->on = true;
	a->idle_ms = 5 * MINUTE_MS;
	if (gpc_yaml_to_i64(gpc_yaml_get(node, "idle_minutes"), &n))
		a->idle_ms = n * MINUTE_MS;
	(void)gpc_yaml_to_bool(gpc_yaml_get(node, "down"), &a->down);
	if (gpc_yaml_to_i64(gpc_yaml_get(node, "hook_timeout"), &n))
		a->hook_timeout_ms = n * 1000;
	if (!gpc_spec_is_null(hook))
		a->hook = gpc_strdup(gpc_spec_text(hook));
	return 0;
}

static int read_autostop_scalar(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	struct gpc_spec_autostop *a)
{
	const char *text = gpc_spec_text(node);
	int64_t n;
	bool on;

	a->on = true;
	if (gpc_yaml_to_bool(node, &on)) {
		a->on = on;
		a->idle_ms = on ? 5 * MINUTE_MS : 0;
	} else if (gpc_yaml_to_i64(node, &n) && n >= 0 && n < 100000000) {
		a->idle_ms = n * MINUTE_MS;
	} else if (!text || gpc_parse_duration(text, MINUTE_MS, "autostop",
			&a->idle_ms, NULL)) {
		return gpc_spec_expected(r, f, node, "true, false, minutes, a "
			"time such as 10h, or a map");
	}
	gpc_spec_surprise(r, f, node);
	return 0;
}

static int read_autostop(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *slot)
{
	struct gpc_spec_autostop a = {.set = true};
	struct gpc_spec_autostop *to = slot;
	int e;

	if (node->kind == GPC_YAML_LIST)
		return gpc_spec_expected(r, f, node, "true, false, minutes, a "
			"time such as 10h, or a map");
	e = node->kind == GPC_YAML_MAP ? read_autostop_map(r, node, &a)
		: read_autostop_scalar(r, f, node, &a);
	if (!e && to) {
		free(to->hook);
		*to = a;
	} else {
		free(a.hook);
	}
	return e;
}

static struct gpc_json *write_autostop(const struct gpc_spec_field *f,
	const void *slot)
{
	const struct gpc_spec_autostop *a = slot;
	struct gpc_json *object;

	(void)f;
	if (!a->set)
		return NULL;
	if (!a->on)
		return gpc_json_bool(false);
	if (a->idle_ms % MINUTE_MS)     /* from "90s": only text can say it */
		return gpc_spec_write_duration(a->idle_ms);
	object = gpc_json_object();
	gpc_json_set_int(object, "idle_minutes", a->idle_ms / MINUTE_MS);
	if (a->down)
		gpc_json_set_bool(object, "down", true);
	if (a->wait_for)
		gpc_json_set_str(object, "wait_for", wait_words[a->wait_for]);
	if (a->hook)
		gpc_json_set_str(object, "hook", a->hook);
	if (a->hook_timeout_ms)
		gpc_json_set_int(object, "hook_timeout",
			a->hook_timeout_ms / 1000);
	return object;
}

static void clear_autostop(const struct gpc_spec_field *f, void *slot)
{
	struct gpc_spec_autostop *a = slot;

	(void)f;
	free(a->hook);
	*a = (struct gpc_spec_autostop){0};
}

const struct gpc_spec_kind gpc_kind_autostop = {
	read_autostop, write_autostop, clear_autostop,
};

/* --- signal, ranks ------------------------------------------------------------------ */

static const struct { const char *name; int number; } signals[] = {
	{"SIGHUP", SIGHUP}, {"SIGINT", SIGINT}, {"SIGQUIT", SIGQUIT},
	{"SIGUSR1", SIGUSR1}, {"SIGUSR2", SIGUSR2}, {"SIGTERM", SIGTERM},
	{"SIGALRM", SIGALRM}, {"SIGCONT", SIGCONT}, {"SIGURG", SIGURG},
};

static int read_signal(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *slot)
{
	const char *text = gpc_spec_text(node);
	int64_t n;

	for (size_t i = 0; i < N(signals); i++) {
		bool is_name = text && (gpc_eq_nocase(text, signals[i].name) ||
			gpc_eq_nocase(text, signals[i].name + 3));

		if (!is_name && !(gpc_yaml_to_i64(node, &n) &&
				n == signals[i].number))
			continue;
		if (slot)
			*(int *)slot = signals[i].number;
		return 0;
	}
	return gpc_spec_expected(r, f, node, "a signal such as SIGUSR1, SIGUSR2, "
		"SIGHUP, SIGINT or SIGTERM");
}

static struct gpc_json *write_signal(const struct gpc_spec_field *f,
	const void *slot)
{
	int number = *(const int *)slot;

	(void)f;
	for (size_t i = 0; i < N(signals); i++) {
		if (number && signals[i].number == number)
			return gpc_json_string(signals[i].name);
	}
	return NULL;
}

const struct gpc_spec_kind gpc_kind_signal = {read_signal, write_signal, NULL};

static int read_ranks(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, void *slot)
{
	const char *text = gpc_spec_text(node);
	bool all = text && gpc_eq_nocase(text, "all");

	if (!all && !gpc_eq(text, "0"))
		return gpc_spec_expected(r, f, node, "all, or 0 for rank 0 alone");
	if (slot)
		*(bool *)slot = all;
	return 0;
}

static struct gpc_json *write_ranks(const struct gpc_spec_field *f,
	const void *slot)
{
	(void)f;
	return *(const bool *)slot ? gpc_json_string("all") : NULL;
}

const struct gpc_spec_kind gpc_kind_ranks = {read_ranks, write_ranks, NULL};

/* --- deadline ------------------------------------------------------------------------ */

/* "" is Z, "+2" is +02:00. */
static char *full_zone(const char *zone)
{
	size_t hours = *zone ? strspn(zone + 1, "0123456789") : 0;

	if (!*zone)
		return gpc_strdup("Z");
	if (!hours || hours > 2)
		return gpc_strdup(zone);
	return gpc_format("%c%s%.*s%s", *zone, hours == 1 ? "0" : "", (int)hours,
		zone + 1, zone[1 + hours] ? zone + 1 + hours : ":00");
}

/* YAML's looser forms as RFC 3339: "2026-08-01", "2026-08-01 9:00:00 +2". */
static char *to_rfc3339(const char *text, bool *ret_zone)
{
	size_t date = strspn(text, "0123456789-"), time;
	gpc_autostr *zone = NULL;
	const char *s = text + date;

	*ret_zone = false;
	if (date != 10)
		return NULL;
	if (!*s)
		return gpc_format("%sT00:00:00Z", text);
	s += strspn(s, "Tt \t");
	time = strspn(s, "0123456789:.");
	*ret_zone = s[time + strspn(s + time, " \t")] != '\0';
	zone = full_zone(s + time + strspn(s + time, " \t"));
	return gpc_format("%.10sT%s%.*s%s", text, time && s[1] == ':' ? "0" : "",
		(int)time, s, zone);
}

static int read_deadline(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *slot)
{
	const char *text = gpc_spec_text(node);
	bool zone = false;
	gpc_autostr *full = text ? to_rfc3339(text, &zone) : NULL;
	int64_t ms;

	if (!full || gpc_parse_rfc3339(full, &ms, NULL) || ms <= 0)
		return gpc_spec_expected(r, f, node,
			"a date and time such as 2026-08-01T18:00:00Z");
	if (!zone)
		gpc_spec_warn(r, node, "%s has no time zone and is taken as UTC",
			f->name);
	if (slot)
		*(int64_t *)slot = ms;
	return 0;
}

static struct gpc_json *write_deadline(const struct gpc_spec_field *f,
	const void *slot)
{
	int64_t ms = *(const int64_t *)slot;
	char out[GPC_RFC3339_SIZE];

	(void)f;
	return ms ? gpc_json_string(gpc_format_rfc3339(ms, out)) : NULL;
}

const struct gpc_spec_kind gpc_kind_deadline = {
	read_deadline, write_deadline, NULL,
};
