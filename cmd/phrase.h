/* Phrases that several commands say alike. All results are owned. */
#pragma once
#include <stdint.h>

#include "base/money.h"
#include "dep/json.h"
#include "model/job.h"
#include "model/offer.h"

/* "2026-11-30 05:17:25", in the reader's time zone; "-" for 0. */
char *gpc_phrase_time(int64_t wall_ms);
/* At most two units: "1h30m", "12s", "0.4s". */
char *gpc_phrase_duration(int64_t ms);
/* "3m ago" */
char *gpc_phrase_age(int64_t wall_ms);
/* "1 file", "12 files" */
char *gpc_phrase_count(uint64_t n, const char *thing);
char *gpc_phrase_size(uint64_t bytes);
/* "$0.00" also where nothing is set. */
char *gpc_phrase_money(struct gpc_money m);
/* "free" or "$1.20 per hour" */
char *gpc_phrase_rate(struct gpc_money per_hour);
/* "$1.20", and while more may come "$1.20 so far, $2.00 per hour now". */
char *gpc_phrase_cost(struct gpc_money spent, struct gpc_money per_hour,
	bool ended);
/* "machine $1.00, disk $0.01, address $0.005"; NULL when there are not several
 * parts. */
char *gpc_phrase_bill(const struct gpc_bill *b);
/* "2 CPUs, 15.6 GiB, 8 x H200 (141 GB)" */
char *gpc_phrase_machine(const struct gpc_offer *o);
/* "local", "aws/us-east-1/a p5.48xlarge spot" */
char *gpc_phrase_place(const struct gpc_offer *o);
/* "FAILED: exit_code (7)", "SUCCEEDED", "RUNNING": status with its reason, and
 * with what makes the reason exact. */
char *gpc_phrase_state(const struct gpc_job_state *st);
/* How one attempt ended: "exit_code (7)", "node_lost (rank 1)". */
char *gpc_phrase_reason(enum gpc_reason reason, int code, int signal, int rank,
	int num_nodes);
/* "1-3-user is damaged (WHAT) and passed over"; NULL when that attempt passed no
 * checkpoint over. */
char *gpc_phrase_passed_over(const struct gpc_try *t);
/* {"amount":"1.25","currency":"USD"}, or null; RFC 3339, or null. */
struct gpc_json *gpc_phrase_money_json(struct gpc_money m);
/* [{"part":"machine","cost":MONEY},...] */
struct gpc_json *gpc_phrase_bill_json(const struct gpc_bill *b);
struct gpc_json *gpc_phrase_time_json(int64_t wall_ms);
