/* Pages of lists: what a reader of one is given and gives back, and the reader of
 * the XML form (ListObjectsV2 of the S3 REST API 2006-03-01, which OSS shares). */
#pragma once
#include <stdbool.h>

#include "base/str.h"
#include "store/objects.h"
#include "store/store.h"

struct gpc_bucket_listing {
	const char *prefix;             /* that all keys have; NULL: any */
	size_t skip;                    /* bytes of keys: the store's prefix */
	const char *after;              /* where the list begins, without prefix */
	const char *before;             /* `last` of the page before, or NULL */
	int64_t now_ms;                 /* the server's clock at the reply */
	gpc_list_fn *fn;                /* of a store, whose keys are stricter */
	gpc_objects_fn *each;           /* or of objects: gets whole keys */
	void *arg;
};

/* What a page says beside its objects, and what is asked for next. */
struct gpc_bucket_page {
	const char *prefix;             /* of all keys; borrowed; asking only */
	const char *after;              /* of the first page, or NULL; the same */
	const char *delimiter;          /* or NULL; the same */
	bool all;                       /* all that is known of each; the same */
	bool more;
	char *token;                    /* of the next page; owned; NULL: the first */
	char *last;                     /* key of this one, with prefix; owned */
	struct gpc_strv prefixes;       /* the common ones of this page */
	size_t n_given;                 /* of them */
	bool stopped;                   /* fn ended the list */
};
void gpc_bucket_page_clear(struct gpc_bucket_page *p);
GPC_CLEANUP_VALUE(gpc_bucket_page);

/* Gives an object of a page to its function, unless no store of ours can have such a
 * key or the list begins behind it; before it the common prefixes that come first,
 * which the page must have by then. key: whole, n bytes. */
int gpc_bucket_page_add(struct gpc_bucket_page *p,
	const struct gpc_bucket_listing *l, const char *key, size_t n,
	const struct gpc_object_info *i, struct gpc_error *err) gpc_must_check;
/* Gives the prefixes that are left. */
int gpc_bucket_page_end(struct gpc_bucket_page *p,
	const struct gpc_bucket_listing *l, struct gpc_error *err) gpc_must_check;
/* Gives each object of an XML page to fn. GPC_EPROTO. */
int gpc_bucket_read_xml(const char *xml, size_t n,
	const struct gpc_bucket_listing *l, struct gpc_bucket_page *ret_p,
	struct gpc_error *err) gpc_must_check;
struct gpc_bucket;
/* All pages, from the first one on, which `page` asks for; it is used up. */
int gpc_bucket_walk(struct gpc_bucket *b, struct gpc_bucket_listing *l,
	struct gpc_bucket_page *page, struct gpc_error *err) gpc_must_check;
