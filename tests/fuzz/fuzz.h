/* What every fuzz target shares: reading an input as a row of decisions, and
 * ending the run when a promise is broken.
 *
 * A target is one file with one LLVMFuzzerTestOneInput, linked either with
 * libFuzzer or with main.c, which runs the corpus. Inputs that run out give
 * zeros, so every input is a valid one.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "dep/json.h"
#include "model/spec.h"
#include "store/store.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* A broken promise: says which, and aborts. */
_Noreturn void fuzz_die(const char *fmt, ...) gpc_printf(1, 2);
#define fuzz_check(cond, ...) \
	do { \
		if (!(cond)) \
			fuzz_die(__VA_ARGS__); \
	} while (0)

/* --- an input as decisions --- */
struct fuzz_in { const uint8_t *p; size_t n; };

uint8_t fuzz_byte(struct fuzz_in *in);
/* 0 .. n - 1; n >= 1 */
unsigned fuzz_below(struct fuzz_in *in, unsigned n);
/* Mostly small, now and then an edge of some type. */
int64_t fuzz_int(struct fuzz_in *in);
/* Up to max bytes, led by their number; borrowed. */
struct gpc_str fuzz_bytes(struct fuzz_in *in, size_t max);
/* The same without NUL bytes; owned. */
char *fuzz_text(struct fuzz_in *in, size_t max);
/* What comes before the next sep byte, or all; false when nothing is left. */
bool fuzz_part(struct fuzz_in *in, char sep, struct gpc_str *ret_part);
/* All that is left. */
struct gpc_str fuzz_rest(struct fuzz_in *in);

/* --- checks and stores --- */
/* Both texts are freed. */
void fuzz_same(char *a, char *b, const char *what);
void fuzz_same_json(const struct gpc_json *a, const struct gpc_json *b,
	const char *what);
/* A task written into a job record reads back as the same. */
void fuzz_check_task(const struct gpc_spec *spec);
/* A private store in memory. */
struct gpc_store *fuzz_store(void);
/* false: the store refuses the key. */
bool fuzz_put(struct gpc_store *s, const char *key, const void *data, size_t n);
/* A zstd stream that holds the bytes as they are: as readers see it, and
 * cheaper than compressing. */
void fuzz_zstd(const void *data, size_t n, struct gpc_buf *out);
/* Puts bytes as a blob below blobs/; gives its name. */
void fuzz_put_blob(struct gpc_store *s, const void *data, size_t n,
	char ret_hex[65]);
