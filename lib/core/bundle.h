/* A bundle: this program with everything that it needs but a kernel, for a node
 * whose image has none of its libraries, or older ones.
 *
 *	gpucloud           what is run: a script, which wants only /bin/sh
 *	bin/gpucloud       the program, without what only a debugger reads
 *	lib/...            its loader and shared objects, also those that are
 *	                   opened at run time
 *	etc/ca-certificates.crt    for an image that has none
 *	etc/version                "gpucloud VERSION ARCHITECTURE"
 */
#pragma once
#include <stdint.h>

#include "base/err.h"

#define GPC_BUNDLE_ABOUT "etc/version"

struct gpc_bundle_facts {
	uint64_t files;
	uint64_t size_bytes;      /* unpacked */
	uint64_t packed_bytes;
	char sha256[65];          /* of the file that was written */
};
/* self_path: the running program's file. Writes a .tar.gz, since any image can
 * unpack that; equal programs and libraries give equal bytes. out_path is
 * complete or not there. */
int gpc_bundle_write(const char *self_path, const char *out_path,
	struct gpc_bundle_facts *ret_facts, struct gpc_error *err)
	gpc_must_check;
