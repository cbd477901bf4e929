/* Times are UTC milliseconds since 1970 (wall) or milliseconds of a clock that
 * never jumps and counts suspended time (boot). Intervals and staleness always
 * use boot; wall is for records and people. */
#pragma once
#include <stdint.h>

#include "base/err.h"

#define GPC_RFC3339_SIZE 32

int64_t gpc_wall_ms(void);
int64_t gpc_boot_ms(void);
void gpc_sleep_ms(int64_t ms);                    /* returns early on a signal */
char *gpc_format_rfc3339(int64_t wall_ms, char out[GPC_RFC3339_SIZE]);
int gpc_parse_rfc3339(const char *s, int64_t *ret_wall_ms,
	struct gpc_error *err) gpc_must_check;
/* Names this boot of this machine; 36 characters and NUL. "" where unknown. */
const char *gpc_boot_id(char out[64]);
