/* See program.h. */
#include "base/program.h"

#include <string.h>

extern char **environ;

void gpc_program_env(const struct gpc_strv *vars, struct gpc_strv *ret_env)
{
	size_t n_vars = vars ? vars->n : 0;

	for (char **e = environ; e && *e; e++) {
		size_t n = strcspn(*e, "=") + 1;
		bool replaced = false;

		for (size_t i = 0; i < n_vars; i++)
			replaced |= strncmp(vars->v[i], *e, n) == 0;
		if (!replaced)
			gpc_strv_add(ret_env, *e);
	}
	for (size_t i = 0; i < n_vars; i++)
		gpc_strv_add(ret_env, vars->v[i]);
	gpc_strv_take(ret_env, NULL);
}
