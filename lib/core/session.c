/* Opening a session: who this is, where its folders are, which store. It is
 * cheap enough for every command: one store.json is read. */
#include "core/session.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/time.h"
#include "dep/crypto.h"

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
	return r;
}

static int open_store(struct gpc_session *s, unsigned flags,
	struct gpc_error *err)
{
	int r = gpc_store_open(s->options.store_url, flags, s->log, &s->store,
		err);

	if (r == 0)
		r = gpc_store_identify(s->store, flags, err);
	if (r == -GPC_ENOTFOUND && s->options.no_store) {
		gpc_store_free(s->store);
		s->store = NULL;
		return 0;
	}
	return r;
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
	r = place_init(&s->place, options, err);
	if (r == 0)
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
	gpc_store_free(s->store);
	free(s->place.owner.hash);
	free(s->place.owner.user);
	free(s->place.owner.host);
	free(s->place.state_dir);
	free(s->place.cache_dir);
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
		.store_id = s->store ? s->store->id : "",
		.state_dir = s->place.state_dir,
		.self_path = s->place.self_path,
		.price_per_hour = s->options.local_price,
		.user_home = s->options.local_user_home,
	};
	return gpc_provider_open(name, ctx, ret_p, err);
}
