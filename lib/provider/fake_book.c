/* The files of the pretend cloud. One lock serialises its calls, as one real
 * cloud's database would; each file is replaced whole, so a process that is
 * killed leaves the old one or the new. */
#include "provider/fake_book.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/time.h"
#include "dep/bind.h"

enum { MAX_BYTES = 4 << 20 };

const char *const gpc_fake_op_names[] = {
	[GPC_FAKE_OFFERS] = "offers", [GPC_FAKE_CREATE] = "create",
	[GPC_FAKE_LIST] = "list", [GPC_FAKE_DESTROY] = "destroy",
	[GPC_FAKE_CONSOLE] = "console", [GPC_FAKE_CALLER] = "caller",
	[GPC_FAKE_OPEN] = "open", [GPC_FAKE_WAYS] = "ways", NULL
};
const char *const gpc_fake_how_names[] = {
	[GPC_FAKE_FINE] = "none", [GPC_FAKE_NO_CAPACITY] = "no_capacity",
	[GPC_FAKE_QUOTA] = "quota", [GPC_FAKE_FULL] = "full",
	[GPC_FAKE_AUTH] = "auth",
	[GPC_FAKE_THROTTLE] = "throttle", [GPC_FAKE_ERROR] = "error",
	[GPC_FAKE_REFUSED] = "refused", [GPC_FAKE_LACKS] = "lacks",
	[GPC_FAKE_UNREACHABLE] = "unreachable",
	[GPC_FAKE_LOST_ANSWER] = "lost_answer", [GPC_FAKE_SLOW] = "slow",
	[GPC_FAKE_HIDE] = "hide", [GPC_FAKE_DIE] = "die",
	[GPC_FAKE_STILLBORN] = "stillborn", NULL
};

#define FAULT(field, ...) GPC_BIND(gpc_fake_fault, field, __VA_ARGS__)
static const struct gpc_bind fault_table[] = {
	FAULT(op, ENUM, .names = gpc_fake_op_names,
		.flags = GPC_BIND_REQUIRED),
	FAULT(fault, ENUM, .names = gpc_fake_how_names,
		.flags = GPC_BIND_REQUIRED),
	FAULT(times, INT, .flags = 0),
	FAULT(skip, INT, .flags = 0),
	FAULT(index, INT, .flags = 0),
	FAULT(zone, STR, .flags = 0),
	FAULT(ms, I64, .flags = 0),
	FAULT(text, STR, .flags = 0),
	GPC_BIND_LAST
};

#define SCRIPT(field, ...) GPC_BIND(gpc_fake_script, field, __VA_ARGS__)
static const struct gpc_bind script_table[] = {
	SCRIPT(faults, VEC, .sub = fault_table,
		.sub_size = sizeof(struct gpc_fake_fault)),
	SCRIPT(offers, JSON, .flags = 0),
	SCRIPT(gone_ms, I64, .flags = 0),
	SCRIPT(boot, BOOL, .flags = 0),
	SCRIPT(rest, REST, .flags = 0),
	GPC_BIND_LAST
};

#define NODE(field, ...) GPC_BIND(gpc_fake_node, field, __VA_ARGS__)
static const struct gpc_bind node_table[] = {
	NODE(v, INT, .flags = GPC_BIND_REQUIRED),
	NODE(id, STR, .flags = GPC_BIND_REQUIRED),
	NODE(token, STR, .flags = GPC_BIND_REQUIRED),
	NODE(index, INT, .flags = GPC_BIND_KEEP_EMPTY),
	NODE(tags, PAIRS, .flags = 0),
	NODE(zone, STR, .flags = 0),
	NODE(created_ms, I64, .flags = 0),
	NODE(expires_ms, I64, .flags = 0),
	NODE(ends_boot_ms, I64, .flags = 0),
	NODE(hidden_boot_ms, I64, .flags = 0),
	NODE(dies_boot_ms, I64, .flags = 0),
	NODE(gone_boot_ms, I64, .flags = 0),
	NODE(stillborn, BOOL, .flags = 0),
	NODE(booted, BOOL, .flags = 0),
	NODE(console, STR, .flags = 0),
	NODE(why, STR, .flags = 0),
	NODE(rest, REST, .flags = 0),
	GPC_BIND_LAST
};

