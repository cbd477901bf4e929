/* Which files are likely to be secrets. A name alone accuses nobody where many
 * innocent files bear it (*.pem, .env): then the first bytes decide. It is for
 * a warning, so it may miss one; but what it says must be worth reading, or
 * nobody reads it.
 */
#include "model/credential.h"

#include <ctype.h>
#include <string.h>

#include "base/str.h"

enum how {
	BASE,           /* the file's name */
	END,            /* how its name ends */
	PATH,           /* the end of its whole path, from a / on */
	DOTENV,         /* .env, .env.local, prod.env */
	KEYFILE,        /* names that service accounts' keys get */
	KEYNAME,        /* id_rsa.bak, deploy_key, privkey1 */
	KEYTABLE,       /* accessKeys.csv, as consoles name a new key's */
	IN_SSH,         /* any file in .ssh/ that ssh does not name itself */
};
enum look {
	ANY,            /* the name says it; only an empty file is nothing */
	PRIVATE_KEY,
	VARIABLES,      /* NAME=VALUE with a value that looks real */
	SERVICE_ACCOUNT,
	HAS,            /* one of the texts, with something behind it */
	LOGIN_URL,      /* scheme://user:password@ */
	SECRET_TABLE,   /* a heading with Secret, and a word that may be one */
};
struct gpc_credential_rule {
	enum how how;
	const char *text;
	enum look look;
	const char *what;
	const char *has[3];
};

#define MOST_OF_JSON ((uint64_t)16 << 10)
#define MOST_OF_KEYS ((uint64_t)64 << 10)
static const char a_key[] = "a private key";
static const char tokens[] = "tokens or passwords";

static const struct gpc_credential_rule rules[] = {
	{END, ".pem", PRIVATE_KEY, a_key, {0}},
	{END, ".key", PRIVATE_KEY, a_key, {0}},
	{END, ".ppk", PRIVATE_KEY, a_key, {0}},
	{END, ".asc", PRIVATE_KEY, a_key, {0}},
	{END, ".p12", ANY, "a key store", {0}},
	{END, ".pfx", ANY, "a key store", {0}},
	{END, ".jks", ANY, "a key store", {0}},
	{END, ".kdbx", ANY, "a password safe", {0}},
	{BASE, ".git-credentials", LOGIN_URL, "passwords of git", {0}},
	{BASE, ".netrc", HAS, "passwords of servers", {"password "}},
	{BASE, "_netrc", HAS, "passwords of servers", {"password "}},
	{BASE, ".pgpass", ANY, "passwords of databases", {0}},
	{BASE, ".pypirc", HAS, "a password of PyPI", {"password"}},
	{BASE, ".npmrc", HAS, "a token of npm",
		{"_authToken=", "_password=", "_auth="}},
	{PATH, "/.aws/credentials", HAS, "keys of AWS",
		{"aws_secret_access_key", "aws_session_token"}},
	{PATH, "/.aliyun/config.json", HAS, "keys of Alibaba Cloud",
		{"\"access_key_secret\"", "\"sts_token\""}},
	{PATH, "/.azure/accessTokens.json", ANY, "tokens of Azure", {0}},
	{PATH, "/.azure/msal_token_cache.json", ANY, "tokens of Azure", {0}},
	{PATH, "/gcloud/credentials.db", ANY, "logins of gcloud", {0}},
	{PATH, "/gcloud/access_tokens.db", ANY, "logins of gcloud", {0}},
	{BASE, "application_default_credentials.json", HAS,
		"a login of Google Cloud", {"\"refresh_token\"",
		"\"private_key\"", "\"client_secret\""}},
	{BASE, "adc.json", HAS, "a login of Google Cloud",
		{"\"refresh_token\"", "\"private_key\""}},
	{PATH, "/.kube/config", HAS, "a login of Kubernetes",
		{"client-key-data:", "token:", "password:"}},
	{BASE, "kubeconfig", HAS, "a login of Kubernetes",
		{"client-key-data:", "token:", "password:"}},
	{END, ".kubeconfig", HAS, "a login of Kubernetes",
		{"client-key-data:", "token:", "password:"}},
	{PATH, "/.docker/config.json", HAS, "logins of registries",
		{"\"auth\"", "\"identitytoken\"", "\"registrytoken\""}},
	{BASE, ".dockercfg", HAS, "logins of registries", {"\"auth\""}},
	{PATH, "/.huggingface/token", ANY, "a token of Hugging Face", {0}},
	{PATH, "/huggingface/token", ANY, "a token of Hugging Face", {0}},
	{PATH, "/huggingface/stored_tokens", ANY, "a token of Hugging Face",
		{0}},
	{BASE, "kaggle.json", HAS, "a key of Kaggle", {"\"key\""}},
	{BASE, "rclone.conf", HAS, "logins of rclone",
		{"secret_access_key", "token =", "pass ="}},
	{BASE, ".s3cfg", HAS, "keys of S3", {"secret_key"}},
	{BASE, ".boto", HAS, "keys of S3 or Google",
		{"aws_secret_access_key", "gs_secret_access_key",
		"gs_oauth2_refresh_token"}},
	{DOTENV, "", VARIABLES, tokens, {0}},
	{KEYFILE, "", SERVICE_ACCOUNT, "a key of a service account", {0}},
	{KEYTABLE, "", SECRET_TABLE, "an access key of a cloud", {0}},
	{KEYNAME, "", PRIVATE_KEY, a_key, {0}},
	{IN_SSH, "", PRIVATE_KEY, a_key, {0}},
};

