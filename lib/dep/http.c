/* The one file that knows libcurl: a multi handle is the event loop, an easy
 * handle a transfer.
 *
 * Limits on time are our own, but for the one on connecting: libcurl's bound on
 * slowness counts whole seconds, and starts before there is a connection. Signals
 * are kept out while libcurl works (http_quiet.c).
 */
#include "dep/http.h"

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>

#include "base/parse.h"
#include "base/time.h"
#include "dep/dl.h"
#include "dep/http_parts.h"

enum {
	CONNECT_MS = 10000,
	STALL_MS = 30000,
	WHOLE_MS = 500,                 /* see is_whole */
	SPARES = 32,                    /* easy handles kept for the next ones */
	IDLE_CONNECTIONS = 256,
	EXPECT_SIZE = 1 << 20,          /* from here on it pays to ask first */
	RECEIVE_BUFFER = 256 << 10,
	SEND_BUFFER = 256 << 10,
	VERIFY_EARLY = 9, VERIFY_EXPIRED = 10,          /* X509_V_ERR_... */
	VERIFY_FIRST_CA = 18, VERIFY_LAST_CA = 21,
	VERIFY_NO_ISSUER = 2, VERIFY_NONE = 1,
};

#define FUNCTIONS(X) \
	X(curl_global_init) \
	X(curl_easy_init) \
	X(curl_easy_cleanup) \
	X(curl_easy_reset) \
	X(curl_easy_setopt) \
	X(curl_easy_getinfo) \
	X(curl_easy_strerror) \
	X(curl_slist_append) \
	X(curl_slist_free_all) \
	X(curl_multi_init) \
	X(curl_multi_cleanup) \
	X(curl_multi_setopt) \
	X(curl_multi_add_handle) \
	X(curl_multi_remove_handle) \
	X(curl_multi_perform) \
	X(curl_multi_poll) \
	X(curl_multi_wakeup) \
	X(curl_multi_info_read) \
	X(curl_multi_strerror)

GPC_DL_TABLE(FUNCTIONS, GPC_DL_NONE);

static const char *start_curl(void)
{
	CURLcode c = lib.curl_global_init(CURL_GLOBAL_DEFAULT);

	return c == CURLE_OK ? NULL : lib.curl_easy_strerror(c);
}

static struct gpc_dl dl = {
	.title = "libcurl", .package = "libcurl4", .symbols = symbols,
	.table = &lib, .lock = PTHREAD_MUTEX_INITIALIZER, .start = start_curl,
	.names = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.4.dylib"},
};

struct gpc_http {
	CURLM *multi;
	CURL *spares[SPARES];
	int n_spares, n_running;
	struct gpc_http_transfer *first;
	struct gpc_http_ca ca;
	char *user_agent;
};

struct gpc_http_transfer {
	struct gpc_http *h;
	struct gpc_http_transfer *next, *before;
	struct gpc_http_exchange *x;
	CURL *easy;
	struct curl_slist *headers, *connect_to;
	struct gpc_http_head head;
	CURLcode setting;               /* what an option that we need gave */
	int64_t started_ms, moved_ms;
	uint64_t position;              /* in the body, of what was read */
	int64_t length;                 /* of the reply's body; -1 = not said */
	bool has_length;                /* it was said */
	bool connected;
	bool twice;
	bool spoiled;                   /* the easy handle is not used again */
	int r;                          /* of a callback, with err */
	struct gpc_error err;
	char detail[CURL_ERROR_SIZE];
};

#define SET(t, option, value) do { \
		CURLcode c_ = lib.curl_easy_setopt((t)->easy, option, value); \
		(t)->setting = (t)->setting ? (t)->setting : c_; \
	} while (0)
/* What an older library may lack. */
#define TRY(t, option, value) \
	(void)lib.curl_easy_setopt((t)->easy, option, value)

int gpc_http_new(const struct gpc_http_settings *settings,
	struct gpc_http **ret_h, struct gpc_error *err)
{
	struct gpc_http *h;
	int r = gpc_dl_open(&dl, err);

	if (r < 0)
		return r;
	h = gpc_alloc(sizeof(*h));
	h->multi = lib.curl_multi_init();
	if (!h->multi) {
		free(h);
		return gpc_fail(err, GPC_EIO, "libcurl cannot start");
	}
	h->user_agent = gpc_strdup(settings->user_agent);
	gpc_http_ca_find(settings->ca_file, &h->ca);
	(void)lib.curl_multi_setopt(h->multi, CURLMOPT_MAXCONNECTS,
		(long)IDLE_CONNECTIONS);
	if (settings->max_connections > 0)
		(void)lib.curl_multi_setopt(h->multi,
			CURLMOPT_MAX_HOST_CONNECTIONS,
			(long)settings->max_connections);
	*ret_h = h;
	return 0;
}

