/* One operation on a store, for scripts:
 *   store-do STORE put KEY FILE | create KEY FILE | get KEY | head KEY | list PREFIX |
 *	del KEY
 * create is a put if-absent. get writes the object to stdout, head its size, list
 * lines "SIZE KEY". A failure is a line "error CODE: MESSAGE" and status 1. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/str.h"
#include "store/store.h"

static int put(struct gpc_store *s, const char *key, const char *path,
	unsigned flags, struct gpc_error *err)
{
	gpc_autofd fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return gpc_fail(err, GPC_EIO, "cannot open %s", path);
	return gpc_store_put_body(s, key, &(struct gpc_body){ .fd = fd,
		.size = (uint64_t)st.st_size }, flags, err);
}

static int show(void *arg, const void *data, size_t n, struct gpc_error *err)
{
	(void)arg;
	if (fwrite(data, 1, n, stdout) != n)
		return gpc_fail(err, GPC_EIO, "cannot write to stdout");
	return 0;
}

static int show_key(void *arg, const struct gpc_object *o)
{
	(void)arg;
	printf("%" PRIu64 " %s\n", o->size, o->key);
	return 0;
}

static int do_it(struct gpc_store *s, const char *what, const char *key,
	const char *path, struct gpc_error *err)
{
	struct gpc_object o;
	int r;

	if (gpc_eq(what, "put") && path)
		return put(s, key, path, 0, err);
	if (gpc_eq(what, "create") && path)
		return put(s, key, path, GPC_PUT_IF_ABSENT, err);
	if (gpc_eq(what, "get"))
		return gpc_store_get_range(s, key, 0, -1, show, NULL, NULL, err);
	if (gpc_eq(what, "list"))
		return gpc_store_list(s, key, NULL, show_key, NULL, err);
	if (gpc_eq(what, "del"))
		return gpc_store_del(s, key, err);
	if (!gpc_eq(what, "head"))
		return gpc_fail(err, GPC_EUSAGE, "unknown operation %s", what);
	r = gpc_store_head(s, key, &o, err);
	if (r == 0)
		printf("%" PRIu64 "\n", o.size);
	return r;
}

int main(int argc, char **argv)
{
	gpc_autoptr(gpc_store) *s = NULL;
	struct gpc_error err = {0};
	int r = argc < 4 ? gpc_fail(&err, GPC_EUSAGE, "see store_do.c") :
		gpc_store_open(argv[1], 0, NULL, &s, &err);

	if (r == 0)
		r = do_it(s, argv[2], argv[3], argc > 4 ? argv[4] : NULL, &err);
	if (r != 0)
		printf("error %d: %s%s%s\n", (int)err.code, err.msg,
			err.hint[0] ? " | " : "", err.hint);
	return r == 0 ? 0 : 1;
}
