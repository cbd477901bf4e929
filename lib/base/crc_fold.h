/* The part of crc.c that a processor may do by carry-less multiplication. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPC_CRC_FOLD_MIN 128            /* bytes; less is not worth it */

/* Whether this processor can. */
bool gpc_crc_can_fold(void);
/* Reduces n bytes, a multiple of 64 and at least that, to 16 with the same
 * checksum when that begins at zero; state is what came before. keys are powers
 * of x modulo the polynomial, bit-reflected, degree 63 in bit 0: of x^575, x^511,
 * x^191 and x^127. */
void gpc_crc_fold(const uint64_t keys[4], uint64_t state, const uint8_t *data,
	size_t n, uint8_t ret_rest[16]);
