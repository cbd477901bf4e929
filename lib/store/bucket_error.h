/* What a service's refusal means: its code decides, by the service's table; the
 * status only where there is no code, as for HEAD. */
#pragma once
#include "dep/xml.h"
#include "net/net.h"

struct gpc_bucket_known {
	const char *code;
	enum gpc_net_verdict verdict;
	enum gpc_code as;
	const char *hint;               /* or NULL */
};

struct gpc_bucket_refusal {
	const struct gpc_bucket_known *known;   /* of the service */
	size_t n_known;
	const char *code, *message;     /* "": the reply has none */
	const char *action;             /* that was not permitted, where the reply
	                                 * tells it apart; or NULL or "" */
	const char *what;               /* "reading jobs/a/job.json" */
	const char *bucket;
	const char *hint_keys;          /* where nothing but 401 or 403 is said */
	bool has_form;                  /* a refusal with a body has a code, always */
};

/* Whether it is a web page that came, as from a server that is no object store, or from
 * something that stands before one. Only of answers whose body is no object's. */
bool gpc_bucket_is_page(const struct gpc_reply *reply);
/* Sets err. */
enum gpc_net_verdict gpc_bucket_refuse(const struct gpc_reply *reply,
	const struct gpc_bucket_refusal *how, struct gpc_error *err);
/* A body that is XML. What XML cannot hold, which a key within it may have, becomes a
 * question mark. GPC_EPROTO. */
int gpc_bucket_xml(const struct gpc_reply *reply, struct gpc_xml **ret_root,
	struct gpc_error *err) gpc_must_check;
/* The body's root, where that is an <Error>; owned, NULL else. */
struct gpc_xml *gpc_bucket_xml_error(const struct gpc_reply *reply);
