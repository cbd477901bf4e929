/* GPU wishes in all their forms (name, name:count, by memory, map, set, list)
 * and the `N` / `N+` forms of cpus and memory. Slots are whole
 * struct gpc_resources, since each field fills several members. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/parse.h"
#include "base/vec.h"
#include "model/gpu_alias.h"
#include "model/spec_read.h"

#define GB ((uint64_t)1 << 30)
#define MAX_COUNT 4096
#define FORMS "a GPU such as H100:8, 80GB+ or nvidia:40GB+:2"

static void gpu_clear(struct gpc_gpu *g)
{
	free(g->name);
	free(g->vendor);
	*g = (struct gpc_gpu){0};
}

struct wishes { GPC_VEC(struct gpc_gpu) list; bool ordered; };

static void wishes_clear(struct wishes *w)
{
	for (size_t i = 0; i < w->list.n; i++)
		gpu_clear(&w->list.v[i]);
	gpc_vec_free(&w->list);
}
GPC_CLEANUP_VALUE(wishes);

/* A whole number, or a share of one GPU. */
static bool parse_count(const char *text, double *ret_count)
{
	double x;

	if (gpc_parse_double(text, 0.001, MAX_COUNT, "count", &x, NULL) ||
	    (x > 1 && x != floor(x)))
		return false;
	*ret_count = x;
	return true;
}

/* "80GB+": true when the word has this form. */
static bool parse_memory_word(const char *word, struct gpc_gpu *g)
{
	size_t n = strspn(word, "0123456789.");
	gpc_autostr *text = NULL;
	uint64_t bytes;
	size_t len = strlen(word);

	if (!n || n == len)
		return false;
	g->memory_at_least = word[len - 1] == '+';
	text = gpc_strndup(word, len - g->memory_at_least);
	if (!isalpha((unsigned char)text[n]) ||
	    tolower((unsigned char)text[strlen(text) - 1]) != 'b' ||
	    gpc_parse_size(text, 1, "memory", &bytes, NULL) || bytes < GB ||
	    bytes > 1024 * GB)
		return false;
	g->memory_gb = (int)(bytes / GB);
	return true;
}

static void set_name(struct gpc_spec_reader *r,
	const struct gpc_yaml_node *node, const char *word, struct gpc_gpu *g)
{
	const struct gpc_gpu_model *model = gpc_gpu_find(word);
	const char *near;

	if (model) {
		g->name = gpc_strdup(model->name);
		return;
	}
	g->name = gpc_strdup(word);
	near = gpc_gpu_nearest(word);
	if (near)
		gpc_spec_warn(r, node, "no known GPU is called '%s'; did you "
			"mean '%s'?", word, near);
	else
		gpc_spec_warn(r, node, "no known GPU is called '%s'", word);
}

static bool is_gpu_word(const char *s)
{
	if (!*s || strlen(s) > 60)
		return false;
	for (; *s; s++) {
		if (!isalnum((unsigned char)*s) && !strchr("-_. ", *s))
			return false;
	}
	return true;
}

/* One wish from its text; count_node = its count in the map form, or NULL. */
static int parse_wish(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	const struct gpc_yaml_node *count_node, struct gpc_gpu *g)
{
	const char *text = gpc_spec_text(node);
	struct gpc_str rest, part;
	char *word[3] = {0};
	gpc_auto(gpc_strv) struct gpc_strv parts = {0};
	size_t at = 0;

	if (!text || !*text)
		return gpc_spec_expected(r, f, node, FORMS);
	rest = gpc_str_of(text);
	while (gpc_str_split(&rest, ':', &part)) {
		part = gpc_str_trim(part);
		gpc_strv_take(&parts, gpc_strndup(part.ptr, part.len));
	}
	if (!parts.n || parts.n > 3)
		return gpc_spec_expected(r, f, node, FORMS);
	for (size_t i = 0; i < parts.n; i++)
		word[i] = parts.v[i];
	if (parts.n > 1 && gpc_gpu_is_vendor(word[0]) &&
	    parse_memory_word(word[1], g)) {
		g->vendor = gpc_strdup(word[0]);
		for (char *c = g->vendor; *c; c++)
			*c = (char)tolower((unsigned char)*c);
		at = 2;
	} else if (parse_memory_word(word[0], g)) {
		at = 1;
	} else if (is_gpu_word(word[0]) && (gpc_gpu_find(word[0]) ||
			!isdigit((unsigned char)*word[0]))) {
		set_name(r, node, word[0], g);
		at = 1;
	}
	if (!at || at + 1 < parts.n)
		return gpc_spec_expected(r, f, node, FORMS);
	g->count = 1;
	if (at < parts.n && (!gpc_spec_is_null(count_node) ||
	    !parse_count(word[at], &g->count)))
		return gpc_spec_expected(r, f, node, FORMS);
	return 0;
}

