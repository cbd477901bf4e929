/* secrets/<job>: {v, secrets: {NAME: VALUE}}, the only place that holds the values of
 * a submit; secrets/<job>.resume-<name>: of a resume, each under a key of its own.
 * Deleted by whoever ends the job.
 *
 * A name is "<n>-<random>", with the number of the event that is to name it. Once the
 * journal has that event, or another of that number, nobody comes to need the values
 * of any other name up to it: so whoever erases what an ended attempt had never hits
 * those of a resume that is under way, and no two of these hit each other's. */
#pragma once
#include "base/err.h"
#include "base/map.h"
#include "store/store.h"

#define GPC_SECRETS_NAME_SIZE 32
/* A new one for event number n; returns out. */
const char *gpc_secrets_name(int64_t n, char out[GPC_SECRETS_NAME_SIZE]);
/* False: it is none. */
bool gpc_secrets_name_parse(const char *name, int64_t *ret_n);
/* The job of a key in secrets/, owned, with *ret_name, borrowed from the key: the
 * name, or NULL. Of a key that is neither, as if it were a submit's. */
char *gpc_secrets_job(const char *key, const char **ret_name);

/* Nothing is put when there are none. name: NULL = of a submit. */
int gpc_secrets_put(struct gpc_store *s, const char *job, const char *name,
	const struct gpc_pairs *secrets, struct gpc_error *err) gpc_must_check;
/* Adds to ret_secrets. GPC_ENOTFOUND: they were deleted. GPC_EPROTO: name, which comes
 * from a journal, is none. */
int gpc_secrets_get(struct gpc_store *s, const char *job, const char *name,
	struct gpc_pairs *ret_secrets, struct gpc_error *err) gpc_must_check;
/* Deletes a job's: those of its submit, and of its resumes up to event number n. */
int gpc_secrets_drop_all(struct gpc_store *s, const char *job, int64_t n,
	struct gpc_error *err) gpc_must_check;
/* Puts a text that holds secrets, more than once if it has to; the text is wiped. */
int gpc_secrets_put_text(struct gpc_store *s, const char *key, char *text,
	struct gpc_error *err) gpc_must_check;
/* Deletes what is under a key in secrets/. In a folder that users share another's
 * stays, which is success: his own commands meet it once its job has gone. */
int gpc_secrets_drop(struct gpc_store *s, const char *key,
	struct gpc_error *err) gpc_must_check;
void gpc_secrets_wipe(char *text, size_t n);
