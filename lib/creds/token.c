/* Tokens come from files that other programs write. They go into headers and
 * forms, so that a line break in one is refused rather than sent. */
#include "creds/token.h"

#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"
#include "creds/backend.h"

void gpc_token_free(char *token)
{
	gpc_wipe_str(token);
	free(token);
}

int gpc_token_check(const char *what, const char *token, struct gpc_error *err)
{
	size_t n = strlen(token);

	if (n == 0)
		return gpc_fail(err, GPC_EAUTH, "%s is empty", what);
	if (n > GPC_TOKEN_MAX_BYTES)
		return gpc_fail(err, GPC_ECONFIG, "%s is longer than %d bytes: "
			"this is no token", what, GPC_TOKEN_MAX_BYTES);
	for (const char *p = token; *p; p++)
		if (*p <= ' ' || *p > '~')
			return gpc_fail(err, GPC_ECONFIG, "%s holds a space, a "
				"line break or something that is not ASCII: "
				"this is no token", what);
	return 0;
}

int gpc_token_read(const char *what, const char *path, char **ret_token,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autostr *shown = gpc_creds_show_path(path);
	gpc_autostr *label = gpc_format("%s (%s)", shown, what);
	struct gpc_str text;
	struct gpc_error why = {0};
	int r = gpc_read_file(path, GPC_TOKEN_MAX_BYTES + 2, &b, &why);

	if (r == -GPC_EPROTO)
		return gpc_fail(err, GPC_ECONFIG, "%s is larger than %d bytes: "
			"this is no token", label, GPC_TOKEN_MAX_BYTES);
	if (r < 0) {
		gpc_fail(err, GPC_EAUTH, "%s: %s", what, why.msg);
		if (err)
			err->sys = why.sys;
		return -GPC_EAUTH;
	}
	text = gpc_str_trim((struct gpc_str){gpc_buf_str(&b), b.len});
	if (memchr(text.ptr, '\0', text.len)) {
		r = gpc_fail(err, GPC_ECONFIG, "%s holds a NUL byte: this is no "
			"token", label);
	} else {
		gpc_autotoken *token = gpc_strndup(text.ptr, text.len);

		r = gpc_token_check(label, token, err);
		if (!r)
			*ret_token = gpc_steal(&token);
	}
	gpc_wipe(b.data, b.cap);
	return r;
}