static int read_count(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	double *ret_count)
{
	double x;

	if (gpc_spec_is_null(node))
		return 0;
	if (!gpc_yaml_to_double(node, &x) || x <= 0 || x > MAX_COUNT ||
	    (x > 1 && x != floor(x)))
		return gpc_spec_expected(r, f, node,
			"a count of GPUs above 0, whole above 1");
	gpc_spec_surprise(r, f, node);
	*ret_count = x;
	return 0;
}

static int read_wishes(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	struct wishes *w)
{
	if (node->kind == GPC_YAML_SCALAR)
		return parse_wish(r, f, node, NULL, gpc_vec_push(&w->list));
	if (node->n > GPC_SPEC_MAX_GPUS)
		return gpc_spec_fail(r, node, "%s: more than %d entries",
			f->name, GPC_SPEC_MAX_GPUS);
	w->ordered = node->kind == GPC_YAML_LIST;
	for (size_t i = 0; i < node->n; i++) {
		const struct gpc_yaml_node *item = node->items[i];
		struct gpc_gpu *g = gpc_vec_push(&w->list);
		int e;

		if (w->ordered && item->kind != GPC_YAML_SCALAR)
			return gpc_spec_expected(r, f, item,
				"a list of texts such as [L4:8, A10G:8]");
		e = w->ordered ? parse_wish(r, f, item, NULL, g)
			: parse_wish(r, f, node->keys[i], item, g);
		if (!e && !w->ordered)
			e = read_count(r, f, item, &g->count);
		if (e)
			return e;
	}
	return 0;
}

static int read_gpus(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, void *slot)
{
	gpc_auto(wishes) struct wishes w = {0};
	struct gpc_resources *res = slot;
	int e = read_wishes(r, f, node, &w);

	if (e || !res)
		return e;
	gpc_spec_kind_of(f)->clear(f, res);
	gpc_vec_each(g, &w.list)
		*gpc_vec_push(&res->gpus) = *g;
	w.list.n = 0;
	res->gpus_ordered = w.ordered && res->gpus.n > 1;
	return 0;
}

char *gpc_gpu_format(const struct gpc_gpu *g)
{
	gpc_autostr *what = g->name ? gpc_strdup(g->name)
		: gpc_format("%s%s%dGB%s", g->vendor ? g->vendor : "",
			g->vendor ? ":" : "", g->memory_gb,
			g->memory_at_least ? "+" : "");

	return gpc_format("%s:%g", what, g->count);
}

static struct gpc_json *write_gpus(const struct gpc_spec_field *f,
	const void *slot)
{
	const struct gpc_resources *res = slot;
	struct gpc_json *j;

	(void)f;
	if (!res->gpus.n)
		return NULL;
	if (res->gpus.n == 1) {
		gpc_autostr *text = gpc_gpu_format(&res->gpus.v[0]);

		return gpc_json_string(text);
	}
	j = res->gpus_ordered ? gpc_json_array() : gpc_json_object();
	gpc_vec_each(g, &res->gpus) {
		gpc_autostr *text = gpc_gpu_format(g);

		if (res->gpus_ordered)
			gpc_json_add(j, gpc_json_string(text));
		else
			gpc_json_set(j, text, gpc_json_null());
	}
	return j;
}

