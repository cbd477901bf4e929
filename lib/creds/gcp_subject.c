/* Where the token of somebody else is: in a file, behind a URL, printed by a program,
 * or made of AWS keys. Read anew for each exchange. A program is only run when the
 * environment allows it, because the file that names it may come from anywhere. */
#include <string.h>

#include "base/fd.h"
#include "base/str.h"
#include "creds/gcp_parts.h"
#include "creds/identity.h"
#include "creds/process.h"
#include "creds/token.h"

#define ALLOW "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES"
#define MIN_MS 5000
#define MAX_MS 120000

/* The token in a text, or in a member of JSON, as `format` says; owned. */
static int pick(const struct gpc_json *source, const char *text, size_t n,
	const char *what, char **ret_token, struct gpc_error *err)
{
	const struct gpc_json *format = gpc_json_get(source, "format");
	const char *type = gpc_json_get_str(format, "type");
	const char *name = gpc_json_get_str(format, "subject_token_field_name");
	struct gpc_str plain = gpc_str_trim((struct gpc_str){text, n});
	gpc_autoptr(gpc_json) *j = NULL;
	gpc_autotoken *token = NULL;
	struct gpc_error ignored;
	int r;

	if (!type || strcmp(type, "text") == 0) {
		token = gpc_strndup(plain.ptr, plain.len);
	} else if (strcmp(type, "json") != 0 || !name) {
		return gpc_fail(err, GPC_ECONFIG, "%s: its format is neither "
			"text nor json with a subject_token_field_name", what);
	} else {
		if (gpc_json_parse(text, n, &j, &ignored) < 0)
			return gpc_fail(err, GPC_EAUTH, "%s is no JSON", what);
		token = gpc_strdup(gpc_json_get_str(j, name));
		if (!token)
			return gpc_fail(err, GPC_EAUTH, "%s has no member of "
				"the name that subject_token_field_name says",
				what);
	}
	r = gpc_token_check(what, token, err);
	if (!r)
		*ret_token = gpc_steal(&token);
	return r;
}

static int from_path(const struct gpc_json *source, const char *file,
	char **ret_token, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autostr *path = gpc_creds_expand(file);
	gpc_autostr *shown = gpc_creds_show_path(path);
	struct gpc_error why = {0};
	int r = gpc_read_file(path, GPC_FETCH_MAX_BYTES, &b, &why);

	if (r)
		return gpc_fail(err, GPC_EAUTH, "the subject token: %s",
			why.msg);
	r = pick(source, gpc_buf_str(&b), b.len, shown, ret_token, err);
	gpc_wipe(b.data, b.cap);
	return r;
}

static void add_headers(const struct gpc_json *source, struct gpc_pairs *to)
{
	const struct gpc_json *list = gpc_json_get(source, "headers");

	for (const struct gpc_json *h = gpc_json_first(list); h;
		h = gpc_json_next(h)) {
		gpc_autostr *name = gpc_strdup(gpc_json_key(h));
		const char *value = gpc_json_str(h);
		bool clean = value != NULL;

		for (char *p = name; p && *p; p++) {
			if (*p >= 'A' && *p <= 'Z')
				*p = (char)(*p + ('a' - 'A'));
			clean &= *p > ' ' && *p <= '~' && *p != ':';
		}
		for (const char *p = value; p && *p; p++)
			clean &= (unsigned char)*p >= ' ' && *p != 0x7f;
		if (clean)
			gpc_pairs_set(to, name, value);
	}
}

static int from_url(const struct gpc_gcp_file *f, const struct gpc_json *source,
	const char *url, char **ret_token, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs headers = {0};
	gpc_autostr *what = gpc_format("credential_source.url of %s", f->shown);
	const struct gpc_fetch fetch = {.what = "the subject token's service",
		.method = "GET", .url = url, .headers = &headers,
		.hushed = true};
	struct gpc_reply reply = {0};
	int r = gpc_creds_check_url(what, url, err);

	add_headers(source, &headers);
	if (!r)
		r = gpc_fetch(f->look->net, &fetch, &reply, err);
	gpc_buf_str(&reply.body);
	if (!r && reply.status != 200)
		r = gpc_fail(err, GPC_EAUTH, "the subject token's service "
			"answered with status %d", reply.status);
	if (!r)
		r = pick(source, gpc_buf_str(&reply.body), reply.body.len,
			"the answer of the subject token's service", ret_token,
			err);
	gpc_pairs_wipe(&headers);
	gpc_fetch_forget(&reply);
	return r;
}

/* --- programs -------------------------------------------------------------- */
/* What such a program prints, or keeps in its output file. */
static int read_output(const struct gpc_gcp_file *f, const char *text, size_t n,
	char **ret_token, struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *j = NULL;
	gpc_autostr *said = NULL;
	const char *token, *message;
	struct gpc_error ignored;
	int64_t end_s;
	int r;

	if (gpc_json_parse(text, n, &j, &ignored) < 0)
		return gpc_fail(err, GPC_EAUTH, "the program printed no JSON");
	if (gpc_json_get_int(j, "version", 0) != 1)
		return gpc_fail(err, GPC_EAUTH, "the program printed JSON "
			"without \"version\": 1");
	if (!gpc_json_bool_or(gpc_json_get(j, "success"), false)) {
		message = gpc_json_get_str(j, "message");
		said = message ? gpc_str_printable(message,
			strnlen(message, 200)) : NULL;
		return gpc_fail(err, GPC_EAUTH, "the program has no token: %s",
			said ? said : "it does not say why");
	}
	end_s = gpc_json_get_int(j, "expiration_time", 0);
	if (end_s && end_s * 1000 <= gpc_net_now_ms(f->look->net))
		return gpc_fail(err, GPC_EAUTH, "the program's token has "
			"expired");
	token = gpc_json_get_str(j, gpc_ends_with(
		gpc_json_get_str(j, "token_type") ?
		gpc_json_get_str(j, "token_type") : "", ":saml2") ?
		"saml_response" : "id_token");
	if (!token)
		return gpc_fail(err, GPC_EAUTH, "the program printed no token");
	r = gpc_token_check("the program's token", token, err);
	if (!r)
		*ret_token = gpc_strdup(token);
	return r;
}

