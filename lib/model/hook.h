/* Addresses that are told: webhooks. Path and query of such a URL are mostly the
 * whole secret that it takes to write there, so what is kept, shown and recorded
 * is a short form without them; the URL itself lies with the job's secrets. */
#pragma once
#include <stdbool.h>

#define GPC_HOOK_HASH_SIZE 17

/* What is wrong with it, in words that do not repeat it; NULL: nothing. https, or
 * http of this machine itself; a short form passes. */
const char *gpc_hook_fault(const char *url);
/* "https://HOST/...#HASH" of it, or of a short form the same; owned. */
char *gpc_hook_short(const char *url);
bool gpc_hook_is_short(const char *url);
/* The hash that stands for it, 16 hex digits. Returns out. */
char *gpc_hook_hash(const char *url, char out[GPC_HOOK_HASH_SIZE]);
/* "https://HOST/...", for people; owned. */
char *gpc_hook_shown(const char *url);
