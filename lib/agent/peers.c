/* Several ranks of one attempt.
 *
 * They talk through objects only: every rank beats, rank 0 makes peers.json of
 * the first beats, each rank writes its exit, rank 0 names the first failing
 * one. That a rank failed is told by rank 0's beat at once; the verdict, upon
 * which supervisors act, comes last. */
#include "agent/peers.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/facts.h"
#include "base/crash.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/time.h"
#include "record/keys.h"
#include "record/roll.h"

enum { OTHERS_GRACE_MS = 15000, PEERS_MAX = 4 << 20, FAR_LOOK_MS = 1000,
	SETTLE_MS = 500, SETTLE_FAR_MS = 2000, SETTLE_GANG_MS = 5000 };

/* Where a look costs money it is not taken with every turn of the loop. */
static bool may_look(struct gpc_agent *a)
{
	int64_t now = gpc_boot_ms();

	if (!gpc_store_is_far(a->store))
		return true;
	if (now < a->peers_due_ms)
		return false;
	a->peers_due_ms = now + FAR_LOOK_MS;
	return true;
}

int gpc_peers_free_port(const char *address)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	socklen_t len = sizeof(in);
	gpc_autofd fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || inet_pton(AF_INET, address, &in.sin_addr) != 1
		|| bind(fd, (struct sockaddr *)&in, sizeof(in)) < 0
		|| getsockname(fd, (struct sockaddr *)&in, &len) < 0)
		return 0;
	return ntohs(in.sin_port);
}

void gpc_peers_self(struct gpc_agent *a)
{
	gpc_autostr *own = gpc_rank_here(a->rank);

	snprintf(a->address, sizeof(a->address), "%s", own);
	if (gpc_peers_free_port(a->address) == 0)
		snprintf(a->address, sizeof(a->address), "127.0.0.1");
	if (a->rank == 0)
		a->master_port = gpc_peers_free_port(a->address);
}

static void add_peer(struct gpc_peers *p, int rank, const char *address,
	const char *instance)
{
	struct gpc_peer *x = gpc_vec_push(&p->nodes);

	x->rank = rank;
	x->address = gpc_strdup(address);
	x->instance = gpc_strdup(instance);
}

/* By each one's first beat: false while one is missing. */
static bool add_by_beats(struct gpc_agent *a, struct gpc_peers *p)
{
	for (int rank = 1; rank < a->spec.num_nodes; rank++) {
		gpc_auto(gpc_beat) struct gpc_beat b = {0};
		bool found = false;

		if (gpc_agent_get_beat(a, rank, &b, &found, NULL) < 0 || !found
			|| !b.address)
			return false;
		add_peer(p, rank, b.address, b.instance);
	}
	return true;
}

static const char *instance_of(const struct gpc_agent *a, int rank)
{
	gpc_vec_each(n, &a->state.nodes)
		if (n->attempt == a->attempt && n->rank == rank)
			return n->id;
	return NULL;
}

/* Large gangs: the roll has the addresses, the journal the rest. */
static bool add_by_roll(struct gpc_agent *a, struct gpc_peers *p)
{
	gpc_auto(gpc_roll) struct gpc_roll here = {0};

	if (gpc_roll_call(a->store, a->job.id, a->attempt, a->spec.num_nodes,
		GPC_ROLL_HERE, &here, NULL) < 0)
		return false;
	for (int rank = 1; rank < a->spec.num_nodes; rank++) {
		const char *address = gpc_roll_of(&here, rank);

		if (!address || !*address)
			return false;
		add_peer(p, rank, address, instance_of(a, rank));
	}
	return true;
}

