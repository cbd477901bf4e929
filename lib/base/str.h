/* Borrowed string views, vectors of owned strings, and word help. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

struct gpc_str { const char *ptr; size_t len; };

struct gpc_str gpc_str_of(const char *s);        /* NULL gives an empty view */
bool gpc_str_eq(struct gpc_str s, const char *word);
struct gpc_str gpc_str_trim(struct gpc_str s);   /* spaces and tabs, CR, LF */
/* Takes the part before sep off *rest; false when *rest was used up. */
bool gpc_str_split(struct gpc_str *rest, char sep, struct gpc_str *ret_part);

bool gpc_starts_with(const char *s, const char *prefix);
bool gpc_ends_with(const char *s, const char *suffix);
bool gpc_eq(const char *a, const char *b);       /* NULL-safe equality */
bool gpc_eq_nocase(const char *a, const char *b);/* ASCII */
bool gpc_utf8_valid(const char *s, size_t n);
/* Columns that a UTF-8 string takes on a terminal (wcwidth, no locale). */
size_t gpc_utf8_width(const char *s);
/* A copy in which control bytes and invalid UTF-8 are shown as \xNN: what may
 * be printed of bytes from outside. Owned by the caller. */
char *gpc_str_printable(const char *s, size_t n);
/* The same, and of what is longer than most bytes then only beginning and end, with
 * "..." between, so that a long name leaves room for what is said about it. */
char *gpc_str_brief(const char *s, size_t most);
char *gpc_shell_quote(const char *s);            /* for POSIX shells; owned */

void gpc_hex(const void *bytes, size_t n, char *ret_hex); /* 2n+1 bytes */
bool gpc_unhex(const char *hex, void *ret_bytes, size_t n); /* exactly 2n digits */
bool gpc_is_hex(const char *s, size_t n);        /* n lower-case digits, then NUL */
/* SplitMix-finished FNV-1a; for tables and sharding, not for security. */
uint64_t gpc_hash64(const void *data, size_t n);

struct gpc_strv { char **v; size_t n, cap; };
void gpc_strv_add(struct gpc_strv *s, const char *text);
/* The same for as many as the outside world has: false when there is no memory. */
bool gpc_strv_try_add(struct gpc_strv *s, const char *text);
void gpc_strv_take(struct gpc_strv *s, char *owned);
void gpc_strv_addf(struct gpc_strv *s, const char *fmt, ...) gpc_printf(2, 3);
void gpc_strv_remove(struct gpc_strv *s, size_t i);      /* the others keep their order */
bool gpc_strv_has(const struct gpc_strv *s, const char *text);
void gpc_strv_sort(struct gpc_strv *s);          /* byte order */
char *gpc_strv_join(const struct gpc_strv *s, const char *sep);  /* owned */
void gpc_strv_copy(struct gpc_strv *to, const struct gpc_strv *from);
void gpc_strv_clear(struct gpc_strv *s);
GPC_CLEANUP_VALUE(gpc_strv);

/* The word nearest to `word` by edit distance, for "did you mean"; NULL when
 * none is near enough. Borrowed from words. */
const char *gpc_nearest(const char *word, const char *const *words, size_t n);
