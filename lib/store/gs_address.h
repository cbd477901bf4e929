/* Where buckets of Google Cloud Storage are: see store/bucket_address.h. Its JSON API
 * has one host, storage.googleapis.com, unless the URL or the environment names
 * another (with or without the API's own path); buckets are in paths. */
#pragma once
#include "store/bucket_address.h"

extern const struct gpc_bucket_form gpc_gs_form;

/* The URL of a key (any bytes; prefix included by the caller), or of the bucket's
 * list of objects for NULL. There are no regions. */
int gpc_gs_address_url(const struct gpc_bucket_address *a, const char *region,
	const char *key, struct gpc_url *ret_u, struct gpc_error *err)
	gpc_must_check;
/* Makes of that of a key that of its upload; kind is "media" or "resumable". */
void gpc_gs_upload_url(const struct gpc_bucket_address *a, const char *kind,
	const char *key, struct gpc_url *u);
/* Makes of that of a key that of the same key in the XML API. */
void gpc_gs_xml_url(const struct gpc_bucket_address *a, const char *key,
	struct gpc_url *u);