/* Rank 0: false while somebody is missing. */
static bool collect(struct gpc_agent *a)
{
	gpc_auto(gpc_peers) struct gpc_peers p = { .v = 1,
		.master_port = a->master_port };
	gpc_autoptr(gpc_json) *j = NULL;
	gpc_autostr *text = NULL;
	struct gpc_error err = {0};
	gpc_key key;
	int r;

	add_peer(&p, 0, a->address, a->node->id);
	if (gpc_roll_is_kept(a->spec.num_nodes) ? !add_by_roll(a, &p) :
		!add_by_beats(a, &p))
		return false;
	j = gpc_peers_write(&p);
	text = gpc_json_print(j);
	gpc_key_attempt(key, a->job.id, a->attempt, "peers.json");
	r = gpc_store_put(a->store, key, text, strlen(text), GPC_PUT_IF_ABSENT,
		&err);
	GPC_CRASH("agent.peers_put");
	if (r < 0 && r != -GPC_ECONFLICT) {
		gpc_agent_say(a, GPC_WARN, "peers: %s", err.msg);
		return false;
	}
	a->peers = p;
	p = (struct gpc_peers){0};
	return true;
}

static bool read_peers(struct gpc_agent *a)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_error err = {0};
	gpc_key key;

	gpc_key_attempt(key, a->job.id, a->attempt, "peers.json");
	if (gpc_store_get(a->store, key, PEERS_MAX, &b, NULL) < 0)
		return false;
	if (gpc_peers_parse(b.data, b.len, &a->peers, &err) < 0) {
		gpc_agent_say(a, GPC_WARN, "peers: %s", err.msg);
		return false;
	}
	return true;
}

bool gpc_peers_ready(struct gpc_agent *a)
{
	if (a->peers.nodes.n)
		return true;
	if (a->spec.num_nodes == 1) {
		a->peers.v = 1;
		a->peers.master_port = a->master_port;
		add_peer(&a->peers, 0, a->address, a->node->id);
		return true;
	}
	if (!may_look(a))
		return false;
	return a->rank == 0 ? collect(a) : read_peers(a);
}

static void say(struct gpc_agent *a, const char *word)
{
	if (gpc_json_get(a->beat_extra, word))
		return;
	if (!a->beat_extra)
		a->beat_extra = gpc_json_object();
	gpc_json_set_bool(a->beat_extra, word, true);
	gpc_agent_beat(a);
}

static bool says(struct gpc_agent *a, int rank, const char *word)
{
	gpc_auto(gpc_beat) struct gpc_beat b = {0};
	bool found = false;

	return gpc_agent_get_beat(a, rank, &b, &found, NULL) == 0 && found
		&& gpc_json_bool_or(gpc_json_get(b.rest, word), false);
}

/* Rank 0: whether all others wait for it. */
static bool all_ready(struct gpc_agent *a)
{
	gpc_auto(gpc_roll) struct gpc_roll ready = {0};

	if (gpc_roll_is_kept(a->spec.num_nodes))
		return gpc_roll_call(a->store, a->job.id, a->attempt,
			a->spec.num_nodes, GPC_ROLL_READY, &ready, NULL) == 0 &&
			ready.n - (gpc_roll_of(&ready, 0) != NULL) ==
			a->spec.num_nodes - 1;
	for (int rank = 1; rank < a->spec.num_nodes; rank++)
		if (!says(a, rank, "ready"))
			return false;
	return true;
}

bool gpc_peers_barrier(struct gpc_agent *a)
{
	if (a->spec.num_nodes < 2 || !a->spec.recovery.barrier)
		return true;
	if (!may_look(a))
		return false;
	if (a->rank != 0) {
		say(a, "ready");
		return gpc_agent_enter_ready(a, NULL) == 0 && says(a, 0, "go");
	}
	if (!all_ready(a))
		return false;
	say(a, "go");
	return true;
}

/* --- while the program runs ----------------------------------------------- */

/* Whether x, of `rank`, failed before what is known. One that was stopped since
 * another had failed names that one. */
static bool is_earlier(const struct gpc_exit *x, int rank,
	const struct gpc_exit *first)
{
	return x->reason != GPC_REASON_COMPLETED && x->rank == rank &&
		(!first->v || x->at_ms < first->at_ms);
}

/* Rank 0: reads the other ranks' exits; how many there are, and the first that
 * is no success. *log_cut takes the first word of a log without its end, unless
 * there is one. */