/* --- by name --------------------------------------------------------------- */
/* Whether root/path ends with text, which begins with a slash. */
static bool path_ends(const char *root, const char *path, const char *text)
{
	size_t n_path = strlen(path), n = strlen(text), n_root = strlen(root);

	if (n_path >= n)
		return gpc_ends_with(path, text);
	/* the rest of it, with its slash before the path, is the root's end */
	if (!gpc_ends_with(text, path) || text[n - n_path - 1] != '/')
		return false;
	n -= n_path + 1;
	while (n_root > 0 && root[n_root - 1] == '/')
		n_root--;
	return n_root >= n && strncmp(root + n_root - n, text, n) == 0;
}

static bool is_dotenv(const char *base)
{
	static const char *const models[] = {".example", ".sample", ".template",
		".dist", ".md"};

	if (!gpc_starts_with(base, ".env") && !gpc_ends_with(base, ".env"))
		return false;
	for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++) {
		if (gpc_ends_with(base, models[i]))
			return false;
	}
	return true;
}

/* "project-0123456789ab.json", as Google names a download. */
static bool ends_in_key_id(const char *base, size_t n)
{
	if (n < 18 || base[n - 18] != '-')
		return false;
	for (size_t i = n - 17; i < n - 5; i++) {
		if (!isdigit((unsigned char)base[i]) &&
			!(base[i] >= 'a' && base[i] <= 'f'))
			return false;
	}
	return true;
}

static bool is_keyfile(const char *base, uint64_t size)
{
	static const char *const words[] = {"service", "cred", "secret", "key",
		"gcp", "google", "account", "auth"};
	size_t n = strlen(base);

	if (size > MOST_OF_JSON || !gpc_ends_with(base, ".json"))
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strstr(base, words[i]))
			return true;
	}
	return gpc_eq(base, "sa.json") || ends_in_key_id(base, n);
}

/* Names that people give to private keys; a public one has its .pub. */
static bool is_keyname(const char *base, uint64_t size)
{
	static const char *const words[] = {"id_rsa", "id_dsa", "id_ecdsa",
		"id_ed25519", "privkey", "priv_key", "priv-key", "private_key",
		"private-key", "privatekey"};
	static const char *const ends[] = {"_key", "-key", "_rsa", "-rsa",
		"_ed25519", "-ed25519", "_ecdsa", "-ecdsa", ".rsa", ".priv"};

	if (size > MOST_OF_KEYS || gpc_ends_with(base, ".pub"))
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strstr(base, words[i]))
			return true;
	}
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		if (gpc_ends_with(base, ends[i]))
			return true;
	}
	return false;
}

/* What the consoles of AWS and Alibaba Cloud give for a new key, also when a
 * browser has added " (1)". */
