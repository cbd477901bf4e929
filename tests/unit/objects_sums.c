/* How the bodies of large puts are vouched for: by a signed hash, or by a checksum that
 * the service checks where TLS keeps them. */
#include "objects_parts.h"

#define UNSIGNED "UNSIGNED-PAYLOAD"

static char *data;

static struct gpc_objects *open_url(const char *endpoint)
{
	gpc_autostr *url = gpc_format("s3://bucket/?endpoint=%s", endpoint);
	gpc_autostr *key = NULL;
	struct gpc_objects *o = NULL;

	assert_ok(gpc_objects_open(url, bed.net, NULL, NULL, &o, &key, &err));
	return o;
}

struct seen { int n, is_unsigned, summed, refused; };

/* What the server got of an operation. */
static struct seen look_at(const char *operation)
{
	gpc_autoptr(gpc_json) *j = bed_control(&bed, "requests?service=s3", NULL);
	const struct gpc_json *q = gpc_json_first(gpc_json_get(j, "requests"));
	struct seen s = {0};

	for (; q; q = gpc_json_next(q)) {
		const struct gpc_json *sums = gpc_json_get(q, "sums");

		if (!gpc_eq(gpc_json_get_str(q, "operation"), operation))
			continue;
		s.n++;
		s.is_unsigned += gpc_eq(gpc_json_get_str(q, "payload"), UNSIGNED);
		s.summed += gpc_json_get(sums, "x-amz-checksum-crc64nvme") != NULL;
		s.refused += gpc_json_get_int(q, "status", 0) >= 400;
	}
	return s;
}

static void upload(struct gpc_objects *o, const char *key, bool summed)
{
	gpc_autostr *name = begin_upload(o, key, NULL);
	struct gpc_object_part parts[3] = {0};

	assert_int_equal(gpc_starts_with(name, "sums:"), summed);
	send_parts(o, key, name, data, LARGE, parts);
	assert_ok(end_upload(o, key, name, parts, 3, NULL));
	is_there(o, key, data);
	free_parts(parts);
}

/* The last part is small, which is signed at no cost. */
TEST(over_tls_the_service_checks_sums_instead)
{
	gpc_autoptr(gpc_objects) *o = open_url(bed.s3_tls);
	struct seen s;

	upload(o, "k", true);
	s = look_at("UploadPart");
	assert_int_equal(s.n, 3);
	assert_int_equal(s.summed, 3);
	assert_int_equal(s.is_unsigned, 2);
	s = look_at("CompleteMultipartUpload");
	assert_int_equal(s.summed, 1);
	assert_int_equal(s.is_unsigned, 0);
}

TEST(without_tls_everything_is_signed)
{
	gpc_autoptr(gpc_objects) *o = open_url(bed.s3);
	struct seen s;

	upload(o, "k", false);
	s = look_at("UploadPart");
	assert_int_equal(s.n, 3);
	assert_int_equal(s.summed + s.is_unsigned, 0);
}

/* A byte that changes behind TLS: the server finds it, and it is sent again. */
TEST(what_arrives_otherwise_is_sent_again)
{
	gpc_autoptr(gpc_objects) *o = open_url(bed.s3_tls);
	struct seen s;

	fault(S3, "UploadPart", "\"part\": 2, \"do\": \"corrupt\", "
		"\"direction\": \"in\", \"at\": 1000");
	upload(o, "k", true);
	all_faults_used();
	s = look_at("UploadPart");
	assert_int_equal(s.n, 4);
	assert_int_equal(s.is_unsigned, 3);
	assert_int_equal(s.refused, 1);
}

/* Where no body is signed the server takes what comes, and tells the sum of that. */
TEST(what_was_taken_otherwise_is_sent_again)
{
	gpc_autoptr(gpc_objects) *o = open_kind(OSS);
	gpc_auto(outcome) struct outcome out = {0};

	fault(OSS, "UploadPart", "\"part\": 2, \"do\": \"corrupt\", "
		"\"direction\": \"in\", \"at\": 1000");
	fault(OSS, "PutObject", "\"do\": \"corrupt\", \"direction\": \"in\", "
		"\"at\": 2");
	upload(o, "k", false);
	put(o, "small", "a text");
	all_faults_used();
	assert_ok(get_range(o, "small", 0, -1, NULL, &out));
	assert_string_equal(gpc_buf_str(&out.body), "a text");
}

