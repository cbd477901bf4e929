/* Snapshots without the rest of gpucloud, for measuring them:
 *   pack-driver scan TREE
 *   pack-driver pack TREE STORE [CACHE [THREADS]]    prints the head's sha256
 *   pack-driver restore STORE SHA256 TARGET [THREADS]
 * Facts go to stderr. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/parse.h"
#include "base/str.h"
#include "base/time.h"
#include "snapshot/snapshot.h"

static int64_t began;

static void facts(const char *what)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	fprintf(stderr, "%s: %lld ms, %ld MiB memory, %.2f s user, %.2f s system\n",
		what, (long long)(gpc_boot_ms() - began), used.ru_maxrss >> 10,
		(double)used.ru_utime.tv_sec + (double)used.ru_utime.tv_usec / 1e6,
		(double)used.ru_stime.tv_sec + (double)used.ru_stime.tv_usec / 1e6);
}

static int threads_of(const char *text, unsigned *ret_n, struct gpc_error *err)
{
	int64_t n = 0;
	int r = text ? gpc_parse_i64(text, 0, 64, "THREADS", &n, err) : 0;

	*ret_n = (unsigned)n;
	return r;
}

static int scan(const char *root, struct gpc_tree *tree, struct gpc_error *err)
{
	const struct gpc_scan_options o = {.ignore_files = true};
	int r = gpc_scan(root, &o, tree, err);

	facts("scanned");
	return r;
}

static int pack(char **args, struct gpc_error *err)
{
	gpc_auto(gpc_tree) struct gpc_tree tree = {0};
	gpc_auto(gpc_save_result) struct gpc_save_result result = {0};
	gpc_autoptr(gpc_store) *store = NULL;
	struct gpc_save_options o = {.prefix = "blobs/",
		.cache_path = args[2] && args[2][0] ? args[2] : NULL};
	int r = threads_of(args[2] ? args[3] : NULL, &o.threads, err);

	if (r == 0)
		r = gpc_store_open(args[1], GPC_STORE_CREATE, NULL, &store, err);
	if (r == 0)
		r = scan(args[0], &tree, err);
	if (r == 0)
		r = gpc_snapshot_save(store, &tree, &o, true, &result, err);
	if (r < 0)
		return r;
	fprintf(stderr, "%llu files, %llu bytes, read %llu, sent %llu in %llu "
		"blobs, %s\n", (unsigned long long)result.n_files,
		(unsigned long long)result.n_bytes,
		(unsigned long long)result.read_bytes,
		(unsigned long long)result.sent_bytes,
		(unsigned long long)result.sent_blobs,
		result.quiet ? "quiet" : "not quiet");
	printf("%s\n", result.head_blob);
	return 0;
}

static int restore(char **args, struct gpc_error *err)
{
	gpc_autoptr(gpc_store) *store = NULL;
	gpc_autoptr(gpc_json) *head = NULL;
	struct gpc_restore_options o = {0};
	int r = threads_of(args[3], &o.threads, err);

	if (r == 0)
		r = gpc_store_open(args[0], 0, NULL, &store, err);
	if (r == 0)
		r = gpc_snapshot_get_head(store, "blobs/", args[1], &head, err);
	return r < 0 ? r : gpc_snapshot_restore(store, head, "blobs/", args[2],
		&o, err);
}

int main(int argc, char **argv)
{
	gpc_auto(gpc_tree) struct gpc_tree tree = {0};
	struct gpc_error err = {0};
	int r = -GPC_EUSAGE;

	began = gpc_boot_ms();
	if (argc == 3 && gpc_eq(argv[1], "scan"))
		r = scan(argv[2], &tree, &err);
	else if (argc >= 4 && gpc_eq(argv[1], "pack"))
		r = pack(argv + 2, &err);
	else if (argc >= 5 && gpc_eq(argv[1], "restore"))
		r = restore(argv + 2, &err);
	if (r < 0) {
		fprintf(stderr, "pack-driver: %s\n", err.msg[0] ? err.msg
			: "see the top of pack_driver.c for its use");
		return 1;
	}
	facts("done");
	return 0;
}
