/* Starting a launcher.
 *
 * It says "R" once node.json bears its name; an end without that means that it
 * gave up by itself. */
#include "provider/spawn.h"

#include <fcntl.h>
#include <string.h>

#include "base/crash.h"
#include "base/detach.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "dep/http.h"
#include "provider/node_file.h"
#include "store/store.h"

enum { READY_WAIT_MS = 20000 };

extern char **environ;

/* What every node inherits from whoever starts it: how programs are found and
 * how text is written, nothing that could grant access. */
static const char *const inherited[] = {
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ",
	"TMPDIR", "LD_LIBRARY_PATH",
	"ASAN_OPTIONS", "UBSAN_OPTIONS",    /* where their reports go */
	GPC_CRASH_ENV
};

/* And for a store that is elsewhere: how it is reached. Who one is there, the
 * `identity` of its kind of store names. */
static const char *const network[] = {
	"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY",
	"no_proxy", "NO_PROXY",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE",
};

static bool is_among(const char *entry, const char *const *names, size_t n_names)
{
	size_t n = strcspn(entry, "=");

	for (size_t i = 0; i < n_names; i++)
		if (strlen(names[i]) == n && strncmp(entry, names[i], n) == 0)
			return true;
	return false;
}

/* Whether who one is at what the URL names, or the way there, is said by it. */
static bool is_for(const char *entry, const char *url)
{
	const char *const *identity = gpc_store_identity(url);

	if (!identity)
		return false;
	for (; *identity; identity++)
		if (gpc_starts_with(entry, *identity))
			return true;
	return is_among(entry, network, sizeof(network) / sizeof(*network));
}

static bool is_inherited(const char *entry, const struct gpc_spawn *x)
{
	if (gpc_starts_with(entry, "LC_") || is_among(entry, inherited,
		sizeof(inherited) / sizeof(*inherited)) ||
		is_for(entry, x->store_url))
		return true;
	for (size_t i = 0; i < x->buckets->n; i++)
		if (is_for(entry, x->buckets->v[i]))
			return true;
	return false;
}

static void fill_env(const struct gpc_spawn *x, struct gpc_strv *env)
{
	for (char **e = environ; *e; e++)
		if (is_inherited(*e, x))
			gpc_strv_add(env, *e);
	gpc_strv_addf(env, "GPUCLOUD_JOB_ID=%s", x->job ? x->job : "");
	gpc_strv_addf(env, GPC_NODE_ENV "=%s", gpc_path_base(x->dir));
	if (x->ca_file)
		gpc_strv_addf(env, GPC_HTTP_CA_ENV "=%s", x->ca_file);
	gpc_strv_take(env, NULL);
}

int gpc_spawn_launcher(const struct gpc_spawn *x, struct gpc_error *err)
{
	gpc_autostr *log_path = gpc_path_join(x->dir, GPC_NODE_LOG);
	const char *argv[] = { x->self_path, "agent", "--launch", x->dir,
		"--ready-fd", "3", NULL };
	gpc_autofd log_fd = -1, report = -1;
	gpc_auto(gpc_strv) struct gpc_strv env = {0};
	struct gpc_detached d = { .path = x->self_path, .argv = argv,
		.reports = true };
	char word = 0;
	int r;

	fill_env(x, &env);
	r = gpc_open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0600, &log_fd, err);
	if (r < 0)
		return r;
	d.envp = env.v;
	d.log_fd = log_fd;
	r = gpc_detach(&d, &report, err);
	if (r == 0)
		r = gpc_detached_report(report, x->self_path, READY_WAIT_MS, &word,
			err);
	if (r < 0 || word == 'R')
		return gpc_wrap(err, r, "start the node in %s", x->dir);
	gpc_fail(err, GPC_EIO, "the node in %s ended at once", x->dir);
	gpc_hint(err, "see %s/" GPC_NODE_LOG, x->dir);
	return -GPC_EIO;
}