void gpc_fake_script_clear(struct gpc_fake_script *s)
{
	gpc_bind_clear(script_table, s);
}

void gpc_fake_fault_clear(struct gpc_fake_fault *f)
{
	gpc_bind_clear(fault_table, f);
}

void gpc_fake_node_clear(struct gpc_fake_node *n)
{
	gpc_bind_clear(node_table, n);
}

void gpc_fake_nodes_clear(struct gpc_fake_nodes *x)
{
	gpc_vec_each(n, x)
		gpc_fake_node_clear(n);
	gpc_vec_free(x);
}

int gpc_fake_lock(const char *dir, int *ret_fd, struct gpc_error *err)
{
	gpc_autostr *nodes = gpc_path_join(dir, "nodes");
	gpc_autostr *lock = gpc_path_join(dir, ".lock");
	int r = gpc_mkdirs(nodes, 0700, err);

	return r < 0 ? r : gpc_lock_file(lock, true, ret_fd, err);
}

/* --- script --------------------------------------------------------------- */

int gpc_fake_script_read(const char *dir, struct gpc_fake_script *ret_s,
	struct gpc_error *err)
{
	gpc_autostr *path = gpc_path_join(dir, "script.json");
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_fake_script s = {0};
	int r = gpc_read_file(path, MAX_BYTES, &b, err);

	if (r == -GPC_ENOTFOUND)
		return 0;
	if (r == 0)
		r = gpc_bind_parse(gpc_buf_str(&b), b.len, script_table, &s, err);
	if (r < 0)
		return gpc_wrap(err, r, "%s", path);
	*ret_s = s;
	return 0;
}

static int script_write(const char *dir, const struct gpc_fake_script *s,
	struct gpc_error *err)
{
	gpc_autostr *path = gpc_path_join(dir, "script.json");
	gpc_autoptr(gpc_json) *j = gpc_bind_write(script_table, s);
	gpc_autostr *text = gpc_json_print_pretty(j);

	return gpc_write_file(path, text, strlen(text), 0600, err);
}

static bool fits(const struct gpc_fake_fault *f, enum gpc_fake_op op,
	const char *zone)
{
	return f->op == op && (!f->zone || gpc_eq(f->zone, zone));
}

int gpc_fake_take_fault(const char *dir, enum gpc_fake_op op, const char *zone,
	struct gpc_fake_fault *ret_f, struct gpc_error *err)
{
	gpc_auto(gpc_fake_script) struct gpc_fake_script s = {0};
	int r = gpc_fake_script_read(dir, &s, err);

	for (size_t i = 0; r == 0 && i < s.faults.n; i++) {
		struct gpc_fake_fault *f = &s.faults.v[i];

		if (!fits(f, op, zone))
			continue;
		if (f->skip > 0) {
			f->skip--;
			return script_write(dir, &s, err);
		}
		gpc_bind_copy(fault_table, ret_f, f);
		if (f->times < 0)
			return 0;
		if (f->times > 1) {
			f->times--;
		} else {
			gpc_fake_fault_clear(f);
			gpc_vec_remove(&s.faults, i);
		}
		return script_write(dir, &s, err);
	}
	return r;
}

int gpc_fake_return_fault(const char *dir, const struct gpc_fake_fault *f,
	struct gpc_error *err)
{
	gpc_auto(gpc_fake_script) struct gpc_fake_script s = {0};
	struct gpc_fake_fault first = {0};
	int r = f->times < 0 ? 0 : gpc_fake_script_read(dir, &s, err);

