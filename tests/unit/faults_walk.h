/* Walking a flow through faults: each call of a kind fails in turn, or that one
 * and all after it; then each operation of the store in each way that
 * core_lab.h lists. The flow must end in success or in a clean error, leak no
 * descriptor, and leave what a second try without faults makes whole. */
#pragma once
#include "base/buf.h"
#include "core_lab.h"
#include "faults_io.h"

struct bench {
	struct lab *lab;
	char *tree, *target;          /* a folder with files; where to restore */
	const char *once_key;         /* of a submit; NULL = "k" */
	char job[GPC_JOB_ID_SIZE];
	struct gpc_buf text;          /* of the log */
};
struct flow {
	void (*set_up)(struct bench *b);      /* may be NULL */
	int (*run)(struct bench *b, struct gpc_error *err);
	void (*check)(struct bench *b);       /* after a run that succeeded */
	int step;                             /* but for long tests; 0 = 5 */
};
void in_turn(const struct flow *f);
/* Thousands of stores: in memory, where there is some for it. */
void use_memory(void);

/* Files a, sub/b and big, which is cut into pieces, below b->tree. */
void make_tree(struct bench *b);
void make_small_tree(struct bench *b);        /* without big */
void put_file(const char *dir, const char *name, size_t n);
void assert_same_file(const char *one, const char *two, const char *name);
void check_restored(struct bench *b);         /* b->target is b->tree */
int count(struct bench *b, const char *prefix);
/* A job that was submitted with b->tree, and how to. */
int run_submit(struct bench *b, struct gpc_error *err);