/* Signals are quiet here. */
static void free_transfer(struct gpc_http_transfer *t)
{
	struct gpc_http *h = t->h;

	if (t->before)
		t->before->next = t->next;
	else if (h->first == t)
		h->first = t->next;
	if (t->next)
		t->next->before = t->before;
	if (t->easy && !t->spoiled && h->n_spares < SPARES) {
		lib.curl_easy_reset(t->easy);
		h->spares[h->n_spares++] = t->easy;
	} else if (t->easy) {
		lib.curl_easy_cleanup(t->easy);
	}
	lib.curl_slist_free_all(t->headers);
	lib.curl_slist_free_all(t->connect_to);
	gpc_http_head_clear(&t->head);
	free(t);
}

static void end_transfer(struct gpc_http_transfer *t)
{
	struct gpc_http_quiet q;

	gpc_http_quiet_begin(&q);
	(void)lib.curl_multi_remove_handle(t->h->multi, t->easy);
	t->h->n_running--;
	free_transfer(t);
	gpc_http_quiet_end(&q);
}

void gpc_http_stop(struct gpc_http *h, struct gpc_http_transfer *t)
{
	(void)h;
	if (t)
		end_transfer(t);
}

void gpc_http_free(struct gpc_http *h)
{
	struct gpc_http_quiet q;

	if (!h)
		return;
	while (h->first)
		end_transfer(h->first);
	gpc_http_quiet_begin(&q);
	while (h->n_spares > 0)
		lib.curl_easy_cleanup(h->spares[--h->n_spares]);
	(void)lib.curl_multi_cleanup(h->multi);
	gpc_http_quiet_end(&q);
	gpc_http_ca_clear(&h->ca);
	free(h->user_agent);
	free(h);
}

static void moved(struct gpc_http_transfer *t)
{
	t->moved_ms = gpc_boot_ms();
}

/* A connection is there, and the request is about to go out on it. */
static int on_connected(void *arg, char *to, char *from, int to_port,
	int from_port)
{
	struct gpc_http_transfer *t = arg;

	(void)to;
	(void)from;
	(void)to_port;
	(void)from_port;
	if (t->connected && t->x->once) {
		t->twice = true;
		return CURL_PREREQFUNC_ABORT;
	}
	t->connected = t->x->maybe_sent = true;
	t->x->sends++;
	moved(t);
	return CURL_PREREQFUNC_OK;
}

static int on_status(void *arg, int status, struct gpc_error *err)
{
	struct gpc_http_transfer *t = arg;

	t->length = status == 204 || status == 304 ? 0 : -1;
	t->has_length = false;
	return t->x->status ? t->x->status(t->x->arg, status, err) : 0;
}

/* Two that differ leave open where the next reply begins. */
static int take_length(struct gpc_http_transfer *t, const char *value)
{
	int64_t length = -1;

	if (gpc_parse_i64(value, 0, INT64_MAX, "length", &length, NULL) < 0)
		length = -1;
	if (t->has_length && length != t->length)
		return -1;
	t->length = length;
	t->has_length = true;
	return 0;
}

static int on_header(void *arg, const char *name, const char *value,
	struct gpc_error *err)
{
	struct gpc_http_transfer *t = arg;

	if (gpc_eq(name, "content-length") && take_length(t, value) < 0)
		return gpc_fail(err, GPC_EPROTO, "the reply has two lengths");
	return t->x->header ? t->x->header(t->x->arg, name, value, err) : 0;
}

static size_t on_head_line(char *line, size_t size, size_t n, void *arg)
{
	struct gpc_http_transfer *t = arg;
	const struct gpc_http_head_fns fns = {on_status, on_header, t};

	moved(t);
	t->r = gpc_http_head_line(&t->head, line, size * n, &fns, &t->err);
	return t->r ? 0 : size * n;
}

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
	struct gpc_http_transfer *t = arg;
	struct gpc_http_exchange *x = t->x;

	n *= size;
	if (n == 0)
		return 0;
	t->r = x->sink ? x->sink(x->arg, data, n, &t->err) : 0;
	if (t->r)
		return 0;
	x->received += n;
	moved(t);
	return n;
}

