/* Where nodes come from. A provider is one .c file with one exported symbol,
 * its ops record, plus one word in lib/meson.build.
 *
 * Rules: no printing, no sleeping, no polling, no retry, no getenv, no mutable
 * statics. Waiting, retries and failover live in core. Failures are classified:
 *   GPC_ECAPACITY no machines now, GPC_EQUOTA account limit, GPC_EAUTH,
 *   GPC_ERATE throttled, GPC_ECONFIG the request can never work,
 *   GPC_ENOTFOUND (of prepare and create) the offer's region lacks what the
 *   launch needs, an image or a network: another region may have it,
 *   GPC_ENOROOM the disk that nodes are made on is full: sent again for a
 *   minute, while somebody may make room, then the job ends,
 *   GPC_ENET/ETIMEOUT/EIO unclear: send the same launch again.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cancel.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/str.h"
#include "model/node.h"
#include "model/offer.h"
#include "model/spec_ports.h"
#include "provider/figures.h"

enum {
	GPC_PROVIDER_SPOT = 1 << 0,       /* use_spot is meaningful */
	GPC_PROVIDER_FREE = 1 << 1,       /* costs nothing by the hour: no default
	                                   * lifetime, no question before use */
	GPC_PROVIDER_THIS_HOST = 1 << 2,  /* nodes reach a file:// store */
	GPC_PROVIDER_LISTS_AT_ONCE = 1 << 3, /* what a list does not show is not
	                                   * there, however young; what it shows
	                                   * as GONE still has to be destroyed */
	GPC_PROVIDER_KEEPS = 1 << 4,       /* it has keep and leave */
	GPC_PROVIDER_CALLERS = 1 << 5,     /* its node is the machine that the
	                                   * caller sits at: no region, no address,
	                                   * nothing before its ports */
};
struct gpc_provider_context {             /* all borrowed, must outlive it */
	const struct gpc_log *log;
	const char *store_id;             /* only resources with this tag are ours */
	const char *state_dir;            /* $XDG_STATE_HOME/gpucloud */
	const char *self_path;            /* this binary, to start agents */
	const char *ca_file;              /* for them as well; or NULL */
	struct gpc_money price_per_hour;  /* local.price_per_hour */
	bool user_home;                   /* local.home: user */
	const char *aws_regions;          /* aws.regions; or NULL */
	bool thorough;                    /* lists look for groups wherever they may
	                                   * be, not only where any is known */
	const char *aws_reservations;     /* aws.reservations; or NULL */
	const struct gpc_cancel *cancel;  /* ends what waits for a service; or NULL */
};
struct gpc_provider;
struct gpc_setup_ops;
/* Who may reach what of a node; borrowed. */
struct gpc_way {
	const struct gpc_strv *from;      /* ADDRESS/BITS (base/cidr.h) */
	const struct gpc_port_ranges *ports;
};
struct gpc_provider_ops {
	const char *name, *title;         /* "local", "This machine" */
	unsigned caps;
	size_t state_size;                /* zeroed, at p->state */
	int (*open)(struct gpc_provider *p, struct gpc_error *err);
	void (*close)(struct gpc_provider *p);               /* optional */
	/* Everything that it could sell for this ask, those that do not fit with
	 * why_not set (clear text for people). */
	int (*offers)(struct gpc_provider *p, const struct gpc_ask *ask,
		struct gpc_offers *ret_offers, struct gpc_error *err);
	/* Optional: looks up what l leaves open, and writes it into l->rest, so that
	 * a create that is repeated sends the same bytes; the id of the group too,
	 * where GPC_LAUNCH_GROUP stands there. Costs nothing; what can
	 * never work is refused here. */
	int (*prepare)(struct gpc_provider *p, struct gpc_launch *l,
		struct gpc_error *err);
	/* Makes l->count nodes, all or none; with a token that was used before it
	 * returns the same nodes. ids in a fixed order: index = position. */
	int (*create)(struct gpc_provider *p, const struct gpc_launch *l,
		struct gpc_instances *ret, struct gpc_error *err);
	/* Optional: a group of the cloud that has one node of this launch and starts
	 * another when that one goes, with nobody of ours watching, until the launch
	 * expires; made unless it is there, known by the token. Costs nothing itself.
	 * A list shows it (.group) before its nodes, all with its token; destroying it
	 * ends them. A node that is destroyed without it is replaced. */
	int (*keep)(struct gpc_provider *p, const struct gpc_launch *l,
		struct gpc_error *err);
	/* With keep: node `id` is one too many in its group, and ends without being
	 * replaced. */
	int (*leave)(struct gpc_provider *p, const char *group, const char *id,
		struct gpc_error *err);
	/* Optional: a node or group of ours is called so; where it is, a list looks from now
	 * on, whatever is configured. */
	void (*knows)(struct gpc_provider *p, const char *id);
	/* All nodes and groups with our store's tag, those that ended lately included
	 * (GPC_INSTANCE_GONE) as long as the provider shows them. A failure may leave some
	 * in ret, as when one region of several does not answer: these are there, and that
	 * others are not says nothing. */
	int (*list)(struct gpc_provider *p, struct gpc_instances *ret,
		struct gpc_error *err);
	/* Starts to end these; idempotent; an absent one is fine. Absence is
	 * confirmed by a later list. */
	int (*destroy)(struct gpc_provider *p, const char *const *ids, size_t n,
		struct gpc_error *err);
	/* Optional: the end of what a node wrote to its console, any bytes, at most what
	 * ret_text takes; nothing while the provider has none to show. Asked of nodes
	 * that are gone, or silent, before their agent was heard of. */
	int (*console)(struct gpc_provider *p, const char *id,
		struct gpc_buf *ret_text, struct gpc_error *err);
	/* Optional, all three or none, where something guards nodes. The address by which
	 * this machine is seen from outside, as ADDRESS/BITS (base/cidr.h); owned. */
	int (*caller)(struct gpc_provider *p, char **ret_cidr,
		struct gpc_error *err);
	/* Lets some reach TCP ports of a node of ours, from now on, and tells the node's
	 * address for that (owned); the same again is fine. What is made for it bears
	 * the node's tags, and is there until destroy ends it. GPC_ECONFLICT while the
	 * node cannot be reached. */
	int (*open_way)(struct gpc_provider *p, const char *id,
		const struct gpc_way *way, char **ret_address,
		struct gpc_error *err);
	/* What was made so, with our store's tag, as instances; destroy takes their ids, and
	 * what a node still has stays until a later one. */
	int (*ways)(struct gpc_provider *p, struct gpc_instances *ret,
		struct gpc_error *err);
	/* Optional: ends what was made beside nodes (placement groups and the like)
	 * with our store's tag, unless a node still uses it. It costs nothing, and goes
	 * with its last node as a rule. *ret_n: how much that was. */
	int (*tidy)(struct gpc_provider *p, size_t *ret_n,
		struct gpc_error *err);
	/* Optional, on a node itself: when it will be taken back, by the wall clock; 0
	 * while nothing is said. Asked every few seconds; may take some. */
	int (*notice)(struct gpc_provider *p, int64_t *ret_at_ms,
		struct gpc_error *err);
	const struct gpc_setup_ops *setup;      /* optional: provider/setup.h */
	/* Optional, on a node itself: puts figures where the cloud keeps such, which
	 * may cost. May take some seconds. */
	int (*publish)(struct gpc_provider *p, const struct gpc_figures *f,
		struct gpc_error *err);
};
struct gpc_provider {
	const struct gpc_provider_ops *ops;
	const struct gpc_provider_context *ctx;
	void *state;
};
/* GPC_ENOTFOUND for an unknown name, with the known ones. */
int gpc_provider_open(const char *name, const struct gpc_provider_context *ctx,
	struct gpc_provider **ret_p, struct gpc_error *err) gpc_must_check;
void gpc_provider_free(struct gpc_provider *p);
GPC_CLEANUP_POINTER(gpc_provider);
const char *const *gpc_provider_names(size_t *ret_n);
/* Its caps without opening it; 0 for an unknown name. */
unsigned gpc_provider_caps(const char *name);
/* Whether its node is the caller's own machine (GPC_PROVIDER_CALLERS). */
bool gpc_provider_is_callers(const char *name);
