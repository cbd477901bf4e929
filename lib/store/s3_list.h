/* Pages of ListObjectsV2 (S3 REST API 2006-03-01). */
#pragma once
#include <stdbool.h>

#include "store/store.h"

/* What a page says beside its objects. */
struct gpc_s3_page {
	bool more;
	char *token;                    /* for the next page; owned */
	bool stopped;                   /* fn ended the list */
};
void gpc_s3_page_clear(struct gpc_s3_page *p);
GPC_CLEANUP_VALUE(gpc_s3_page);

/* Gives each object of a page to fn, without the first skip bytes of its key (the
 * store's prefix). Keys that no store of ours can have are passed over. now_ms:
 * the server's clock at the reply. GPC_EPROTO. */
int gpc_s3_read_page(const char *xml, size_t n, size_t skip, int64_t now_ms,
	gpc_list_fn *fn, void *arg, struct gpc_s3_page *ret_p,
	struct gpc_error *err) gpc_must_check;
