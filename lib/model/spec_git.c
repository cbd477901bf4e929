/* workdir: {url, ref}: which addresses of a git repository a spec may hold.
 *
 * An address reaches git's command line, the job's record and messages. So it
 * may be no option, start no helper program (ext::), and hold no secret: those
 * come by GIT_TOKEN, which reaches git through its environment alone. Messages
 * here never show the address, since it may be a secret that they refuse.
 */
#include <ctype.h>
#include <string.h>

#include "base/path.h"
#include "model/spec.h"

#define URL_MAX 2048
#define REF_MAX 255
#define USER_MAX 16       /* longer ones before a host look like tokens */

static const char *const schemes[] = {
	"https://", "http://", "ssh://", "git://", "file://",
};

/* How long the scheme at the front is, "://" included; 0 = there is none. */
static size_t scheme_length(const char *url)
{
	for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++) {
		if (gpc_starts_with(url, schemes[i]))
			return strlen(schemes[i]);
	}
	return 0;
}

/* As git decides it: a colon before the first slash is an scp form. */
bool gpc_spec_git_is_path(const char *url)
{
	const char *colon = strchr(url, ':'), *slash = strchr(url, '/');

	return !colon || (slash && slash < colon);
}

static bool has_control(const char *s, bool blank_too)
{
	for (; *s; s++) {
		if ((unsigned char)*s < ' ' || *s == 0x7f ||
			(blank_too && *s == ' '))
			return true;
	}
	return false;
}

static int refuse(struct gpc_error *err, const char *field, const char *why,
	const char *hint)
{
	int r = gpc_fail(err, GPC_ECONFIG, "%s: %s", field, why);

	if (hint)
		gpc_hint(err, "%s", hint);
	return r;
}

/* "user:password" before the host. */
static int check_user(const char *user, size_t n, bool web,
	struct gpc_error *err)
{
	static const char hint[] = "put the token into the environment as "
		"GIT_TOKEN and leave it out of the address";

	if (memchr(user, ':', n))
		return refuse(err, "workdir.url", "a password in the address "
			"would be kept in the job's record", hint);
	if (web && (n > USER_MAX || gpc_starts_with(user, "ghp_") ||
		gpc_starts_with(user, "glpat-")))
		return refuse(err, "workdir.url", "what stands before the @ "
			"looks like a token, and would be kept in the job's "
			"record", hint);
	return 0;
}

/* [user@]host of an address; host and user may be no option for ssh either. */
static int check_host(const char *at, size_t n, bool web, struct gpc_error *err)
{
	const char *sign = NULL;
	int r = 0;

	for (size_t i = 0; i < n; i++)
		sign = at[i] == '@' ? at + i : sign;
	if (sign)
		r = check_user(at, (size_t)(sign - at), web, err);
	if (r)
		return r;
	if (*at == '-' || (sign && sign[1] == '-'))
		return refuse(err, "workdir.url", "a host or user cannot begin "
			"with -", NULL);
	if ((size_t)(sign ? sign + 1 - at : 0) >= n)
		return refuse(err, "workdir.url", "the address names no host",
			NULL);
	return 0;
}

static int check_scheme(const char *url, size_t scheme, struct gpc_error *err)
{
	const char *rest = url + scheme;
	size_t n = strcspn(rest, "/");
	bool web = gpc_starts_with(url, "http");

	if (gpc_starts_with(url, "file://"))
		return *rest == '/' ? 0 : refuse(err, "workdir.url",
			"expected file:///PATH", NULL);
	if (web && strpbrk(rest, "?#"))
		return refuse(err, "workdir.url", "the address of a repository "
			"has no ? and no #", "a token belongs into the "
			"environment, as GIT_TOKEN");
	return check_host(rest, n, web, err);
}

static const char helpers[] = "git may be asked only for https, http, ssh, git "
	"and file addresses";
static const char forms[] = "write https://HOST/PATH, ssh://USER@HOST/PATH, "
	"USER@HOST:PATH, or the path of a folder";

static int check_url(const char *url, struct gpc_error *err)
{
	size_t scheme = scheme_length(url);
	bool local = gpc_starts_with(url, "file:") || gpc_spec_git_is_path(url);

	if (!scheme && !local && strstr(url, "::"))
		return refuse(err, "workdir.url", helpers, forms);
	if (!*url || strlen(url) > URL_MAX || has_control(url, !local) ||
		*url == '-')
		return refuse(err, "workdir.url", "this is no address of a "
			"repository (it is empty or too long, begins with - or "
			"holds a blank)", NULL);
	if (scheme)
		return check_scheme(url, scheme, err);
	if (gpc_spec_git_is_path(url))
		return 0;
	if (strstr(url, "://"))
		return refuse(err, "workdir.url", helpers, forms);
	return check_host(url, strcspn(url, ":"), false, err);
}

/* git-check-ref-format(1), and nothing that git would compute: main~2. */
static int check_ref(const char *ref, struct gpc_error *err)
{
	bool bad = !*ref || strlen(ref) > REF_MAX || has_control(ref, true) ||
		*ref == '-' || *ref == '/' || *ref == '.' ||
		strpbrk(ref, "~^:?*[\\") || strstr(ref, "..") ||
		strstr(ref, "@{") || strstr(ref, "//") || strstr(ref, "/.") ||
		gpc_ends_with(ref, "/") || gpc_ends_with(ref, ".") ||
		gpc_ends_with(ref, ".lock") || gpc_eq(ref, "@");

	if (!bad)
		return 0;
	return refuse(err, "workdir.ref", "expected the name of a branch or "
		"tag, or a commit", NULL);
}

int gpc_spec_git_check(const struct gpc_spec_git *git, struct gpc_error *err)
{
	int r;

	if (!git->url && git->ref)
		return refuse(err, "workdir.ref", "there is no repository that "
			"it could be a ref of", "give workdir.url, or --git-url");
	if (!git->url)
		return 0;
	r = check_url(git->url, err);
	return r || !git->ref ? r : check_ref(git->ref, err);
}

char *gpc_spec_git_name(const char *url)
{
	size_t n = strlen(url), end;

	while (n > 1 && url[n - 1] == '/')
		n--;
	if (n > 4 && strncmp(url + n - 4, ".git", 4) == 0)
		n -= 4;
	while (n > 1 && url[n - 1] == '/')
		n--;
	end = n;
	while (n > 0 && url[n - 1] != '/' && url[n - 1] != ':')
		n--;
	return gpc_strndup(url + n, end - n);
}
