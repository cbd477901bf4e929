/* A store that fails on command: the tests' stand-in for networks that lose
 * answers. It wraps another store and forwards everything, except what its
 * faults say. */
#pragma once
#include "store/store.h"

enum gpc_fault_op {
	GPC_FAULT_GET, GPC_FAULT_PUT, GPC_FAULT_HEAD, GPC_FAULT_LIST,
	GPC_FAULT_DEL, GPC_FAULT_APPEND, GPC_FAULT__COUNT,
};
enum gpc_fault_how {
	GPC_FAULT_BEFORE,     /* fails, nothing done */
	GPC_FAULT_AFTER,      /* done, but the answer is lost */
	GPC_FAULT_LATE,       /* put: fails now, lands after late_ms */
	GPC_FAULT_DELAYED,    /* the same by the boot clock, which tests move: it
	                       * lands before the first operation after that, or
	                       * when the store is closed */
	GPC_FAULT_SHORT,      /* list: ends after `keep` objects, as success */
	GPC_FAULT_CALL,       /* calls `call` first, then does it */
};
struct gpc_fault {
	enum gpc_fault_op op;
	enum gpc_fault_how how;
	unsigned nth;         /* counted per op from 1, over matching keys;
	                       * 0 = every one */
	const char *prefix;   /* only keys that start so; NULL = all; borrowed */
	enum gpc_code code;   /* 0 = GPC_ENET */
	int late_ms;
	unsigned keep;
	void (*call)(void *arg);
	void *arg;
};
/* inner is borrowed and must outlive the result. */
struct gpc_store *gpc_store_fault_new(struct gpc_store *inner);
void gpc_store_fault_add(struct gpc_store *s, const struct gpc_fault *f);
/* Forgets all faults and counts. */
void gpc_store_fault_reset(struct gpc_store *s);
/* Operations so far, failed ones included. */
unsigned gpc_store_fault_count(struct gpc_store *s, enum gpc_fault_op op);
