/* All numbers from outside pass here: whole input or an error that shows it.
 * `what` names the thing in the message ("--nodes", "$.limits.time"). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

int gpc_parse_i64(const char *s, int64_t min, int64_t max, const char *what,
	int64_t *ret_n, struct gpc_error *err) gpc_must_check;
int gpc_parse_double(const char *s, double min, double max, const char *what,
	double *ret_x, struct gpc_error *err) gpc_must_check;
/* true/false yes/no on/off 1/0, any case */
int gpc_parse_bool(const char *s, const char *what, bool *ret_b,
	struct gpc_error *err) gpc_must_check;
/* "256", "1.5GB", "512MiB": KB = KiB = 1024 (as SkyPilot reads them). A bare
 * number counts unit_bytes each (pass 1 for bytes, 1 << 30 for GB fields). */
int gpc_parse_size(const char *s, uint64_t unit_bytes, const char *what,
	uint64_t *ret_bytes, struct gpc_error *err) gpc_must_check;
/* "90", "10m", "1h30m", "2d", "500ms"; a bare number counts unit_ms each. */
int gpc_parse_duration(const char *s, int64_t unit_ms, const char *what,
	int64_t *ret_ms, struct gpc_error *err) gpc_must_check;

/* Short forms for people: "1.5 GiB", "1h30m", in out[size]. Return out. */
char *gpc_format_size(uint64_t bytes, char *out, unsigned long size);
char *gpc_format_duration(int64_t ms, char *out, unsigned long size);