TEST(servers_that_know_no_sums_get_hashes)
{
	static const char *const how[] = { "{\"sums\": \"ignore\"}",
		"{\"sums\": \"refuse\"}" };

	for (size_t i = 0; i < COUNT(how); i++) {
		gpc_autoptr(gpc_objects) *o = open_url(bed.s3_tls);
		struct seen s;

		reset(NULL);
		bed_tell(&bed, "settings", how[i]);
		upload(o, "a", false);
		upload(o, "b", false);
		s = look_at("UploadPart");
		assert_int_equal(s.n, 6);
		assert_int_equal(s.summed + s.is_unsigned, 0);
		/* asked once */
		s = look_at("CreateMultipartUpload");
		assert_int_equal(s.n, 2 + (int)i);
		assert_int_equal(uploads_left(S3), 0);
	}
}

/* The begin was lost, and the repeat refused for its sums: none of them stays. */
TEST(a_lost_begin_with_sums_leaves_nothing)
{
	gpc_autoptr(gpc_objects) *o = open_url(bed.s3_tls);

	fault(S3, "CreateMultipartUpload", "\"do\": \"reset\", \"effect\": true");
	upload(o, "k", true);
	all_faults_used();
	assert_int_equal(uploads_left(S3), 0);
}

TEST(policies_may_want_hashes)
{
	gpc_autoptr(gpc_objects) *o = open_url(bed.s3_tls);
	struct seen s;

	bed_tell(&bed, "settings", "{\"unsigned_tls\": false}");
	upload(o, "a", true);
	s = look_at("UploadPart");
	assert_int_equal(s.n - s.refused, 3);
	assert_in_range(s.refused, 1, 2);
	upload(o, "b", true);
	/* known by now */
	assert_int_equal(look_at("UploadPart").refused, s.refused);
}

/* One that was begun elsewhere goes on as it was begun. */
TEST(uploads_go_on_as_they_began)
{
	gpc_autoptr(gpc_objects) *plain = open_url(bed.s3);
	gpc_autoptr(gpc_objects) *tls = open_url(bed.s3_tls);
	struct gpc_objects *const from[] = { plain, tls }, *const to[] = { tls, plain };

	for (size_t i = 0; i < 2; i++) {
		gpc_autostr *name = begin_upload(from[i], "k", NULL);
		struct gpc_object_part parts[3] = {0};

		send_parts(to[i], "k", name, data, LARGE, parts);
		assert_ok(end_upload(to[i], "k", name, parts, 3, NULL));
		is_there(to[i], "k", data);
		free_parts(parts);
	}
	assert_int_equal(look_at("UploadPart").is_unsigned, 0);
	assert_int_equal(look_at("UploadPart").refused, 0);
	assert_int_equal(look_at("UploadPart").summed, 3);
}

TEST(puts_go_unsigned_once_the_server_told_a_sum)
{
	gpc_autoptr(gpc_objects) *o = open_url(bed.s3_tls);
	struct seen s;

	data[PART] = '\0';                      /* a text */
	for (int i = 0; i < PART; i++)
		data[i] = (char)(data[i] ? data[i] : 'x');
	put(o, "a", data);
	put(o, "b", data);
	s = look_at("PutObject");
	assert_int_equal(s.is_unsigned + s.summed, 0);
	bed_tell(&bed, "settings", "{\"answer_sums\": true}");
	put(o, "c", data);
	put(o, "d", data);
	put(o, "e", "small");
	s = look_at("PutObject");
	assert_int_equal(s.n, 5);
	assert_int_equal(s.is_unsigned, 1);
	assert_int_equal(s.summed, 2);
	assert_int_equal(s.refused, 0);
}

static int start_tls(void **state)
{
	(void)state;
	bed_start_tls(&bed);
	data = large_data();
	return 0;
}

static int end_tls(void **state)
{
	free(data);
	return end(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		OVER_SERVERS(over_tls_the_service_checks_sums_instead),
		OVER_SERVERS(without_tls_everything_is_signed),
		OVER_SERVERS(what_arrives_otherwise_is_sent_again),
		OVER_SERVERS(what_was_taken_otherwise_is_sent_again),
		OVER_SERVERS(servers_that_know_no_sums_get_hashes),
		OVER_SERVERS(a_lost_begin_with_sums_leaves_nothing),
		OVER_SERVERS(policies_may_want_hashes),
		OVER_SERVERS(uploads_go_on_as_they_began),
		OVER_SERVERS(puts_go_unsigned_once_the_server_told_a_sum),
	};

	return cmocka_run_group_tests(tests, start_tls, end_tls);
}