static size_t on_read(char *to, size_t size, size_t n, void *arg)
{
	struct gpc_http_transfer *t = arg;

	t->r = gpc_body_read(&t->x->body, t->position, to, size * n, &n,
		&t->err);
	if (t->r)
		return CURL_READFUNC_ABORT;
	t->position += n;
	moved(t);
	return n;
}

/* libcurl sends a body again when a used connection turned out to be closed. */
static int on_seek(void *arg, curl_off_t offset, int from)
{
	struct gpc_http_transfer *t = arg;

	if (from != SEEK_SET || offset < 0 ||
		(uint64_t)offset > t->x->body.size)
		return CURL_SEEKFUNC_FAIL;
	t->position = (uint64_t)offset;
	return CURL_SEEKFUNC_OK;
}

static int on_progress(void *arg, curl_off_t down_total, curl_off_t down,
	curl_off_t up_total, curl_off_t up)
{
	struct gpc_http_transfer *t = arg;

	(void)down_total;
	(void)down;
	(void)up_total;
	if (up >= 0 && (uint64_t)up != t->x->sent) {
		t->x->sent = (uint64_t)up;
		moved(t);
	}
	return 0;
}

static int set_headers(struct gpc_http_transfer *t, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv lines = {0};
	bool expect = !t->x->once && t->x->body.size > EXPECT_SIZE;
	int r = gpc_http_lines(t->x->headers, expect, &lines, err);

	for (size_t i = 0; r == 0 && i < lines.n; i++) {
		struct curl_slist *more = lib.curl_slist_append(t->headers,
			lines.v[i]);

		if (!more)
			return gpc_fail(err, GPC_EIO, "libcurl has no memory");
		t->headers = more;
	}
	SET(t, CURLOPT_HTTPHEADER, t->headers);
	return r;
}

/* Methods whose requests say that they have no body. */
static bool needs_length(const char *method)
{
	return gpc_eq(method, "POST") || gpc_eq(method, "PUT") ||
		gpc_eq(method, "PATCH");
}

static void set_body(struct gpc_http_transfer *t)
{
	const struct gpc_http_exchange *x = t->x;

	if (gpc_eq(x->method, "HEAD")) {
		SET(t, CURLOPT_NOBODY, 1L);
		return;
	}
	if (x->body.data || (x->body.size == 0 && needs_length(x->method))) {
		SET(t, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)x->body.size);
		SET(t, CURLOPT_POSTFIELDS, x->body.data ? x->body.data : "");
	} else if (x->body.size > 0) {
		SET(t, CURLOPT_UPLOAD, 1L);
		SET(t, CURLOPT_INFILESIZE_LARGE, (curl_off_t)x->body.size);
		SET(t, CURLOPT_READFUNCTION, on_read);
		SET(t, CURLOPT_READDATA, t);
		SET(t, CURLOPT_SEEKFUNCTION, on_seek);
		SET(t, CURLOPT_SEEKDATA, t);
	}
	if (x->body.size > EXPECT_SIZE)
		TRY(t, CURLOPT_UPLOAD_BUFFERSIZE, (long)SEND_BUFFER);
	SET(t, CURLOPT_CUSTOMREQUEST, x->method);
}

/* Borrowed from the transfer. */
static struct gpc_http_ca ca_of(const struct gpc_http_transfer *t)
{
	const struct gpc_http_exchange *x = t->x;

	if (!x->ca_file || t->h->ca.given)
		return t->h->ca;
	return (struct gpc_http_ca){ .file = (char *)x->ca_file,
		.from = x->ca_from };
}

