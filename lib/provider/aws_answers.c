/* See aws_answers.h. A minute is short beside how long a purchase's own answers hold
 * (an image, a subnet, the zones of a type), and long beside a loop of submits. */
#include "provider/aws_answers.h"

#include <stdlib.h>

#include "base/str.h"
#include "base/time.h"

#define KEPT_MS 60000
#define KEPT_MAX 32
#define BODY_MAX ((size_t)256 << 10)

bool gpc_aws_answers_take(const char *action)
{
	static const char *const kept[] = {
		"AmazonSSM.GetParameter", "DescribeImages", "DescribeSubnets",
		"DescribeInstanceTypeOfferings", "DescribeInstanceTypes",
	};

	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		if (gpc_eq(kept[i], action))
			return true;
	return false;
}

static void drop(struct gpc_aws_answers *a, size_t i)
{
	free(a->all.v[i].question);
	gpc_buf_clear(&a->all.v[i].body);
	gpc_vec_remove(&a->all, i);
}

static void drop_old(struct gpc_aws_answers *a)
{
	int64_t now = gpc_boot_ms();

	for (size_t i = a->all.n; i-- > 0;)
		if (now - a->all.v[i].at_ms >= KEPT_MS)
			drop(a, i);
}

const struct gpc_buf *gpc_aws_answers_get(struct gpc_aws_answers *a,
	const char *what, const char *question)
{
	gpc_autostr *whole = gpc_format("%s %s", what, question);

	drop_old(a);
	gpc_vec_each(x, &a->all)
		if (gpc_eq(x->question, whole))
			return &x->body;
	return NULL;
}

void gpc_aws_answers_keep(struct gpc_aws_answers *a, const char *what,
	const char *question, const struct gpc_buf *body)
{
	struct gpc_aws_answer *x;

	drop_old(a);
	if (body->len > BODY_MAX)
		return;
	if (a->all.n >= KEPT_MAX)
		drop(a, 0);
	x = gpc_vec_push(&a->all);
	x->question = gpc_format("%s %s", what, question);
	gpc_buf_add(&x->body, body->data, body->len);
	x->at_ms = gpc_boot_ms();
}

void gpc_aws_answers_clear(struct gpc_aws_answers *a)
{
	while (a->all.n)
		drop(a, a->all.n - 1);
	gpc_vec_free(&a->all);
}