static bool is_keytable(const char *base, uint64_t size)
{
	gpc_autostr *low = NULL;

	if (size > MOST_OF_JSON || !gpc_ends_with(base, ".csv"))
		return false;
	low = gpc_strdup(base);
	for (char *p = low; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	return strstr(low, "accesskey") || strstr(low, "rootkey") ||
		strstr(low, "credentials");
}

/* There keys may have any name: one that ssh gives to something else is none. */
static bool is_in_ssh(const char *root, const char *path, const char *base,
	uint64_t size)
{
	static const char *const others[] = {"known_hosts", "known_hosts.old",
		"config", "authorized_keys"};

	if (size > MOST_OF_KEYS || gpc_ends_with(base, ".pub"))
		return false;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (gpc_eq(base, others[i]))
			return false;
	}
	return gpc_starts_with(path, ".ssh/") || strstr(path, "/.ssh/") ||
		gpc_ends_with(root, "/.ssh") || gpc_ends_with(root, "/.ssh/");
}

/* A tree may have a million names: one byte decides nearly always. */
static bool may_be(const struct gpc_credential_rule *r, char first, char last)
{
	switch (r->how) {
	case BASE: return first == r->text[0];
	case END:
	case PATH: return last == r->text[strlen(r->text) - 1];
	case DOTENV: return first == '.' || last == 'v';
	case KEYFILE: return last == 'n';
	case KEYTABLE: return last == 'v';
	case KEYNAME:
	case IN_SSH: return true;
	}
	return false;
}

static bool is_named(const struct gpc_credential_rule *r, const char *root,
	const char *path, const char *base, uint64_t size)
{
	switch (r->how) {
	case BASE: return gpc_eq(base, r->text);
	case END: return gpc_ends_with(base, r->text);
	case PATH: return path_ends(root, path, r->text);
	case DOTENV: return is_dotenv(base);
	case KEYFILE: return is_keyfile(base, size);
	case KEYNAME: return is_keyname(base, size);
	case KEYTABLE: return is_keytable(base, size);
	case IN_SSH: return is_in_ssh(root, path, base, size);
	}
	return false;
}

const struct gpc_credential_rule *gpc_credential_rule_for(const char *root,
	const char *path, uint64_t size)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;

	if (size == 0 || !*base)
		return NULL;
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		if (may_be(&rules[i], base[0], base[strlen(base) - 1]) &&
			is_named(&rules[i], root, path, base, size))
			return &rules[i];
	}
	return NULL;
}

/* --- by content ------------------------------------------------------------ */
static const char *find(const char *data, size_t n, const char *text)
{
	size_t length = strlen(text);

	for (size_t i = 0; length <= n && i <= n - length; i++) {
		if (memcmp(data + i, text, length) == 0)
			return data + i;
	}
	return NULL;
}

/* "-----BEGIN ... PRIVATE KEY-----" in the first KiB. */
static bool has_private_key(const char *data, size_t n)
{
	const char *end = data + (n < 1024 ? n : 1024), *at = data;

	if (find(data, n < 64 ? n : 64, "PuTTY-User-Key-File-"))
		return true;
	while ((at = find(at, (size_t)(end - at), "-----BEGIN "))) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((line ? line : end) - at);

		if (find(at, length, "PRIVATE KEY"))
			return true;
		at++;
	}
	return false;
}

static bool is_placeholder(struct gpc_str v)
{
	static const char *const words[] = {"change", "xxx", "your", "example",
		"todo", "placeholder", "dummy", "secret_here", "none", "null",
		"true", "false", "***", "...", "replace", "insert"};
	gpc_autostr *low = gpc_strndup(v.ptr, v.len);
	size_t same = 0;

	if (v.len < 6 || strchr("<$%{[", v.ptr[0]))
		return true;
	for (char *p = low; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strstr(low, words[i]))
			return true;
	}
	while (low[same] == low[0] && low[same])
		same++;
	return same == v.len;
}

