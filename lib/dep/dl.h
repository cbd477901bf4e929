/* Shared libraries that are opened on first use: those which are slow to load
 * (libarchive, OpenSSL) or may be absent (NVML). The user of one keeps a static
 * struct gpc_dl and a struct of function pointers; besides loaded code, they
 * are the only mutable statics of gpucloud, and written under the lock here:
 *
 *	static struct {
 *		__typeof__(&archive_read_new) read_new;
 *	} lib;
 *	static const struct gpc_dl_symbol symbols[] = {
 *		{"archive_read_new", 0},
 *		{NULL},
 *	};
 *	static struct gpc_dl dl = GPC_DL_INIT("libarchive", "libarchive13",
 *		symbols, &lib, "libarchive.so.13", "libarchive.13.dylib");
 */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct gpc_dl_symbol {
	const char *name;        /* NULL ends the table */
	size_t offset;           /* of its pointer in the table struct */
	bool optional;           /* its pointer stays NULL where it is missing */
};

struct gpc_dl {
	const char *title;       /* what messages call it */
	const char *package;     /* of Debian; NULL: no hint */
	const struct gpc_dl_symbol *symbols;
	void *table;
	const char *names[4];    /* file names, tried in this order */
	const char *(*start)(void);     /* after loading, once; may be NULL.
	                                 * What it returns is why it failed. */
	pthread_mutex_t lock;
	atomic_bool ready;
};

#define GPC_DL_INIT(dl_title, dl_package, dl_symbols, dl_table, ...) \
	{ .title = dl_title, .package = dl_package, .symbols = dl_symbols, \
	  .table = dl_table, .names = {__VA_ARGS__}, \
	  .lock = PTHREAD_MUTEX_INITIALIZER }

/* Opens the library and fills the table, once; cheap when that is done. Safe
 * from several threads. GPC_EUNSUPPORTED when it is missing or lacks a symbol;
 * the next call tries again. It is never closed. */
int gpc_dl_open(struct gpc_dl *dl, struct gpc_error *err) gpc_must_check;