static void set_security(struct gpc_http_transfer *t)
{
	const struct gpc_http_ca ca = ca_of(t);

	SET(t, CURLOPT_SSL_VERIFYPEER, 1L);
	SET(t, CURLOPT_SSL_VERIFYHOST, 2L);
	TRY(t, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (!ca.file && !ca.folder)
		return;
	SET(t, CURLOPT_CAINFO, ca.file);
	TRY(t, CURLOPT_CAPATH, ca.folder);
	TRY(t, CURLOPT_PROXY_CAINFO, ca.file);
	TRY(t, CURLOPT_PROXY_CAPATH, ca.folder);
}

static void set_way(struct gpc_http_transfer *t)
{
	const struct gpc_http_exchange *x = t->x;

	SET(t, CURLOPT_URL, x->url);
	SET(t, CURLOPT_PATH_AS_IS, 1L);
	SET(t, CURLOPT_FOLLOWLOCATION, 0L);
	TRY(t, CURLOPT_PROTOCOLS_STR, "http,https");
	TRY(t, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	TRY(t, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	TRY(t, CURLOPT_TCP_KEEPALIVE, 1L);
	SET(t, CURLOPT_CONNECTTIMEOUT_MS,
		(long)(x->connect_ms > 0 ? x->connect_ms : CONNECT_MS));
	/* A thread that waits for a name server is left behind, not waited for. */
	TRY(t, CURLOPT_QUICK_EXIT, 1L);
	SET(t, CURLOPT_NOSIGNAL, 1L);
	if (x->no_proxy)
		SET(t, CURLOPT_PROXY, "");
	if (x->once)
		SET(t, CURLOPT_FRESH_CONNECT, 1L);
	else
		/* Rather a stream of a connection that is being made. */
		TRY(t, CURLOPT_PIPEWAIT, 1L);
	if (x->connect_to) {
		gpc_autostr *rule = gpc_format("::%s", x->connect_to);

		t->connect_to = lib.curl_slist_append(NULL, rule);
		SET(t, CURLOPT_CONNECT_TO, t->connect_to);
	}
}

static void set_callbacks(struct gpc_http_transfer *t)
{
	if (t->h->user_agent)
		SET(t, CURLOPT_USERAGENT, t->h->user_agent);
	SET(t, CURLOPT_ERRORBUFFER, t->detail);
	SET(t, CURLOPT_PRIVATE, t);
	SET(t, CURLOPT_HEADERFUNCTION, on_head_line);
	SET(t, CURLOPT_HEADERDATA, t);
	SET(t, CURLOPT_WRITEFUNCTION, on_body);
	SET(t, CURLOPT_WRITEDATA, t);
	SET(t, CURLOPT_XFERINFOFUNCTION, on_progress);
	SET(t, CURLOPT_XFERINFODATA, t);
	SET(t, CURLOPT_NOPROGRESS, 0L);
	TRY(t, CURLOPT_BUFFERSIZE, (long)RECEIVE_BUFFER);
	if (lib.curl_easy_setopt(t->easy, CURLOPT_PREREQFUNCTION,
		on_connected) == CURLE_OK)
		TRY(t, CURLOPT_PREREQDATA, t);
	else
		t->connected = t->x->maybe_sent = true;
}

static int set_up(struct gpc_http_transfer *t, struct gpc_error *err)
{
	const struct gpc_http_exchange *x = t->x;
	int r = gpc_http_check_method(x->method, err);

	if (r == 0 && !gpc_starts_with(x->url, "http://") &&
		!gpc_starts_with(x->url, "https://"))
		r = gpc_fail(err, GPC_EPROTO, "only http and https are spoken");
	if (r == 0)
		r = set_headers(t, err);
	if (r < 0)
		return r;
	set_way(t);
	set_security(t);
	set_body(t);
	set_callbacks(t);
	if (t->setting != CURLE_OK)
		return gpc_fail(err, GPC_EUNSUPPORTED, "libcurl does not do "
			"what is needed: %s",
			lib.curl_easy_strerror(t->setting));
	return 0;
}

static void link_first(struct gpc_http_transfer *t)
{
	struct gpc_http *h = t->h;

	t->next = h->first;
	if (t->next)
		t->next->before = t;
	h->first = t;
	h->n_running++;
}

int gpc_http_start(struct gpc_http *h, struct gpc_http_exchange *x,
	struct gpc_http_transfer **ret_t, struct gpc_error *err)
{
	struct gpc_http_transfer *t = gpc_alloc(sizeof(*t));
	struct gpc_http_quiet q;
	int r;

	t->h = h;
	t->x = x;
	t->started_ms = t->moved_ms = gpc_boot_ms();
	x->sent = x->received = 0;
	x->sends = 0;
	x->maybe_sent = x->lasting = false;
	gpc_http_quiet_begin(&q);
	t->easy = h->n_spares > 0 ? h->spares[--h->n_spares] :
		lib.curl_easy_init();
	r = t->easy ? set_up(t, err) :
		gpc_fail(err, GPC_EIO, "libcurl has no memory");
	if (r == 0 && lib.curl_multi_add_handle(h->multi, t->easy) != CURLM_OK)
		r = gpc_fail(err, GPC_EIO, "libcurl takes no transfer");
	if (r == 0)
		link_first(t);
	else
		free_transfer(t);
	gpc_http_quiet_end(&q);
	if (r == 0 && ret_t)
		*ret_t = t;
	return r;
}

static enum gpc_http_verify why_refused(struct gpc_http_transfer *t)
{
	long verify = 0;

	(void)lib.curl_easy_getinfo(t->easy, CURLINFO_SSL_VERIFYRESULT,
		&verify);
	if (verify == VERIFY_EXPIRED)
		return GPC_HTTP_VERIFY_EXPIRED;
	if (verify == VERIFY_EARLY)
		return GPC_HTTP_VERIFY_EARLY;
	if (verify == VERIFY_NO_ISSUER ||
		(verify >= VERIFY_FIRST_CA && verify <= VERIFY_LAST_CA))
		return GPC_HTTP_VERIFY_UNKNOWN_CA;
	/* libcurl checks the name before it asks for this result. */
	return verify <= VERIFY_NONE ? GPC_HTTP_VERIFY_NAME :
		GPC_HTTP_VERIFY_OTHER;
}

static enum gpc_http_trouble trouble_of(CURLcode c)
{
	static const struct { CURLcode code; enum gpc_http_trouble what; }
	known[] = {
		{CURLE_COULDNT_RESOLVE_HOST, GPC_HTTP_NAME},
		{CURLE_COULDNT_RESOLVE_PROXY, GPC_HTTP_PROXY_NAME},
		{CURLE_COULDNT_CONNECT, GPC_HTTP_CONNECT},
		{CURLE_OPERATION_TIMEDOUT, GPC_HTTP_CONNECT_TIME},
		{CURLE_SSL_CONNECT_ERROR, GPC_HTTP_TLS},
		{CURLE_SSL_CIPHER, GPC_HTTP_TLS},
		{CURLE_PEER_FAILED_VERIFICATION, GPC_HTTP_CERTIFICATE},
		{CURLE_SSL_CACERT_BADFILE, GPC_HTTP_CA_FILE},
		{CURLE_GOT_NOTHING, GPC_HTTP_EMPTY},
		{CURLE_PARTIAL_FILE, GPC_HTTP_TRUNCATED},
		{CURLE_SEND_ERROR, GPC_HTTP_SEND},
		{CURLE_RECV_ERROR, GPC_HTTP_RECEIVE},
		{CURLE_HTTP2, GPC_HTTP_RECEIVE},
		{CURLE_HTTP2_STREAM, GPC_HTTP_RECEIVE},
		{CURLE_UNSUPPORTED_PROTOCOL, GPC_HTTP_MALFORMED},
		{CURLE_WEIRD_SERVER_REPLY, GPC_HTTP_MALFORMED},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].code == c)
			return known[i].what;
	return GPC_HTTP_OTHER;
}

/* Fills t->err; returns what `done` gets. */
static int judge(struct gpc_http_transfer *t, CURLcode c)
{
	const struct gpc_http_exchange *x = t->x;
	const struct gpc_http_ca ca = ca_of(t);
	struct gpc_http_failure f = {
		.what = t->twice ? GPC_HTTP_TWICE : trouble_of(c),
		.ms = x->connect_ms > 0 ? x->connect_ms : CONNECT_MS,
		.connected = t->connected,
		.detail = t->detail[0] ? t->detail : lib.curl_easy_strerror(c),
		.ca = &ca,
	};
	long sys = 0, proxy = 0;

	/* It would remember errors. */
	t->spoiled = c != CURLE_OK;
	if (t->r)
		return t->r;
	if (c == CURLE_OK && t->head.status >= 200)
		return 0;
	if (c == CURLE_OK)
		f.what = GPC_HTTP_EMPTY;
	(void)lib.curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &sys);
	f.sys = (int)sys;
	if (f.what == GPC_HTTP_CERTIFICATE)
		f.verify = why_refused(t);
	(void)lib.curl_easy_getinfo(t->easy, CURLINFO_HTTP_CONNECTCODE, &proxy);
	if (!t->connected && proxy >= 300) {
		f.what = GPC_HTTP_PROXY;
		f.proxy = (int)proxy;
	}
	/* What libcurl says when it holds no more of a line. */
	if (c == CURLE_OUT_OF_MEMORY && t->connected && !t->head.done)
		f.what = GPC_HTTP_LONG_HEADER;
	t->x->lasting = gpc_http_is_lasting(&f);
	return gpc_http_fail(&f, &t->err);
}

/* t is gone before `done` is called: it may start the next one. */
static void finish(struct gpc_http_transfer *t, int r)
{
	struct gpc_http_exchange *x = t->x;
	struct gpc_error err = t->err;

	end_transfer(t);
	x->done(x->arg, r, &err);
}

static int finish_done(struct gpc_http *h)
{
	int n = 0, left;
	CURLMsg *m;

	while ((m = lib.curl_multi_info_read(h->multi, &left))) {
		struct gpc_http_transfer *t = NULL;
		CURLcode c = m->data.result;

		if (m->msg != CURLMSG_DONE)
			continue;
		(void)lib.curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE,
			&t);
		finish(t, judge(t, c));
		n++;
	}
	return n;
}