static bool names_secret(struct gpc_str name)
{
	static const char *const ends[] = {"TOKEN", "SECRET", "PASSWORD",
		"PASSWD", "_PASS", "_PWD", "_KEY", "APIKEY", "KEY_BASE"};
	gpc_autostr *up = gpc_strndup(name.ptr, name.len);

	for (char *p = up; *p; p++)
		*p = (char)toupper((unsigned char)*p);
	if (gpc_ends_with(up, "PUBLIC_KEY"))
		return false;
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		if (gpc_ends_with(up, ends[i]))
			return true;
	}
	return false;
}

/* Something stands between the colon and the @ of scheme://user:it@host. */
static bool has_login(struct gpc_str v)
{
	const char *at = find(v.ptr, v.len, "://"), *end = v.ptr + v.len;
	const char *colon = NULL;

	for (at = at ? at + 3 : end; at < end; at++) {
		if (*at == '@')
			return colon && !is_placeholder((struct gpc_str){
				colon + 1, (size_t)(at - colon - 1)});
		if (*at == ':' && !colon)
			colon = at;
		if (*at == '/' || isspace((unsigned char)*at))
			break;
	}
	return false;
}

/* The value of NAME=VALUE without quotes and comment. */
static struct gpc_str bare(struct gpc_str v)
{
	const char *comment;

	v = gpc_str_trim(v);
	if (v.len > 1 && (v.ptr[0] == '"' || v.ptr[0] == '\'')) {
		const char *close = memchr(v.ptr + 1, v.ptr[0], v.len - 1);

		return (struct gpc_str){v.ptr + 1, close ?
			(size_t)(close - v.ptr - 1) : v.len - 1};
	}
	comment = find(v.ptr, v.len, " #");
	if (comment)
		v.len = (size_t)(comment - v.ptr);
	return gpc_str_trim(v);
}

static bool is_telling_line(struct gpc_str line)
{
	struct gpc_str name, value;

	line = gpc_str_trim(line);
	if (line.len > 7 && strncmp(line.ptr, "export ", 7) == 0)
		line = gpc_str_trim((struct gpc_str){line.ptr + 7,
			line.len - 7});
	if (!line.len || line.ptr[0] == '#' || !memchr(line.ptr, '=', line.len))
		return false;
	gpc_str_split(&line, '=', &name);
	value = bare(line);
	return has_login(value) || (names_secret(gpc_str_trim(name)) &&
		!is_placeholder(value));
}

static bool any_line(const char *data, size_t n, bool (*is)(struct gpc_str))
{
	struct gpc_str rest = {data, n}, line;

	while (gpc_str_split(&rest, '\n', &line)) {
		if (is(line))
			return true;
	}
	return false;
}

/* One of the texts, and after it more than `: "` and the end of a line. */
static bool has_text(const struct gpc_credential_rule *rule, const char *data,
	size_t n)
{
	for (size_t i = 0; i < 3 && rule->has[i]; i++) {
		const char *at = find(data, n, rule->has[i]), *end = data + n;

		for (at = at ? at + strlen(rule->has[i]) : end; at < end; at++) {
			if (*at == '\n' || *at == ',' || *at == '}')
				break;
			if (!strchr(" \t\r:=\"'", *at))
				return true;
		}
	}
	return false;
}

/* A secret has 30 characters or more, and its key's name 16 or more; no word of
 * a heading has as many. */
static bool has_secret_word(const char *data, size_t n)
{
	size_t run = 0;

	for (size_t i = 0; i < n && run < 16; i++)
		run = isalnum((unsigned char)data[i]) ? run + 1 : 0;
	return run >= 16;
}

const char *gpc_credential_look(const struct gpc_credential_rule *rule,
	const char *data, size_t n)
{
	bool is = false;

	switch (rule->look) {
	case ANY:
		is = n > 0;
		break;
	case PRIVATE_KEY:
		is = has_private_key(data, n);
		break;
	case VARIABLES:
		is = any_line(data, n, is_telling_line);
		break;
	case SERVICE_ACCOUNT:
		is = find(data, n, "\"service_account\"") &&
			find(data, n, "\"private_key\"");
		break;
	case HAS:
		is = has_text(rule, data, n);
		break;
	case LOGIN_URL:
		is = any_line(data, n, has_login);
		break;
	case SECRET_TABLE:
		is = find(data, n, "Secret") && has_secret_word(data, n);
		break;
	}
	return is ? rule->what : NULL;
}
