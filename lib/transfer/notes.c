/* See notes.h. Nothing is synced: notes of a download name the boot, after another
 * one they do not count; those of an upload only say what the service has. */
#include "transfer/notes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/encode.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/str.h"

#define FIRST GPC_NOTES_FIRST
enum { TEXT_MAX = 1024, SUM_DIGITS = 16, STRAYS_MAX = 8 };

/* --- reading ----------------------------------------------------------------- */

static bool read_number(struct gpc_str *line, uint64_t max, uint64_t *ret_n)
{
	struct gpc_str part;
	gpc_autostr *text = NULL;
	int64_t n;

	if (!gpc_str_split(line, ' ', &part) || part.len == 0 || part.len > 20)
		return false;
	text = gpc_strndup(part.ptr, part.len);
	if (gpc_parse_i64(text, 0, max > INT64_MAX ? INT64_MAX : (int64_t)max,
		"notes", &n, NULL) < 0)
		return false;
	*ret_n = (uint64_t)n;
	return true;
}

static bool read_sum(struct gpc_str *line, uint64_t *ret_sum)
{
	unsigned char bytes[SUM_DIGITS / 2];
	gpc_autostr *text = NULL;
	struct gpc_str part;

	if (!gpc_str_split(line, ' ', &part) || part.len != SUM_DIGITS)
		return false;
	text = gpc_strndup(part.ptr, part.len);
	if (!gpc_unhex(text, bytes, sizeof(bytes)))
		return false;
	*ret_sum = 0;
	for (size_t i = 0; i < sizeof(bytes); i++)
		*ret_sum = *ret_sum << 8 | bytes[i];
	return true;
}

/* "-" is none; what a header may not hold is refused. */
static bool read_text(struct gpc_str text, char **ret_text)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	if (text.len == 0 || text.len > TEXT_MAX)
		return false;
	if (gpc_str_eq(text, "-"))
		return true;
	if (gpc_percent_decode(text.ptr, text.len, false, &b, NULL) < 0)
		return false;
	for (size_t i = 0; i < b.len; i++)
		if ((unsigned char)b.data[i] < ' ' || b.data[i] == 0x7f)
			return false;
	*ret_text = gpc_strdup(gpc_buf_str(&b));
	return true;
}

static uint64_t size_of_piece(const struct gpc_notes_shape *s, uint64_t i)
{
	uint64_t at = i * s->part_size;

	return s->size - at < s->part_size ? s->size - at : s->part_size;
}

/* A later line of a piece counts instead, if it has more of it. */
static bool read_piece(struct gpc_str line, const struct gpc_notes_shape *s,
	struct gpc_piece *pieces)
{
	struct gpc_piece p = {0};
	uint64_t i, size;

	if (s->n < 1 || !read_number(&line, (uint64_t)s->n - 1, &i))
		return false;
	size = size_of_piece(s, i);
	if (!read_number(&line, size, &p.done) || !read_sum(&line, &p.sum) ||
		!read_sum(&line, &p.read_sum) || !read_text(line, &p.etag))
		return false;
	p.over = p.done == size;
	if ((s->parts && (!p.over || !p.etag)) || p.done < pieces[i].done) {
		free(p.etag);
		return !s->parts;
	}
	free(pieces[i].etag);
	pieces[i] = p;
	return true;
}

/* "WORD <id>"; false: it is another line. *ret_ok: the id is one. */
static bool read_id(struct gpc_str line, const char *word, char **ret_id, bool *ret_ok)
{
	size_t n = strlen(word);

	if (line.len <= n || memcmp(line.ptr, word, n) != 0)
		return false;
	*ret_ok = read_text((struct gpc_str){ line.ptr + n, line.len - n }, ret_id);
	return true;
}

/* The next whole line; false at the end, or in one that was being written. */
static bool next_line(const char *text, size_t n, size_t *at, struct gpc_str *ret_line)
{
	const char *end = *at < n ? memchr(text + *at, '\n', n - *at) : NULL;

	if (!end)
		return false;
	*ret_line = (struct gpc_str){ text + *at, (size_t)(end - text) - *at };
	*at += ret_line->len + 1;
	return true;
}

static void add_stray(struct gpc_strv *strays, char *owned)
{
	if (owned && strays->n < STRAYS_MAX)
		gpc_strv_take(strays, owned);
	else
		free(owned);
}

/* A line about an upload; false: it is none. */
static bool read_upload(struct gpc_str line, char **upload, struct gpc_strv *strays,
	bool *ret_ok)
{
	char *id = NULL;

	if (read_id(line, "left ", &id, ret_ok)) {
		add_stray(strays, id);
		return true;
	}
	if (!read_id(line, "upload ", &id, ret_ok))
		return false;
	*ret_ok = *ret_ok && !*upload;
	if (*ret_ok)
		*upload = id;
	else
		free(id);
	return true;
}

