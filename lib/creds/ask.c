/* Asks at the controlling terminal, as ssh and git do: stdin and stdout belong to
 * the command and its data. A signal ends the question. */
#include "creds/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"

#define TICK_MS 200
#define MAX_LINE 256

static int read_answer(int fd, const struct gpc_cancel *cancel,
	char line[MAX_LINE], struct gpc_error *err)
{
	size_t n = 0;

	while (n + 1 < MAX_LINE && !memchr(line, '\n', n)) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t k;

		if (gpc_canceled(cancel))
			return gpc_fail(err, GPC_ECANCELED, "interrupted");
		if (poll(&p, 1, TICK_MS) <= 0)
			continue;
		k = read(fd, line + n, MAX_LINE - 1 - n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			break;
		n += (size_t)k;
	}
	line[n] = '\0';
	return 0;
}

static int ask_terminal(const struct gpc_cancel *cancel, const char *question,
	char **ret_answer, struct gpc_error *err)
{
	gpc_autostr *text = gpc_format("%s: ", question);
	gpc_autofd fd = -1;
	char line[MAX_LINE];
	int r;

	if (gpc_open("/dev/tty", O_RDWR | O_NOCTTY, 0, &fd, NULL) < 0)
		return gpc_fail(err, GPC_EAUTH, "%s: there is no terminal to "
			"ask at", question);
	r = gpc_write_all(fd, text, strlen(text), "the terminal", err);
	if (!r)
		r = read_answer(fd, cancel, line, err);
	if (!r) {
		struct gpc_str answer = gpc_str_trim(gpc_str_of(line));

		*ret_answer = gpc_strndup(answer.ptr, answer.len);
	}
	gpc_wipe(line, sizeof(line));
	return r;
}

int gpc_creds_ask(const struct gpc_creds_settings *settings,
	const char *question, char **ret_answer, struct gpc_error *err)
{
	gpc_autostr *answer = NULL;
	int r;

	if (settings->no_prompt)
		return gpc_fail(err, GPC_EAUTH, "%s: but nothing may be asked "
			"here", question);
	r = settings->ask ? settings->ask(settings->ask_arg, question, &answer,
		err) : ask_terminal(settings->cancel, question, &answer, err);
	if (r)
		return r;
	if (!answer || !*answer)
		return gpc_fail(err, GPC_EAUTH, "%s: no answer", question);
	*ret_answer = gpc_steal(&answer);
	return 0;
}
