/* What a failed transfer means, in words, and what to do about it. The caller
 * names host and method; nothing here does. */
#include <errno.h>
#include <string.h>

#include "base/parse.h"
#include "base/str.h"
#include "dep/http_parts.h"

static int fail_certificate(const struct gpc_http_failure *f,
	struct gpc_error *err)
{
	int r;

	switch (f->verify) {
	case GPC_HTTP_VERIFY_UNKNOWN_CA:
		r = gpc_fail(err, GPC_ENET, "the server's certificate comes "
			"from an authority that is not known here");
		gpc_hint(err, "if the server is right, put its CA's "
			"certificate into a PEM file and name that in "
			"ca_file of the configuration");
		return r;
	case GPC_HTTP_VERIFY_NAME:
		r = gpc_fail(err, GPC_ENET, "the server's certificate is for "
			"another host name");
		gpc_hint(err, "check the endpoint: another server answers, or "
			"its certificate does not cover this name");
		return r;
	case GPC_HTTP_VERIFY_EXPIRED:
		r = gpc_fail(err, GPC_ENET,
			"the server's certificate has expired");
		gpc_hint(err, "check this machine's clock (date -u); if it is "
			"right, the server needs a new certificate");
		return r;
	case GPC_HTTP_VERIFY_EARLY:
		r = gpc_fail(err, GPC_ENET,
			"the server's certificate is not valid yet");
		gpc_hint(err, "check this machine's clock (date -u)");
		return r;
	default:
		r = gpc_fail(err, GPC_ENET, "the server's certificate is not "
			"accepted: %s", f->detail);
		gpc_hint(err, "name the CA to trust in ca_file of the "
			"configuration (PEM)");
		return r;
	}
}

static int fail_ca_file(const struct gpc_http_failure *f,
	struct gpc_error *err)
{
	const char *path = f->ca->file ? f->ca->file : f->ca->folder;

	gpc_fail(err, GPC_ECONFIG, "no CA certificates can be read from %s",
		path ? path : "this system");
	if (f->ca->from)
		gpc_hint(err, "it is named in %s: correct or unset that",
			f->ca->from);
	else
		gpc_hint(err, "name a PEM file of certificates in ca_file of "
			"the configuration");
	return -GPC_ECONFIG;
}

static int fail_sys_or(const struct gpc_http_failure *f,
	struct gpc_error *err, const char *what)
{
	char why[128];

	if (f->sys == 0 || strerror_r(f->sys, why, sizeof(why)) != 0)
		return gpc_fail(err, GPC_ENET, "%s%s%s", what,
			f->detail[0] ? ": " : "", f->detail);
	gpc_fail(err, GPC_ENET, "%s: %s", what, why);
	if (f->sys == ECONNREFUSED)
		gpc_hint(err, "nothing listens there: check host and port of "
			"the endpoint");
	if (err)
		err->sys = f->sys;
	return -GPC_ENET;
}

static int fail_time(const struct gpc_http_failure *f, struct gpc_error *err)
{
	char limit[32];

	gpc_format_duration(f->ms, limit, sizeof(limit));
	if (f->what == GPC_HTTP_CONNECT_TIME) {
		gpc_fail(err, GPC_ETIMEOUT, "no connection within %s", limit);
		gpc_hint(err, "check the network, the proxy variables and the "
			"endpoint");
	} else if (f->what == GPC_HTTP_STALL) {
		gpc_fail(err, GPC_ETIMEOUT, "no byte moved for %s", limit);
	} else {
		gpc_fail(err, GPC_ETIMEOUT, "%s within %s", f->connected ?
			"not done" : "not even connected", limit);
	}
	return -GPC_ETIMEOUT;
}

static int fail_proxy(const struct gpc_http_failure *f, struct gpc_error *err)
{
	gpc_fail(err, GPC_ENET, "the proxy does not connect us: it answers %d",
		f->proxy);
	if (f->proxy == 407)
		gpc_hint(err, "it wants a user and a password: https_proxy="
			"http://USER:PASSWORD@HOST:PORT");
	else
		gpc_hint(err, "check https_proxy and all_proxy, or name hosts "
			"that need no proxy in no_proxy");
	return -GPC_ENET;
}

static int fail_other(const struct gpc_http_failure *f, struct gpc_error *err)
{
	switch (f->what) {
	case GPC_HTTP_TLS:
		gpc_fail(err, GPC_ENET, "no secure connection: %s", f->detail);
		gpc_hint(err, "does the endpoint speak TLS at this port? "
			"Plain HTTP is http://");
		return -GPC_ENET;
	case GPC_HTTP_EMPTY:
		return fail_sys_or(f, err,
			"the connection was closed without a reply");
	case GPC_HTTP_TRUNCATED:
		return gpc_fail(err, GPC_ENET, "the reply was cut off: %s",
			f->detail);
	case GPC_HTTP_SEND:
		return fail_sys_or(f, err, "the connection broke while the "
			"request was sent");
	case GPC_HTTP_RECEIVE:
		return fail_sys_or(f, err, "the connection broke while the "
			"reply came");
	case GPC_HTTP_MALFORMED:
		return gpc_fail(err, GPC_EPROTO, "the reply is not valid "
			"HTTP: %s", f->detail);
	case GPC_HTTP_TWICE:
		return gpc_fail(err, GPC_ENET, "the connection was closed "
			"without a reply, and the request is not to be sent "
			"twice");
	case GPC_HTTP_LONG_HEADER:
		return gpc_fail(err, GPC_EPROTO, "the reply has a line of "
			"headers that is too long");
	default:
		return gpc_fail(err, GPC_ENET, "the transfer failed: %s",
			f->detail);
	}
}

int gpc_http_fail(const struct gpc_http_failure *f, struct gpc_error *err)
{
	switch (f->what) {
	case GPC_HTTP_NAME:
		gpc_fail(err, GPC_ENET, "the host's name cannot be resolved");
		gpc_hint(err, "check the endpoint's spelling, the region, and "
			"that the network is up");
		return -GPC_ENET;
	case GPC_HTTP_PROXY_NAME:
		gpc_fail(err, GPC_ENET, "the proxy's name cannot be resolved");
		gpc_hint(err, "check http_proxy, https_proxy, all_proxy");
		return -GPC_ENET;
	case GPC_HTTP_PROXY:
		return fail_proxy(f, err);
	case GPC_HTTP_CONNECT:
		return fail_sys_or(f, err, "no connection");
	case GPC_HTTP_CONNECT_TIME:
	case GPC_HTTP_STALL:
	case GPC_HTTP_TOTAL:
		return fail_time(f, err);
	case GPC_HTTP_CERTIFICATE:
		return fail_certificate(f, err);
	case GPC_HTTP_CA_FILE:
		return fail_ca_file(f, err);
	default:
		return fail_other(f, err);
	}
}

bool gpc_http_is_lasting(const struct gpc_http_failure *f)
{
	switch (f->what) {
	case GPC_HTTP_CERTIFICATE:
	case GPC_HTTP_CA_FILE:
	case GPC_HTTP_TWICE:
	case GPC_HTTP_MALFORMED:
	case GPC_HTTP_LONG_HEADER:
		return true;
	case GPC_HTTP_PROXY:
		return f->proxy < 500;
	default:
		return false;
	}
}
