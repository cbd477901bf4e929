/* Checkpoint records. A record is put whole and if-absent after everything that
 * it names is there, so a checkpoint is complete or not listed. Its id orders
 * checkpoints without reading them. */
#include "record/checkpoint.h"

#include <stdio.h>
#include <string.h>

#include "base/crash.h"
#include "base/parse.h"
#include "base/str.h"
#include "dep/bind.h"
#include "record/keys.h"

#define VERSION 1
#define LABEL_MAX 24
#define RECORD_MAX ((size_t)64 << 20)

static const struct gpc_bind part_fields[] = {
	GPC_BIND(gpc_checkpoint_part, rank, INT, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_checkpoint_part, head, JSON, .flags = GPC_BIND_REQUIRED),
	GPC_BIND_LAST
};
static const struct gpc_bind fields[] = {
	GPC_BIND(gpc_checkpoint, v, INT, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_checkpoint, id, STR, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_checkpoint, attempt, INT, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_checkpoint, n, INT, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_checkpoint, label, STR, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_checkpoint, at_ms, I53, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_checkpoint, quiet, BOOL, .flags = GPC_BIND_KEEP_EMPTY),
	GPC_BIND(gpc_checkpoint, bytes, I53, .flags = GPC_BIND_KEEP_EMPTY),
	GPC_BIND(gpc_checkpoint, files, I53, .flags = GPC_BIND_KEEP_EMPTY),
	GPC_BIND(gpc_checkpoint, parts, VEC, .flags = GPC_BIND_REQUIRED,
		.sub = part_fields,
		.sub_size = sizeof(struct gpc_checkpoint_part)),
	GPC_BIND(gpc_checkpoint, rest, REST),
	GPC_BIND_LAST
};

void gpc_checkpoint_clear(struct gpc_checkpoint *c)
{
	gpc_bind_clear(fields, c);
}

void gpc_checkpoint_ids_clear(struct gpc_checkpoint_ids *x)
{
	gpc_vec_free(x);
}

/* --- ids --------------------------------------------------------------- */

/* Digits up to sep, without leading zeros; moves *p behind sep. */
static bool take_number(const char **p, char sep, int *ret_n)
{
	const char *end = strchr(*p, sep);
	char digits[11];
	int64_t n;

	if (!end || end == *p || end - *p > 10 || **p == '0' || **p == '+')
		return false;
	memcpy(digits, *p, (size_t)(end - *p));
	digits[end - *p] = '\0';
	if (gpc_parse_i64(digits, 1, INT32_MAX, "checkpoint", &n, NULL) < 0)
		return false;
	*ret_n = (int)n;
	*p = end + 1;
	return true;
}

