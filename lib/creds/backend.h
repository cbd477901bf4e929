/* What one cloud's chain of credentials is to creds.c, and what its files share;
 * not for other rooms.
 *
 * A backend looks, and nothing else: no memory between two looks, no locks, no
 * thought about when to look again. It reads the environment and files anew each
 * time, because other programs renew them. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "creds/creds.h"

/* One look through the chain. */
struct gpc_creds_look {
	const struct gpc_creds_settings *settings;
	struct gpc_net *net;
	bool renew;                     /* what was kept on disk is not good enough */
	atomic_bool *no_metadata;       /* set once nothing answers there */
	struct gpc_strv *places;        /* where it looked, and what was there */
};

struct gpc_creds_found {
	struct gpc_identity identity;   /* no id and no bearer: nothing was found */
	bool keeps;                     /* better used beyond its end than not at all:
	                                 * the service that renews it is known to
	                                 * fail for a while */
};
void gpc_creds_found_clear(struct gpc_creds_found *f);
GPC_CLEANUP_VALUE(gpc_creds_found);

struct gpc_creds_backend {
	const char *title;              /* "AWS" */
	const char *hint;               /* for who has no credentials at all */
	/* ret_f must be zero. 0 with nothing in it: no place has any; a failure: a
	 * place is set up, but does not give any. */
	int (*find)(const struct gpc_creds_look *look,
		struct gpc_creds_found *ret_f, struct gpc_error *err);
	/* *ret_region stays NULL where none is set; owned. */
	int (*region)(const struct gpc_creds_look *look, char **ret_region,
		struct gpc_error *err);
	/* Environment and files only; NULL: not set, or not to be read; owned. */
	char *(*setting)(const struct gpc_creds_look *look, const char *service,
		const char *name);
	/* See gpc_creds_service_url; optional. */
	int (*service_url)(const struct gpc_creds_look *look,
		const char *service, const char *region, char **ret_url,
		struct gpc_error *err);
	/* Asks the cloud whose *i is; fills its name and account. */
	int (*whoami)(const struct gpc_creds_look *look, struct gpc_identity *i,
		struct gpc_error *err);
	/* Optional: a text of the metadata service of this machine; *session: that
	 * service's token between calls, NULL at first; owned, to be wiped.
	 * *ret_text stays NULL where there is no such text (yet). */
	int (*machine)(const struct gpc_creds_look *look, char **session,
		const char *path, char **ret_text, struct gpc_error *err);
	/* Seconds before the end from which a renewal is tried, and from which it
	 * must work; 0 = those of creds.c. */
	int try_s, must_s;
};

extern const struct gpc_creds_backend gpc_creds_aws, gpc_creds_alibaba,
	gpc_creds_gcp;

/* Notes a place of the chain: "~/.aws/config has no profile dev". Never values. */
void gpc_creds_saw(const struct gpc_creds_look *look, const char *fmt, ...)
	gpc_printf(2, 3);
/* A variable that has a value; NULL else. */
const char *gpc_creds_env(const char *name);
/* The same, read as a boolean; anything else than a true word is false. */
bool gpc_creds_env_true(const char *name);
/* A path as people write it: "~/.aws/config"; owned. */
char *gpc_creds_show_path(const char *path);
/* A path as it is set in variables and files: a leading ~ and $VARIABLES are
 * filled in; owned. */
char *gpc_creds_expand(const char *path);
/* The file that a variable names, else the one below the home folder; owned. */
int gpc_creds_file(const char *variable, const char *below, char **ret_path,
	struct gpc_error *err) gpc_must_check;
/* A URL that a user set. GPC_ECONFIG; what: begins the message. */
int gpc_creds_parse_url(const char *what, const char *url,
	struct gpc_url *ret_u, struct gpc_error *err) gpc_must_check;
/* An address that secrets are sent to or come from: https, or this machine and the
 * metadata addresses, by http. GPC_ECONFIG else; what: begins the message. */
int gpc_creds_check_url(const char *what, const char *url,
	struct gpc_error *err) gpc_must_check;
