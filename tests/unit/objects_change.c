/* Objects of buckets under any key, written and deleted, over the stand-in of the three
 * services. */
#include "objects_parts.h"

/* --- puts --------------------------------------------------------------------------- */

TEST(puts_if_absent_have_one_winner)
{
	const struct gpc_object_options options = { .if_absent = true };

	for (int kind = 0; kind < KINDS; kind++) {
		gpc_autoptr(gpc_objects) *o = open_kind(kind);
		gpc_auto(outcome) struct outcome a = {0}, b = {0}, c = {0};
		gpc_autostr *lost = gpc_format("{\"service\": \"%s\", "
			"\"operation\": \"PutObject\", \"do\": \"reset\", "
			"\"effect\": true}", services[kind]);

		assert_ok(put_with(o, "k", "one", &options, &a));
		assert_fails(put_with(o, "k", "two", &options, &b), GPC_ECONFLICT);
		bed_tell(&bed, "faults", lost);
		assert_ok(put_with(o, "l", "one", &options, &c));
	}
}

/* --- many at once -------------------------------------------------------------------- */

TEST(many_run_at_once)
{
	enum { MANY = 60 };
	static const struct gpc_body body = { .data = "0123456789", .size = 10 };

	for (int kind = 0; kind < KINDS; kind++) {
		gpc_autoptr(gpc_objects) *o = open_kind(kind);
		struct gpc_net_loop *loop = gpc_net_loop_borrow(bed.net);
		struct outcome puts[MANY] = {0}, gets[MANY] = {0};

		for (int i = 0; i < MANY; i++) {
			gpc_autostr *key = gpc_format("k/%d", i);

			assert_ok(gpc_objects_put(o, loop, key, &body, NULL, done,
				&puts[i], &err));
		}
		assert_ok(gpc_net_loop_run(loop, -1, NULL, &err));
		for (int i = 0; i < MANY; i++) {
			const struct gpc_object_get get = { .key = "k/7",
				.offset = (uint64_t)i % 10, .length = 1,
				.sink = keep, .head = see, .arg = &gets[i] };

			assert_ok(gpc_objects_get(o, loop, &get, done, &gets[i],
				&err));
		}
		assert_ok(gpc_net_loop_run(loop, -1, NULL, &err));
		gpc_net_loop_return(bed.net, loop);
		for (int i = 0; i < MANY; i++) {
			assert_int_equal(puts[i].n + gets[i].n, 2);
			assert_int_equal(puts[i].r + gets[i].r, 0);
			assert_int_equal(gpc_buf_str(&gets[i].body)[0],
				'0' + i % 10);
			outcome_clear(&puts[i]);
			outcome_clear(&gets[i]);
		}
	}
}

/* What is under way is freed with the objects, and nobody is told. */
TEST(loops_may_end_before_their_requests)
{
	gpc_autoptr(gpc_objects) *o = open_kind(S3), *other = open_kind(OSS);
	struct gpc_net_loop *loop = gpc_net_loop_new(bed.net);
	struct gpc_net_loop *later = gpc_net_loop_new(bed.net);
	gpc_auto(outcome) struct outcome out = {0};
	static const struct gpc_body body = { .data = "x", .size = 1 };
	int running;

	fault(S3, "PutObject", "\"do\": \"hang\", \"seconds\": 60, \"count\": 0");
	assert_ok(gpc_objects_put(o, loop, "k", &body, NULL, done, &out, &err));
	assert_ok(gpc_objects_put(o, loop, "l", &body, NULL, done, &out, &err));
	assert_ok(gpc_net_loop_run(loop, 50, &running, &err));
	assert_int_equal(running, 2);
	gpc_net_loop_free(loop);
	assert_ok(gpc_objects_begin(other, later, "k", NULL, done, &out, &err));
	gpc_objects_free(other);
	other = NULL;
	gpc_net_loop_free(later);
	assert_int_equal(out.n, 0);
}

/* --- uploads in parts ------------------------------------------------------------------ */

