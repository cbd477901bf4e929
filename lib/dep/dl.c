/* Opening a library on first use. Pointers go through memcpy, because ISO C
 * has no conversion from dlsym's object pointer to a function pointer.
 */
#include "dep/dl.h"

#include <dlfcn.h>
#include <string.h>

static int fail_dl(const struct gpc_dl *dl, struct gpc_error *err,
	const char *why)
{
	gpc_fail(err, GPC_EUNSUPPORTED, "cannot load %s: %s", dl->title,
		why ? why : "no reason given");
	if (dl->package)
		gpc_hint(err, "install %s (Debian, Ubuntu: apt-get install %s)",
			dl->title, dl->package);
	return -GPC_EUNSUPPORTED;
}

static void *open_any(const struct gpc_dl *dl)
{
	void *handle = NULL;

	for (size_t i = 0; !handle && i < 4 && dl->names[i]; i++)
		handle = dlopen(dl->names[i], RTLD_NOW | RTLD_LOCAL);
	return handle;
}

static int load(struct gpc_dl *dl, struct gpc_error *err)
{
	void *handle = open_any(dl);
	const char *why;

	if (!handle)
		return fail_dl(dl, err, dlerror());
	for (const struct gpc_dl_symbol *s = dl->symbols; s->name; s++) {
		void *address = dlsym(handle, s->name);

		if (!address && !s->optional) {
			int r = fail_dl(dl, err, dlerror());

			dlclose(handle);
			return r;
		}
		memcpy((char *)dl->table + s->offset, &address,
			sizeof(address));
	}
	why = dl->start ? dl->start() : NULL;
	return why ? fail_dl(dl, err, why) : 0;
}

int gpc_dl_open(struct gpc_dl *dl, struct gpc_error *err)
{
	int r = 0;

	if (atomic_load_explicit(&dl->ready, memory_order_acquire))
		return 0;
	pthread_mutex_lock(&dl->lock);
	if (!atomic_load_explicit(&dl->ready, memory_order_relaxed)) {
		r = load(dl, err);
		if (r == 0)
			atomic_store_explicit(&dl->ready, true,
				memory_order_release);
	}
	pthread_mutex_unlock(&dl->lock);
	return r;
}
