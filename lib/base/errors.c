/* See errors.h. */
#include "base/errors.h"

#include "base/vec.h"

void gpc_errors_add(struct gpc_errors *list, const struct gpc_error *one)
{
	*gpc_vec_push(list) = *one;
}

void gpc_errors_add_all(struct gpc_errors *list, const struct gpc_errors *more)
{
	gpc_vec_each(one, more)
		gpc_errors_add(list, one);
}

int gpc_errors_take(struct gpc_errors *list, struct gpc_errors *others,
	struct gpc_error *err)
{
	int r = list->n ? -(int)list->v[0].code : 0;

	if (list->n && err)
		*err = list->v[0];
	for (size_t i = 1; others && i < list->n; i++)
		gpc_errors_add(others, &list->v[i]);
	gpc_errors_clear(list);
	return r;
}

void gpc_errors_clear(struct gpc_errors *list)
{
	gpc_vec_free(list);
}
