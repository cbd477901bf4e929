/* Other systems: nodes run Linux, and so do those who bundle for them. */
#include "base/loaded.h"

int gpc_loaded_objects(struct gpc_strv *ret_paths, struct gpc_error *err)
{
	(void)ret_paths;
	return gpc_fail(err, GPC_EUNSUPPORTED,
		"this system does not tell which shared objects are loaded");
}

bool gpc_loaded_cut(struct gpc_buf *b)
{
	(void)b;
	return false;
}
