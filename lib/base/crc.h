/* Checksums that object stores compute beside us. Each takes the checksum of what
 * came before (0 at the start) and returns that of all.
 *
 * "123456789" gives: CRC32 cbf43926, CRC32C e3069283, CRC64 (ECMA-182 reflected, as
 * OSS has it: "CRC-64/XZ") 995dc9bbdf1939fa, CRC64NVME ae8b14860a799888. */
#pragma once
#include <stddef.h>
#include <stdint.h>

uint32_t gpc_crc32(uint32_t crc, const void *data, size_t n);
uint32_t gpc_crc32c(uint32_t crc, const void *data, size_t n);
uint64_t gpc_crc64(uint64_t crc, const void *data, size_t n);
uint64_t gpc_crc64nvme(uint64_t crc, const void *data, size_t n);
/* The checksum of A followed by B, from those of A and of B, which has n_b bytes. */
uint32_t gpc_crc32c_join(uint32_t a, uint32_t b, uint64_t n_b);
uint64_t gpc_crc64_join(uint64_t a, uint64_t b, uint64_t n_b);
uint64_t gpc_crc64nvme_join(uint64_t a, uint64_t b, uint64_t n_b);