/* A server may refuse before it has taken all, and then take no more; over HTTP/2
 * libcurl would go on to wait for that. A success is none before all is sent. */
static bool is_whole(const struct gpc_http_transfer *t)
{
	return t->head.done && t->head.status >= 300 && t->length >= 0 &&
		t->x->received >= (uint64_t)t->length;
}

/* When the next limit passes; sets what and ms of it. */
static int64_t limit_of(const struct gpc_http_transfer *t,
	struct gpc_http_failure *f)
{
	int stall = t->x->stall_ms > 0 ? t->x->stall_ms : STALL_MS;
	int64_t at = INT64_MAX;

	if (is_whole(t) && stall > WHOLE_MS)
		stall = WHOLE_MS;
	if (t->connected) {
		at = t->moved_ms + stall;
		f->what = GPC_HTTP_STALL;
		f->ms = stall;
	}
	if (t->x->total_ms > 0 && t->started_ms + t->x->total_ms < at) {
		at = t->started_ms + t->x->total_ms;
		f->what = GPC_HTTP_TOTAL;
		f->ms = t->x->total_ms;
	}
	return at;
}

/* One that is over its limit, or NULL. Sets the time until the next limit. */
static struct gpc_http_transfer *find_late(struct gpc_http *h, int64_t now,
	int64_t *ret_left_ms, struct gpc_http_failure *f)
{
	*ret_left_ms = INT64_MAX;
	for (struct gpc_http_transfer *t = h->first; t; t = t->next) {
		int64_t at = limit_of(t, f);

		if (at <= now) {
			f->connected = t->connected;
			return t;
		}
		if (at != INT64_MAX && at - now < *ret_left_ms)
			*ret_left_ms = at - now;
	}
	return NULL;
}

