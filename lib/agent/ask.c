/* See ask.h. A line is far shorter than what a pipe takes as one piece, so lines
 * of several askers never mix. The agent holds both ends: a FIFO that cannot be
 * opened for writing has lost its agent. */
#include "agent/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/checkpoint.h"
#include "agent/context.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/rand.h"
#include "base/str.h"
#include "base/time.h"
#include "dep/json.h"

enum { LOOK_MS = 50, ALIVE_MS = 1000, ANSWER_MAX = 16384, TOKEN = 16 };

/* --- the job's half -------------------------------------------------------- */

static int open_ask(const char *path, int *ret_fd, struct gpc_error *err)
{
	int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 && (errno == ENXIO || errno == ENOENT))
		return gpc_fail(err, GPC_ENOTFOUND, "no agent listens at %s",
			path);
	if (fd < 0)
		return gpc_fail_sys(err, errno, "%s", path);
	*ret_fd = fd;
	return 0;
}

static bool is_alive(const char *path)
{
	gpc_autofd fd = -1;

	return open_ask(path, &fd, NULL) == 0;
}

static int refused(const struct gpc_json *j, struct gpc_error *err)
{
	int64_t code = gpc_json_get_int(j, "code", 0);
	const char *message = gpc_json_get_str(j, "message");
	const char *hint = gpc_json_get_str(j, "hint");
	int r = gpc_fail(err, code >= GPC_EUSAGE && code <= GPC_ENOROOM ?
		(enum gpc_code)code : GPC_EPROTO, "%s",
		message ? message : "the agent's answer makes no sense");

	if (hint)
		gpc_hint(err, "%s", hint);
	return r;
}

/* 1: *ret_id is set; 0: no answer yet. */
static int look(const char *answer, char ret_id[64], struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autoptr(gpc_json) *j = NULL;
	const char *id;
	int r = gpc_read_file(answer, ANSWER_MAX, &b, err);

	if (r == -GPC_ENOTFOUND)
		return 0;
	if (r == 0)
		r = gpc_json_parse(gpc_buf_str(&b), b.len, &j, err);
	if (r < 0)
		return r;
	unlink(answer);
	id = gpc_json_get_str(j, "id");
	if (!id || strlen(id) >= 64)
		return refused(j, err);
	memcpy(ret_id, id, strlen(id) + 1);
	return 1;
}

static int wait_for(const char *path, const char *answer, int64_t timeout_ms,
	const struct gpc_cancel *cancel, char ret_id[64], struct gpc_error *err)
{
	int64_t start = gpc_boot_ms(), seen = start;

	for (;;) {
		int64_t now = gpc_boot_ms();
		bool dead = now - seen >= ALIVE_MS && !is_alive(path);
		int r = look(answer, ret_id, err);

		if (r != 0)
			return r < 0 ? r : 0;
		if (dead)
			return gpc_fail(err, GPC_ECONFLICT,
				"the agent ended before it saved");
		if (now - seen >= ALIVE_MS)
			seen = now;
		if (gpc_canceled(cancel))
			return gpc_fail(err, GPC_ECANCELED,
				"interrupted; it is saved all the same");
		if (timeout_ms && now - start >= timeout_ms)
			return gpc_fail(err, GPC_ETIMEOUT, "not saved yet");
		gpc_sleep_ms(LOOK_MS);
	}
}

int gpc_ask_save(const char *path, const char *label, int64_t timeout_ms,
	const struct gpc_cancel *cancel, char ret_id[64], struct gpc_error *err)
{
	char token[TOKEN + 1];
	gpc_autostr *line = gpc_format("save %s %s\n",
		gpc_rand_base32(token, TOKEN), label);
	gpc_autostr *answer = gpc_format("%s.%s", path, token);
	gpc_autofd fd = -1;
	int r = open_ask(path, &fd, err);

	if (r < 0)
		return r;
	if (write(fd, line, strlen(line)) != (ssize_t)strlen(line))
		return gpc_fail_sys(err, errno, "%s", path);
	return wait_for(path, answer, timeout_ms, cancel, ret_id, err);
}

/* --- the agent's half ------------------------------------------------------ */

void gpc_ask_open(struct gpc_agent *a)
{
	gpc_autostr *path = gpc_path_join(a->options->node_dir, "ask");

	struct gpc_error why = {0};

	if (mkfifo(path, 0600) == 0)
		a->ask_fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (a->ask_fd >= 0) {
		a->ask_path = gpc_steal(&path);
	} else {
		gpc_fail_sys(&why, errno, "%s", path);
		gpc_agent_say(a, GPC_VERBOSE, "%s", why.msg);
	}
}

static void take_line(struct gpc_agent *a, struct gpc_str line)
{
	struct gpc_str word, token;
	gpc_autostr *label = NULL, *name = NULL;

	if (!gpc_str_split(&line, ' ', &word) || !gpc_str_eq(word, "save") ||
		!gpc_str_split(&line, ' ', &token) || token.len != TOKEN)
		return;
	name = gpc_strndup(token.ptr, token.len);
	if (name[gpc_base32_span(name)])
		return;
	label = gpc_strndup(line.ptr, line.len);
	gpc_saver_ask_here(a, label, name);
}

void gpc_ask_take(struct gpc_agent *a)
{
	char text[4096];
	struct gpc_str rest, line;
	ssize_t n;

	while (a->ask_fd >= 0 &&
		(n = read(a->ask_fd, text, sizeof(text))) > 0) {
		rest = (struct gpc_str){ text, (size_t)n };
		while (rest.len && gpc_str_split(&rest, '\n', &line))
			take_line(a, line);
	}
}

void gpc_ask_answer(struct gpc_agent *a, const char *token, const char *id,
	const struct gpc_error *err)
{
	gpc_autostr *path = gpc_format("%s.%s", a->ask_path, token);
	gpc_autoptr(gpc_json) *j = gpc_json_object();
	gpc_autostr *text = NULL;
	struct gpc_error why;

	if (!err) {
		gpc_json_set_str(j, "id", id);
	} else {
		gpc_json_set_int(j, "code", err->code);
		gpc_json_set_str(j, "message", err->msg);
		if (err->hint[0])
			gpc_json_set_str(j, "hint", err->hint);
	}
	text = gpc_json_print(j);
	if (gpc_write_file(path, text, strlen(text), 0600, &why) < 0)
		gpc_agent_say(a, GPC_WARN, "%s", why.msg);
}

void gpc_ask_close(struct gpc_agent *a)
{
	if (a->ask_path)
		unlink(a->ask_path);
	gpc_close(&a->ask_fd);
	free(a->ask_path);
	a->ask_path = NULL;
}
