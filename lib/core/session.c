/* Opening a session: who this is, where its folders are, which store. It is
 * cheap enough for every command: one store.json is read. The store's id is
 * kept on this machine as well: the tags of nodes bear it, and they must be
 * found when the store is gone. */
#include "core/session.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/time.h"
#include "core/bundle_other.h"
#include "core/vendor.h"
#include "dep/crypto.h"

#define ID_MAX ((size_t)64)

static void place_owner(struct gpc_owner *o, const char *configured)
{
	char hex[GPC_SHA256_HEX];
	struct utsname un;
	struct passwd *pw = getpwuid(geteuid());
	gpc_autostr *text = NULL;

	o->host = gpc_strdup(uname(&un) == 0 ? un.nodename : "localhost");
	o->user = pw && pw->pw_name[0] ? gpc_strdup(pw->pw_name) :
		gpc_format("uid%ld", (long)geteuid());
	text = configured ? gpc_strdup(configured) :
		gpc_format("%s@%s", o->user, o->host);
	gpc_sha256_hex(text, strlen(text), hex);
	o->hash = gpc_strndup(hex, 16);
}

char *gpc_session_owner_hash(const char *configured)
{
	struct gpc_owner o = {0};

	place_owner(&o, configured);
	free(o.user);
	free(o.host);
	return o.hash;
}

char *gpc_session_owner_default(void)
{
	struct gpc_owner o = {0};
	char *text;

	place_owner(&o, NULL);
	text = gpc_format("%s@%s", o.user, o.host);
	free(o.hash);
	free(o.user);
	free(o.host);
	return text;
}

static int place_init(struct gpc_place *p,
	const struct gpc_session_options *options, struct gpc_error *err)
{
	int r;

	place_owner(&p->owner, options->owner);
	gpc_boot_id(p->boot);
	p->self_path = options->self_path ? gpc_strdup(options->self_path) :
		gpc_proc_self();
	r = gpc_xdg(GPC_XDG_STATE, NULL, &p->state_dir, err);
	if (r == 0)
		r = gpc_xdg(GPC_XDG_CACHE, NULL, &p->cache_dir, err);
	if (r == 0)
		r = gpc_xdg(GPC_XDG_DATA, NULL, &p->data_dir, err);
	return r;
}

/* What whoever makes jobs needs here, asked for before anything is made. */
static int make_state(const struct gpc_place *p, struct gpc_error *err)
{
	int r = gpc_mkdirs(p->state_dir, 0700, err);

	if (r == 0 && access(p->state_dir, W_OK | X_OK) < 0)
		r = gpc_fail_sys(err, errno, "cannot write to %s", p->state_dir);
	if (r == 0)
		return 0;
	gpc_hint(err, "nodes of this machine and the supervisor's lock lie there: "
		"make it writable, or name another folder by XDG_STATE_HOME");
	return r == -GPC_ENOTFOUND || r == -GPC_ECONFLICT ?
		gpc_recode(err, GPC_ECONFIG) : r;
}

/* --- the store ------------------------------------------------------------- */
static char *id_path(const struct gpc_session *s)
{
	const char *url = s->options.store_url;
	char hex[GPC_SHA256_HEX];
	gpc_autostr *dir = gpc_path_join(s->place.state_dir, "stores");

	gpc_sha256_hex(url, strlen(url), hex);
	hex[16] = '\0';
	return gpc_path_join(dir, hex);
}

static char *recall_id(const struct gpc_session *s)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autostr *path = id_path(s);
	struct gpc_str id;

	if (gpc_read_file(path, ID_MAX, &b, NULL) < 0)
		return NULL;
	id = gpc_str_trim((struct gpc_str){ b.data, b.len });
	return id.len ? gpc_strndup(id.ptr, id.len) : NULL;
}

/* Where it cannot be kept, only `release --all` without the store is lost. */
static void remember_id(const struct gpc_session *s)
{
	gpc_autostr *known = recall_id(s), *path = NULL, *dir = NULL;
	gpc_autostr *line = NULL;
	struct gpc_error err;
	int r;

	if (gpc_eq(known, s->store->id))
		return;
	if (known)
		gpc_log(s->log, GPC_WARN, "%s holds another store than before: "
			"jobs of that one are not seen here", s->store->url);
	path = id_path(s);
	dir = gpc_path_dir(path);
	line = gpc_format("%s\n", s->store->id);
	r = gpc_mkdirs(dir, 0700, &err);
	if (r == 0)
		r = gpc_write_file(path, line, strlen(line), 0600, &err);
	if (r < 0)
		gpc_log(s->log, GPC_VERBOSE, "%s", err.msg);
}

/* A disk that is not mounted looks like a store that nobody has made yet; its
 * jobs may run, and their nodes cost money. */
static void tell_gone(const struct gpc_session *s, struct gpc_error *err)
{
	gpc_autostr *before = recall_id(s);

	if (!before)
		return;
	if (s->options.no_store)
		gpc_log(s->log, GPC_WARN, "%s: the store that was here is gone: "
			"was it moved, or is its disk not mounted?",
			s->options.store_url);
	gpc_hint(err, "the store that was here is gone: mount its disk, or name "
		"its new place by --store");
}