/* Notes of something else: all that counts are the uploads which they name. */
static void find_uploads(const char *text, size_t n, struct gpc_strv *strays)
{
	struct gpc_str line;
	char *upload = NULL;
	bool ok = true;

	if (n < strlen(FIRST) || memcmp(text, FIRST, strlen(FIRST)) != 0)
		return;
	for (size_t at = 0; ok && next_line(text, n, &at, &line);)
		(void)read_upload(line, &upload, strays, &ok);
	add_stray(strays, upload);
}

bool gpc_notes_parse(const char *text, size_t n, const struct gpc_notes_shape *s,
	struct gpc_piece *pieces, char **ret_upload, struct gpc_strv *strays)
{
	size_t at = strlen(s->identity);
	struct gpc_str line;
	char *upload = NULL;
	bool ok = true;

	if (n < at || memcmp(text, s->identity, at) != 0) {
		find_uploads(text, n, strays);
		return false;
	}
	while (ok && next_line(text, n, &at, &line))
		if (!read_upload(line, &upload, strays, &ok))
			ok = read_piece(line, s, pieces);
	*ret_upload = upload;
	return true;
}

/* --- the file ---------------------------------------------------------------- */

/* Only a plain file of one's own is trusted, and only while it has its name. */
static bool is_ours(const struct gpc_notes *n)
{
	struct stat is, named;

	return fstat(n->fd, &is) == 0 && S_ISREG(is.st_mode) &&
		is.st_uid == geteuid() && is.st_nlink == 1 &&
		fstatat(n->dir, n->name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
		named.st_ino == is.st_ino && named.st_dev == is.st_dev;
}

void gpc_notes_open(struct gpc_notes *n, int dir, const char *name)
{
	n->dir = n->fd = -1;
	if (strlen(name) >= sizeof(n->name))
		return;
	memcpy(n->name, name, strlen(name) + 1);
	n->fd = openat(dir, name, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW |
		O_NONBLOCK | O_CLOEXEC, 0600);
	if (n->fd < 0)
		return;
	n->dir = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	if ((flock(n->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) ||
		!is_ours(n))
		gpc_notes_close(n);
}

uint64_t gpc_notes_size(const struct gpc_notes *n)
{
	struct stat st;

	return n->fd >= 0 && fstat(n->fd, &st) == 0 && st.st_size > 0 ?
		(uint64_t)st.st_size : 0;
}

bool gpc_notes_read(struct gpc_notes *n, const struct gpc_notes_shape *s,
	struct gpc_piece *pieces, char **ret_upload, struct gpc_strv *strays)
{
	gpc_auto(gpc_buf) struct gpc_buf b = { .max = GPC_NOTES_MAX, .soft = true };

	if (gpc_notes_size(n) == 0 || lseek(n->fd, 0, SEEK_SET) < 0 ||
		gpc_read_fd(n->fd, GPC_NOTES_MAX, n->name, &b, NULL) < 0)
		return false;
	return gpc_notes_parse(gpc_buf_str(&b), b.len, s, pieces, ret_upload, strays);
}

/* Notes that cannot be kept are none: half ones would be worse. */
static void write_all(struct gpc_notes *n, const struct gpc_buf *b)
{
	if (gpc_buf_check(b, NULL) < 0 ||
		gpc_write_all(n->fd, gpc_buf_str(b), b->len, n->name, NULL) < 0)
		gpc_notes_drop(n);
}

static void add_id(struct gpc_buf *b, const char *word, const char *id)
{
	gpc_buf_adds(b, word);
	gpc_percent_encode(b, id, strlen(id), "");
	gpc_buf_addc(b, '\n');
}

void gpc_notes_begin(struct gpc_notes *n, const char *identity, const char *upload,
	const struct gpc_strv *strays)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	if (n->fd < 0)
		return;
	gpc_buf_adds(&b, identity);
	if (upload)
		add_id(&b, "upload ", upload);
	for (size_t i = 0; i < strays->n; i++)
		add_id(&b, "left ", strays->v[i]);
	if (ftruncate(n->fd, 0) < 0)
		gpc_notes_drop(n);
	else
		write_all(n, &b);
}

void gpc_notes_add(struct gpc_notes *n, int piece, const struct gpc_piece *p)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	if (n->fd < 0)
		return;
	gpc_buf_addf(&b, "%d %" PRIu64 " %016" PRIx64 " %016" PRIx64 " ", piece,
		p->done, p->sum, p->read_sum);
	if (p->etag)
		gpc_percent_encode(&b, p->etag, strlen(p->etag), "");
	else
		gpc_buf_addc(&b, '-');
	gpc_buf_addc(&b, '\n');
	write_all(n, &b);
}

void gpc_notes_drop(struct gpc_notes *n)
{
	if (n->fd >= 0)
		(void)unlinkat(n->dir, n->name, 0);
	gpc_notes_close(n);
}

void gpc_notes_close(struct gpc_notes *n)
{
	if (n->fd >= 0)
		gpc_close(&n->dir);
	gpc_close(&n->fd);
}
