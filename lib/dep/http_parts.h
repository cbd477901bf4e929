/* What http.c is made of, free of libcurl: where CA certificates come from, the
 * head of a reply, and what a failure means in words. Only http.c and the tests
 * include it. */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/body.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* file or folder may be NULL; both: the library's own. All owned. */
struct gpc_http_ca {
	char *file, *folder;
	const char *from;               /* the variable or key that named them, or NULL */
	bool given;                     /* by the configuration */
};
/* given: settings.ca_file. */
void gpc_http_ca_find(const char *given, struct gpc_http_ca *ret_ca);
void gpc_http_ca_clear(struct gpc_http_ca *ca);

/* The head of a reply, line by line as it comes. Lines of 1xx replies are passed
 * over, and what follows the head (trailers). A header that goes on in the next
 * line is joined by a space. */
#define GPC_HTTP_HEADERS_MAX 256
#define GPC_HTTP_HEAD_MAX ((size_t)256 << 10)

struct gpc_http_head {
	int status;                     /* of the reply that comes; 0 = none yet */
	bool done;                      /* it is a final one, and its head is over */
	struct gpc_buf name, value;     /* of the header that may still go on */
	size_t n_headers, n_bytes;
};
struct gpc_http_head_fns {
	int (*status)(void *arg, int status, struct gpc_error *err);
	int (*header)(void *arg, const char *name, const char *value,
		struct gpc_error *err);
	void *arg;
};
/* line: n bytes with their line end. GPC_EPROTO for what is no head, passes a
 * limit or holds control bytes; else what fns returned. */
int gpc_http_head_line(struct gpc_http_head *h, const char *line, size_t n,
	const struct gpc_http_head_fns *fns, struct gpc_error *err)
	gpc_must_check;
void gpc_http_head_clear(struct gpc_http_head *h);

/* "name: value" as it may be sent: a name of the characters that RFC 9110 allows,
 * a value without control bytes. Also checks methods. GPC_EPROTO. */
int gpc_http_check_header(const char *line, struct gpc_error *err)
	gpc_must_check;
int gpc_http_check_method(const char *method, struct gpc_error *err)
	gpc_must_check;

/* All checked, in the notation of libcurl: "name;" has an empty value, "name:"
 * is one of libcurl's own that is not to be sent. */
int gpc_http_lines(const struct gpc_strv *headers, bool expect,
	struct gpc_strv *ret_lines, struct gpc_error *err) gpc_must_check;

/* Keeps signals of this thread out meanwhile, and drops a SIGPIPE of it. */
struct gpc_http_quiet {
	sigset_t before, pipe;
	bool pending;
};
void gpc_http_quiet_begin(struct gpc_http_quiet *q);
void gpc_http_quiet_end(struct gpc_http_quiet *q);

enum gpc_http_trouble {
	GPC_HTTP_NAME,                  /* the host's name is not known */
	GPC_HTTP_PROXY_NAME,
	GPC_HTTP_CONNECT,               /* no connection; sys says why */
	GPC_HTTP_CONNECT_TIME,
	GPC_HTTP_STALL,
	GPC_HTTP_TOTAL,
	GPC_HTTP_TLS,                   /* the handshake failed */
	GPC_HTTP_CERTIFICATE,           /* verify says why */
	GPC_HTTP_CA_FILE,
	GPC_HTTP_EMPTY,                 /* closed without a reply */
	GPC_HTTP_TRUNCATED,
	GPC_HTTP_SEND, GPC_HTTP_RECEIVE,
	GPC_HTTP_MALFORMED,
	GPC_HTTP_LONG_HEADER,           /* a line longer than libcurl takes */
	GPC_HTTP_PROXY,                 /* it does not connect; proxy says why */
	GPC_HTTP_TWICE,                 /* it would have been sent again */
	GPC_HTTP_OTHER,
};
enum gpc_http_verify {
	GPC_HTTP_VERIFY_OTHER,
	GPC_HTTP_VERIFY_UNKNOWN_CA,
	GPC_HTTP_VERIFY_NAME,
	GPC_HTTP_VERIFY_EXPIRED,
	GPC_HTTP_VERIFY_EARLY,
};
struct gpc_http_failure {
	enum gpc_http_trouble what;
	enum gpc_http_verify verify;
	int sys;                        /* errno, or 0 */
	int ms;                         /* the limit that passed */
	int proxy;                      /* status of its answer to CONNECT, or 0 */
	bool connected;
	const char *detail;             /* of the library; may be "" */
	const struct gpc_http_ca *ca;
};
/* Sets *err, returns its code. */
int gpc_http_fail(const struct gpc_http_failure *f, struct gpc_error *err);
/* A repeat would fail in the same way. */
bool gpc_http_is_lasting(const struct gpc_http_failure *f);