static int without_store(struct gpc_session *s, int r, struct gpc_error *err)
{
	gpc_store_free(s->store);
	s->store = NULL;
	if (s->options.tags_suffice)
		s->known_id = recall_id(s);
	else if (r == -GPC_ENOTFOUND)
		tell_gone(s, err);
	if (s->known_id)
		gpc_log(s->log, GPC_WARN, "%s; going by tags alone",
			err ? err->msg : "the store cannot be read");
	return s->known_id || (r == -GPC_ENOTFOUND && s->options.no_store) ?
		0 : r;
}

static bool is_known(struct gpc_session *s)
{
	gpc_autostr *id = NULL;

	if (!s->options.id_suffices || !gpc_store_is_far(s->store))
		return false;
	id = recall_id(s);
	if (!id || strlen(id) >= sizeof(s->store->id))
		return false;
	memcpy(s->store->id, id, strlen(id) + 1);
	return true;
}

/* A journal whose writers are not kept apart buys a machine twice one day. */
int gpc_session_holds_data_only(const struct gpc_store *store, struct gpc_error *err)
{
	int r = gpc_fail(err, GPC_ECONFIG, "%s can hold data, but no jobs: it does "
		"not refuse to create an object that exists already, so "
		"supervisors could not be kept apart", store->url);

	gpc_hint(err, "use a folder (--store file:///PATH), or a service that honours "
		"`If-None-Match: *` (Amazon S3, MinIO, Ceph, R2), or keep the "
		"journal in such a store: add journal=URL to this one's");
	return r;
}

static int open_store(struct gpc_session *s, unsigned flags,
	struct gpc_error *err)
{
	int r = gpc_store_open(s->options.store_url, flags, s->log, &s->store,
		err);

	if (r == 0) {
		s->store->cancel = s->cancel;
		s->store->ca_file = s->options.ca_file;
		if (is_known(s))
			return 0;
		r = gpc_store_identify(s->store, flags, err);
	}
	if (r < 0)
		return without_store(s, r, err);
	if (s->store->caps & GPC_STORE_IF_ABSENT) {
		remember_id(s);
		return 0;
	}
	return s->options.create_store ? gpc_session_holds_data_only(s->store, err) : 0;
}

int gpc_session_open(const struct gpc_session_options *options,
	struct gpc_session **ret_s, struct gpc_error *err)
{
	unsigned flags = options->create_store ? GPC_STORE_CREATE : 0;
	gpc_autoptr(gpc_session) *s = gpc_alloc(sizeof(*s));
	int r;

	s->log = options->log;
	s->cancel = options->cancel;
	s->options = *options;
	s->vendors = gpc_vendors_new();
	r = place_init(&s->place, options, err);
	if (r == 0 && options->create_store)
		r = make_state(&s->place, err);
	if (r == 0)
		s->archs = gpc_bundle_archs_here(s->place.data_dir);
	if (r == 0 && !options->unseen)
		r = open_store(s, flags, err);
	if (r < 0)
		return r;
	*ret_s = gpc_steal(&s);
	return 0;
}

void gpc_session_free(struct gpc_session *s)
{
	if (!s)
		return;
	gpc_vendors_free(s->vendors);
	gpc_store_free(s->store);
	free(s->known_id);
	free(s->place.owner.hash);
	free(s->place.owner.user);
	free(s->place.owner.host);
	free(s->place.state_dir);
	free(s->place.cache_dir);
	free(s->place.data_dir);
	free(s->place.self_path);
	free(s);
}

char *gpc_session_by(const struct gpc_session *s, const char *role)
{
	return gpc_format("%s %s@%s", role, s->place.owner.user,
		s->place.owner.host);
}

int gpc_session_provider(struct gpc_session *s, const char *name,
	struct gpc_provider_context *ctx, struct gpc_provider **ret_p,
	struct gpc_error *err)
{
	*ctx = (struct gpc_provider_context) {
		.log = s->log,
		.store_id = s->store ? s->store->id : s->known_id ?
			s->known_id : "",
		.state_dir = s->place.state_dir,
		.self_path = s->place.self_path,
		.ca_file = s->options.ca_file,
		.price_per_hour = s->options.local_price,
		.user_home = s->options.local_user_home,
		.aws_regions = s->options.aws_regions,
		.aws_reservations = s->options.aws_reservations,
		.cancel = s->cancel,
	};
	return gpc_provider_open(name, ctx, ret_p, err);
}

void gpc_session_describe_local(const struct gpc_session *s,
	struct gpc_job_local *ret_local)
{
	ret_local->price_per_hour = s->options.local_price;
	gpc_set_str(&ret_local->home, s->options.local_user_home ? "user" : "own");
}

struct gpc_session gpc_session_with_local(const struct gpc_session *s,
	const struct gpc_job_local *local)
{
	struct gpc_session as = *s;

	if (local->home) {
		as.options.local_price = local->price_per_hour;
		as.options.local_user_home = gpc_eq(local->home, "user");
	}
	return as;
}
