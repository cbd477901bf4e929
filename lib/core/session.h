/* Where a command works: log, cancel, configuration, place, store. Nothing
 * else joins it. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/money.h"
#include "model/job.h"
#include "provider/provider.h"
#include "store/store.h"

struct gpc_vendors;

/* Who and where this process is. */
struct gpc_place {
	struct gpc_owner owner;
	char boot[64];
	char *state_dir, *cache_dir, *data_dir;  /* $XDG_..._HOME/gpucloud */
	char *self_path;              /* this binary */
};
struct gpc_session_options {          /* all borrowed */
	const struct gpc_log *log;
	const struct gpc_cancel *cancel;
	const char *store_url;
	const char *ca_file;          /* config ca_file, absolute; or NULL */
	const char *owner;            /* config owner; NULL = user@host */
	const char *self_path;
	bool create_store;            /* make the store when it is not there */
	bool no_store;                /* a store that is not there leaves store NULL */
	bool unseen;                  /* the store is not looked at: store is NULL */
	bool id_suffices;             /* where each look costs money, a store that was
	                               * opened here before is not asked for its id */
	bool tags_suffice;            /* so does any other failure, when the store
	                               * was opened here before: see known_id */
	struct gpc_money local_price; /* local.price_per_hour */
	bool local_user_home;
	const char *aws_regions;      /* config aws.regions; or NULL */
	const char *aws_cloudwatch;   /* config aws.cloudwatch; or NULL */
	const char *aws_reservations; /* config aws.reservations; or NULL */
};
struct gpc_session {
	const struct gpc_log *log;
	const struct gpc_cancel *cancel;
	struct gpc_session_options options;
	struct gpc_place place;
	struct gpc_store *store;      /* opened and identified */
	unsigned archs;               /* whose bundles there are, by GPC_ARCH_BIT: this
	                               * program's, and what was taken up; see
	                               * bundle_other.h */
	char *known_id;               /* id of a store that cannot be opened now */
	struct gpc_vendors *vendors;  /* vendor.h */
};
/* Remembers the store's id under state_dir, for when it is out of reach.
 * GPC_ENOTFOUND when there is no store yet and create_store is false. */
int gpc_session_open(const struct gpc_session_options *options,
	struct gpc_session **ret_s, struct gpc_error *err) gpc_must_check;
void gpc_session_free(struct gpc_session *s);
GPC_CLEANUP_POINTER(gpc_session);
/* The hash that stands for who works here; configured: the setting `owner`, or
 * NULL. Owned; needs no session. */
char *gpc_session_owner_hash(const char *configured);
/* user@host, which holds where none is configured; owned. */
char *gpc_session_owner_default(void);
/* The settings of this machine for a job's record, and a session that has a
 * job's instead of its own; it borrows everything from s. */
void gpc_session_describe_local(const struct gpc_session *s,
	struct gpc_job_local *ret_local);
struct gpc_session gpc_session_with_local(const struct gpc_session *s,
	const struct gpc_job_local *local);
/* The error of a store that can hold no journal: what it lacks, and what to use instead.
 * -GPC_ECONFIG. */
int gpc_session_holds_data_only(const struct gpc_store *store, struct gpc_error *err)
	gpc_must_check;
/* "client user@host" / "supervisor user@host pid"; owned. */
char *gpc_session_by(const struct gpc_session *s, const char *role);
/* A provider by name, for this session and one use; see also gpc_session_vendor. ctx is
 * filled and must outlive it. */
int gpc_session_provider(struct gpc_session *s, const char *name,
	struct gpc_provider_context *ctx, struct gpc_provider **ret_p,
	struct gpc_error *err) gpc_must_check;
