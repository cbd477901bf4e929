/* When to look for credentials: once, then again before they end, by one thread
 * while the others go on with what there is or wait.
 *
 * What ends within 15 minutes (a quarter of its life, if that is less) is renewed
 * if that works; within 10 minutes (a sixth) it must work; some clouds have times
 * of their own. A failure to renew early
 * is not repeated for a minute. What a metadata service gives is used beyond its
 * end when there is nothing better, because that service is known to lag. */
#include "creds/creds.h"

#include <pthread.h>
#include <string.h>

#include "base/rand.h"
#include "base/time.h"
#include "creds/backend.h"
#include "creds/token.h"

#define MINUTE_MS INT64_C(60000)
#define TRY_MS (15 * MINUTE_MS)
#define MUST_MS (10 * MINUTE_MS)
#define PAUSE_MS MINUTE_MS
#define JUST_NOW_MS 3000

static const struct gpc_creds_backend *const backends[GPC_CLOUD__COUNT] = {
	[GPC_CLOUD_AWS] = &gpc_creds_aws,
	[GPC_CLOUD_ALIBABA] = &gpc_creds_alibaba,
	[GPC_CLOUD_GCP] = &gpc_creds_gcp,
};

struct gpc_creds {
	const struct gpc_creds_backend *backend;
	struct gpc_creds_settings settings;
	char *profile;                  /* of the settings */
	struct gpc_net *net;
	atomic_bool no_metadata, nowhere;

	pthread_mutex_t lock;           /* of all below */
	pthread_cond_t landed;
	bool flying;                    /* one looks; the others wait */
	uint64_t flights;               /* that have ended */
	int last;                       /* how the last one ended */
	struct gpc_error why;
	struct gpc_creds_found found;
	bool have;
	int64_t try_ms, must_ms;        /* by the services' clock; 0: never */
	int64_t pause_until, renewed_at;        /* by the boot clock */

	pthread_mutex_t machine_lock;
	char *session;                  /* of the metadata service */

	pthread_mutex_t region_lock;
	bool region_known;
	char *region;
};

struct gpc_creds *gpc_creds_new(const struct gpc_creds_settings *settings,
	struct gpc_net *net)
{
	struct gpc_creds *c = gpc_alloc(sizeof(*c));

	c->backend = backends[settings->cloud];
	c->settings = *settings;
	c->profile = gpc_strdup(settings->profile);
	c->settings.profile = c->profile;
	c->net = net;
	pthread_mutex_init(&c->lock, NULL);
	pthread_mutex_init(&c->region_lock, NULL);
	pthread_mutex_init(&c->machine_lock, NULL);
	pthread_cond_init(&c->landed, NULL);
	return c;
}

void gpc_creds_free(struct gpc_creds *c)
{
	if (!c)
		return;
	gpc_creds_found_clear(&c->found);
	pthread_mutex_destroy(&c->lock);
	pthread_mutex_destroy(&c->region_lock);
	pthread_mutex_destroy(&c->machine_lock);
	gpc_token_free(c->session);
	pthread_cond_destroy(&c->landed);
	free(c->profile);
	free(c->region);
	free(c);
}

static struct gpc_creds_look look_of(struct gpc_creds *c, bool renew,
	struct gpc_strv *places)
{
	return (struct gpc_creds_look){
		.settings = &c->settings, .net = c->net, .renew = renew,
		.no_metadata = &c->no_metadata, .places = places,
	};
}

static int fail_nowhere(const struct gpc_creds *c,
	const struct gpc_strv *places, struct gpc_error *err)
{
	gpc_autostr *list = gpc_strv_join(places, "; ");
	int r = gpc_fail(err, GPC_EAUTH, "no credentials for %s: %s",
		c->backend->title, list);

	gpc_hint(err, "%s", c->backend->hint);
	return r;
}