static bool label_ok(const char *label)
{
	size_t n = strspn(label, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return n > 0 && n <= LABEL_MAX && label[n] == '\0';
}

bool gpc_checkpoint_id_parse(const char *id, int *ret_attempt, int *ret_n,
	char ret_label[25])
{
	const char *p = id;
	int attempt, n;

	if (!id || !take_number(&p, '-', &attempt) ||
		!take_number(&p, '-', &n) || !label_ok(p))
		return false;
	*ret_attempt = attempt;
	*ret_n = n;
	memcpy(ret_label, p, strlen(p) + 1);
	return true;
}

/* --- records ----------------------------------------------------------- */

static int check(const struct gpc_checkpoint *c, struct gpc_error *err)
{
	char label[LABEL_MAX + 1];
	int attempt, n;

	if (gpc_checkpoint_id_parse(c->id, &attempt, &n, label) &&
		attempt == c->attempt && n == c->n && gpc_eq(label, c->label))
		return 0;
	return gpc_fail(err, GPC_EPROTO,
		"the checkpoint's id is not its attempt, number and label");
}

/* After an unclear answer the caller repeats the same record: finding it there
 * is success. */
static int compare(struct gpc_store *s, const char *key, const char *text,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = { .max = RECORD_MAX + 1 };
	int r = gpc_store_get(s, key, RECORD_MAX, &b, err);

	if (r < 0)
		return r;
	if (strcmp(gpc_buf_str(&b), text) == 0)
		return 0;
	return gpc_fail(err, GPC_ECONFLICT,
		"%s/%s exists with other contents", s->url, key);
}

int gpc_checkpoint_put(struct gpc_store *s, const char *job,
	const struct gpc_checkpoint *c, struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *j = NULL;
	gpc_autostr *text = NULL;
	gpc_key key;
	int r = check(c, err);

	if (r < 0)
		return r;
	j = gpc_bind_write(fields, c);
	r = gpc_json_try_print(j, RECORD_MAX, &text, err);
	if (r < 0)
		return gpc_wrap(err, r, "checkpoint %s", c->id);
	gpc_key_checkpoint(key, job, c->id);
	r = gpc_store_put(s, key, text, strlen(text), GPC_PUT_IF_ABSENT, err);
	GPC_CRASH("checkpoint.committed");
	return r == -GPC_ECONFLICT ? compare(s, key, text, err) : r;
}

int gpc_checkpoint_get(struct gpc_store *s, const char *job, const char *id,
	struct gpc_checkpoint *ret_c, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = { .max = RECORD_MAX + 1 };
	gpc_auto(gpc_checkpoint) struct gpc_checkpoint c = {0};
	gpc_key key;
	char label[LABEL_MAX + 1];
	int attempt, n, r;

	if (!gpc_checkpoint_id_parse(id, &attempt, &n, label)) {
		r = gpc_fail(err, GPC_ENOTFOUND,
			"\"%s\" is not the id of a checkpoint", id ? id : "");
		gpc_hint(err, "`gpucloud checkpoint list` shows them");
		return r;
	}
	r = gpc_store_get(s, gpc_key_checkpoint(key, job, id), RECORD_MAX, &b,
		err);
	if (r < 0)
		return gpc_wrap(err, r, "checkpoint %s of job %s", id, job);
	r = gpc_bind_parse(gpc_buf_str(&b), b.len, fields, &c, err);
	if (r == 0 && c.v > VERSION)
		r = gpc_fail(err, GPC_EUNSUPPORTED, "it has version %d, this "
			"gpucloud knows %d", c.v, VERSION);
	if (r == 0)
		r = check(&c, err);
	if (r == 0 && !gpc_eq(c.id, id))
		r = gpc_fail(err, GPC_EPROTO, "it is the record of %s", c.id);
	if (r < 0)
		return gpc_wrap(err, r, "%s/%s", s->url, key);
	*ret_c = c;
	c = (struct gpc_checkpoint){0};
	return 0;
}

/* --- list -------------------------------------------------------------- */

struct listing { struct gpc_checkpoint_ids *ids; size_t skip; };

static int take_id(void *arg, const struct gpc_object *o)
{
	struct listing *l = arg;
	struct gpc_checkpoint_id x = {0}, *slot;
	const char *name = o->key + l->skip;
	size_t n = strlen(name);
	char label[LABEL_MAX + 1];

	if (n <= 5 || n - 5 >= sizeof(x.id) || !gpc_ends_with(name, ".json"))
		return 0;
	memcpy(x.id, name, n - 5);
	if (gpc_checkpoint_id_parse(x.id, &x.attempt, &x.n, label))
		slot = gpc_vec_try_push(l->ids);
	else
		return 0;
	if (!slot)
		return GPC_LIST_NO_MEMORY;
	*slot = x;
	return 0;
}

static int by_age(const void *a, const void *b)
{
	const struct gpc_checkpoint_id *x = a, *y = b;

	if (x->attempt != y->attempt)
		return x->attempt < y->attempt ? -1 : 1;
	if (x->n != y->n)
		return x->n < y->n ? -1 : 1;
	return strcmp(x->id, y->id);
}

int gpc_checkpoint_list(struct gpc_store *s, const char *job,
	struct gpc_checkpoint_ids *ret_ids, struct gpc_error *err)
{
	gpc_auto(gpc_checkpoint_ids) struct gpc_checkpoint_ids ids = {0};
	gpc_key prefix;
	struct listing l = { .ids = &ids };
	int r;

	gpc_key_job_file(prefix, job, "checkpoints/");
	l.skip = strlen(prefix);
	r = gpc_store_list(s, prefix, NULL, take_id, &l, err);
	if (r < 0)
		return gpc_wrap(err, r, "checkpoints of job %s", job);
	if (ids.n)
		qsort(ids.v, ids.n, sizeof(*ids.v), by_age);
	*ret_ids = ids;
	ids = (struct gpc_checkpoint_ids){0};
	return 0;
}
