/* One transfer of dep/http.h against the server of net_server.py, and what it brought. */
#pragma once
#include "net_bed.h"

#include "base/buf.h"
#include "base/map.h"
#include "dep/http.h"

static struct bed bed;

struct one {
	struct gpc_http_exchange x;
	int status, done, r, stop_at;
	struct gpc_pairs headers;
	struct gpc_buf body;
	struct gpc_error err;
	bool slow;
};

static inline int on_status(void *arg, int status, struct gpc_error *err)
{
	struct one *o = arg;

	(void)err;
	assert_int_equal(o->status, 0);
	o->status = status;
	return 0;
}

static inline int on_header(void *arg, const char *name, const char *value,
	struct gpc_error *err)
{
	struct one *o = arg;

	assert_int_equal(o->body.len, 0);
	if (gpc_eq(name, "x-refuse"))
		return gpc_fail(err, GPC_EPROTO, "not this header");
	gpc_pairs_add(&o->headers, name, value);
	return 0;
}

static inline int on_bytes(void *arg, const void *data, size_t n,
	struct gpc_error *err)
{
	struct one *o = arg;

	gpc_buf_add(&o->body, data, n);
	if (o->stop_at && o->body.len >= (size_t)o->stop_at)
		return gpc_fail(err, GPC_EIO, "the disk is full");
	return 0;
}

static inline void on_done(void *arg, int r, const struct gpc_error *err)
{
	struct one *o = arg;

	o->done++;
	o->r = r;
	o->err = *err;
}

static inline void prepare(struct one *o, const char *method)
{
	*o = (struct one){
		.x = {
			.method = method,
			.body.fd = -1,
			.status = on_status,
			.header = on_header,
			.sink = on_bytes,
			.done = on_done,
			.arg = o,
		},
	};
}

static inline void clear(struct one *o)
{
	gpc_pairs_clear(&o->headers);
	gpc_buf_clear(&o->body);
}

static inline struct gpc_http *new_http(const char *ca_file)
{
	struct gpc_http_settings settings = { .ca_file = ca_file,
		.user_agent = "gpucloud-test/1" };
	struct gpc_error err = {0};
	struct gpc_http *h = NULL;

	assert_ok(gpc_http_new(&settings, &h, &err));
	return h;
}

static inline void run_all(struct gpc_http *h)
{
	struct gpc_error err = {0};
	int running = 1;

	while (running > 0)
		assert_ok(gpc_http_run(h, 1000, &running, &err));
}

static inline char *url_of(const char *path)
{
	return gpc_format("http://127.0.0.1:%d%s", bed.ports[BED_HTTP], path);
}

/* Prepared by prepare; the whole of it. */
static inline void go(struct gpc_http *h, struct one *o, const char *path)
{
	gpc_autostr *url = url_of(path);
	struct gpc_error err = {0};

	o->x.url = url;
	assert_ok(gpc_http_start(h, &o->x, NULL, &err));
	assert_int_equal(o->done, 0);
	run_all(h);
	assert_int_equal(o->done, 1);
}

static inline void get(struct gpc_http *h, struct one *o, const char *path)
{
	prepare(o, "GET");
	go(h, o, path);
}

/* The number that a path of the server tells. */
static inline int number(struct gpc_http *h, const char *path)
{
	struct one o;
	int n;

	get(h, &o, path);
	assert_int_equal(o.r, 0);
	n = (int)strtol(gpc_buf_str(&o.body), NULL, 10);
	clear(&o);
	return n;
}

static inline int set_up(void **state)
{
	(void)state;
	bed_start(&bed, true);
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	bed_end(&bed);
	return 0;
}
