/* `gpucloud data ls`: what lies in a bucket, or in a folder here. Rows are printed as
 * they come, a thousand at a time, so that a list may be of any length. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/data_verbs.h"
#include "cmd/phrase.h"
#include "transfer/walk.h"

enum { BLOCK = 1000, WIDTH_TIME = 19, WIDTH_SIZE = 10 };

struct row {
	char *name, *url, *storage_class, *version;
	uint64_t size;
	int64_t modified;
	bool folder;
};
/* Widths that every block has. */
static const struct gpc_col cols[] = {
	GPC_COL("modified", TIME, struct row, modified, 0, .width = WIDTH_TIME),
	GPC_COL("size", SIZE, struct row, size, 0, .width = WIDTH_SIZE),
	GPC_COL("name", STR, struct row, name, GPC_COL_F_NAME),
	GPC_COL("storage_class", STR, struct row, storage_class,
		GPC_COL_F_WIDE, .title = "class"),
	GPC_COL("version", STR, struct row, version, GPC_COL_F_DATA),
	GPC_COL("folder", BOOL, struct row, folder, GPC_COL_F_DATA),
	GPC_COL("url", STR, struct row, url, GPC_COL_F_DATA),
	GPC_COL_LAST
};
static const struct gpc_table table = {"object", cols, sizeof(struct row)};

struct ls {
	struct gpc_data_run *x;
	struct gpc_location at;
	size_t skip;                    /* bytes of keys that are the location's */
	struct row rows[BLOCK];
	size_t n;
	bool later;                     /* rows were printed */
	uint64_t files, folders, bytes;
	int r;                          /* of printing, and its error */
	struct gpc_error err;
};

/* --- rows -------------------------------------------------------------------- */

static void forget_rows(struct ls *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->rows[i].name);
		free(s->rows[i].url);
		free(s->rows[i].storage_class);
		free(s->rows[i].version);
	}
	s->n = 0;
}

static int print_events(struct ls *s, struct gpc_error *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < s->n; i++)
		r = gpc_out_event(&s->x->c->out, table.thing,
			gpc_out_row_json(&table, &s->rows[i]), err);
	return r;
}

static int print_block(struct ls *s, struct gpc_error *err)
{
	struct gpc_out *o = &s->x->c->out;
	int r = 0;

	if (o->format == GPC_OUT_JSON)
		r = print_events(s, err);
	else if (s->n || !s->later)
		r = (s->later ? gpc_out_rows_more : gpc_out_rows)(o, &table,
			s->rows, s->n, err);
	s->later = true;
	forget_rows(s);
	return r;
}

static int add_row(struct ls *s, const struct row *row)
{
	s->folders += row->folder;
	s->files += !row->folder;
	s->bytes += row->folder ? 0 : row->size;
	s->rows[s->n++] = *row;
	if (s->n == BLOCK)
		s->r = print_block(s, &s->err);
	return s->r;
}

/* --- a bucket ---------------------------------------------------------------- */

/* info NULL: a folder. */
static int add_object(void *arg, const char *key,
	const struct gpc_object_info *info)
{
	struct ls *s = arg;
	const char *name = key + s->skip;
	struct row row = { .size = GPC_SIZE_NONE, .folder = !info };

	if (!*name || !gpc_filter_takes(s->x->filter, name))
		return 0;
	row.name = gpc_strdup(name);
	row.url = gpc_objects_name(s->at.objects, key);
	if (info) {
		row.size = info->size;
		row.modified = info->modified_ms;
		row.storage_class = gpc_strdup(info->storage_class);
		row.version = gpc_strdup(info->version);
	}
	return add_row(s, &row) != 0;
}

/* An object of that very name, if there is one. */
static int add_itself(struct ls *s, struct gpc_error *err)
{
	gpc_autostr *base = gpc_location_base(&s->at), *keep = NULL;
	struct gpc_object_info info;
	int r = gpc_objects_head(s->at.objects, s->at.key, &info, &keep, err);

	if (r)
		return r;
	s->skip = strlen(s->at.key) - strlen(base);
	add_object(s, s->at.key, &info);
	return 0;
}

static int list_bucket(struct ls *s, struct gpc_error *err)
{
	const char *delimiter = s->x->o->recursive ? NULL : "/";
	struct gpc_error why = {0};
	int alone = -GPC_ENOTFOUND, r;

	if (!gpc_location_says_folder(&s->at))
		alone = add_itself(s, &why);
	/* who may not look at an object may still list what is below it */
	if (alone && alone != -GPC_ENOTFOUND && alone != -GPC_EAUTH) {
		*err = why;
		return alone;
	}
	gpc_location_make_folder(&s->at);
	s->skip = strlen(s->at.key);
	r = gpc_objects_list(s->at.objects, s->at.key, NULL, delimiter,
		add_object, s, err);
	if (!r && alone == -GPC_EAUTH && !s->files && !s->folders) {
		*err = why;
		return alone;
	}
	return r;
}

