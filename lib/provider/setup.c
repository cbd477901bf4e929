/* Lists of provider/setup.h. */
#include "provider/setup.h"

void gpc_setup_items_clear(struct gpc_setup_items *x)
{
	gpc_vec_each(i, x) {
		free(i->name);
		free(i->detail);
	}
	gpc_vec_free(x);
}

void gpc_check_lines_clear(struct gpc_check_lines *x)
{
	gpc_vec_each(l, x) {
		free(l->where);
		free(l->found);
	}
	gpc_vec_free(x);
}
