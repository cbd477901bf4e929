/* What the pretend cloud `fake` remembers: its nodes, the script that a test
 * wrote, and the ledger that a test reads. All of it lies in one folder, so
 * that several processes see one cloud:
 *
 *   fake/nodes/<id>.json   one machine
 *   fake/ways/<id>.json    who may reach what of one job's nodes
 *   fake/ledger            one JSON object a line for every call, oldest first:
 *                          {at_ms, pid, op, token?, ids?, made?, ended?,
 *                          fault?, answer}; answer is "ok" or an error's word
 *   fake/script.json       what goes wrong and what is sold:
 *     {"faults": [{"op": "create", "fault": "no_capacity", ...}, ...],
 *      "offers": [{...}, ...], "gone_ms": 0, "boot": false}
 *
 * A call takes the first fault that fits it. A fault fits `times` calls (1 when
 * not said, -1 for ever) after it let `skip` of them pass, only those of `zone`
 * (create) if that is said. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "dep/json.h"
#include "model/offer.h"

enum gpc_fake_op {
	GPC_FAKE_OFFERS, GPC_FAKE_CREATE, GPC_FAKE_LIST, GPC_FAKE_DESTROY,
	GPC_FAKE_CONSOLE, GPC_FAKE_CALLER, GPC_FAKE_OPEN, GPC_FAKE_WAYS,
};
enum gpc_fake_how {
	GPC_FAKE_FINE,
	GPC_FAKE_NO_CAPACITY, GPC_FAKE_QUOTA, GPC_FAKE_FULL, GPC_FAKE_AUTH,
	GPC_FAKE_THROTTLE,    /* asks to come back after ms */
	GPC_FAKE_ERROR,       /* one that nobody classified */
	GPC_FAKE_REFUSED,     /* such a request can never work */
	GPC_FAKE_LACKS,       /* the region lacks what it needs */
	GPC_FAKE_UNREACHABLE, /* nothing done, and no answer */
	GPC_FAKE_LOST_ANSWER, /* done, and no answer */
	GPC_FAKE_SLOW,        /* done after ms */
	GPC_FAKE_HIDE,        /* create: lists do not show the nodes for ms */
	GPC_FAKE_DIE,         /* create: they are gone after ms; list: those that
	                       * run are gone */
	GPC_FAKE_STILLBORN,   /* create: done, but no node ever runs */
};
struct gpc_fake_fault {
	enum gpc_fake_op op;
	enum gpc_fake_how fault;
	int times, skip;
	int index;                   /* DIE: 1 + which node of a launch; 0 = all */
	char *zone;
	int64_t ms;
	char *text;                  /* for the message; DIE: the last line of its
	                              * console; or NULL */
};
struct gpc_fake_script {
	GPC_VEC(struct gpc_fake_fault) faults;
	struct gpc_json *offers;     /* as gpc_offer_read takes them; NULL = the
	                              * usual ones; "fake" is added as provider */
	int64_t gone_ms;             /* released nodes are listed as GONE so long */
	bool boot;                   /* start a real agent for each node */
	struct gpc_json *rest;
};
void gpc_fake_script_clear(struct gpc_fake_script *s);
GPC_CLEANUP_VALUE(gpc_fake_script);
void gpc_fake_fault_clear(struct gpc_fake_fault *f);
GPC_CLEANUP_VALUE(gpc_fake_fault);

struct gpc_fake_node {
	int v;
	char *id, *token;
	int index;                   /* position within its launch */
	struct gpc_pairs tags;
	char *zone;
	int64_t created_ms, expires_ms;  /* wall */
	/* by the boot clock, which no test and no user can set */
	int64_t ends_boot_ms;        /* its lifetime; 0 = none */
	int64_t hidden_boot_ms;      /* not listed before; 0 = at once */
	int64_t dies_boot_ms;        /* 0 = not by a fault */
	int64_t gone_boot_ms;        /* released or dead since; 0 = it runs */
	bool stillborn;              /* it never ran */
	bool booted;                 /* an agent was started for it */
	char *why;                   /* why it is gone */
	char *console;               /* what a test made it say; or NULL */
	struct gpc_json *rest;
};
void gpc_fake_node_clear(struct gpc_fake_node *n);
GPC_CLEANUP_VALUE(gpc_fake_node);
struct gpc_fake_nodes { struct gpc_fake_node *v; size_t n, cap; };
void gpc_fake_nodes_clear(struct gpc_fake_nodes *x);
GPC_CLEANUP_VALUE(gpc_fake_nodes);

/* The lock of the whole cloud; makes its folders. */
int gpc_fake_lock(const char *dir, int *ret_fd, struct gpc_error *err)
	gpc_must_check;
/* An absent one is empty. */
int gpc_fake_script_read(const char *dir, struct gpc_fake_script *ret_s,
	struct gpc_error *err) gpc_must_check;
/* Under the lock: takes the fault that fits this call and writes the script
 * back. *ret_f stays zero (GPC_FAKE_FINE) when none does. */
int gpc_fake_take_fault(const char *dir, enum gpc_fake_op op, const char *zone,
	struct gpc_fake_fault *ret_f, struct gpc_error *err) gpc_must_check;
/* One time of a fault that came to nothing is put before the others again. */
int gpc_fake_return_fault(const char *dir, const struct gpc_fake_fault *f,
	struct gpc_error *err) gpc_must_check;
/* The files .json of a folder, sorted. No folder = none. */
int gpc_fake_names(const char *folder, struct gpc_strv *ret_names,
	struct gpc_error *err) gpc_must_check;
/* Every node, in the order of their ids. No folder = none. */
int gpc_fake_nodes_read(const char *dir, struct gpc_fake_nodes *ret_nodes,
	struct gpc_error *err) gpc_must_check;
int gpc_fake_node_write(const char *dir, const struct gpc_fake_node *n,
	struct gpc_error *err) gpc_must_check;
int gpc_fake_node_remove(const char *dir, const char *id,
	struct gpc_error *err) gpc_must_check;
/* Appends one line; entry holds op and what is known of the call. r and why are
 * the answer that the caller of the provider gets. */
int gpc_fake_ledger_add(const char *dir, struct gpc_json *entry, int r,
	struct gpc_error *err) gpc_must_check;
extern const char *const gpc_fake_op_names[];
extern const char *const gpc_fake_how_names[];
