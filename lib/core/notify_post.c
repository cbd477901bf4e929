/* See notify_post.h. Tries, pauses and limits are those of net/: what may help later
 * is sent again within a minute, a refusal is not, no redirect is followed. Nothing
 * is traced, because the path of the URL would be seen. */
#include "core/notify_post.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/cancel.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/vec.h"
#include "net/net.h"
#include "record/secrets.h"

#define MAX_REPLY ((size_t)64 << 10)

struct gpc_notice_post {
	pthread_t thread;
	struct gpc_cancel cancel;
	struct gpc_request request;
	char *ca_file, *body;
	atomic_bool ended;
	int r;                          /* once it has ended */
	struct gpc_error err;
};

static void *run(void *arg)
{
	struct gpc_notice_post *p = arg;
	const struct gpc_net_settings how = {
		.ca_file = p->ca_file, .cancel = &p->cancel,
	};
	gpc_autoptr(gpc_net) *net = gpc_net_new(&how);
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	const struct gpc_call call = {
		.request = &p->request, .repeatable = true,
		.total_ms = GPC_NOTICE_POST_MS, .max_body = MAX_REPLY,
	};

	p->r = gpc_net_call(net, &call, &reply, &p->err);
	atomic_store(&p->ended, true);
	return NULL;
}

static void wipe_url(struct gpc_url *u)
{
	if (u->path)
		gpc_secrets_wipe(u->path, strlen(u->path));
	gpc_vec_each(q, &u->query) {
		if (q->value)
			gpc_secrets_wipe(q->value, strlen(q->value));
	}
}

static void release(struct gpc_notice_post *p)
{
	wipe_url(&p->request.url);
	gpc_request_clear(&p->request);
	free(p->ca_file);
	free(p->body);
	free(p);
}

static int fill(struct gpc_notice_post *p,
	const struct gpc_notice_post_how *how, struct gpc_error *err)
{
	gpc_request_init(&p->request, "POST");
	if (gpc_url_parse(how->url, &p->request.url, NULL) < 0)
		return gpc_fail(err, GPC_EPROTO, "it is no URL");
	p->body = gpc_strdup(how->body);
	p->ca_file = gpc_strdup(how->ca_file);
	p->request.body = (struct gpc_body){ .data = p->body,
		.size = strlen(p->body) };
	gpc_pairs_add(&p->request.headers, "content-type", "application/json");
	gpc_pairs_add(&p->request.headers, "idempotency-key", how->key);
	return 0;
}

int gpc_notice_post_start(const struct gpc_notice_post_how *how,
	struct gpc_notice_post **ret_post, struct gpc_error *err)
{
	struct gpc_notice_post *p = gpc_alloc(sizeof(*p));
	int r = fill(p, how, err);
	int sys = r < 0 ? 0 : gpc_thread_start(&p->thread, run, p);

	if (sys)
		r = gpc_fail_sys(err, sys, "cannot start a thread");
	if (r < 0) {
		release(p);
		return r;
	}
	*ret_post = p;
	return 0;
}

bool gpc_notice_post_runs(struct gpc_notice_post **post, char **ret_why)
{
	struct gpc_notice_post *p = *post;

	if (!atomic_load(&p->ended))
		return true;
	*post = NULL;
	pthread_join(p->thread, NULL);
	*ret_why = p->r < 0 ? gpc_strdup(p->err.msg) : NULL;
	release(p);
	return false;
}

void gpc_notice_post_free(struct gpc_notice_post *p)
{
	if (!p)
		return;
	p->cancel.signal = 1;
	pthread_join(p->thread, NULL);
	release(p);
}
