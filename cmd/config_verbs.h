/* Between the files of `gpucloud config`. */
#pragma once
#include "cmd/command.h"

struct gpc_config_cli {
	bool project, changed, list, remove;
};

/* A file that is read, changed and written back. */
struct gpc_config_file {
	char *shown;                   /* as people know it */
	char *path;                    /* where its bytes are: links followed */
	bool exists;
	unsigned mode;
	struct gpc_buf text;
};
/* The user's file, or the project's; one that does not exist yet is empty. */
int gpc_config_file_read(bool project, struct gpc_config_file *ret_f,
	struct gpc_error *err) gpc_must_check;
/* Whole or not at all; makes its folders. What is there must still be what was
 * read, or the answer is GPC_ECONFLICT. */
int gpc_config_file_write(const struct gpc_config_file *f, const char *text,
	size_t n, struct gpc_error *err) gpc_must_check;
void gpc_config_file_clear(struct gpc_config_file *f);
GPC_CLEANUP_VALUE(gpc_config_file);
/* Whether such a text may take the file's place: every key and value. */
int gpc_config_file_check(const struct gpc_config_file *f, bool project,
	const char *text, size_t n, struct gpc_error *err) gpc_must_check;

/* argv without the verb: a key and its values. */
int gpc_config_set_verb(struct gpc_cmd *c, const char *const *argv, int argc,
	struct gpc_error *err) gpc_must_check;
int gpc_config_unset_verb(struct gpc_cmd *c, const char *key,
	struct gpc_error *err) gpc_must_check;
int gpc_config_edit_verb(struct gpc_cmd *c, struct gpc_error *err)
	gpc_must_check;
int gpc_config_trust_verb(struct gpc_cmd *c, const char *file,
	struct gpc_error *err) gpc_must_check;
