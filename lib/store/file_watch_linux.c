/* Waiting for changes by inotify. Each folder that somebody waits for keeps its
 * own inotify descriptor between waits, so that what happens while the caller
 * works is not missed. inotify does not look below a folder, so subfolders get
 * watches of their own, to a depth and a number that suffice for a job. Where
 * the system's limits are used up, it is a short sleep instead. */
#define _GNU_SOURCE
#include "store/file_watch.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"

#define SLOTS 8
#define MAX_DEPTH 4
#define MAX_FOLDERS 256
#define POLL_MS 1000
#define CHANGES (IN_CREATE | IN_MODIFY | IN_MOVED_TO | IN_MOVED_FROM | \
	IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

struct slot {
	char *folder;
	int fd;                 /* inotify */
	bool busy;              /* a thread polls it */
	int64_t used_ms;
};
struct gpc_file_watch {
	pthread_mutex_t lock;
	struct slot slots[SLOTS];
};

struct gpc_file_watch *gpc_file_watch_new(void)
{
	struct gpc_file_watch *w = gpc_alloc(sizeof(*w));

	pthread_mutex_init(&w->lock, NULL);
	for (int i = 0; i < SLOTS; i++)
		w->slots[i].fd = -1;
	return w;
}

void gpc_file_watch_free(struct gpc_file_watch *w)
{
	if (!w)
		return;
	for (int i = 0; i < SLOTS; i++) {
		gpc_close(&w->slots[i].fd);
		free(w->slots[i].folder);
	}
	pthread_mutex_destroy(&w->lock);
	free(w);
}

/* --- slots ------------------------------------------------------------- */

/* The slot of this folder, or the longest unused one, marked busy; NULL when
 * every slot is in use. *ret_fresh: it watched something else before. */
static struct slot *take_slot(struct gpc_file_watch *w, const char *folder,
	bool *ret_fresh)
{
	struct slot *best = NULL;

	pthread_mutex_lock(&w->lock);
	for (int i = 0; i < SLOTS; i++) {
		struct slot *s = &w->slots[i];

		if (s->busy)
			continue;
		if (gpc_eq(s->folder, folder)) {
			best = s;
			break;
		}
		if (!best || s->used_ms < best->used_ms)
			best = s;
	}
	if (best) {
		*ret_fresh = !gpc_eq(best->folder, folder);
		best->busy = true;
		best->used_ms = gpc_boot_ms();
	}
	pthread_mutex_unlock(&w->lock);
	return best;
}

static void give_slot(struct gpc_file_watch *w, struct slot *s)
{
	pthread_mutex_lock(&w->lock);
	s->busy = false;
	pthread_mutex_unlock(&w->lock);
}

/* --- watches ----------------------------------------------------------- */

static void add_tree(int fd, const char *folder, int depth, int *left)
{
	const struct dirent *e;
	DIR *d;

	if (*left <= 0 || inotify_add_watch(fd, folder, CHANGES) < 0)
		return;
	--*left;
	if (depth == 0 || !(d = opendir(folder)))
		return;
	while ((e = readdir(d)) != NULL) {
		gpc_autostr *below = NULL;

		if (e->d_name[0] == '.' ||
			(e->d_type != DT_DIR && e->d_type != DT_UNKNOWN))
			continue;
		below = gpc_path_join(folder, e->d_name);
		add_tree(fd, below, depth - 1, left);
	}
	closedir(d);
}

/* Watches the folder, or the nearest one above it that exists. */
static void add_watches(int fd, const char *folder)
{
	gpc_autostr *at = gpc_strdup(folder);
	size_t n = strlen(at);
	int left = MAX_FOLDERS;

	while (n > 1 && at[n - 1] == '/')
		at[--n] = '\0';
	add_tree(fd, at, MAX_DEPTH, &left);
	while (left == MAX_FOLDERS && n > 1) {
		char *slash = strrchr(at, '/');

		if (!slash || slash == at)
			return;
		*slash = '\0';
		add_tree(fd, at, 0, &left);
	}
}

static bool set_up(struct slot *s, const char *folder)
{
	gpc_close(&s->fd);
	gpc_set_str(&s->folder, folder);
	s->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (s->fd < 0) {
		gpc_set_str(&s->folder, NULL);
		return false;
	}
	add_watches(s->fd, folder);
	return true;
}

/* Takes what is queued; true when folders came or went. */
static bool drain(struct slot *s)
{
	_Alignas(struct inotify_event) char buf[4096];
	bool stale = false;
	ssize_t n;

	while ((n = read(s->fd, buf, sizeof(buf))) > 0) {
		const char *p = buf;

		while (p < buf + n) {
			const struct inotify_event *e = (const void *)p;

			if (e->mask & (IN_ISDIR | IN_IGNORED | IN_Q_OVERFLOW |
				IN_MOVE_SELF))
				stale = true;
			p += sizeof(*e) + e->len;
		}
	}
	return stale;
}

void gpc_file_watch_wait(struct gpc_file_watch *w, const char *folder,
	int timeout_ms)
{
	bool fresh = false;
	struct slot *s = take_slot(w, folder, &fresh);
	bool ok = s != NULL;

	/* What happened before the first watch is unknown: let the caller look
	 * at once. New watches for new folders are set before it looks, too. */
	if (ok && fresh) {
		ok = set_up(s, folder);
	} else if (ok) {
		struct pollfd p = { .fd = s->fd, .events = POLLIN };

		if (poll(&p, 1, timeout_ms) > 0 && drain(s))
			(void)set_up(s, folder);
	}
	if (s)
		give_slot(w, s);
	if (!ok)
		gpc_sleep_ms(timeout_ms < POLL_MS ? timeout_ms : POLL_MS);
}
