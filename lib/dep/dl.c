/* Opening a library on first use. Pointers go through memcpy, because ISO C
 * has no conversion from dlsym's object pointer to a function pointer.
 */
#include "dep/dl.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/str.h"

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

/* The first name is this system's usual one: why that did not open is what is
 * worth telling. */
static void *open_any(const struct gpc_dl *dl, char **ret_why)
{
	void *handle = NULL;

	for (size_t i = 0; !handle && i < 4 && dl->names[i]; i++) {
		const char *why;

		handle = dlopen(dl->names[i], RTLD_NOW | RTLD_LOCAL);
		why = handle ? NULL : dlerror();
		if (why && !*ret_why)
			*ret_why = gpc_strdup(why);
	}
	return handle;
}

/* 0, or the errno of opening any file at all: then nothing is missing that one
 * could install. dlerror has only text, in the user's language. */
static int shortage(void)
{
	gpc_autofd fd = open("/", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? errno : 0;
}

static int fail_open(const struct gpc_dl *dl, const char *why,
	struct gpc_error *err)
{
	int sys = shortage();

	return sys ? gpc_fail_sys(err, sys, "cannot load %s", dl->title) :
		fail_dl(dl, err, why);
}

static int load(struct gpc_dl *dl, struct gpc_error *err)
{
	gpc_autostr *name_why = NULL;
	void *handle = open_any(dl, &name_why);
	const char *why;

	if (!handle)
		return fail_open(dl, name_why, err);
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
