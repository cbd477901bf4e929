/* Processors without a carry-less multiplication that we use. */
#include <stdlib.h>

#include "base/crc_fold.h"

bool gpc_crc_can_fold(void)
{
	return false;
}

void gpc_crc_fold(const uint64_t keys[4], uint64_t state, const uint8_t *data,
	size_t n, uint8_t ret_rest[16])
{
	(void)keys;
	(void)state;
	(void)data;
	(void)n;
	(void)ret_rest;
	abort();                        /* not called */
}