TEST(parts_come_in_any_order)
{
	static const char *const classes[KINDS] = { "STANDARD_IA", "IA",
		"NEARLINE" };
	/* XML cannot say the first; the second is all that it can */
	static const char *const nasty[] = { "\x01\x1b /../a+b%", "<&>\"'" };
	gpc_autostr *data = large_data();

	for (int kind = 0; kind < KINDS; kind++)
		for (size_t i = 0; i < COUNT(nasty); i++) {
			gpc_autoptr(gpc_objects) *o = open_kind(kind);
			const struct gpc_object_options options = {
				.storage_class = classes[kind] };
			gpc_autostr *upload = begin_upload(o, nasty[i], &options);
			struct gpc_object_part parts[3] = {0};
			struct gpc_object_info info;
			gpc_autostr *kept = NULL;

			send_parts(o, nasty[i], upload, data, LARGE, parts);
			assert_ok(end_upload(o, nasty[i], upload, parts, 3, NULL));
			is_there(o, nasty[i], data);
			assert_ok(gpc_objects_head(o, nasty[i], &info, &kept, &err));
			assert_string_equal(info.storage_class, classes[kind]);
			assert_int_equal(uploads_left(kind), 0);
			free_parts(parts);
		}
}

static int count_requests(int kind)
{
	gpc_autostr *what = gpc_format("requests?service=%s", services[kind]);
	gpc_autoptr(gpc_json) *j = bed_control(&bed, what, NULL);
	const struct gpc_json *q = gpc_json_first(gpc_json_get(j, "requests"));
	int n = 0;

	for (; q; q = gpc_json_next(q))
		n++;
	return n;
}

/* Answers repeat the key: that must cost no further look, and hide no reason. */
TEST(answers_may_repeat_what_xml_cannot_say)
{
	static const char *const nasty[] = { "\x01", "a\x1f&#x1;&#27;b",
		"\xef\xbf\xbf\xef\xbf\xbe<&>\x08" };
	const struct gpc_body body = { .data = "x", .size = 1 };
	gpc_autostr *data = large_data();

	for (int kind = 0; kind < KINDS; kind++)
		for (size_t i = 0; i < COUNT(nasty); i++) {
			gpc_autoptr(gpc_objects) *o = open_kind(kind);
			struct gpc_net_loop *loop = gpc_net_loop_borrow(bed.net);
			gpc_auto(outcome) struct outcome out = {0};
			struct gpc_object_part parts[3] = {0};
			gpc_autostr *upload = NULL;
			int before = count_requests(kind);

			upload = begin_upload(o, nasty[i], NULL);
			send_parts(o, nasty[i], upload, data, LARGE, parts);
			assert_ok(end_upload(o, nasty[i], upload, parts, 3, NULL));
			assert_int_equal(count_requests(kind) - before, 5);
			is_there(o, nasty[i], data);
			assert_ok(gpc_objects_part(o, loop, nasty[i], "none", 1,
				&body, done, &out, &err));
			assert_int_equal(finish(loop, &out), -GPC_ENOTFOUND);
			assert_non_null(strstr(out.err.msg, "NoSuchUpload"));
			free_parts(parts);
		}
}

/* etags: settings of the service. */
static void lost_answers(const char *etags)
{
	static const char *const lost[] = {
		"\"do\": \"reset\", \"effect\": true",
		"\"do\": \"reset\"",
		"\"do\": \"error\", \"status\": 500, \"effect\": true",
	};
	static const char *const operations[] = { "CreateMultipartUpload",
		"UploadPart", "CompleteMultipartUpload" };
	gpc_autostr *data = large_data();

	for (int kind = 0; kind < KINDS; kind++)
		for (size_t i = 0; i < COUNT(lost); i++)
			for (size_t k = 0; k < COUNT(operations); k++) {
				gpc_autoptr(gpc_objects) *o = open_kind(kind);
				struct gpc_object_part parts[3] = {0};
				gpc_autostr *upload = NULL;

				bed_tell(&bed, "settings", etags);
				fault(kind, operations[k], lost[i]);
				upload = begin_upload(o, "k", NULL);
				send_parts(o, "k", upload, data, LARGE, parts);
				assert_ok(end_upload(o, "k", upload, parts, 3, NULL));
				is_there(o, "k", data);
				assert_int_equal(uploads_left(kind), 0);
				all_faults_used();
				free_parts(parts);
				reset(NULL);
			}
}

TEST(lost_answers_of_uploads_are_settled)
{
	lost_answers("{\"etag\": \"md5\"}");
	lost_answers("{\"etag\": \"opaque\"}");     /* as with KMS */
}

