/* Bundles of this version for machines of another architecture than this one's. They are
 * made elsewhere (see bundle.h), taken up once, and lie in
 * $XDG_DATA_HOME/gpucloud/bundles/VERSION-ARCH.tar.gz. */
#pragma once
#include "base/arch.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "model/job.h"

/* What a bundle's bytes say that it is. GPC_ECONFIG, which names what, for what is no
 * whole bundle, of another version, or not all for one architecture. */
int gpc_bundle_inspect(const char *name, struct gpc_str bytes,
	enum gpc_arch *ret_arch, struct gpc_error *err) gpc_must_check;
/* Reads such a file, which is looked at in the same way. */
int gpc_bundle_read(const char *path, struct gpc_buf *bytes,
	enum gpc_arch *ret_arch, struct gpc_error *err) gpc_must_check;
/* Takes a file up, for every later submit; data_dir: $XDG_DATA_HOME/gpucloud, here and
 * below; *ret_path (owned) is where it lies now. */
int gpc_bundle_take(const char *data_dir, const char *path,
	enum gpc_arch *ret_arch, char **ret_path, struct gpc_error *err) gpc_must_check;
/* Where one of that architecture has to lie; owned. */
char *gpc_bundle_other_path(const char *data_dir, enum gpc_arch arch);
/* GPC_ECONFIG: none was taken up; with what to do about it. */
int gpc_bundle_other_missing(enum gpc_arch arch, struct gpc_error *err);
/* Whose bundles there are, by GPC_ARCH_BIT: here, and of a job that was submitted. */
unsigned gpc_bundle_archs_here(const char *data_dir);
unsigned gpc_bundle_archs_of(const struct gpc_job *job);
/* The sum of a job's; NULL: it has none. */
const char *gpc_bundle_sum_of(const struct gpc_job *job, enum gpc_arch arch);
