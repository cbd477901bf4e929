/* Paths, folders, and the XDG places. Returned strings are owned. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

char *gpc_path_join(const char *a, const char *b);  /* absolute b replaces a */
const char *gpc_path_base(const char *path);        /* borrowed; after the last / */
char *gpc_path_dir(const char *path);
/* Lexical: absolute, no `.`, `..` or doubled slash; from the current folder,
 * which may have been deleted (then an error that says so). ~ is expanded. */
int gpc_path_absolute(const char *path, char **ret_path, struct gpc_error *err)
	gpc_must_check;
/* A relative path with no empty, `.` or `..` part and no NUL: safe to join. */
bool gpc_path_is_inside(const char *relative);
/* True when b is a or lies below a (both absolute and clean). */
bool gpc_path_contains(const char *a, const char *b);
/* GPC_ECONFLICT: what is there stands in a folder's place. */
int gpc_fail_no_folder(const char *path, struct gpc_error *err);
int gpc_mkdirs(const char *path, unsigned mode, struct gpc_error *err)
	gpc_must_check;
/* Removes a tree without following links; an absent one is fine. */
int gpc_rmtree(const char *path, struct gpc_error *err) gpc_must_check;

/* $HOME, else the password database; error when neither helps. */
int gpc_home(char **ret_path, struct gpc_error *err) gpc_must_check;
enum gpc_xdg { GPC_XDG_CONFIG, GPC_XDG_DATA, GPC_XDG_STATE, GPC_XDG_CACHE };
/* $XDG_..._HOME/gpucloud[/below]; relative values are ignored, as XDG says. */
int gpc_xdg(enum gpc_xdg which, const char *below, char **ret_path,
	struct gpc_error *err) gpc_must_check;
