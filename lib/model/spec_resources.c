/* Fields of resources with forms of their own: where to run (infra and its
 * older forms cloud, region and zone), labels, images, local disks. */
#include <ctype.h>
#include <string.h>

#include "base/parse.h"
#include "base/vec.h"
#include "model/spec_read.h"

#define N(a) (sizeof(a) / sizeof(*(a)))

/* --- infra ------------------------------------------------------------------- */

/* Those that are built, and those that files for SkyPilot name as well. */
static const char *const providers[] = {
#define X(name) #name,
#include "model/providers.inc"
#undef X
	"ssh", "slurm", "gcp", "alibaba", "azure", "k8s",
	"kubernetes", "lambda", "runpod", "nebius", "oci", "ibm", "cudo",
	"paperspace", "fluidstack", "vast", "vsphere", "do", "scp",
	"hyperbolic", "seeweb", "shadeform", "primeintellect",
};

static void lower(char *s)
{
	for (; *s; s++)
		*s = (char)tolower((unsigned char)*s);
}

/* The rest of these may hold slashes and upper case: contexts, pools. */
static bool is_free_form(const char *provider)
{
	return gpc_eq(provider, "k8s") || gpc_eq(provider, "kubernetes") ||
		gpc_eq(provider, "ssh") || gpc_eq(provider, "slurm");
}

static bool is_known_provider(const char *word)
{
	for (size_t i = 0; i < N(providers); i++) {
		if (gpc_eq(word, providers[i]))
			return true;
	}
	/* fake, the pretend cloud of the tests, is never suggested. */
	return gpc_eq(word, "*") || gpc_eq(word, "fake");
}

static int check_provider(struct gpc_spec_reader *r,
	const struct gpc_yaml_node *node, const char *word)
{
	gpc_autostr *shown = NULL;
	const char *near;

	if (is_known_provider(word))
		return 0;
	shown = gpc_str_printable(word, strnlen(word, 60));
	near = gpc_nearest(word, providers, N(providers));
	if (near)
		return gpc_spec_fail(r, node, "unknown provider '%s'; did you "
			"mean '%s'?", shown, near);
	gpc_spec_fail(r, node, "unknown provider '%s'", shown);
	gpc_hint(r->err, "infra is PROVIDER[/REGION[/ZONE]], such as local or "
		"aws/us-east-1");
	return -GPC_ECONFIG;
}

/* Canonical infra of up to three parts; NULL when it says "anywhere". */
static char *join_infra(const char *cloud, const char *region, const char *zone)
{
	bool has_zone = zone && !gpc_eq(zone, "*");
	bool has_region = region && !gpc_eq(region, "*");

	if (!cloud)
		cloud = "*";
	if (has_zone)
		return gpc_format("%s/%s/%s", cloud, has_region ? region : "*",
			zone);
	if (has_region)
		return gpc_format("%s/%s", cloud, region);
	return gpc_eq(cloud, "*") ? NULL : gpc_strdup(cloud);
}

static int read_parts(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, const char *text, char **ret_infra)
{
	gpc_auto(gpc_strv) struct gpc_strv parts = {0};
	struct gpc_str rest = gpc_str_of(text), part;

	while (gpc_str_split(&rest, '/', &part)) {
		gpc_strv_take(&parts, gpc_strndup(part.ptr, part.len));
		lower(parts.v[parts.n - 1]);
		if (!part.len)
			return gpc_spec_expected(r, f, node,
				"PROVIDER[/REGION[/ZONE]]");
	}
	if (!parts.n || parts.n > 3)
		return gpc_spec_expected(r, f, node, "PROVIDER[/REGION[/ZONE]]");
	if (parts.n > 1 && gpc_eq(parts.v[0], "local"))
		return gpc_spec_fail(r, node,
			"infra: local is this machine and has no regions");
	*ret_infra = join_infra(parts.v[0], parts.n > 1 ? parts.v[1] : NULL,
		parts.n > 2 ? parts.v[2] : NULL);
	return 0;
}

static int read_infra(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, void *slot)
{
	const char *text = gpc_spec_text(node);
	gpc_autostr *first = NULL, *infra = NULL;
	size_t n;
	int e;

	if (!text)
		return gpc_spec_expected(r, f, node,
			"text such as local or aws/us-east-1");
	n = strcspn(text, "/");
	first = gpc_strndup(text, n);
	lower(first);
	e = check_provider(r, node, first);
	if (e)
		return e;
	if (is_free_form(first)) {
		const char *rest = text + n;

		if (gpc_eq(rest, "/"))
			rest = "";
		infra = gpc_format("%s%s", gpc_eq(first, "kubernetes") ? "k8s"
			: first, rest);
	} else {
		e = read_parts(r, f, node, text, &infra);
	}
	if (!e && slot)
		gpc_set_str(slot, infra);
	return e;
}

static struct gpc_json *write_str(const struct gpc_spec_field *f,
	const void *slot)
{
	const char *text = *(char *const *)slot;

	(void)f;
	return text ? gpc_json_string(text) : NULL;
}

static void clear_str(const struct gpc_spec_field *f, void *slot)
{
	(void)f;
	gpc_set_str(slot, NULL);
}

const struct gpc_spec_kind gpc_kind_infra = {read_infra, write_str, clear_str};

