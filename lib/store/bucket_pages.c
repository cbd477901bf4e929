/* Lists, page by page. From the second page on the next one is asked for before the
 * objects of this one are looked at, so that the service works meanwhile. Its token is
 * guessed, from the text of a page that is not parsed yet: what reading the page says
 * decides, and an answer to another question is dropped. Two pages are in memory at
 * most. A list that ends early, as a look for the first objects does, asks for no page
 * that nobody reads unless it had come that far. */
#include "store/bucket_list.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "store/objects_task.h"

#define PAGE_MAX_BYTES ((size_t)8 << 20)
#define TOKEN_MAX 2048

/* For a page: on its way, or answered. */
struct ask {
	struct gpc_bucket_op op;
	bool is_out;
	bool is_in;
	int r;
	struct gpc_error err;           /* when r < 0 */
	struct gpc_buf body;
	int64_t date_ms;
	char id[64];                    /* by which the service knows it */
};

struct walk {
	struct gpc_bucket *bucket;
	struct gpc_bucket_listing *listing;
	struct gpc_bucket_page *page;   /* whose successor is wanted */
	struct gpc_net_loop *loop;      /* NULL: none is needed yet */
	struct ask asks[2];             /* do not move while they are out */
	int at;                         /* the one for this page */
	char *guess;                    /* token that the other one asks for */
	int n_pages;
};

static void forget(struct ask *a)
{
	gpc_bucket_op_clear(&a->op);
	gpc_buf_clear(&a->body);
	memset(a, 0, sizeof(*a));
}

/* With whatever is under way. */
static void stop(struct walk *w)
{
	bool busy = false;

	for (size_t i = 0; i < 2; i++)
		busy |= w->asks[i].is_out && !w->asks[i].is_in;
	if (busy)
		gpc_net_loop_free(w->loop);
	else if (w->loop)
		gpc_net_loop_return(w->bucket->net, w->loop);
	w->loop = NULL;
	for (size_t i = 0; i < 2; i++)
		forget(&w->asks[i]);
	gpc_set_str(&w->guess, NULL);
}

static void walk_clear(struct walk *w)
{
	stop(w);
}
GPC_CLEANUP_VALUE(walk);

static void answered(void *arg, int r, const struct gpc_reply *reply,
	const struct gpc_error *err)
{
	struct ask *a = arg;
	const char *id = reply ? gpc_net_request_id(reply) : NULL;

	a->is_in = true;
	a->r = r;
	if (r < 0) {
		a->err = *err;
		return;
	}
	a->date_ms = reply->date_ms;
	if (id) {
		gpc_autostr *shown = gpc_str_printable(id, strnlen(id, 63));

		snprintf(a->id, sizeof(a->id), "%s", shown);
	}
	a->r = gpc_buf_try_add(&a->body, reply->body.data, reply->body.len,
		&a->err);
}

static int send(struct walk *w, struct ask *a, const struct gpc_bucket_page *page,
	struct gpc_error *err)
{
	struct gpc_bucket *b = w->bucket;
	struct gpc_call call;
	int r = gpc_bucket_op_init(&a->op, b, "GET", "listing objects", NULL, err);

	if (r < 0)
		return r;
	b->rules->asks_page(&a->op.request, page);
	a->op.max_body = PAGE_MAX_BYTES;
	call = gpc_bucket_op_call(&a->op);
	if (!w->loop)
		w->loop = gpc_net_loop_borrow(b->net);
	r = gpc_net_loop_start(w->loop, &call, answered, a, err);
	a->is_out = r == 0;
	return r;
}

static int wait_for(struct walk *w, struct ask *a, struct gpc_error *err)
{
	int r = gpc_net_loop_run(w->loop, -1, NULL, err);

	if (r == 0 && a->r < 0 && err)
		*err = a->err;
	return r < 0 ? r : a->r;
}

/* --- one ahead --------------------------------------------------------------- */