static bool look_at_each(struct gpc_agent *a, struct gpc_exit *ret_failed,
	int *ret_n_ended, char **log_cut)
{
	for (int rank = 1; rank < a->spec.num_nodes; rank++) {
		gpc_auto(gpc_exit) struct gpc_exit x = {0};
		bool found = false;

		if (gpc_agent_get_exit(a, rank, &x, &found, NULL) < 0 || !found)
			continue;
		(*ret_n_ended)++;
		if (!*log_cut)
			gpc_set_str(log_cut, x.log_cut);
		if (!is_earlier(&x, rank, ret_failed))
			continue;
		gpc_exit_clear(ret_failed);
		*ret_failed = x;
		x = (struct gpc_exit){0};
	}
	return ret_failed->v != 0;
}

/* Large gangs: the roll tells of a program's end before its exit.json does, which is
 * asked for its words. */
static bool call_ends(struct gpc_agent *a, struct gpc_exit *ret_failed)
{
	gpc_auto(gpc_roll) struct gpc_roll ends = {0};
	gpc_auto(gpc_exit) struct gpc_exit x = {0};
	bool found = false;
	int64_t at_ms = 0;
	enum gpc_reason reason = GPC_REASON_NONE;
	int rank;

	if (gpc_roll_call(a->store, a->job.id, a->attempt, a->spec.num_nodes,
		GPC_ROLL_END, &ends, NULL) < 0)
		return false;
	free(ends.values[0]);
	ends.values[0] = NULL;  /* our own */
	rank = gpc_roll_first_failed(&ends, &at_ms, &reason);
	if (rank < 0)
		return false;
	if (gpc_agent_get_exit(a, rank, &x, &found, NULL) < 0 || !found)
		x = (struct gpc_exit){ .v = 1, .phase = GPC_PHASE_RUN,
			.reason = reason, .at_ms = at_ms };
	x.rank = rank;
	*ret_failed = x;
	x = (struct gpc_exit){0};
	return true;
}

/* Those whose log lacks its end say so there. */
static int call_exits(struct gpc_agent *a, char **log_cut)
{
	gpc_auto(gpc_roll) struct gpc_roll exits = {0};

	if (gpc_roll_call(a->store, a->job.id, a->attempt, a->spec.num_nodes,
		GPC_ROLL_EXIT, &exits, NULL) < 0)
		return 0;
	for (int rank = 1; !*log_cut && rank < exits.num_nodes; rank++) {
		gpc_auto(gpc_exit) struct gpc_exit x = {0};
		bool found = false;

		if (exits.values[rank] && *exits.values[rank] &&
			gpc_agent_get_exit(a, rank, &x, &found, NULL) == 0)
			gpc_set_str(log_cut, x.log_cut);
	}
	return exits.n - (gpc_roll_of(&exits, 0) != NULL);
}

/* What ended and failed so far; log_cut and ret_n_ended are of all that are through,
 * and may both be NULL. */
static bool look_at_exits(struct gpc_agent *a, struct gpc_exit *ret_failed,
	int *ret_n_ended, char **log_cut)
{
	gpc_autostr *cut = NULL;
	int n = 0;
	bool failed;

	if (!gpc_roll_is_kept(a->spec.num_nodes)) {
		failed = look_at_each(a, ret_failed, &n, log_cut ? log_cut :
			&cut);
	} else {
		if (log_cut)            /* first: what has an exit has an end */
			n = call_exits(a, log_cut);
		failed = call_ends(a, ret_failed);
	}
	if (ret_n_ended)
		*ret_n_ended = n;
	return failed;
}

static void stop_for(struct gpc_agent *a, int rank, enum gpc_reason reason)
{
	gpc_autostr *detail = gpc_format("rank %d failed: %s", rank,
		gpc_reason_to_str(reason));

	gpc_agent_say(a, GPC_INFO, "%s", detail);
	a->failed_rank = rank;
	gpc_agent_stop(a, reason, a->spec.checkpoint.grace_ms, "final", detail);
}

static void watch_as_leader(struct gpc_agent *a)
{
	gpc_auto(gpc_exit) struct gpc_exit x = {0};

	if (!look_at_exits(a, &x, NULL, NULL))
		return;
	gpc_agent_tell_failed(a, x.rank, x.reason);
	gpc_exit_clear(&a->first_failed);
	a->first_failed = x;
	stop_for(a, x.rank, x.reason);
	x = (struct gpc_exit){0};
}