/* cloud, region and zone: checked here, joined by read_resources. */
static int read_place(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, void *slot)
{
	const char *text = gpc_spec_text(node);
	gpc_autostr *word = NULL;

	(void)slot;
	if (!text || !*text || strchr(text, '/'))
		return gpc_spec_expected(r, f, node, "one word");
	word = gpc_strdup(text);
	lower(word);
	return gpc_eq(f->name, "cloud") ? check_provider(r, node, word) : 0;
}

const struct gpc_spec_kind gpc_kind_place = {read_place, NULL, NULL};

static char *place_word(const struct gpc_yaml_node *map, const char *key)
{
	const struct gpc_yaml_node *node = gpc_yaml_get(map, key);
	char *word = gpc_spec_is_null(node) ? NULL
		: gpc_strdup(gpc_spec_text(node));

	if (word)
		lower(word);
	return word;
}

int gpc_spec_join_places(struct gpc_spec_reader *r,
	const struct gpc_yaml_node *map, struct gpc_resources *res)
{
	gpc_autostr *cloud = place_word(map, "cloud");
	gpc_autostr *region = place_word(map, "region");
	gpc_autostr *zone = place_word(map, "zone");

	if (!cloud && !region && !zone)
		return 0;
	if (!gpc_spec_is_null(gpc_yaml_get(map, "infra")))
		return gpc_spec_fail(r, gpc_yaml_get(map, "infra"),
			"infra already says where: leave out cloud, region and "
			"zone");
	if (res) {
		free(res->infra);
		res->infra = join_infra(cloud, region, zone);
	}
	return 0;
}

char *gpc_resources_provider(const struct gpc_resources *r)
{
	if (!r->infra || *r->infra == '*')
		return NULL;
	return gpc_strndup(r->infra, strcspn(r->infra, "/"));
}

int gpc_resources_gpu_count(const struct gpc_resources *r)
{
	double most = 0;
	int n;

	gpc_vec_each(g, &r->gpus) {
		if (g->count > most)
			most = g->count;
	}
	n = (int)most;
	return n < most ? n + 1 : n;
}

/* --- labels, image, local_disk ------------------------------------------------- */

static int read_labels(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *slot)
{
	gpc_auto(gpc_pairs) struct gpc_pairs pairs = {0};

	return gpc_spec_read_pairs(r, f, node, false, false,
		GPC_SPEC_MAX_LABELS, slot ? slot : &pairs);
}

static struct gpc_json *write_labels(const struct gpc_spec_field *f,
	const void *slot)
{
	(void)f;
	return gpc_spec_write_pairs(slot);
}

static void clear_labels(const struct gpc_spec_field *f, void *slot)
{
	(void)f;
	gpc_pairs_clear(slot);
}

const struct gpc_spec_kind gpc_kind_labels = {
	read_labels, write_labels, clear_labels,
};

static int read_image(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, void *slot)
{
	gpc_auto(gpc_pairs) struct gpc_pairs pairs = {0};
	struct gpc_resources *res = slot;
	int e = 0;

	if (node->kind == GPC_YAML_MAP)
		e = gpc_spec_read_pairs(r, f, node, false, false,
			GPC_SPEC_MAX_LABELS, &pairs);
	else if (!gpc_spec_text(node))
		e = gpc_spec_expected(r, f, node,
			"an image, docker:IMAGE or a map of region to image");
	if (e || !res)
		return e;
	gpc_spec_kind_of(f)->clear(f, res);
	if (node->kind != GPC_YAML_MAP) {
		res->image_id = *node->text ? gpc_strdup(node->text) : NULL;
	} else {
		res->image_ids = pairs;
		pairs = (struct gpc_pairs){0};
	}
	return 0;
}

static struct gpc_json *write_image(const struct gpc_spec_field *f,
	const void *slot)
{
	const struct gpc_resources *res = slot;

	(void)f;
	if (res->image_id)
		return gpc_json_string(res->image_id);
	return gpc_spec_write_pairs(&res->image_ids);
}

static void clear_image(const struct gpc_spec_field *f, void *slot)
{
	struct gpc_resources *res = slot;

	(void)f;
	gpc_set_str(&res->image_id, NULL);
	gpc_pairs_clear(&res->image_ids);
}

const struct gpc_spec_kind gpc_kind_image = {
	read_image, write_image, clear_image,
};

/* [nvme|ssd][:]GB[+] */
static int read_local_disk(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *slot)
{
	const char *text = gpc_spec_text(node), *s = text;
	gpc_autostr *kind = NULL;
	size_t digits;
	bool ok = text && *text;

	if (ok && !isdigit((unsigned char)*s)) {
		kind = gpc_strndup(s, strcspn(s, ":"));
		ok = gpc_eq_nocase(kind, "nvme") || gpc_eq_nocase(kind, "ssd");
		s += strlen(kind);
		if (ok && *s == ':')
			ok = isdigit((unsigned char)*++s);
	}
	if (ok && *s) {
		digits = strspn(s, "0123456789");
		ok = digits && digits < 8 &&
			(!s[digits] || gpc_eq(s + digits, "+"));
	}
	if (!ok)
		return gpc_spec_expected(r, f, node,
			"nvme, nvme:1000+, ssd:500 or 1000+");
	if (slot)
		gpc_set_str(slot, text);
	return 0;
}

const struct gpc_spec_kind gpc_kind_local_disk = {
	read_local_disk, write_str, clear_str,
};