static int finish_late(struct gpc_http *h, int64_t *ret_left_ms)
{
	struct gpc_http_failure f = { .detail = "" };
	struct gpc_http_transfer *t;
	int n = 0;

	while ((t = find_late(h, gpc_boot_ms(), ret_left_ms, &f))) {
		finish(t, is_whole(t) ? 0 : gpc_http_fail(&f, &t->err));
		n++;
	}
	return n;
}

static int perform(struct gpc_http *h, struct gpc_error *err)
{
	struct gpc_http_quiet q;
	CURLMcode c;
	int running;

	gpc_http_quiet_begin(&q);
	c = lib.curl_multi_perform(h->multi, &running);
	gpc_http_quiet_end(&q);
	return c == CURLM_OK ? 0 : gpc_fail(err, GPC_EIO, "libcurl: %s",
		lib.curl_multi_strerror(c));
}

int gpc_http_run(struct gpc_http *h, int timeout_ms, int *ret_running,
	struct gpc_error *err)
{
	int64_t left_ms = INT64_MAX;
	int r = perform(h, err), n = 0;
	CURLMcode c;

	if (r == 0)
		n = finish_done(h) + finish_late(h, &left_ms);
	if (r == 0 && n == 0 && timeout_ms != 0) {
		int wait = timeout_ms < 0 ? INT_MAX : timeout_ms;

		if (left_ms < wait)
			wait = (int)left_ms;
		c = lib.curl_multi_poll(h->multi, NULL, 0, wait, NULL);
		if (c != CURLM_OK)
			return gpc_fail(err, GPC_EIO, "libcurl: %s",
				lib.curl_multi_strerror(c));
		r = perform(h, err);
		if (r == 0)
			(void)(finish_done(h) + finish_late(h, &left_ms));
	}
	if (ret_running)
		*ret_running = h->n_running;
	return r;
}

void gpc_http_wake(struct gpc_http *h)
{
	(void)lib.curl_multi_wakeup(h->multi);
}
