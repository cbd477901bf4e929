/* A provider in a scratch state folder, beside the same cloud under another store. */
#pragma once
#include "../unit/test.h"
#include "provider/provider.h"

#define TOKEN_A "11111111-aaaa-8bbb-8ccc-dddddddddddd"
#define TOKEN_B "22222222-aaaa-8bbb-8ccc-dddddddddddd"

struct lab {
	char *state_dir, *self_path;
	struct gpc_log log;
	struct gpc_provider_context ctx, other_ctx;
	struct gpc_provider *p, *other;    /* the same cloud, another store */
};
struct lab *lab_new(const char *provider);
/* Ends all that runs, too. */
void lab_free(struct lab *lab);

/* An intent of one job for the first offer that fits. */
void launch_fill(struct gpc_launch *l, struct gpc_provider *p, const char *token,
	int count);
/* As core does before it journals an intent. */
void complete(struct gpc_launch *l, struct gpc_provider *p);
/* Both, and the machines. */
void buy(struct gpc_provider *p, const char *token, int count, struct gpc_instances *ret);

const struct gpc_instance *find(const struct gpc_instances *x, const char *id);
bool runs(struct gpc_provider *p, const char *id);
/* Waits; absence is confirmed by a later list. */
bool ends(struct gpc_provider *p, const char *id);
size_t count_running(struct gpc_provider *p);
