/* One call of net/net.h against the server of net_server.py, with everything that it
 * borrows. */
#pragma once
#include "net_bed.h"

#include "net/net_parts.h"

static struct bed bed;

/* A call with everything that it borrows, and a log. */
struct one {
	struct gpc_request request;
	struct gpc_call call;
	struct gpc_reply reply;
	struct gpc_error err;
	int r, done, signed_n, renewed, rewound;
	enum gpc_net_verdict on_refusal;        /* of our judge */
	struct gpc_buf sunk;
	bool no_resume;
};

static inline void prepare(struct one *o, const char *method, const char *path)
{
	gpc_autostr *url = gpc_format("http://127.0.0.1:%d%s",
		bed.ports[BED_HTTP], path);
	struct gpc_error err = {0};

	*o = (struct one){0};
	gpc_request_init(&o->request, method);
	assert_ok(gpc_url_parse(url, &o->request.url, &err));
	o->call.request = &o->request;
	o->call.repeatable = gpc_eq(method, "GET");
	o->call.arg = o;
}

static inline void clear(struct one *o)
{
	gpc_request_clear(&o->request);
	gpc_reply_clear(&o->reply);
	gpc_buf_clear(&o->sunk);
}

static inline struct gpc_net *new_net(struct gpc_net_settings settings)
{
	if (!settings.max_tries)
		settings.max_tries = 3;
	return gpc_net_new(&settings);
}

static inline void go(struct gpc_net *net, struct one *o)
{
	o->r = gpc_net_call(net, &o->call, &o->reply, &o->err);
}

static inline int number(const char *path)
{
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){0});
	struct one o;
	int n;

	prepare(&o, "GET", path);
	go(net, &o);
	assert_int_equal(o.r, 0);
	n = (int)strtol(gpc_buf_str(&o.reply.body), NULL, 10);
	clear(&o);
	return n;
}

static inline int requests(const char *key)
{
	gpc_autostr *path = gpc_format("/count/%s", key);

	return number(path);
}

static inline int set_up(void **state)
{
	(void)state;
	bed_start(&bed, false);
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	bed_end(&bed);
	return 0;
}