/* NULL: the text has none, or one that only a parser reads. Owned. */
static char *guess_token(const char *text, const char *before)
{
	const char *p = before ? strstr(text, before) : NULL;
	size_t n = 0;

	if (p) {
		p += strlen(before);
		n = strcspn(p, "<&");
	}
	return n > 0 && n <= TOKEN_MAX && p[n] == '<' ? gpc_strndup(p, n) : NULL;
}

/* What goes wrong here the page's own turn shows. */
static void ask_ahead(struct walk *w)
{
	gpc_autostr *token = NULL;
	struct gpc_bucket_page next = *w->page;
	struct ask *ahead = &w->asks[1 - w->at];

	if (++w->n_pages < 2)
		return;
	token = guess_token(gpc_buf_str(&w->asks[w->at].body),
		w->bucket->rules->before_token);
	if (!token)
		return;
	next.token = token;
	if (send(w, ahead, &next, NULL) < 0) {
		forget(ahead);
		return;
	}
	if (gpc_net_loop_run(w->loop, 0, NULL, NULL) == 0)
		gpc_set_str(&w->guess, token);
}

/* It came, or comes. A failure may be one of having waited for whoever reads the
 * list: then the page is asked for once more. */
static bool came_ahead(struct walk *w)
{
	struct ask *ahead = &w->asks[1 - w->at];

	forget(&w->asks[w->at]);
	if (!ahead->is_out)
		return false;
	if (gpc_eq(w->guess, w->page->token) && wait_for(w, ahead, NULL) == 0) {
		w->at = 1 - w->at;
		return true;
	}
	stop(w);
	return false;
}

/* --- pages ------------------------------------------------------------------- */

/* Makes the page that was read that from which the next one is asked for. */
static int go_on(struct gpc_bucket_page *page, struct gpc_bucket_page *next,
	struct gpc_error *err)
{
	int r = 0;

	if (next->more && gpc_eq(next->token, page->token))
		r = gpc_fail(err, GPC_EPROTO, "the same page came twice");
	if (!next->last)
		next->last = gpc_steal(&page->last);
	next->prefix = page->prefix;
	next->after = page->after;
	next->delimiter = page->delimiter;
	next->all = page->all;
	gpc_bucket_page_clear(page);
	*page = *next;
	return r;
}

/* A success that makes no sense: the request is named, as in refusals. */
static int fail_page(const struct gpc_bucket *b, const struct ask *a, int r,
	struct gpc_error *err)
{
	if (r == -GPC_EPROTO && err && !err->request_id[0])
		snprintf(err->request_id, sizeof(err->request_id), "%s", a->id);
	if (r == -GPC_EPROTO)
		gpc_hint(err, "run the same again; if it stays so, check the "
			"endpoint, and what stands between");
	return gpc_wrap(err, r, "listing objects in bucket %s",
		b->address.bucket);
}

static int walk_page(struct walk *w, struct gpc_error *err)
{
	struct gpc_bucket *b = w->bucket;
	struct gpc_bucket_page next = {0};
	struct ask *a;
	int r = 0;

	if (!came_ahead(w)) {
		r = send(w, &w->asks[w->at], w->page, err);
		if (r == 0)
			r = wait_for(w, &w->asks[w->at], err);
	}
	if (r < 0)
		return r;
	a = &w->asks[w->at];
	ask_ahead(w);
	w->listing->before = w->page->last;
	w->listing->now_ms = a->date_ms;
	r = b->rules->reads_page(gpc_buf_str(&a->body), a->body.len, w->listing,
		&next, err);
	if (r == 0)
		r = go_on(w->page, &next, err);
	return fail_page(b, a, r, err);
}

int gpc_bucket_walk(struct gpc_bucket *b, struct gpc_bucket_listing *l,
	struct gpc_bucket_page *page, struct gpc_error *err)
{
	gpc_auto(walk) struct walk w = { .bucket = b, .listing = l,
		.page = page };
	int r;

	do {
		r = walk_page(&w, err);
	} while (r == 0 && page->more && !page->stopped);
	return r;
}