	if (r < 0 || f->times < 0)
		return r;
	gpc_bind_copy(fault_table, &first, f);
	first.times = 1;
	gpc_vec_push(&s.faults);
	memmove(s.faults.v + 1, s.faults.v,
		(s.faults.n - 1) * sizeof(*s.faults.v));
	s.faults.v[0] = first;
	return script_write(dir, &s, err);
}

/* --- nodes ---------------------------------------------------------------- */

static char *node_path(const char *dir, const char *id)
{
	return gpc_format("%s/nodes/%s.json", dir, id);
}

static int node_read(const char *path, struct gpc_fake_node *ret_n,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	int r = gpc_read_file(path, MAX_BYTES, &b, err);

	if (r == 0)
		r = gpc_bind_parse(gpc_buf_str(&b), b.len, node_table, ret_n,
			err);
	return gpc_wrap(err, r, "%s", path);
}

int gpc_fake_names(const char *folder, struct gpc_strv *ret_names,
	struct gpc_error *err)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	int r = 0;

	if (!d && errno == ENOENT)
		return 0;
	if (!d)
		return gpc_fail_sys(err, errno, "cannot list %s", folder);
	while ((errno = 0, e = readdir(d))) {
		if (e->d_name[0] != '.' && gpc_ends_with(e->d_name, ".json"))
			gpc_strv_add(ret_names, e->d_name);
	}
	/* Half a list would make nodes look gone. */
	if (errno != 0)
		r = gpc_fail_sys(err, errno, "cannot list %s", folder);
	closedir(d);
	gpc_strv_sort(ret_names);
	return r;
}

int gpc_fake_nodes_read(const char *dir, struct gpc_fake_nodes *ret_nodes,
	struct gpc_error *err)
{
	gpc_autostr *folder = gpc_path_join(dir, "nodes");
	gpc_auto(gpc_strv) struct gpc_strv names = {0};
	gpc_auto(gpc_fake_nodes) struct gpc_fake_nodes nodes = {0};
	int r = gpc_fake_names(folder, &names, err);

	for (size_t i = 0; r == 0 && i < names.n; i++) {
		gpc_autostr *path = gpc_path_join(folder, names.v[i]);

		r = node_read(path, gpc_vec_push(&nodes), err);
	}
	if (r < 0)
		return r;
	*ret_nodes = nodes;
	nodes = (struct gpc_fake_nodes){0};
	return 0;
}

int gpc_fake_node_write(const char *dir, const struct gpc_fake_node *n,
	struct gpc_error *err)
{
	gpc_autostr *path = node_path(dir, n->id);
	gpc_autoptr(gpc_json) *j = gpc_bind_write(node_table, n);
	gpc_autostr *text = gpc_json_print_pretty(j);

	return gpc_write_file(path, text, strlen(text), 0600, err);
}

int gpc_fake_node_remove(const char *dir, const char *id, struct gpc_error *err)
{
	gpc_autostr *path = node_path(dir, id);

	if (unlink(path) < 0 && errno != ENOENT)
		return gpc_fail_sys(err, errno, "cannot remove %s", path);
	return 0;
}

/* --- ledger --------------------------------------------------------------- */

int gpc_fake_ledger_add(const char *dir, struct gpc_json *entry, int r,
	struct gpc_error *err)
{
	gpc_autostr *path = gpc_path_join(dir, "ledger");
	gpc_autostr *line = NULL, *text = NULL;
	gpc_autofd fd = -1;
	int rc = gpc_open(path, O_WRONLY | O_CREAT | O_APPEND, 0600, &fd, err);

	if (rc < 0)
		return rc;
	gpc_json_set_int(entry, "at_ms", gpc_wall_ms());
	gpc_json_set_int(entry, "pid", getpid());
	gpc_json_set_str(entry, "answer", gpc_code_to_str((enum gpc_code)-r));
	text = gpc_json_print(entry);
	line = gpc_format("%s\n", text);
	return gpc_write_all(fd, line, strlen(line), path, err);
}
