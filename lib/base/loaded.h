/* The files that this process consists of. */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* Adds the paths of every shared object that is loaded now, the loader itself
 * too, without the program's own file. GPC_EUNSUPPORTED where the system does
 * not tell. */
int gpc_loaded_objects(struct gpc_strv *ret_paths, struct gpc_error *err)
	gpc_must_check;
/* Cuts off a program's file what no segment loads: symbols, debug information
 * and the table of sections, all at its end. False when it is none (64-bit
 * ELF). */
bool gpc_loaded_cut(struct gpc_buf *b);