/* One look, without the lock. */
static int look(struct gpc_creds *c, bool renew, struct gpc_creds_found *ret_f,
	struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv places = {0};
	const struct gpc_creds_look l = look_of(c, renew, &places);
	const struct gpc_identity *i = &ret_f->identity;
	char end[GPC_RFC3339_SIZE];
	int r = c->backend->find(&l, ret_f, err);

	atomic_store(&c->nowhere, false);
	if (r)
		return r;
	atomic_store(&c->nowhere, !i->id && !i->bearer);
	if (atomic_load(&c->nowhere))
		return fail_nowhere(c, &places, err);
	if (i->expires_ms == 0 || i->expires_ms > gpc_net_now_ms(c->net) ||
		ret_f->keeps)
		return 0;
	r = gpc_fail(err, GPC_EAUTH, "the credentials of %s have expired (%s)",
		i->source, gpc_format_rfc3339(i->expires_ms, end));
	gpc_hint(err, "renew them where they come from, and check the clock of "
		"this machine");
	return r;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Some minutes from now, not the same for all who lost the same service. */
static int64_t soon(int64_t now_ms)
{
	return now_ms + 5 * MINUTE_MS + (int64_t)gpc_rand_below(5 * MINUTE_MS);
}

static void plan_renewal(struct gpc_creds *c, int64_t now_ms)
{
	int64_t end = c->found.identity.expires_ms, life = end - now_ms;
	int64_t try_ms = c->backend->try_s ? c->backend->try_s * INT64_C(1000) :
		TRY_MS;
	int64_t must_ms = c->backend->must_s ?
		c->backend->must_s * INT64_C(1000) : MUST_MS;

	if (end == 0) {
		c->try_ms = c->must_ms = 0;
	} else if (life <= 0) {
		c->try_ms = c->must_ms = soon(now_ms);
	} else {
		c->try_ms = end - least(try_ms, life / 4);
		c->must_ms = end - least(must_ms, life / 6);
	}
}

/* What a look has brought; with the lock. */
static void land(struct gpc_creds *c, bool renew, int r,
	struct gpc_creds_found *f, const struct gpc_error *err)
{
	int64_t now_ms = gpc_net_now_ms(c->net);

	if (r == 0) {
		gpc_creds_found_clear(&c->found);
		c->found = *f;
		*f = (struct gpc_creds_found){0};
		c->have = true;
		if (renew)
			c->renewed_at = gpc_boot_ms();
		c->pause_until = 0;
		plan_renewal(c, now_ms);
	} else if (c->have) {
		c->pause_until = gpc_boot_ms() + PAUSE_MS;
		if (c->found.keeps && r != -GPC_ECANCELED &&
			now_ms >= c->must_ms)
			c->try_ms = c->must_ms = soon(now_ms);
	}
	c->last = r;
	c->why = *err;
	c->flying = false;
	c->flights++;
	pthread_cond_broadcast(&c->landed);
}

/* Good enough without a look? With the lock. */
static bool is_good(const struct gpc_creds *c)
{
	int64_t now_ms = gpc_net_now_ms(c->net);

	if (!c->have)
		return false;
	if (c->try_ms == 0 || now_ms < c->try_ms)
		return true;
	return now_ms < c->must_ms &&
		(c->flying || gpc_boot_ms() < c->pause_until);
}

/* Somebody has just renewed them: who was refused had the old ones. */
static bool is_new(const struct gpc_creds *c)
{
	return c->have && c->renewed_at &&
		gpc_boot_ms() - c->renewed_at < JUST_NOW_MS;
}

/* The caller's turn to look; the lock is given up meanwhile. */
static int fly(struct gpc_creds *c, bool renew, struct gpc_error *err)
{
	gpc_auto(gpc_creds_found) struct gpc_creds_found f = {0};
	struct gpc_error why = {0};
	int r;

	c->flying = true;
	pthread_mutex_unlock(&c->lock);
	r = look(c, renew, &f, &why);
	pthread_mutex_lock(&c->lock);
	land(c, renew, r, &f, &why);
	if (r && err)
		*err = why;
	return r;
}

static int await(struct gpc_creds *c, struct gpc_error *err)
{
	uint64_t before = c->flights;

	while (c->flights == before)
		pthread_cond_wait(&c->landed, &c->lock);
	if (c->last && err)
		*err = c->why;
	return c->last;
}

int gpc_creds_get(struct gpc_creds *c, bool renew, struct gpc_identity *ret_i,
	struct gpc_error *err)
{
	struct gpc_error why = {0};
	int r = 0;

	if (!c->backend)
		return gpc_fail(err, GPC_EUNSUPPORTED,
			"credentials of this cloud are not supported");
	pthread_mutex_lock(&c->lock);
	if (renew ? !is_new(c) : !is_good(c))
		r = c->flying ? await(c, &why) : fly(c, renew, &why);
	/* What could not be renewed early is still good, and metadata's longer. */
	if (r && !renew && r != -GPC_ECANCELED && is_good(c))
		r = 0;
	if (r == 0)
		gpc_identity_copy(ret_i, &c->found.identity);
	pthread_mutex_unlock(&c->lock);
	if (r && err)
		*err = why;
	return r;
}

int gpc_creds_region(struct gpc_creds *c, char **ret_region,
	struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv places = {0};
	int r = 0;

	if (!c->backend) {
		*ret_region = NULL;
		return 0;
	}
	pthread_mutex_lock(&c->region_lock);
	if (!c->region_known) {
		const struct gpc_creds_look l = look_of(c, false, &places);

		r = c->backend->region(&l, &c->region, err);
		c->region_known = r == 0;
	}
	if (r == 0)
		*ret_region = gpc_strdup(c->region);
	pthread_mutex_unlock(&c->region_lock);
	return r;
}

int gpc_creds_machine(struct gpc_creds *c, const char *path, char **ret_text,
	struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv places = {0};
	const struct gpc_creds_look l = look_of(c, false, &places);
	int r;

	if (!c->backend || !c->backend->machine)
		return gpc_fail(err, GPC_EUNSUPPORTED, "no metadata service of this "
			"cloud is known");
	pthread_mutex_lock(&c->machine_lock);
	r = c->backend->machine(&l, &c->session, path, ret_text, err);
	pthread_mutex_unlock(&c->machine_lock);
	return r;
}

char *gpc_creds_setting(struct gpc_creds *c, const char *service,
	const char *name)
{
	gpc_auto(gpc_strv) struct gpc_strv places = {0};
	const struct gpc_creds_look l = look_of(c, false, &places);

	return c->backend ? c->backend->setting(&l, service, name) : NULL;
}

int gpc_creds_service_url(struct gpc_creds *c, const char *service,
	const char *region, char **ret_url, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv places = {0};
	const struct gpc_creds_look l = look_of(c, false, &places);

	if (!c->backend || !c->backend->service_url)
		return gpc_fail(err, GPC_EUNSUPPORTED, "no endpoints are known "
			"of this cloud");
	return c->backend->service_url(&l, service, region, ret_url, err);
}

char *gpc_creds_ca_file(struct gpc_creds *c)
{
	return c->settings.cloud == GPC_CLOUD_AWS ?
		gpc_creds_setting(c, NULL, "ca_bundle") : NULL;
}

bool gpc_creds_nowhere(const struct gpc_creds *c)
{
	return atomic_load(&c->nowhere);
}

int gpc_creds_whoami(struct gpc_creds *c, struct gpc_identity *ret_i,
	struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv places = {0};
	const struct gpc_creds_look l = look_of(c, false, &places);
	struct gpc_error why = {0};
	int r = gpc_creds_get(c, false, ret_i, err);

	if (r || !c->backend->whoami)
		return r;
	r = c->backend->whoami(&l, ret_i, &why);
	/* What was ended early looks good until it is used. */
	if (r == -GPC_EAUTH && ret_i->expires_ms) {
		r = gpc_creds_get(c, true, ret_i, &why);
		if (!r)
			r = c->backend->whoami(&l, ret_i, &why);
	}
	if (r && err)
		*err = why;
	return r;
}
