/* node.json: one table for reading, writing and clearing it. */
#include "provider/node_file.h"

#include <stddef.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/time.h"
#include "dep/bind.h"

enum { MAX_BYTES = 1 << 20 };

#define ROW(field, kind, ...) GPC_BIND(gpc_node_file, field, kind, __VA_ARGS__)
static const struct gpc_bind table[] = {
	ROW(v, INT, .flags = GPC_BIND_REQUIRED),
	ROW(id, STR, .flags = GPC_BIND_REQUIRED),
	ROW(token, STR, .flags = GPC_BIND_REQUIRED),
	ROW(job, STR, .flags = GPC_BIND_REQUIRED),
	ROW(attempt, INT, .flags = GPC_BIND_KEEP_EMPTY),
	ROW(index, INT, .flags = GPC_BIND_KEEP_EMPTY),
	ROW(store_url, STR, .flags = GPC_BIND_REQUIRED),
	ROW(buckets, STRV, .flags = 0),
	ROW(tags, PAIRS, .flags = 0),
	ROW(provider, STR, .flags = 0),
	ROW(market, STR, .flags = 0),
	ROW(group, STR, .flags = 0),
	ROW(boot, STR, .flags = 0),
	ROW(pid, INT, .flags = 0),
	ROW(start, I64, .flags = 0),
	ROW(created_ms, I64, .flags = 0),
	ROW(created_boot_ms, I64, .flags = 0),
	ROW(expires_ms, I64, .flags = 0),
	ROW(gpus, JSON, .flags = 0),
	ROW(n_gpus, INT, .flags = 0),
	ROW(cpus_milli, I64, .flags = 0),
	ROW(memory_bytes, I64, .flags = 0),
	ROW(user_home, BOOL, .flags = 0),
	ROW(why, STR, .flags = 0),
	ROW(rest, REST, .flags = 0),
	GPC_BIND_LAST
};

int gpc_node_file_read(const char *dir, struct gpc_node_file *ret_n,
	struct gpc_error *err)
{
	gpc_autostr *path = gpc_path_join(dir, GPC_NODE_FILE);
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_node_file n = {0};
	int r = gpc_read_file(path, MAX_BYTES, &b, err);

	if (r < 0)
		return r;
	r = gpc_bind_parse(gpc_buf_str(&b), b.len, table, &n, err);
	if (r < 0)
		return gpc_wrap(err, r, "%s", path);
	if (n.v != 1) {
		r = gpc_fail(err, GPC_EUNSUPPORTED,
			"%s: format %d is of another gpucloud", path, n.v);
		gpc_node_file_clear(&n);
		return r;
	}
	*ret_n = n;
	return 0;
}

int gpc_node_file_write(const char *dir, const struct gpc_node_file *n,
	struct gpc_error *err)
{
	gpc_autostr *path = gpc_path_join(dir, GPC_NODE_FILE);
	gpc_autoptr(gpc_json) *j = gpc_bind_write(table, n);
	gpc_autostr *text = gpc_json_print_pretty(j);

	return gpc_write_file(path, text, strlen(text), 0600, err);
}

bool gpc_node_file_on_this_boot(const struct gpc_node_file *n)
{
	char boot[64];

	/* Unknown (no descriptor was left to ask with) is not another one. */
	return !n->boot || !n->boot[0] || !*gpc_boot_id(boot) ||
		gpc_eq(n->boot, boot);
}

bool gpc_node_file_alive(const struct gpc_node_file *n)
{
	return n->pid > 0 && gpc_node_file_on_this_boot(n)
		&& gpc_proc_alive(n->pid, (uint64_t)n->start);
}

void gpc_node_file_clear(struct gpc_node_file *n)
{
	gpc_bind_clear(table, n);
}
