/* Events of a job's journal: {v, n, id, type, at_ms, by, data, state}. Payloads,
 * the member data, by type (? = may be left out):
 *
 *   submitted  {num_nodes}
 *   attempt    {attempt, resume_from?, uncounted?, damaged?, damage?}
 *                                          uncounted: a restart by
 *                                          recovery.on_exit; damaged: newer
 *                                          checkpoints, which it passes over
 *   intent     {attempt, token, request:{provider, offer, count, ranks, ...},
 *               passed?:[{offer, why}]}    offers that its places could not have
 *   void       {intent, offer?, detail?}   the intent n is given up; offer: it
 *                                          could not be had, and why
 *   created    {intent, nodes:[{rank, id, address?, expires_ms?, offer?, provider,
 *               created_ms?, rate?, expires_reason?}], tariff?}   the last of a
 *                                          node: what the end of its lifetime
 *                                          means for the job
 *   rate       {attempt, rank, id?, rate}
 *   ready      {attempt, rank, id?, address?}
 *   phase      {attempt, phase, at_ms?, reason?}    setup | running | stopping
 *   lost       {attempt, rank, reason, code?, signal?, at_ms?, progress?, boot?,
 *               detail?, offer?}           ends the attempt; progress: false
 *                                          counts towards no_progress; boot: the
 *                                          word of model/boot_failure.h; offer:
 *                                          its machine died before it ran
 *   opened     {attempt, rank, id, address, also?}     the spec's ports of this
 *                                          node are open, and reached at address;
 *                                          also: of more nodes {rank, id, address}
 *   released   {attempt, rank, id, at_ms?, paid_ms?, machine_free?, unpaid?}
 *                                          how long it is paid for, if not from
 *                                          created to at_ms; only what belongs
 *                                          to the machine is; nothing is, as it
 *                                          ended before it ran
 *   supervisor {supervisor, host, boot, pid}
 *   checkpoint {attempt, checkpoint}       id "<attempt>-<n>-<label>"
 *   cancel     {now}    save {label?}    signal {signal, rank?}
 *   ssh        {rank, key, opens?}         the node of this rank lets the holder of
 *                                          a public key in; opens: with that, a
 *                                          way to it may have been made
 *   update     {cost?, time_ms?, priority?, notify?}   from now on; notify: a
 *                                          list as in the spec, [] = nobody
 *   resume     {checkpoint?, secrets?}     after an end: back to PENDING; secrets:
 *                                          the name of those that came with it
 *                                          (record/secrets.h)
 *   prune      {keep}                      asked of rank 0's agent
 *   pruning    {drop?, keep?, remove?}     of an ended job: these checkpoints
 *                                          go, whoever deletes them; remove:
 *                                          the whole job goes
 *   pruned     {}                          they are gone
 *   ended      {reason, code?, signal?, rank?, at_ms?, ran_ms?, boot?}
 *                                          both times as the nodes say, if they
 *                                          do; boot: as in lost
 */
#pragma once
#include <stdint.h>

#include "base/err.h"
#include "dep/json.h"
#include "model/job.h"

enum gpc_event_type {
	GPC_EVENT_SUBMITTED, GPC_EVENT_ATTEMPT, GPC_EVENT_INTENT,
	GPC_EVENT_VOID, GPC_EVENT_CREATED, GPC_EVENT_RATE, GPC_EVENT_READY,
	GPC_EVENT_PHASE, GPC_EVENT_LOST, GPC_EVENT_RELEASED,
	GPC_EVENT_SUPERVISOR, GPC_EVENT_CHECKPOINT, GPC_EVENT_CANCEL,
	GPC_EVENT_SAVE, GPC_EVENT_SIGNAL, GPC_EVENT_UPDATE, GPC_EVENT_RESUME,
	GPC_EVENT_PRUNE, GPC_EVENT_PRUNING, GPC_EVENT_PRUNED,
	GPC_EVENT_ENDED, GPC_EVENT_SSH, GPC_EVENT_OPENED,
	GPC_EVENT__COUNT,
};
extern const char *const gpc_event_type_names[];

#define GPC_EVENT_VERSION 1
struct gpc_event {
	int v;
	int64_t n;
	char *id;                   /* random: whose put won */
	enum gpc_event_type type;
	int64_t at_ms;
	char *by;                   /* "client user@host" | "supervisor ..." */
	struct gpc_json *data;      /* the payload, an object */
	struct gpc_job_state state; /* folded after this event */
};
/* An unknown type or a higher v is GPC_EUNSUPPORTED: the reader must not write. */
int gpc_event_parse(const char *text, size_t n, struct gpc_event *ret_e,
	struct gpc_error *err) gpc_must_check;
struct gpc_json *gpc_event_write(const struct gpc_event *e);
void gpc_event_clear(struct gpc_event *e);
GPC_CLEANUP_VALUE(gpc_event);