/* --- a folder ---------------------------------------------------------------- */

static int add_file(void *arg, const struct gpc_listed *l,
	struct gpc_error *err)
{
	struct ls *s = arg;
	gpc_autostr *path = gpc_location_at(&s->at, l->key);
	bool folder = gpc_ends_with(l->key, "/");
	struct row row = {
		.size = folder ? GPC_SIZE_NONE : l->size,
		.modified = l->modified_ms, .folder = folder,
	};

	if (l->flags & GPC_LISTED_NOTE) {
		struct gpc_error why = {0};

		gpc_fail_sys(&why, l->flags & GPC_LISTED_UNREADABLE ?
			(int)l->size : EINVAL, "%s: %s", path,
			gpc_walk_note(l));
		if (l->flags & GPC_LISTED_UNREADABLE)
			gpc_data_failed(s->x, path, NULL, &why);
		return 0;
	}
	row.name = gpc_strdup(l->key);
	row.url = gpc_steal(&path);
	if (add_row(s, &row)) {
		*err = s->err;
		return s->r;
	}
	return gpc_canceled(s->x->c->cancel) ?
		gpc_fail(err, GPC_ECANCELED, "interrupted") : 0;
}

static int fail_path(const char *path, int sys, struct gpc_error *err)
{
	int r = gpc_fail_sys(err, sys, "%s", path);

	if (sys == ENOENT && !strchr(path, '/'))
		gpc_hint(err, "that is a path here; of a bucket it would be "
			"s3://%.100s, oss://... or gs://...", path);
	return r;
}

static int list_folder(struct ls *s, struct gpc_error *err)
{
	const struct gpc_walk how = { .root = s->at.path,
		.filter = s->x->filter, .flat = !s->x->o->recursive };
	struct stat st;

	if (stat(s->at.path, &st) < 0)
		return fail_path(s->at.path, errno, err);
	if (S_ISDIR(st.st_mode))
		return gpc_walk_run(&how, add_file, s, err);
	struct row row = {
		.name = gpc_location_base(&s->at),
		.url = gpc_strdup(s->at.path),
		.size = (uint64_t)st.st_size,
		.modified = (int64_t)st.st_mtim.tv_sec * 1000 +
			st.st_mtim.tv_nsec / 1000000,
	};
	return add_row(s, &row);
}

/* --- all --------------------------------------------------------------------- */

static void say_total(struct ls *s)
{
	gpc_autostr *files = gpc_phrase_count(s->files, s->at.path ? "file" :
		"object");
	gpc_autostr *size = gpc_phrase_size(s->bytes);
	gpc_autostr *folders = gpc_phrase_count(s->folders, "folder");

	if (s->x->c->out.format <= GPC_OUT_WIDE)
		gpc_say(&s->x->c->talk, "gpucloud: %s, %s%s%s", files, size,
			s->folders ? ", " : "", s->folders ? folders : "");
}

static int finish(struct ls *s, struct gpc_error *err)
{
	int r = s->r;

	if (r)
		*err = s->err;
	else
		r = print_block(s, err);
	if (!r)
		say_total(s);
	if (!r && s->x->n.failed) {
		*err = s->x->first;
		s->x->c->exit_status = 1;
		return gpc_wrap(err, -(int)err->code, "%" PRIu64 " could not "
			"be listed; the first", s->x->n.failed);
	}
	return r;
}

/* Nothing below a key that was named: that is no empty folder, but a mistake. */
static int check_any(const struct ls *s, struct gpc_error *err)
{
	if (s->at.path || s->files || s->folders || !*s->at.key ||
		s->x->o->patterns.n)
		return 0;
	return gpc_location_fail_nothing(&s->at, NULL, err);
}

int gpc_data_ls(struct gpc_cmd *c, const char *word, struct gpc_error *err)
{
	gpc_auto(gpc_data_run) struct gpc_data_run x = { .c = c, .hurried = true };
	struct ls *s = gpc_alloc(sizeof(*s));
	int r = gpc_data_open(&x, err);

	s->x = &x;
	if (!r)
		r = gpc_data_location(&x, word, &s->at, err);
	if (!r)
		r = s->at.path ? list_folder(s, err) : list_bucket(s, err);
	if (!r)
		r = check_any(s, err);
	if (!r)
		r = finish(s, err);
	forget_rows(s);
	gpc_data_cut(&x);
	gpc_location_clear(&s->at);
	free(s);
	return r;
}
