/* The texts are in data/; here they are filled in. */
#include "provider/aws_boot.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/encode.h"
#include "base/str.h"
#include "base/time.h"
#include "dep/json.h"

#define EDGE "==gpucloud=="

#define X(line) line,
static const char *const hook_text[] = {
#include "provider/aws_hook.inc"
};
static const char *const boot_text[] = {
#include "provider/aws_boot_sh.inc"
};
static const char *const python_text[] = {
#include "provider/aws_boot_py.inc"
};
#undef X

/* Adds a line with each @NAME@ replaced. */
static void fill_line(struct gpc_buf *to, const char *line,
	const struct gpc_pairs *values)
{
	const char *at;

	while ((at = strchr(line, '@'))) {
		const char *end = at + 1 + strcspn(at + 1, "@");
		gpc_autostr *name = gpc_strndup(at + 1, (size_t)(end - at - 1));
		const char *value = *end ? gpc_pairs_get(values, name) : NULL;

		gpc_buf_add(to, line, (size_t)(at - line));
		gpc_buf_adds(to, value ? value : "@");
		line = value ? end + 1 : at + 1;
	}
	gpc_buf_adds(to, line);
	gpc_buf_adds(to, "\n");
}

struct text { const char *const *lines; size_t n; };
#define TEXT(x) ((struct text){ x, sizeof(x) / sizeof(*(x)) })

static void fill(struct gpc_buf *to, struct text text,
	const struct gpc_pairs *values)
{
	for (size_t i = 0; i < text.n; i++)
		fill_line(to, text.lines[i], values);
}

/* The other accelerators have drivers of their own, which nobody asks here. */
static bool has_nvidia(const struct gpc_launch *l)
{
	const char *gpu = l->offer.gpu ? l->offer.gpu : "";

	return !gpc_starts_with(gpu, "Inferentia") &&
		!gpc_starts_with(gpu, "Trainium") && !gpc_eq(gpu, "V520");
}

/* The file that a node is described by; what only the machine itself knows, its
 * script adds. */
static struct gpc_json *node_json(const struct gpc_launch *l)
{
	struct gpc_json *j = gpc_json_object(), *tags = gpc_json_object();

	gpc_vec_each(t, &l->tags)
		gpc_json_set_str(tags, t->key, t->value);
	gpc_json_set_int(j, "v", 1);
	gpc_json_set_str(j, "token", l->token);
	gpc_json_set_str(j, "job", l->job);
	gpc_json_set_int(j, "attempt", l->attempt);
	gpc_json_set_int(j, "index", 0);
	gpc_json_set_str(j, "store_url", l->store_url);
	gpc_json_set(j, "buckets", gpc_json_strings(&l->buckets));
	gpc_json_set(j, "tags", tags);
	gpc_json_set_str(j, "provider", l->provider);
	gpc_json_set_str(j, "market", l->offer.market);
	if (gpc_json_get_str(l->rest, GPC_LAUNCH_GROUP))
		gpc_json_set_str(j, "group",
			gpc_json_get_str(l->rest, GPC_LAUNCH_GROUP));
	gpc_json_set_int(j, "expires_ms", l->expires_ms);
	if (l->gpus > 0 && has_nvidia(l))
		gpc_json_set_int(j, "n_gpus", l->gpus);
	return j;
}

static int add_config(const struct gpc_launch *l, struct gpc_pairs *values,
	struct gpc_error *err)
{
	const struct gpc_json *bundle = gpc_json_get(l->rest, "bundle");
	gpc_autoptr(gpc_json) *j = gpc_json_object();
	gpc_auto(gpc_buf) struct gpc_buf packed = {0};
	gpc_autostr *text = NULL;

	if (!gpc_json_get_str(bundle, "url"))
		return gpc_fail(err, GPC_ECONFIG, "the launch names no bundle");
	gpc_json_set_str(j, "url", gpc_json_get_str(bundle, "url"));
	gpc_json_set_str(j, "region", gpc_json_get_str(bundle, "region"));
	gpc_json_set_str(j, "sha256", gpc_json_get_str(bundle, "sha256"));
	if (gpc_json_get_str(l->rest, "ca"))
		gpc_json_set_str(j, "ca", gpc_json_get_str(l->rest, "ca"));
	gpc_json_set(j, "env", gpc_json_object());
	gpc_json_set(j, "node", node_json(l));
	text = gpc_json_print(j);
	gpc_base64(&packed, text, strlen(text));
	gpc_pairs_set(values, "CONFIG", gpc_buf_str(&packed));
	return 0;
}

static void add_part(struct gpc_buf *to, const char *type, struct text text,
	const struct gpc_pairs *values)
{
	gpc_buf_addf(to, "--" EDGE "\nContent-Type: %s\n\n", type);
	fill(to, text, values);
	gpc_buf_adds(to, "\n");
}

static int fail_long(const struct gpc_launch *l, size_t n, struct gpc_error *err)
{
	const char *ca = gpc_json_get_str(l->rest, "ca");

	gpc_fail(err, GPC_ECONFIG, "the user data of a node would be %zu bytes, and "
		"EC2 takes %d", n, GPC_AWS_USER_DATA_MAX);
	/* In Base64, as is all that differs by job. */
	if (ca && n - strlen(ca) * 4 / 3 <= GPC_AWS_USER_DATA_MAX)
		gpc_hint(err, "the certificates of ca_file are %zu bytes of it: name a "
			"file with that one alone that signed the store's",
			strlen(ca));
	else
		gpc_hint(err, "name fewer buckets under file_mounts");
	return -GPC_ECONFIG;
}

int gpc_aws_user_data(const struct gpc_launch *l, char **ret_text,
	struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs values = {0};
	gpc_auto(gpc_buf) struct gpc_buf python = {0}, all = {0};
	int64_t life_s = gpc_json_get_int(l->rest, "life_s", 24 * 3600);
	int r = add_config(l, &values, err);

	if (r < 0)
		return r;
	fill(&python, TEXT(python_text), &values);
	gpc_pairs_set(&values, "PYTHON", gpc_buf_str(&python));
	gpc_pairs_setf(&values, "EXPIRES_S", "%lld",
		(long long)(l->expires_ms / 1000));
	gpc_pairs_setf(&values, "LIFE_S", "%lld", (long long)life_s);
	gpc_buf_adds(&all, "MIME-Version: 1.0\nContent-Type: multipart/mixed; "
		"boundary=\"" EDGE "\"\n\n");
	add_part(&all, "text/cloud-boothook", TEXT(hook_text), &values);
	add_part(&all, "text/x-shellscript", TEXT(boot_text), &values);
	gpc_buf_adds(&all, "--" EDGE "--\n");
	if (all.len > GPC_AWS_USER_DATA_MAX)
		return fail_long(l, all.len, err);
	*ret_text = gpc_strdup(gpc_buf_str(&all));
	return 0;
}
