/* The files below a folder as sorted keys. */
#pragma once
#include <sys/stat.h>

/* Non-zero ends the walk, which then still succeeds. */
typedef int gpc_file_walk_fn(void *arg, const char *key, const struct stat *st);
/* Every regular file below root whose key starts with prefix and is greater than
 * after (NULL = all), in byte order of whole keys; names that are no keys are
 * passed over. Reads one folder at a time, and only those that can hold what is
 * wanted. Folders that have held nothing for a minute go. 0 or an errno. */
int gpc_file_walk(int root, const char *prefix, const char *after,
	gpc_file_walk_fn *fn, void *arg);
/* The same for the temporary files of writes that are not finished. */
int gpc_file_walk_temps(int root, const char *prefix, gpc_file_walk_fn *fn,
	void *arg);
