/* Ports of a spec: opened once for each node of each attempt, for those alone whom the
 * job names, whatever fails or dies on the way, and closed after the last node. */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "core/ports.h"
#include "core_lab.h"
#include "model/spec_ports.h"
#include "provider/provider.h"
#include "record/keys.h"

#define GUARDED "\"resources\":{\"infra\":\"fake\",\"ports\":[\"8080\"," \
	"\"9000-9010\"],\"allow\":[\"192.0.2.0/24\",\"2001:db8::/32\"]}"
#define FAULT(op, fault, more) \
	"{\"faults\":[{\"op\":\"" op "\",\"fault\":\"" fault "\"" more "}]}"

/* --- what is open at the cloud -------------------------------------------------- */

static size_t count_ways(struct lab *lab)
{
	struct gpc_provider_context ctx;
	gpc_autoptr(gpc_provider) *p = NULL;
	gpc_auto(gpc_instances) struct gpc_instances x = {0};
	struct gpc_error err;

	assert_ok(gpc_session_provider(lab->s, "fake", &ctx, &p, &err));
	assert_ok(p->ops->ways(p, &x, &err));
	return x.n;
}

/* The rules of this job's, as the cloud keeps them. Owned. */
static char *rules(struct lab *lab, const char *job)
{
	gpc_autostr *path = gpc_format("%s/fake/ways/way-%s-%s.json",
		lab->s->place.state_dir, lab->s->store->id, job);
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autoptr(gpc_json) *j = NULL;
	struct gpc_error err;

	if (gpc_read_file(path, 1 << 20, &b, &err) < 0)
		return gpc_strdup("");
	assert_ok(gpc_json_parse(b.data, b.len, &j, &err));
	return gpc_json_print(gpc_json_get(j, "rules"));
}

#define ALL_RULES "[\"8080-8080 192.0.2.0/24\",\"8080-8080 2001:db8::/32\"," \
	"\"9000-9010 192.0.2.0/24\",\"9000-9010 2001:db8::/32\"]"

static void end_well(struct lab *lab, struct gpc_supervision *sv,
	const char *job, int nodes)
{
	int64_t end = gpc_boot_ms() + 60 * MINUTE;

	while (!lab_step(sv)) {
		if (gpc_boot_ms() > end)
			fail_msg("still %s", gpc_job_status_to_str(
				lab_state(sv)->status));
		lab_play(lab, job, lab_state(sv));
		lab_advance(1000);
	}
	assert_status(sv, "SUCCEEDED");
	assert_int_equal(count_ways(lab), 0);
	lab_check(lab, job, nodes);
}

/* What status says of it. Owned. */
static char *note(struct lab *lab, const char *job)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autoptr(gpc_json) *j = NULL;
	struct gpc_error err;
	gpc_key key;

	gpc_key_job_file(key, job, "supervisor");
	assert_ok(gpc_store_get(lab->s->store, key, 65536, &b, &err));
	assert_ok(gpc_json_parse(b.data, b.len, &j, &err));
	return gpc_strdup(gpc_json_get_str(j, "note") ?
		gpc_json_get_str(j, "note") : "");
}

/* --- tests ------------------------------------------------------------------------ */

TEST(each_node_is_opened_once)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "\"num_nodes\":3," GUARDED);
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	gpc_autostr *open = NULL;

	lab_run(lab, sv, job, 1);
	assert_int_equal(lab_events(lab, job, "opened"), 1);    /* of all three */
	assert_int_equal(count_ways(lab), 1);
	open = rules(lab, job);
	assert_string_equal(open, ALL_RULES);
	gpc_vec_each(n, &lab_state(sv)->nodes)
		assert_non_null(n->opened);
	lab_advance(10000);
	lab_step(sv);
	assert_int_equal(lab_events(lab, job, "opened"), 1);
	end_well(lab, sv, job, 3);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* The others are reached meanwhile, and the one once it can be. */