TEST(uploads_of_others_are_left_alone)
{
	gpc_autostr *data = large_data();

	for (int kind = 0; kind < KINDS; kind++) {
		gpc_autoptr(gpc_objects) *o = open_kind(kind);
		gpc_autostr *theirs = begin_upload(o, "k", NULL), *ours = NULL;
		gpc_autostr *longer = begin_upload(o, "kk", NULL);
		struct gpc_object_part parts[3] = {0};

		send_parts(o, "k", theirs, data, LARGE, parts);
		fault(kind, "CreateMultipartUpload", "\"do\": \"reset\", "
			"\"effect\": true");
		ours = begin_upload(o, "k", NULL);
		assert_int_equal(uploads_left(kind), 3);
		assert_ok(end_upload(o, "k", theirs, parts, 3, NULL));
		assert_ok(drop_upload(o, "k", ours));
		assert_ok(drop_upload(o, "k", ours));
		assert_ok(drop_upload(o, "kk", longer));
		assert_int_equal(uploads_left(kind), 0);
		free_parts(parts);
	}
}

TEST(uploads_if_absent_have_one_winner)
{
	const struct gpc_object_options options = { .if_absent = true };
	gpc_autostr *data = large_data();

	for (int kind = 0; kind < GS; kind++) {
		gpc_autoptr(gpc_objects) *o = open_kind(kind);
		gpc_autostr *a = begin_upload(o, "k", &options);
		gpc_autostr *b = begin_upload(o, "k", &options);
		struct gpc_object_part parts[3] = {0}, others[3] = {0};

		send_parts(o, "k", a, data, LARGE, parts);
		data[1]++;
		send_parts(o, "k", b, data, LARGE, others);
		data[1]--;
		fault(kind, "CompleteMultipartUpload", "\"do\": \"reset\", "
			"\"effect\": true");
		assert_ok(end_upload(o, "k", a, parts, 3, &options));
		assert_fails(end_upload(o, "k", b, others, 3, &options),
			GPC_ECONFLICT);
		assert_ok(drop_upload(o, "k", b));
		is_there(o, "k", data);
		free_parts(parts);
		free_parts(others);
	}
}

TEST(uploads_to_cloud_storage_refuse_if_absent)
{
	const struct gpc_object_options options = { .if_absent = true };
	gpc_autoptr(gpc_objects) *o = open_kind(GS);
	struct gpc_net_loop *loop = gpc_net_loop_borrow(bed.net);
	gpc_auto(outcome) struct outcome out = {0};

	assert_fails(gpc_objects_begin(o, loop, "k", &options, done, &out, &err),
		GPC_EUNSUPPORTED);
	gpc_net_loop_return(bed.net, loop);
	fault(GS, "CreateMultipartUpload", "\"do\": \"error\", \"status\": 501");
	loop = gpc_net_loop_borrow(bed.net);
	assert_ok(gpc_objects_begin(o, loop, "k", NULL, done, &out, &err));
	assert_fails(finish(loop, &out), GPC_EUNSUPPORTED);
	assert_has(err.msg, "XML API");
}

/* --- deletes ---------------------------------------------------------------------------- */

static void refuse(void *arg, const char *key, const struct gpc_error *e)
{
	struct gpc_strv *v = arg;

	assert_true(e->code != 0);
	gpc_strv_add(v, key);
}

static int requests(int kind, const char *operation)
{
	gpc_autoptr(gpc_json) *j = bed_control(&bed, "requests", NULL);
	const struct gpc_json *r = gpc_json_first(gpc_json_get(j, "requests"));
	int n = 0;

	for (; r; r = gpc_json_next(r))
		n += gpc_eq(gpc_json_get_str(r, "service"), services[kind]) &&
			gpc_eq(gpc_json_get_str(r, "operation"), operation);
	return n;
}

