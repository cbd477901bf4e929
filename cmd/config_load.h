/* The configuration from where it lies: files, environment, options. */
#pragma once
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "model/config.h"

/* ~/.config/gpucloud/config.yaml, then ./.gpucloud.yaml, then GPUCLOUD_*, then
 * --store (may be NULL). Absent files are fine; ret_warnings collects what
 * YAML would surprise with. */
int gpc_config_load(struct gpc_config *ret_c, const char *store_option,
	struct gpc_strv *ret_warnings, struct gpc_error *err) gpc_must_check;
/* The store's URL: the setting (a bare path becomes file://), else the folder
 * `store` of the user's data. Owned. */
int gpc_config_store_url(const struct gpc_config *c, char **ret_url,
	struct gpc_error *err) gpc_must_check;
