/* The job's figures to where its cloud keeps such (config aws.cloudwatch): once a
 * minute, each name's least, most, sum and number. What cannot be put is dropped: no
 * trouble with it is trouble of the job. */
#pragma once
#include <stddef.h>

#include "agent/context.h"

/* Begins to collect where the job asks for it and its cloud can; else nothing. */
void gpc_publish_open(struct gpc_agent *a);
/* A line of the stream of metrics. */
void gpc_publish_line(struct gpc_agent *a, const char *line, size_t n);
/* Each second. Never waits. */
void gpc_publish_tick(struct gpc_agent *a, int64_t now_ms);
/* The job has ended: false while its last figures are on their way. */
bool gpc_publish_ended(struct gpc_agent *a, int64_t now_ms);
void gpc_publish_close(struct gpc_agent *a);