TEST(any_key_is_deleted)
{
	for (int kind = 0; kind < KINDS; kind++) {
		gpc_autoptr(gpc_objects) *o = open_kind(kind);
		gpc_auto(gpc_strv) struct gpc_strv doomed = {0};

		for (size_t i = 0; i < COUNT(keys) + COUNT(more_keys); i++) {
			const char *key = i < COUNT(keys) ? keys[i] :
				more_keys[i - COUNT(keys)];

			if (!can_have(kind, key) || (kind == OSS &&
				(*key == '/' || *key == '\\')))
				continue;
			put(o, key, "x");
			gpc_strv_add(&doomed, key);
		}
		put(o, "stays", "x");
		gpc_strv_add(&doomed, "was never there");
		assert_ok(gpc_objects_delete(o, &doomed, NULL, NULL, &err));
		LISTS(o, NULL, NULL, NULL, "stays");
		assert_ok(gpc_objects_delete(o, &doomed, NULL, NULL, &err));
	}
}

static void fill_bucket(int kind, struct gpc_objects *o, struct gpc_strv *keys_of)
{
	gpc_autostr *text = gpc_format("{\"service\": \"%s\", \"bucket\": "
		"\"bucket\", \"prefix\": \"p/\", \"count\": 2500, "
		"\"size\": 1}", services[kind]);

	bed_tell(&bed, "objects", text);
	assert_ok(gpc_objects_list(o, "p/", NULL, NULL, collect, keys_of, &err));
	assert_int_equal(keys_of->n, 2500);
}

TEST(many_are_deleted_but_for_one)
{
	for (int kind = 0; kind < KINDS; kind++) {
		gpc_autoptr(gpc_objects) *o = open_kind(kind);
		gpc_auto(gpc_strv) struct gpc_strv doomed = {0}, left = {0};
		gpc_autostr *more = NULL;

		bed_tell(&bed, "reset", "{}");
		fill_bucket(kind, o, &doomed);
		more = gpc_format("\"do\": \"error\", \"status\": 403, \"code\": "
			"\"AccessDenied\", \"count\": 0, \"prefix\": \"%s\"",
			doomed.v[1234]);
		fault(kind, "DeleteObject", more);
		if (kind != GS) {
			gpc_autostr *of_batch = gpc_format("\"do\": \"keys\", "
				"\"keys\": \"%s\", \"code\": \"AccessDenied\", "
				"\"count\": 0", doomed.v[1234]);

			fault(kind, "DeleteObjects", of_batch);
		}
		assert_fails(gpc_objects_delete(o, &doomed, refuse, &left, &err),
			GPC_EAUTH);
		assert_int_equal(left.n, 1);
		assert_string_equal(left.v[0], doomed.v[1234]);
		LISTS(o, NULL, NULL, NULL, doomed.v[1234]);
		all_faults_used();
		if (kind != GS)
			assert_int_equal(requests(kind, "DeleteObjects"), 3);
	}
}

TEST(servers_without_batches_get_single_deletes)
{
	for (int kind = 0; kind < GS; kind++) {
		gpc_autoptr(gpc_objects) *o = open_kind(kind);
		gpc_auto(gpc_strv) struct gpc_strv doomed = {0};

		for (int i = 0; i < 40; i++) {
			gpc_strv_addf(&doomed, "k%d", i);
			put(o, doomed.v[i], "x");
		}
		fault(kind, "DeleteObjects", "\"do\": \"error\", \"status\": 501, "
			"\"code\": \"NotImplemented\", \"count\": 0");
		assert_ok(gpc_objects_delete(o, &doomed, NULL, NULL, &err));
		LISTS(o, NULL, NULL, NULL, "");
		assert_int_equal(requests(kind, "DeleteObject"), 40);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		OVER_SERVERS(puts_if_absent_have_one_winner),
		OVER_SERVERS(many_run_at_once),
		OVER_SERVERS(loops_may_end_before_their_requests),
		OVER_SERVERS(parts_come_in_any_order),
		OVER_SERVERS(answers_may_repeat_what_xml_cannot_say),
		OVER_SERVERS(lost_answers_of_uploads_are_settled),
		OVER_SERVERS(uploads_of_others_are_left_alone),
		OVER_SERVERS(uploads_if_absent_have_one_winner),
		OVER_SERVERS(uploads_to_cloud_storage_refuse_if_absent),
		OVER_SERVERS(any_key_is_deleted),
		OVER_SERVERS(many_are_deleted_but_for_one),
		OVER_SERVERS(servers_without_batches_get_single_deletes),
	};

	return cmocka_run_group_tests(tests, start, end);
}