static bool is_kept(const struct gpc_gcp_file *f, const char *output,
	char **ret_token)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autostr *path = output ? gpc_creds_expand(output) : NULL;
	struct gpc_error ignored;
	bool good;

	if (!path || gpc_read_file(path, GPC_FETCH_MAX_BYTES, &b, &ignored) < 0)
		return false;
	good = read_output(f, gpc_buf_str(&b), b.len, ret_token, &ignored) == 0;
	gpc_wipe(b.data, b.cap);
	return good;
}

static int run(const struct gpc_gcp_file *f, const struct gpc_json *e,
	struct gpc_buf *out, struct gpc_error *err)
{
	const char *command = gpc_json_get_str(e, "command");
	int64_t limit_ms = gpc_json_get_int(e, "timeout_millis", 30000);
	gpc_auto(gpc_strv) struct gpc_strv argv = {0}, env = {0};
	const struct gpc_process process = {
		.argv = &argv, .env = &env, .timeout_ms = (int)limit_ms,
		.cancel = f->look->settings->cancel,
	};
	int r;

	if (!command)
		return gpc_fail(err, GPC_ECONFIG, "executable has no command");
	if (limit_ms < MIN_MS || limit_ms > MAX_MS)
		return gpc_fail(err, GPC_ECONFIG, "timeout_millis is a number "
			"from %d to %d", MIN_MS, MAX_MS);
	gpc_strv_addf(&env, "GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE=%s",
		gpc_gcp_get(f, "audience"));
	gpc_strv_addf(&env, "GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE=%s",
		gpc_gcp_get(f, "subject_token_type"));
	gpc_strv_add(&env, "GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE=0");
	if (gpc_json_get_str(e, "output_file"))
		gpc_strv_addf(&env, "GOOGLE_EXTERNAL_ACCOUNT_OUTPUT_FILE=%s",
			gpc_json_get_str(e, "output_file"));
	r = gpc_process_split(command, &argv, err);
	return r ? r : gpc_process_run(&process, out, err);
}

static int from_program(const struct gpc_gcp_file *f, const struct gpc_json *e,
	char **ret_token, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf out = {0};
	int r;

	if (!gpc_eq(gpc_creds_env(ALLOW), "1")) {
		r = gpc_fail(err, GPC_EAUTH, "%s wants a program to be run, and "
			ALLOW " is not 1", f->shown);
		gpc_hint(err, "if you trust the file: export " ALLOW "=1");
		return r;
	}
	if (!f->look->renew && is_kept(f, gpc_json_get_str(e, "output_file"),
		ret_token))
		return 0;
	r = run(f, e, &out, err);
	if (!r)
		r = read_output(f, gpc_buf_str(&out), out.len, ret_token, err);
	gpc_wipe(out.data, out.cap);
	return gpc_wrap(err, r, "credential_source.executable of %s", f->shown);
}

int gpc_gcp_subject(const struct gpc_gcp_file *f, char **ret_token,
	struct gpc_error *err)
{
	static const char *const kinds[] = {
		"file", "url", "executable", "certificate", "environment_id",
	};
	const struct gpc_json *s = gpc_json_get(f->j, "credential_source");
	const char *file = gpc_json_get_str(s, "file");
	const char *url = gpc_json_get_str(s, "url");
	bool aws = gpc_json_get(s, "environment_id") != NULL;
	int n = 0, r;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		n += gpc_json_get(s, kinds[i]) != NULL;
	n -= aws && url;        /* of its metadata */
	if (n != 1)
		return gpc_fail(err, GPC_ECONFIG, "%s: credential_source names "
			"%s of file, url, executable, environment_id",
			f->shown, n ? "more than one" : "none");
	if (aws)
		return gpc_gcp_subject_aws(f, s, ret_token, err);
	if (file)
		return gpc_wrap(err, from_path(s, file, ret_token, err), "%s",
			f->shown);
	if (url)
		return gpc_wrap(err, from_url(f, s, url, ret_token, err), "%s",
			f->shown);
	if (gpc_json_is_object(gpc_json_get(s, "executable")))
		return from_program(f, gpc_json_get(s, "executable"), ret_token,
			err);
	if (!gpc_json_get(s, "certificate"))
		return gpc_fail(err, GPC_ECONFIG, "%s: credential_source is of "
			"a form that gpucloud does not know", f->shown);
	r = gpc_fail(err, GPC_EUNSUPPORTED, "%s: credential_source names a "
		"certificate, which gpucloud does not support", f->shown);
	gpc_hint(err, "make one whose token is in a file, behind a URL or "
		"printed by a program: gcloud iam workload-identity-pools "
		"create-cred-config");
	return r;
}