static void clear_gpus(const struct gpc_spec_field *f, void *slot)
{
	struct gpc_resources *res = slot;

	(void)f;
	gpc_vec_each(g, &res->gpus)
		gpu_clear(g);
	gpc_vec_free(&res->gpus);
	res->gpus_ordered = false;
}

const struct gpc_spec_kind gpc_kind_gpus = {read_gpus, write_gpus, clear_gpus};

/* --- N and N+ --------------------------------------------------------------- */

/* The text before a final +, owned; NULL for lists, maps and booleans. */
static char *take_plus(const struct gpc_yaml_node *node, bool *ret_plus)
{
	const char *text = gpc_spec_text(node);
	size_t n = text ? strlen(text) : 0;

	if (!text)
		return NULL;
	*ret_plus = n && text[n - 1] == '+';
	return gpc_strndup(text, n - *ret_plus);
}

static int read_cpus(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, void *slot)
{
	struct gpc_resources *res = slot;
	bool plus = false;
	gpc_autostr *text = take_plus(node, &plus);
	double x;

	if (!text || (!gpc_yaml_to_double(node, &x) &&
	    gpc_parse_double(text, 0, 1e6, "cpus", &x, NULL)) || x <= 0 ||
	    x > 100000)
		return gpc_spec_expected(r, f, node,
			"a number of processors such as 4, or 4+ for at least 4");
	gpc_spec_surprise(r, f, node);
	if (res) {
		res->cpus = x;
		res->cpus_at_least = plus;
	}
	return 0;
}

static struct gpc_json *write_cpus(const struct gpc_spec_field *f,
	const void *slot)
{
	const struct gpc_resources *res = slot;
	gpc_autostr *text = NULL;

	(void)f;
	if (!(res->cpus > 0))
		return NULL;
	if (!res->cpus_at_least)
		return gpc_json_number(res->cpus);
	text = gpc_format("%.15g+", res->cpus);
	return gpc_json_string(text);
}

const struct gpc_spec_kind gpc_kind_cpus = {read_cpus, write_cpus, NULL};

static int read_memory(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *slot)
{
	struct gpc_resources *res = slot;
	bool plus = false;
	gpc_autostr *text = take_plus(node, &plus);
	uint64_t bytes = 0;
	double x;

	if (text && gpc_yaml_to_double(node, &x) && x > 0 && x <= 1e6)
		bytes = (uint64_t)(x * (double)GB);
	else if (!text || gpc_parse_size(text, GB, "memory", &bytes, NULL))
		bytes = 0;
	if (bytes < 1024 * 1024 || bytes > 1000000 * GB)
		return gpc_spec_expected(r, f, node,
			"GB such as 32, 32+ for at least, or a size like 512MB");
	gpc_spec_surprise(r, f, node);
	if (res) {
		res->memory_bytes = bytes / 1024 * 1024;
		res->memory_at_least = plus;
	}
	return 0;
}

static struct gpc_json *write_memory(const struct gpc_spec_field *f,
	const void *slot)
{
	static const struct { uint64_t bytes; const char *unit; } units[] = {
		{GB, "GB"}, {GB >> 10, "MB"}, {1024, "KB"},
	};
	const struct gpc_resources *res = slot;

	(void)f;
	if (res->memory_bytes && res->memory_bytes % GB == 0 &&
	    !res->memory_at_least)
		return gpc_json_int((int64_t)(res->memory_bytes / GB));
	for (size_t i = 0; res->memory_bytes && i < 3; i++) {
		if (res->memory_bytes % units[i].bytes == 0) {
			gpc_autostr *text = gpc_format("%llu%s%s",
				(unsigned long long)(res->memory_bytes /
					units[i].bytes), units[i].unit,
				res->memory_at_least ? "+" : "");

			return gpc_json_string(text);
		}
	}
	return NULL;
}

const struct gpc_spec_kind gpc_kind_memory = {read_memory, write_memory, NULL};