static void watch_leader(struct gpc_agent *a, int64_t now_ms)
{
	gpc_auto(gpc_beat) struct gpc_beat b = {0};
	bool found = false;
	int rank;

	if (gpc_agent_get_beat(a, 0, &b, &found, NULL) < 0)
		return;
	if ((found && b.n != a->leader_n) || !a->leader_seen_ms) {
		a->leader_n = b.n;
		a->leader_seen_ms = now_ms;
	}
	rank = (int)gpc_json_get_int(b.rest, "failed", -1);
	if (rank >= 0 && rank != a->rank) {
		const char *word = gpc_json_get_str(b.rest, "failed_reason");
		enum gpc_reason reason = GPC_REASON_EXIT_CODE;

		for (int i = 1; word && i < GPC_REASON__COUNT; i++)
			if (gpc_eq(gpc_reason_names[i], word))
				reason = (enum gpc_reason)i;
		stop_for(a, rank, reason);
	} else if (now_ms - a->leader_seen_ms > GPC_AGENT_STALE_MS) {
		gpc_agent_stop(a, GPC_REASON_NODE_LOST,
			a->spec.checkpoint.grace_ms, "final",
			"rank 0 has not been heard of for 5 minutes");
		a->abandoned = true;
	}
}

void gpc_peers_watch(struct gpc_agent *a, int64_t now_ms)
{
	if (a->spec.num_nodes < 2 || a->stop.asked)
		return;
	if (a->rank == 0)
		watch_as_leader(a);
	else
		watch_leader(a, now_ms);
}

/* --- after our own end ---------------------------------------------------- */

static bool put_verdict(struct gpc_agent *a, const struct gpc_exit *x,
	int64_t now_ms)
{
	struct gpc_error err = {0};

	if (gpc_agent_put_verdict(a, x, &err) == 0) {
		GPC_CRASH("agent.verdict_put");
		return true;
	}
	gpc_agent_say(a, GPC_WARN, "verdict: %s", err.msg);
	a->retry_ms = now_ms + 1000;
	return false;
}

static bool settle_as_leader(struct gpc_agent *a, int64_t now_ms)
{
	gpc_auto(gpc_exit) struct gpc_exit other = {0};
	struct gpc_exit *verdict = &a->exit;
	int n_ended = 0;
	bool other_failed = look_at_exits(a, &other, &n_ended,
		&a->exit.log_cut);
	bool all = n_ended == a->spec.num_nodes - 1;

	/* What ended first is the cause; the others' ends followed from it. What
	 * was seen first may have had more to say since. */
	if (a->first_failed.v && other_failed &&
		other.rank == a->first_failed.rank)
		verdict = &other;
	else if (a->first_failed.v)
		verdict = &a->first_failed;
	else if (other_failed && (a->exit.reason == GPC_REASON_COMPLETED ||
		other.at_ms < a->exit.at_ms))
		verdict = &other;
	if (!verdict->log_cut)
		gpc_set_str(&verdict->log_cut, a->exit.log_cut);
	if (verdict->reason != GPC_REASON_COMPLETED) {
		gpc_agent_tell_failed(a, verdict->rank, verdict->reason);
		all = all || now_ms - a->report_since_ms
			>= a->spec.checkpoint.grace_ms + OTHERS_GRACE_MS;
	}
	return all && put_verdict(a, verdict, now_ms);
}

static int64_t settle_ms(const struct gpc_agent *a)
{
	if (!gpc_store_is_far(a->store))
		return SETTLE_MS;
	return a->rank && gpc_roll_is_kept(a->spec.num_nodes) ? SETTLE_GANG_MS :
		SETTLE_FAR_MS;
}

bool gpc_peers_settled(struct gpc_agent *a, int64_t now_ms)
{
	gpc_auto(gpc_exit) struct gpc_exit verdict = {0};
	bool found = false;

	if (now_ms < a->retry_ms)
		return false;
	a->retry_ms = now_ms + settle_ms(a);
	if (a->rank == 0)
		return settle_as_leader(a, now_ms);
	if (gpc_agent_get_exit(a, -1, &verdict, &found, NULL) == 0 && found)
		return true;
	watch_leader(a, now_ms);      /* it may have died meanwhile */
	return a->abandoned;
}
