/* HTTP transfers by libcurl, which is opened on first use: one transfer is one
 * request and one reply, and nothing here decides anything. No redirect is
 * followed, no answer retried, no header added that changes what is signed
 * (Expect, Accept-Encoding and a User-Agent aside), no path rewritten. What to do
 * about a reply is the business of net/.
 *
 * One gpc_http is one event loop with connections of its own. It belongs to one
 * thread at a time; its transfers run at once, over HTTP/2 streams where the
 * server speaks it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/body.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

struct gpc_http;                        /* opaque */
struct gpc_http_transfer;               /* opaque: one that runs */

struct gpc_http_settings {
	const char *ca_file;            /* PEM; NULL: see gpc_http_new */
	const char *user_agent;
	int max_connections;            /* per host; 0 = no limit */
};

struct gpc_http_exchange {
	/* What is sent. All of it is borrowed until `done` was called. */
	const char *method;
	const char *url;                /* percent-encoded; sent as it is */
	const struct gpc_strv *headers; /* "name: value"; Content-Length is ours */
	struct gpc_body body;           /* size 0 and data NULL: none */
	bool no_proxy;                  /* metadata services: never by a proxy */
	bool once;                      /* on a new connection, and never again */
	const char *connect_to;         /* "host:port" to dial instead; or NULL */
	/* PEM of this service's own authority, and what named it; NULL: none.
	 * The configuration's ca_file goes before it. */
	const char *ca_file, *ca_from;
	int connect_ms;                 /* name, TCP, TLS; 0 = 10 s */
	int stall_ms;                   /* no byte either way that long; 0 = 30 s */
	int total_ms;                   /* 0 = none */
	/* What comes back: each header line (names lower-cased) before the first
	 * byte of a body; 1xx replies are passed over. Non-zero stops it. */
	int (*status)(void *arg, int status, struct gpc_error *err);
	int (*header)(void *arg, const char *name, const char *value,
		struct gpc_error *err);
	gpc_sink_fn *sink;
	/* Called once, from gpc_http_run, never from start: r is 0, what a callback
	 * returned, or the failure of the transfer: GPC_ENET (see err.sys and the
	 * message: name, refused, TLS, reset, truncated), GPC_ETIMEOUT, GPC_EPROTO. */
	void (*done)(void *arg, int r, const struct gpc_error *err);
	void *arg;
	uint64_t sent, received;        /* body bytes so far, for progress */
	bool maybe_sent;                /* out: a byte of the request may have left:
	                                 * without it a repeat is always safe */
	int sends;                      /* out: how often it went out: what a used
	                                 * connection lost, libcurl sends again */
	bool lasting;                   /* out: a repeat would fail likewise (a
	                                 * certificate, a reply that is no HTTP) */
};

/* The configuration's ca_file in the environment: of nodes and supervisors, which
 * are told so. */
#define GPC_HTTP_CA_ENV "GPUCLOUD_CA_FILE"
/* Without ca_file: GPUCLOUD_CA_FILE, SSL_CERT_FILE, SSL_CERT_DIR, CURL_CA_BUNDLE,
 * else the hashed folder /etc/ssl/certs (which costs nothing to open), else a file
 * that systems are known to have, else GPUCLOUD_CA_BUNDLE (what a bundle brings).
 * Proxies come from the environment (http_proxy, HTTPS_PROXY, ALL_PROXY,
 * NO_PROXY), as libcurl reads them. */
int gpc_http_new(const struct gpc_http_settings *settings,
	struct gpc_http **ret_h, struct gpc_error *err) gpc_must_check;
/* The file of certificates that a bundle takes along; owned, NULL = none is here. */
char *gpc_http_ca_file(void);
/* Ends transfers that still run without calling `done`. */
void gpc_http_free(struct gpc_http *h);
GPC_CLEANUP_POINTER(gpc_http);

/* Of the callbacks only `done` may call functions of this file. */
int gpc_http_start(struct gpc_http *h, struct gpc_http_exchange *x,
	struct gpc_http_transfer **ret_t, struct gpc_error *err) gpc_must_check;
/* Ends it without calling `done`. */
void gpc_http_stop(struct gpc_http *h, struct gpc_http_transfer *t);
/* Moves everything forward; waits up to timeout_ms for something to happen.
 * Returns early on a signal. Transfers that still run are counted in ret_running. */
int gpc_http_run(struct gpc_http *h, int timeout_ms, int *ret_running,
	struct gpc_error *err) gpc_must_check;
/* Wakes a gpc_http_run that another thread is in. */
void gpc_http_wake(struct gpc_http *h);
