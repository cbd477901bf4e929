/* Shared libraries that are opened on first use: those which are slow to load
 * (libarchive, OpenSSL) or may be absent (NVML). The user of one keeps a static
 * struct gpc_dl and a struct of function pointers; besides loaded code, they
 * are the only mutable statics of gpucloud, and written under the lock here:
 *
 *	#define FUNCTIONS(X) X(archive_read_new) X(archive_read_free)
 *	GPC_DL_TABLE(FUNCTIONS, GPC_DL_NONE);
 *	static struct gpc_dl dl = GPC_DL_INIT("libarchive", "libarchive13",
 *		symbols, &lib, "libarchive.so.13", "libarchive.13.dylib");
 *	...
 *	r = gpc_dl_open(&dl, err);
 *	a = lib.archive_read_new();
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

/* Defines `lib`, with a pointer for each function of a header, by its name, and
 * `symbols`, which says so. What headers of another version lack stands in
 * OPTIONAL, as X(POINTER, "SYMBOL", RESULT, (PARAMETERS)). */
#define GPC_DL_TABLE(functions, optional) \
	static struct { \
		functions(GPC_DL_POINTER_) \
		optional(GPC_DL_OPTIONAL_POINTER_) \
	} lib; \
	static const struct gpc_dl_symbol symbols[] = { \
		functions(GPC_DL_SYMBOL_) \
		optional(GPC_DL_OPTIONAL_SYMBOL_) \
		{NULL, 0, false}, \
	}
#define GPC_DL_NONE(X)
#define GPC_DL_POINTER_(name) __typeof__(&name) name;
#define GPC_DL_SYMBOL_(name) {#name, offsetof(__typeof__(lib), name), false},
#define GPC_DL_OPTIONAL_POINTER_(pointer, symbol, result, parameters) \
	result (*pointer)parameters;
#define GPC_DL_OPTIONAL_SYMBOL_(pointer, symbol, result, parameters) \
	{symbol, offsetof(__typeof__(lib), pointer), true},

#define GPC_DL_INIT(dl_title, dl_package, dl_symbols, dl_table, ...) \
	{ .title = dl_title, .package = dl_package, .symbols = dl_symbols, \
	  .table = dl_table, .names = {__VA_ARGS__}, \
	  .lock = PTHREAD_MUTEX_INITIALIZER }

/* Opens the library and fills the table, once; cheap when that is done. Safe
 * from several threads. GPC_EUNSUPPORTED when it is missing or lacks a symbol;
 * the next call tries again. It is never closed. */
int gpc_dl_open(struct gpc_dl *dl, struct gpc_error *err) gpc_must_check;
