/* Random bytes of the system; without them the process aborts. */
#pragma once
#include <stddef.h>
#include <stdint.h>

void gpc_rand(void *bytes, size_t n);
uint64_t gpc_rand_below(uint64_t n);
/* n characters of a-z2-7, and NUL. */
char *gpc_rand_base32(char *out, size_t n);
/* How many of such characters text begins with. */
size_t gpc_base32_span(const char *text);