TEST(one_machine_that_cannot_be_opened_keeps_back_no_other)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "\"num_nodes\":3," GUARDED);
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	gpc_autostr *text = NULL;
	int open = 0;

	lab_script(lab, FAULT("open", "error", ""));
	lab_run(lab, sv, job, 1);
	gpc_vec_each(n, &lab_state(sv)->nodes)
		open += n->opened != NULL;
	assert_int_equal(open, 2);
	text = note(lab, job);
	assert_non_null(strstr(text, "ports are not open yet"));
	for (int i = 0; i < 10; i++) {
		for (int rank = 0; rank < 3; rank++)
			lab_beat(lab, job, 1, rank, GPC_PHASE_RUN);
		lab_advance(1000);
		lab_step(sv);
	}
	gpc_vec_each(n, &lab_state(sv)->nodes)
		assert_non_null(n->opened);
	assert_int_equal(lab_events(lab, job, "opened"), 2);
	end_well(lab, sv, job, 3);
	gpc_supervision_free(sv);
	lab_free(lab);
}

TEST(a_job_without_ports_makes_nothing)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);

	lab_run(lab, sv, job, 1);
	assert_int_equal(lab_events(lab, job, "opened"), 0);
	assert_int_equal(count_ways(lab), 0);
	end_well(lab, sv, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* The job runs meanwhile, status says why it cannot be reached, and it is tried until
 * it goes. */
static void one_fault(const char *script, const char *said)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, GUARDED);
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	gpc_autostr *text = NULL, *later = NULL, *open = NULL;

	lab_script(lab, script);
	lab_step(sv);
	lab_beat(lab, job, 1, 0, GPC_PHASE_RUN);
	lab_step(sv);
	assert_status(sv, "RUNNING");
	assert_int_equal(lab_events(lab, job, "opened"), 0);
	text = note(lab, job);
	if (!strstr(text, "ports are not open yet") || !strstr(text, said))
		fail_msg("%s: %s", script, text);
	for (int i = 0; i < 60 && !lab_events(lab, job, "opened"); i++) {
		lab_beat(lab, job, 1, 0, GPC_PHASE_RUN);
		lab_advance(1000);
		lab_step(sv);
	}
	assert_int_equal(lab_events(lab, job, "opened"), 1);
	open = rules(lab, job);
	assert_string_equal(open, ALL_RULES);
	lab_step(sv);
	later = note(lab, job);
	assert_string_equal(later, "");
	end_well(lab, sv, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

TEST(failures_of_opening)
{
	one_fault(FAULT("open", "throttle", ",\"ms\":3000"), "too many");
	one_fault(FAULT("open", "unreachable", ",\"times\":3"), "no connection");
	one_fault(FAULT("open", "lost_answer", ",\"times\":2"), "lost");
	one_fault(FAULT("open", "auth", ",\"times\":3"), "credentials");
	one_fault(FAULT("open", "quota", ",\"times\":3"), "may not have more");
	one_fault(FAULT("open", "error", ""), "unknown kind");
}

/* It ends all the same, and with nothing left. */
TEST(failures_of_closing)
{
	static const char *const scripts[] = {
		FAULT("ways", "throttle", ",\"times\":3,\"ms\":1000"),
		FAULT("ways", "unreachable", ",\"times\":3"),
		FAULT("ways", "lost_answer", ",\"times\":2"),
		FAULT("destroy", "lost_answer", ",\"skip\":1,\"times\":2"),
		FAULT("destroy", "unreachable", ",\"skip\":1,\"times\":2"),
	};

	for (size_t i = 0; i < COUNT(scripts); i++) {
		struct lab *lab = lab_new(0);
		gpc_autostr *job = lab_job(lab, GUARDED);
		struct gpc_supervision *sv = lab_supervise(lab->s, job);

		lab_run(lab, sv, job, 1);
		lab_script(lab, scripts[i]);
		end_well(lab, sv, job, 1);
		gpc_supervision_free(sv);
		lab_free(lab);
	}
}

TEST(nobody_is_let_in_whom_the_job_does_not_name)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "\"resources\":{\"infra\":\"fake\","
		"\"ports\":[\"8080\"]}");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	gpc_autostr *text = NULL;

	lab_run(lab, sv, job, 1);
	text = note(lab, job);
	assert_non_null(strstr(text, "resources.allow"));
	assert_int_equal(count_ways(lab), 0);
	assert_int_equal(lab_events(lab, job, "opened"), 0);
	end_well(lab, sv, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* Killed before each put of the flow in turn: another one opens what is not open yet, and
 * closes what its predecessor told nobody of. */
static void die(void *arg)
{
	(void)arg;
	_exit(77);
}

TEST(a_kill_at_each_put)
{
	for (unsigned nth = 1;; nth++) {
		struct lab *lab = lab_new(LAB_FILE | LAB_FAULTY | LAB_KNOWN);
		gpc_autostr *job = lab_job(lab, GUARDED);
		struct gpc_supervision *sv;
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			gpc_store_fault_reset(lab->s->store);
			gpc_store_fault_add(lab->s->store, &(struct gpc_fault){
				.op = GPC_FAULT_PUT, .how = GPC_FAULT_CALL,
				.nth = nth, .call = die });
			sv = lab_supervise(lab->s, job);
			end_well(lab, sv, job, 1);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		sv = lab_supervise(lab->s, job);
		end_well(lab, sv, job, 1);
		assert_int_equal(lab_ledger(lab).made, 1);
		assert_int_equal(lab_events(lab, job, "opened"), 1);
		gpc_supervision_free(sv);
		lab_free(lab);
		if (WEXITSTATUS(status) == 0)
			break;
		assert_int_equal(WEXITSTATUS(status), 77);
	}
}

/* Each attempt is opened for the same, by one and the same thing. */
TEST(the_next_attempt_is_opened_too)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, GUARDED);
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	gpc_autostr *open = NULL;

	lab_script(lab, "{\"gone_ms\":600000}");
	lab_run(lab, sv, job, 1);
	lab_leave(lab, job);
	for (int i = 0; i < 60 && lab_state(sv)->attempt < 2; i++) {
		lab_advance(1000);
		lab_step(sv);
	}
	assert_int_equal(lab_state(sv)->attempt, 2);
	lab_run(lab, sv, job, 2);
	assert_int_equal(lab_events(lab, job, "opened"), 2);
	assert_int_equal(count_ways(lab), 1);
	open = rules(lab, job);
	assert_string_equal(open, ALL_RULES);
	end_well(lab, sv, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* --- who and where ------------------------------------------------------------------ */

TEST(the_caller_is_asked_for_those_who_name_nobody)
{
	static const struct { const char *members; const char *allowed; } cases[] = {
		{ "\"resources\":{\"infra\":\"fake\",\"ports\":[\"8080\"]}",
			"127.0.0.1/32" },
		{ GUARDED, "192.0.2.0/24,2001:db8::/32" },
		{ "\"resources\":{\"infra\":\"local\",\"ports\":[\"8080\"]}", "" },
		{ "\"resources\":{\"infra\":\"fake\"}", "" },
		{ "\"resources\":{\"any_of\":[{\"infra\":\"fake\",\"ports\":"
			"[\"1\"]},{\"infra\":\"fake\",\"ports\":[\"2\"],\"allow\":"
			"[\"192.0.2.7/32\"]}]}", "127.0.0.1/32,192.0.2.7/32" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct lab *lab = lab_new(0);
		gpc_auto(gpc_spec) struct gpc_spec spec = {0};
		gpc_auto(gpc_plan) struct gpc_plan plan = {0};
		gpc_auto(gpc_strv) struct gpc_strv allow = {0};
		gpc_autostr *list = NULL;
		struct gpc_error err;

		lab_spec(cases[i].members, &spec);
		assert_ok(gpc_plan_make(lab->s, &spec, (struct gpc_money){0}, 0,
			&plan, &err));
		assert_ok(gpc_ports_allow_caller(lab->s, &spec, &plan, &err));
		assert_ok(gpc_ports_allow_caller(lab->s, &spec, &plan, &err));
		gpc_spec_allowed(&spec, &allow);
		list = gpc_strv_join(&allow, ",");
		assert_string_equal(list, cases[i].allowed);
		lab_free(lab);
	}
}

/* Nothing is bought for a job that nobody could reach. */
TEST(a_caller_that_is_not_known_is_an_error)
{
	struct lab *lab = lab_new(0);
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	gpc_auto(gpc_plan) struct gpc_plan plan = {0};
	struct gpc_error err;

	lab_script(lab, FAULT("caller", "unreachable", ""));
	lab_spec("\"resources\":{\"infra\":\"fake\",\"ports\":[\"8080\"]}", &spec);
	assert_ok(gpc_plan_make(lab->s, &spec, (struct gpc_money){0}, 0, &plan,
		&err));
	assert_fails(gpc_ports_allow_caller(lab->s, &spec, &plan, &err), GPC_ENET);
	assert_non_null(strstr(err.msg, "resources.ports"));
	lab_free(lab);
}

TEST(tells_where_they_are_reached)
{
	struct lab *lab = lab_new(0);
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	gpc_auto(gpc_job_state) struct gpc_job_state st = { .attempt = 2 };
	gpc_auto(gpc_ports_at) struct gpc_ports_at at = {0};
	static const struct { int rank; const char *at; } want[] = {
		{ 0, "http://192.0.2.7:8080" }, { 0, "192.0.2.7:9000-9010" },
		{ 1, NULL }, { 1, NULL },
		{ 2, "http://[2001:db8::7]:8080" },
		{ 2, "[2001:db8::7]:9000-9010" },
		{ 3, "http://127.0.0.4:8080" }, { 3, "127.0.0.4:9000-9010" },
	};
	static const struct { int attempt; enum gpc_node_status status;
		const char *provider, *opened; } nodes[] = {
		{ 2, GPC_NODE_READY, "aws", "192.0.2.7" },
		{ 2, GPC_NODE_CREATED, "aws", NULL },
		{ 2, GPC_NODE_CREATED, "aws", "2001:db8::7" },
		{ 2, GPC_NODE_READY, "local", NULL },
		{ 2, GPC_NODE_RELEASED, "aws", "192.0.2.9" },
		{ 1, GPC_NODE_DRAINING, "aws", "192.0.2.10" },
	};

	lab_spec(GUARDED, &spec);
	for (size_t i = 0; i < COUNT(nodes); i++) {
		struct gpc_node *n = gpc_vec_push(&st.nodes);

		n->rank = (int)i;
		n->attempt = nodes[i].attempt;
		n->status = nodes[i].status;
		n->provider = gpc_strdup(nodes[i].provider);
		n->opened = gpc_strdup(nodes[i].opened);
	}
	gpc_ports_where(&spec, &st, &at);
	assert_int_equal(at.n, COUNT(want));
	for (size_t i = 0; i < COUNT(want); i++) {
		assert_int_equal(at.v[i].rank, want[i].rank);
		assert_true(gpc_eq(at.v[i].at, want[i].at) ||
			(!at.v[i].at && !want[i].at));
	}
	lab_free(lab);
}

TEST(tells_what_is_taken_here)
{
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	gpc_auto(gpc_strv) struct gpc_strv taken = {0}, elsewhere = {0};
	gpc_autofd fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(in);
	gpc_autostr *members = NULL, *port = NULL;
	bool here = false;

	assert_int_equal(bind(fd, (struct sockaddr *)&in, len), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &len), 0);
	port = gpc_format("%d", ntohs(in.sin_port));
	members = gpc_format("\"resources\":{\"infra\":\"local\",\"ports\":"
		"[\"%s\"]}", port);
	lab_spec(members, &spec);
	gpc_ports_taken(&spec, "local", &here, &taken);
	assert_true(here);
	assert_int_equal(taken.n, 1);
	assert_string_equal(taken.v[0], port);
	gpc_ports_taken(&spec, "fake", &here, &elsewhere);
	assert_false(here);
	assert_int_equal(elsewhere.n, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_node_is_opened_once),
		cmocka_unit_test(
			one_machine_that_cannot_be_opened_keeps_back_no_other),
		cmocka_unit_test(a_job_without_ports_makes_nothing),
		cmocka_unit_test(failures_of_opening),
		cmocka_unit_test(failures_of_closing),
		cmocka_unit_test(nobody_is_let_in_whom_the_job_does_not_name),
		cmocka_unit_test(a_kill_at_each_put),
		cmocka_unit_test(the_next_attempt_is_opened_too),
		cmocka_unit_test(the_caller_is_asked_for_those_who_name_nobody),
		cmocka_unit_test(a_caller_that_is_not_known_is_an_error),
		cmocka_unit_test(tells_where_they_are_reached),
		cmocka_unit_test(tells_what_is_taken_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
