/* resources.ports and resources.allow. */
#include "model/spec_ports.h"

#include <string.h>

#include "base/cidr.h"
#include "base/parse.h"
#include "base/str.h"
#include "model/spec_read.h"

void gpc_port_ranges_clear(struct gpc_port_ranges *x)
{
	gpc_vec_free(x);
}

/* --- ports ----------------------------------------------------------------- */

bool gpc_port_range_parse(const char *text, struct gpc_port_range *ret)
{
	size_t n = strspn(text, "0123456789");
	gpc_autostr *first = gpc_strndup(text, n);
	int64_t a, b;

	if (gpc_parse_i64(first, 1, 65535, "port", &a, NULL))
		return false;
	b = a;
	if (text[n] && (text[n] != '-' ||
	    gpc_parse_i64(text + n + 1, a, 65535, "port", &b, NULL)))
		return false;
	*ret = (struct gpc_port_range){(int)a, (int)b};
	return true;
}

static int read_port(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, const char *text, struct gpc_strv *ports)
{
	struct gpc_port_range port;

	if (!gpc_port_range_parse(text, &port))
		return gpc_spec_expected(r, f, node,
			"a port from 1 to 65535, or FIRST-LAST");
	if (port.first == port.last)
		gpc_strv_addf(ports, "%d", port.first);
	else
		gpc_strv_addf(ports, "%d-%d", port.first, port.last);
	return 0;
}

/* --- networks --------------------------------------------------------------- */

static int read_network(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	const char *text, struct gpc_strv *networks)
{
	char cidr[GPC_CIDR_SIZE];
	struct gpc_error why = {0};
	int e;

	if (gpc_cidr_parse_network(text, cidr, &why) < 0) {
		e = gpc_spec_fail(r, node, "%s.%s: %s", f->section, f->name,
			why.msg);
		gpc_hint(r->err, "%s", why.hint);
		return e;
	}
	if (!gpc_strv_has(networks, cidr))
		gpc_strv_add(networks, cidr);
	return 0;
}

/* --- lists of either ---------------------------------------------------------- */

typedef int read_fn(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, const char *text, struct gpc_strv *to);

/* One scalar may hold several, as options do: "8080,9000". */
static int read_scalar(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	read_fn *read, struct gpc_strv *to)
{
	const char *text = gpc_spec_text(node);
	gpc_autostr *number = NULL;
	struct gpc_str rest, part;
	int64_t n;
	int e = 0;

	if (gpc_yaml_to_i64(node, &n)) {
		gpc_spec_surprise(r, f, node);
		number = gpc_format("%lld", (long long)n);
		text = number;
	}
	if (!text)
		return gpc_spec_expected(r, f, node, "%s", f->forms);
	rest = gpc_str_of(text);
	while (!e && gpc_str_split(&rest, ',', &part)) {
		struct gpc_str word = gpc_str_trim(part);
		gpc_autostr *one = gpc_strndup(word.ptr, word.len);

		e = read(r, f, node, one, to);
	}
	return e;
}

static int read_words(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, void *slot, read_fn *read)
{
	gpc_auto(gpc_strv) struct gpc_strv words = {0};
	int e = 0;

	if (node->kind == GPC_YAML_LIST) {
		for (size_t i = 0; i < node->n && !e; i++)
			e = read_scalar(r, f, node->items[i], read, &words);
	} else {
		e = read_scalar(r, f, node, read, &words);
	}
	if (!e && words.n > GPC_SPEC_MAX_PORTS)
		e = gpc_spec_fail(r, node, "%s.%s: more than %d", f->section,
			f->name, GPC_SPEC_MAX_PORTS);
	if (!e && slot) {
		gpc_strv_clear(slot);
		*(struct gpc_strv *)slot = words;
		words = (struct gpc_strv){0};
	}
	return e;
}

static int read_ports(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, void *slot)
{
	return read_words(r, f, node, slot, read_port);
}

static int read_networks(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *slot)
{
	return read_words(r, f, node, slot, read_network);
}

static struct gpc_json *write_words(const struct gpc_spec_field *f,
	const void *slot)
{
	(void)f;
	return gpc_spec_write_strv(slot);
}

static void clear_words(const struct gpc_spec_field *f, void *slot)
{
	(void)f;
	gpc_strv_clear(slot);
}

const struct gpc_spec_kind gpc_kind_ports = {
	read_ports, write_words, clear_words,
};
const struct gpc_spec_kind gpc_kind_networks = {
	read_networks, write_words, clear_words,
};

/* --- of a whole spec ------------------------------------------------------------ */

static void add_each(const struct gpc_strv *from, struct gpc_strv *to)
{
	for (size_t i = 0; i < from->n; i++)
		if (!gpc_strv_has(to, from->v[i]))
			gpc_strv_add(to, from->v[i]);
}

void gpc_spec_port_words(const struct gpc_spec *spec, struct gpc_strv *to)
{
	for (size_t i = 0; i < gpc_spec_candidates(spec, NULL); i++)
		add_each(&gpc_spec_candidate(spec, i)->ports, to);
}

void gpc_spec_ports(const struct gpc_spec *spec, struct gpc_port_ranges *to)
{
	gpc_auto(gpc_strv) struct gpc_strv words = {0};
	struct gpc_port_range range;

	gpc_spec_port_words(spec, &words);
	for (size_t i = 0; i < words.n; i++)
		if (gpc_port_range_parse(words.v[i], &range))
			*gpc_vec_push(to) = range;
}

void gpc_spec_allowed(const struct gpc_spec *spec, struct gpc_strv *to)
{
	for (size_t i = 0; i < gpc_spec_candidates(spec, NULL); i++)
		add_each(&gpc_spec_candidate(spec, i)->allow, to);
}

static void allow_in(struct gpc_resources *r, const char *cidr)
{
	if (r->ports.n && !r->allow.n)
		gpc_strv_add(&r->allow, cidr);
	for (size_t i = 0; i < r->any_of.n; i++)
		allow_in(&r->any_of.v[i], cidr);
	for (size_t i = 0; i < r->ordered.n; i++)
		allow_in(&r->ordered.v[i], cidr);
}

void gpc_spec_allow(struct gpc_spec *spec, const char *cidr)
{
	allow_in(&spec->resources, cidr);
}
