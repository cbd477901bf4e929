/* What is asked for each purchase, and is the same for all of them: jobs that one
 * supervisor buys for in a row share the answer for a minute. Only what is named in
 * aws_answers.c is kept: the lists that say what is paid for are always asked. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"

struct gpc_aws_answer { char *question; struct gpc_buf body; int64_t at_ms; };
struct gpc_aws_answers { GPC_VEC(struct gpc_aws_answer) all; };

/* Whether answers to this action ("DescribeImages") may be kept. */
bool gpc_aws_answers_take(const char *action);
/* The answer to a question, borrowed until the next call; NULL = it has to be asked.
 * what: action and region ("DescribeImages in us-east-1"); question: all of it, as it is
 * sent. */
const struct gpc_buf *gpc_aws_answers_get(struct gpc_aws_answers *a,
	const char *what, const char *question);
/* Keeps a copy; what is old or large makes room or is not kept. */
void gpc_aws_answers_keep(struct gpc_aws_answers *a, const char *what,
	const char *question, const struct gpc_buf *body);
/* All of them: something that relied on them failed. */
void gpc_aws_answers_clear(struct gpc_aws_answers *a);
