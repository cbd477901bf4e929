/* What a snapshot says of a tree. 'l': one line of a list, written and read
 * again. 'h': a head, up to a NUL byte, whose lists are all what follows. 's':
 * the same, with a head that is right. */
#include "fuzz.h"

#include "base/path.h"
#include "snapshot/list.h"

static void check_line(const struct gpc_line *l)
{
	fuzz_check(gpc_path_is_inside(l->path), "%s leads out", l->path);
	fuzz_check(l->mode <= 0777 && l->kind <= GPC_ENTRY_LINK,
		"%s has a strange mode or kind", l->path);
	fuzz_check((l->kind == GPC_ENTRY_LINK) == (l->target != NULL),
		"%s: a link without a target", l->path);
}

static void one_line(struct gpc_str text)
{
	gpc_auto(gpc_line) struct gpc_line l = {0}, again = {0};
	gpc_auto(gpc_buf) struct gpc_buf a = {0}, b = {0};
	struct gpc_error err = {0};

	if (gpc_line_parse(text.ptr, text.len, &l, &err) < 0) {
		fuzz_check(err.msg[0], "an error without a message");
		return;
	}
	check_line(&l);
	gpc_line_format(&l, &a);
	fuzz_check(gpc_line_parse(a.data, a.len, &again, &err) == 0,
		"does not read back: %s\n%s", err.msg, gpc_buf_str(&a));
	gpc_line_format(&again, &b);
	fuzz_check(gpc_eq(a.data, b.data), "a line changed:\n%s%s",
		gpc_buf_str(&a), gpc_buf_str(&b));
}

struct seen { char last[GPC_PATH_MAX_BYTES + 1]; };

static int on_line(void *arg, struct gpc_line *line, struct gpc_error *err)
{
	struct seen *x = arg;

	(void)err;
	check_line(line);
	fuzz_check(strcmp(x->last, line->path) < 0, "%s is out of order",
		line->path);
	memcpy(x->last, line->path, strlen(line->path) + 1);
	return 0;
}

static int on_blob(void *arg, const char *hex, uint64_t size,
	struct gpc_error *err)
{
	(void)arg;
	(void)err;
	fuzz_check(gpc_is_hex(hex, 64) && size > 0
		&& size <= GPC_BLOB_MAX_BYTES, "blob %s of a strange size", hex);
	return 0;
}

static void read_head(struct gpc_store *s, const struct gpc_json *head)
{
	struct seen x = {""};
	struct gpc_error err = {0};

	if (gpc_lists_read(s, head, "blobs/", NULL, on_line, &x, &err) < 0)
		fuzz_check(err.msg[0], "an error without a message");
	if (gpc_snapshot_blobs(s, head, "blobs/", on_blob, NULL, &err) < 0)
		fuzz_check(err.msg[0], "an error without a message");
}

/* Every list that the head names is this one, whatever it says. */
static void name_list(struct gpc_json *head, const char *hex, size_t size)
{
	const struct gpc_json *lists = gpc_json_get(head, "lists");
	struct gpc_json *right = gpc_json_array();
	const struct gpc_json *m;

	for (m = gpc_json_first(lists); m; m = gpc_json_next(m)) {
		struct gpc_json *about = gpc_json_copy(m);

		if (gpc_json_is_object(about)) {
			gpc_json_set_str(about, "sha256", hex);
			gpc_json_set_int(about, "size", (int64_t)size);
		}
		gpc_json_add(right, about);
	}
	gpc_json_set(head, "lists", right);
}

static void with_lists(struct gpc_str head_text, struct gpc_str list)
{
	gpc_autoptr(gpc_store) *s = fuzz_store();
	gpc_autoptr(gpc_json) *head = NULL;
	gpc_auto(gpc_buf) struct gpc_buf blob = {0};
	struct gpc_error err = {0};
	char hex[65];

	if (gpc_json_parse(head_text.ptr, head_text.len, &head, &err) < 0)
		return;
	read_head(s, head);
	fuzz_zstd(list.ptr, list.len, &blob);
	fuzz_put_blob(s, blob.data, blob.len, hex);
	if (!gpc_json_is_array(gpc_json_get(head, "lists")))
		return;
	name_list(head, hex, blob.len);
	read_head(s, head);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char right[] = "{\"v\":1,\"lists\":[{}]}";
	struct fuzz_in in = {data, n};
	struct gpc_str head = {right, sizeof(right) - 1};

	switch (fuzz_byte(&in)) {
	case 'l':
		one_line(fuzz_rest(&in));
		break;
	case 'h':
		if (fuzz_part(&in, '\0', &head))
			with_lists(head, fuzz_rest(&in));
		break;
	case 's':
		with_lists(head, fuzz_rest(&in));
		break;
	}
	return 0;
}
