/* See ssh_config.h. Each entry begins with a line of ours that tells whose it is, and
 * goes on to the next such line; what stands before the first one is written anew. */
#include "core/ssh_config.h"

#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "model/ssh.h"

#define FILE_NAME "ssh_config"
#define MARK "# gpucloud-entry "
#define FILE_MAX ((size_t)4 << 20)

static const char head[] =
	"# Written by `gpucloud ssh`, which also removes the entries of jobs that have\n"
	"# ended. A line `Include %s` at the top of ~/.ssh/config lets every ssh find them.\n";

int gpc_ssh_config_path(char **ret_path, struct gpc_error *err)
{
	return gpc_xdg(GPC_XDG_CONFIG, FILE_NAME, ret_path, err);
}

/* --- reading --------------------------------------------------------------- */

struct block { struct gpc_str store, job, alias, text; };

/* Where the next line of ours begins, at or after one's begin; end: there is none. */
static const char *find_mark(const char *at, const char *end)
{
	size_t n = strlen(MARK);

	while (at < end && ((size_t)(end - at) < n || memcmp(at, MARK, n) != 0)) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		at = newline ? newline + 1 : end;
	}
	return at;
}

/* The next entry of what is left of the file; its text has its marking line. */
static bool next_block(struct gpc_str *rest, struct block *ret_b)
{
	const char *end = rest->ptr + rest->len, *next;
	const char *start = find_mark(rest->ptr, end);
	struct gpc_str line = { start, (size_t)(end - start) }, words;

	if (start == end || !gpc_str_split(&line, '\n', &words))
		return false;
	next = line.ptr ? find_mark(line.ptr, end) : end;
	*ret_b = (struct block){ .text = { start, (size_t)(next - start) } };
	*rest = (struct gpc_str){ next, (size_t)(end - next) };
	words.ptr += strlen(MARK);
	words.len -= strlen(MARK);
	(void)(gpc_str_split(&words, ' ', &ret_b->store) &&
		gpc_str_split(&words, ' ', &ret_b->job) &&
		gpc_str_split(&words, ' ', &ret_b->alias));
	return true;
}

static int read_all(const char *path, struct gpc_buf *to, struct gpc_error *err)
{
	int r = gpc_read_file(path, FILE_MAX, to, err);

	return r == -GPC_ENOTFOUND ? 0 : r;
}

int gpc_ssh_config_jobs(const char *path, const char *store,
	struct gpc_strv *ret_jobs, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf text = {0};
	struct gpc_str rest;
	struct block b;
	int r = read_all(path, &text, err);

	rest = (struct gpc_str){ gpc_buf_str(&text), text.len };
	while (r == 0 && next_block(&rest, &b)) {
		gpc_autostr *job = NULL;

		if (!b.job.len || !gpc_str_eq(b.store, store))
			continue;
		job = gpc_strndup(b.job.ptr, b.job.len);
		if (!gpc_strv_has(ret_jobs, job))
			gpc_strv_add(ret_jobs, job);
	}
	return r;
}

/* --- writing --------------------------------------------------------------- */

/* ssh expands % and ${} in these, and has no way to write a quote. */
static int add_path(struct gpc_buf *to, const char *keyword, const char *path,
	struct gpc_error *err)
{
	if (*path != '/' || strpbrk(path, "\"\\\n\r") || strstr(path, "${"))
		return gpc_fail(err, GPC_ECONFIG, "ssh takes no file called %s",
			path);
	gpc_buf_addf(to, "\t%s \"", keyword);
	for (const char *at = path; *at; at++)
		gpc_buf_addf(to, "%s%c", *at == '%' ? "%" : "", *at);
	gpc_buf_adds(to, "\"\n");
	return 0;
}

static int add_entry(struct gpc_buf *to, const struct gpc_ssh_entry *e,
	struct gpc_error *err)
{
	int r;

	if (!gpc_ssh_word_valid(e->store) || !gpc_ssh_word_valid(e->job) ||
		!gpc_ssh_word_valid(e->alias) || strchr(e->alias, '%') ||
		!gpc_ssh_word_valid(e->address) || strchr(e->address, '%') ||
		!gpc_ssh_word_valid(e->user) || e->port < 1 || e->port > 65535)
		return gpc_fail(err, GPC_ECONFIG, "job %s: ssh takes no such names "
			"or port", e->job);
	gpc_buf_addf(to, MARK "%s %s %s\nHost %s\n\tHostName %s\n\tPort %d\n"
		"\tUser %s\n\tHostKeyAlias %s\n", e->store, e->job, e->alias,
		e->alias, e->address, e->port, e->user, e->alias);
	r = add_path(to, "IdentityFile", e->key, err);
	if (r == 0)
		r = add_path(to, "UserKnownHostsFile", e->known, err);
	gpc_buf_adds(to, "\tIdentitiesOnly yes\n"
		"\tGlobalKnownHostsFile /dev/null\n\tStrictHostKeyChecking yes\n"
		"\tCheckHostIP no\n\tUpdateHostKeys no\n"
		"\tPreferredAuthentications publickey\n"
		"\tServerAliveInterval 30\n");
	return r;
}

/* The file without the entries of a job or of an alias, and with one more. */
static int rewrite(const char *path, const struct gpc_ssh_entry *add,
	const struct gpc_ssh_entry *drop, struct gpc_strv *dropped,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf text = {0}, out = {0};
	gpc_autostr *lock = gpc_format("%s.lock", path), *dir = gpc_path_dir(path);
	gpc_autofd held = -1;
	struct gpc_str rest;
	struct block b;
	int r = gpc_mkdirs(dir, 0700, err);

	if (r == 0)
		r = gpc_lock_file(lock, true, &held, err);
	if (r == 0)
		r = read_all(path, &text, err);
	if (r < 0)
		return r;
	gpc_buf_addf(&out, head, path);
	rest = (struct gpc_str){ gpc_buf_str(&text), text.len };
	while (next_block(&rest, &b)) {
		bool goes = add ? gpc_str_eq(b.alias, add->alias) :
			gpc_str_eq(b.store, drop->store) &&
			gpc_str_eq(b.job, drop->job);

		if (!goes)
			gpc_buf_addf(&out, "%.*s%s", (int)b.text.len, b.text.ptr,
				b.text.ptr[b.text.len - 1] == '\n' ? "" : "\n");
		else if (dropped)
			gpc_strv_take(dropped, gpc_strndup(b.alias.ptr,
				b.alias.len));
	}
	r = add ? add_entry(&out, add, err) : 0;
	if (r == 0)
		r = gpc_buf_check(&out, err);
	return r < 0 ? r : gpc_write_file(path, out.data, out.len, 0600, err);
}

int gpc_ssh_config_put(const char *path, const struct gpc_ssh_entry *e,
	struct gpc_error *err)
{
	return rewrite(path, e, NULL, NULL, err);
}

int gpc_ssh_config_drop(const char *path, const char *store, const char *job,
	struct gpc_strv *ret_aliases, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv jobs = {0};
	const struct gpc_ssh_entry drop = { .store = store, .job = job };
	int r = gpc_ssh_config_jobs(path, store, &jobs, err);

	return r < 0 || !gpc_strv_has(&jobs, job) ? r :
		rewrite(path, NULL, &drop, ret_aliases, err);
}
