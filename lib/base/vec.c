/* The functions behind the typed vectors of vec.h. */
#include "base/vec.h"

void gpc_vec_make_room(void **v, size_t *n, size_t *cap, size_t size)
{
	if (*n == *cap) {
		size_t grown = *cap ? *cap * 2 : 8;

		*v = gpc_grow(*v, grown, size);
		*cap = grown;
	}
	memset((char *)*v + *n * size, 0, size);
}

bool gpc_vec_try_make_room(void **v, size_t *n, size_t *cap, size_t size)
{
	if (*n == *cap) {
		size_t grown = *cap ? *cap * 2 : 8;
		void *p = gpc_try_grow(*v, grown, size);

		if (!p)
			return false;
		*v = p;
		*cap = grown;
	}
	memset((char *)*v + *n * size, 0, size);
	return true;
}
