/* Notes of an interrupted transfer: whatever they say, no piece has more than its size,
 * parts that are over have a name, and no text could break out of a header. */
#include <stdio.h>

#include "fuzz.h"

#include "transfer/notes.h"

enum { PIECES = 3, SIZE = 25, PART = 10 };

static void check_text(const char *s)
{
	for (; s && *s; s++)
		fuzz_check((unsigned char)*s >= ' ' && *s != 0x7f, "control byte %d", *s);
}

static void parse(const char *text, size_t n, bool parts)
{
	const struct gpc_notes_shape s = { .identity = GPC_NOTES_FIRST, .size = SIZE,
		.part_size = PART, .n = PIECES, .parts = parts };
	struct gpc_piece pieces[PIECES] = {{0}};
	gpc_auto(gpc_strv) struct gpc_strv strays = {0};
	gpc_autostr *upload = NULL;

	(void)gpc_notes_parse(text, n, &s, pieces, &upload, &strays);
	check_text(upload);
	fuzz_check(strays.n <= 8, "%zu strays", strays.n);
	for (size_t i = 0; i < strays.n; i++)
		check_text(strays.v[i]);
	for (int i = 0; i < PIECES; i++) {
		struct gpc_piece *p = &pieces[i];
		uint64_t size = i < PIECES - 1 ? PART : SIZE - i * PART;

		fuzz_check(p->done <= size && p->over == (p->done == size) && !p->taken,
			"piece %d has %d bytes", i, (int)p->done);
		fuzz_check(!parts || p->done == 0 || (p->over && p->etag),
			"part %d without a name", i);
		check_text(p->etag);
		free(p->etag);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	parse((const char *)data, n, true);
	gpc_buf_adds(&b, GPC_NOTES_FIRST);
	gpc_buf_add(&b, data, n);
	parse(gpc_buf_str(&b), b.len, false);
	parse(gpc_buf_str(&b), b.len, true);
	return 0;
}
