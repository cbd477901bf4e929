/* Keys and names from outside, and the file that ssh reads: nothing that somebody else
 * chose may become a line of its own there. */
#include <string.h>
#include <sys/stat.h>

#include "base/cidr.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "core/ssh_config.h"
#include "model/ssh.h"
#include "test.h"

#define KEY "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" \
	"GPKSUTyz1HwHReFVvD5obVsALAgJRNarH4TRpNePnAS"

TEST(takes_keys_of_one_form)
{
	static const char *const bad[] = {
		"", "ssh-ed25519", "ssh-ed25519 ", KEY "A", KEY " ", KEY " me",
		" " KEY, KEY "\n", "command=\"x\" " KEY,
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI"
			"GPKSUTyz1HwHReFVvD5obVsALAgJRNarH4TRpNePnA\n",
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI"
			"GPKSUTyz1HwHReFVvD5obVsALAgJRNarH4TRpNePnA\"",
		"ssh-ed25519 AAAAB3NzaC1lZDI1NTE5AAAAI"
			"GPKSUTyz1HwHReFVvD5obVsALAgJRNarH4TRpNePnAS",
		"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQ",
	};
	gpc_autostr *with_comment = gpc_ssh_key_of(KEY " somebody\n");

	assert_true(gpc_ssh_key_valid(KEY));
	assert_int_equal(strlen(KEY) + 1, GPC_SSH_KEY_SIZE);
	assert_string_equal(with_comment, KEY);
	for (size_t i = 0; i < COUNT(bad); i++)
		if (gpc_ssh_key_valid(bad[i]))
			fail_msg("taken: %s", bad[i]);
	assert_null(gpc_ssh_key_of("-----BEGIN OPENSSH PRIVATE KEY-----"));
	assert_null(gpc_ssh_key_of(KEY "x comment"));
	assert_false(gpc_ssh_key_valid(NULL));
}

TEST(takes_words_alone)
{
	static const char *const bad[] = { "", "-oProxyCommand=x", "a b", "a\nb",
		"a\"b", "a*", "a?", "!a", "a,b", "a;b", "$a", "a@b", "\xc3\xa9" };
	char longest[300];

	assert_true(gpc_ssh_word_valid("ec2-user"));
	assert_true(gpc_ssh_word_valid("192.0.2.1"));
	assert_true(gpc_ssh_word_valid("2001:db8::1"));
	for (size_t i = 0; i < COUNT(bad); i++)
		if (gpc_ssh_word_valid(bad[i]))
			fail_msg("taken: %s", bad[i]);
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_false(gpc_ssh_word_valid(longest));
	assert_false(gpc_ssh_word_valid(NULL));
}

TEST(reads_networks)
{
	static const struct { const char *text, *is; } cases[] = {
		{"192.0.2.7", "192.0.2.7/32"}, {"192.0.2.7/24", "192.0.2.0/24"},
		{"192.0.2.255/25", "192.0.2.128/25"}, {"0.0.0.0/0", "0.0.0.0/0"},
		{"255.255.255.255/1", "128.0.0.0/1"},
		{"2001:db8::1", "2001:db8::1/128"},
		{"2001:DB8:ffff::1/33", "2001:db8:8000::/33"}, {"::/0", "::/0"},
		{"", NULL}, {"/", NULL}, {"/24", NULL}, {"192.0.2", NULL},
		{"192.0.2.7/", NULL}, {"192.0.2.7/33", NULL}, {"::1/129", NULL},
		{"192.0.2.7/-1", NULL}, {"192.0.2.7/24 ", NULL}, {" ::1", NULL},
		{"192.0.2.7/24/24", NULL}, {"example.org", NULL},
		{"192.0.2.256", NULL}, {"::1\n", NULL}, {"1::2::3", NULL},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char cidr[GPC_CIDR_SIZE] = "";
		struct gpc_error err = {0};
		int r = gpc_cidr_parse(cases[i].text, cidr, &err);

		if (cases[i].is && (r || strcmp(cidr, cases[i].is)))
			fail_msg("%s: %s", cases[i].text, r ? err.msg : cidr);
		if (!cases[i].is && r != -GPC_EUSAGE)
			fail_msg("%s: taken as %s", cases[i].text, cidr);
	}
}

/* Where many are let in, a slip is told. */
TEST(refuses_addresses_for_networks)
{
	static const struct { const char *text, *is, *hint; } cases[] = {
		{"192.0.2.7", "192.0.2.7/32", NULL},
		{"192.0.2.0/24", "192.0.2.0/24", NULL},
		{"0.0.0.0/0", "0.0.0.0/0", NULL}, {"::/0", "::/0", NULL},
		{"2001:DB8:0::/32", "2001:db8::/32", NULL},
		{"192.0.2.7/24", NULL, "192.0.2.0/24"},
		{"10.0.0.1/0", NULL, "0.0.0.0/0"},
		{"2001:db8::1/32", NULL, "2001:db8::/32"},
		{"everybody", NULL, "such as"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char cidr[GPC_CIDR_SIZE] = "untouched";
		struct gpc_error err = {0};
		int r = gpc_cidr_parse_network(cases[i].text, cidr, &err);

		if (cases[i].is && (r || strcmp(cidr, cases[i].is)))
			fail_msg("%s: %s", cases[i].text, r ? err.msg : cidr);
		if (cases[i].is)
			continue;
		assert_int_equal(r, -GPC_EUSAGE);
		assert_string_equal(cidr, "untouched");
		assert_non_null(strstr(err.hint, cases[i].hint));
	}
	assert_true(gpc_cidr_is_everybody("0.0.0.0/0"));
	assert_true(gpc_cidr_is_everybody("::/0"));
	assert_false(gpc_cidr_is_everybody("10.0.0.0/8"));
}

#define FACT(address, port, user, key) \
	"{\"v\":1,\"instance\":\"i\",\"boot\":\"b\",\"address\":\"" address \
	"\",\"port\":" port ",\"user\":\"" user "\",\"host_key\":\"" key "\"," \
	"\"keys\":[\"" KEY "\"]}"

TEST(reads_what_a_node_says)
{
	static const struct { const char *text; int code; } cases[] = {
		{FACT("127.0.0.1", "22", "root", KEY), 0},
		{FACT("127.0.0.1", "0", "root", KEY), GPC_EPROTO},
		{FACT("127.0.0.1", "65536", "root", KEY), GPC_EPROTO},
		{FACT("127.0.0.1", "22", "root\\n\\tProxyCommand x", KEY), GPC_EPROTO},
		{FACT("-x", "22", "root", KEY), GPC_EPROTO},
		{FACT("127.0.0.1", "22", "root", "x"), GPC_EPROTO},
		{FACT("127.0.0.1", "22", "root", KEY "\\nx"), GPC_EPROTO},
		{"{\"v\":1,\"error\":\"no sshd\"}", 0},
		{"{\"v\":1}", GPC_EPROTO},
		{"{\"v\":2,\"error\":\"x\"}", GPC_EUNSUPPORTED},
		{"{}", GPC_EPROTO}, {"[]", GPC_EPROTO}, {"", GPC_EPROTO},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_auto(gpc_ssh_fact) struct gpc_ssh_fact f = {0};
		struct gpc_error err = {0};

		if (gpc_ssh_fact_parse(cases[i].text, strlen(cases[i].text), &f,
			&err) != -cases[i].code)
			fail_msg("%s: %d %s", cases[i].text, err.code, err.msg);
	}
}

/* --- the file --------------------------------------------------------------- */

struct bed { char *dir, *path; };

static void make(struct bed *b)
{
	b->dir = scratch();
	b->path = gpc_path_join(b->dir, "deeper/ssh_config");
}

static void unmake(struct bed *b)
{
	assert_int_equal(gpc_rmtree(b->dir, NULL), 0);
	free(b->dir);
	free(b->path);
}

static char *text_of(const struct bed *b)
{
	gpc_auto(gpc_buf) struct gpc_buf text = {0};

	assert_int_equal(gpc_read_file(b->path, 1 << 20, &text, NULL), 0);
	return gpc_strdup(gpc_buf_str(&text));
}

static struct gpc_ssh_entry entry(const char *job, const char *alias)
{
	return (struct gpc_ssh_entry){ .store = "s1", .job = job, .alias = alias,
		.address = "192.0.2.1", .user = "root", .port = 4022,
		.key = "/home/me/a key", .known = "/home/me/100%" };
}

TEST(writes_entries_and_removes_them)
{
	struct bed b;
	struct gpc_error err = {0};
	gpc_auto(gpc_strv) struct gpc_strv jobs = {0}, gone = {0};
	struct gpc_ssh_entry one = entry("a-1", "gpucloud-a-1");
	struct gpc_ssh_entry two = entry("a-1", "gpucloud-a-1-rank1");
	struct gpc_ssh_entry other = entry("a-1", "gpucloud-of-another-store");
	struct stat st;

	make(&b);
	assert_ok(gpc_ssh_config_jobs(b.path, "s1", &jobs, &err));
	assert_int_equal(jobs.n, 0);
	other.store = "s2";
	assert_ok(gpc_ssh_config_put(b.path, &one, &err));
	assert_ok(gpc_ssh_config_put(b.path, &two, &err));
	assert_ok(gpc_ssh_config_put(b.path, &other, &err));
	one.port = 4023;
	assert_ok(gpc_ssh_config_put(b.path, &one, &err));
	assert_int_equal(stat(b.path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	{
		gpc_autostr *text = text_of(&b);

		assert_has(text, "Host gpucloud-a-1\n");
		assert_has(text, "Port 4023\n");
		assert_has(text, "IdentityFile \"/home/me/a key\"\n");
		assert_has(text, "UserKnownHostsFile \"/home/me/100%%\"\n");
		assert_null(strstr(strstr(text, "Host gpucloud-a-1\n") + 1,
			"Host gpucloud-a-1\n"));
	}
	assert_ok(gpc_ssh_config_jobs(b.path, "s1", &jobs, &err));
	assert_int_equal(jobs.n, 1);
	assert_string_equal(jobs.v[0], "a-1");
	assert_ok(gpc_ssh_config_drop(b.path, "s1", "a-1", &gone, &err));
	assert_int_equal(gone.n, 2);
	{
		gpc_autostr *text = text_of(&b);

		assert_null(strstr(text, "Host gpucloud-a-1"));
		assert_has(text, "Host gpucloud-of-another-store\n");
	}
	unmake(&b);
}

TEST(writes_no_line_of_others)
{
	static const struct { size_t at; const char *value; } cases[] = {
#define BAD(field, text) { offsetof(struct gpc_ssh_entry, field), text }
		BAD(alias, "a\nProxyCommand x"), BAD(alias, "*"), BAD(alias, "a b"),
		BAD(alias, "a%h"), BAD(job, "a b"), BAD(job, "a\nb"),
		BAD(store, "s\n"), BAD(address, "-oProxyCommand=x"),
		BAD(address, "1.2.3.4\n\tProxyCommand x"), BAD(address, "%h"),
		BAD(user, "root x"), BAD(user, ""), BAD(key, "relative"),
		BAD(key, "/a\"b"), BAD(key, "/a\nb"), BAD(key, "/a\\b"),
		BAD(known, "/${HOME}/x"), BAD(known, "/a\rb"),
#undef BAD
	};
	struct bed b;
	struct gpc_error err = {0};
	struct gpc_ssh_entry good = entry("a-1", "gpucloud-a-1");

	make(&b);
	assert_ok(gpc_ssh_config_put(b.path, &good, &err));
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct gpc_ssh_entry e = entry("a-2", "gpucloud-a-2");
		gpc_autostr *before = text_of(&b), *after = NULL;

		*(const char **)((char *)&e + cases[i].at) = cases[i].value;
		if (gpc_ssh_config_put(b.path, &e, &err) != -GPC_ECONFIG)
			fail_msg("case %zu is written", i);
		after = text_of(&b);
		assert_string_equal(before, after);
	}
	good.port = 0;
	assert_fails(gpc_ssh_config_put(b.path, &good, &err), GPC_ECONFIG);
	unmake(&b);
}

/* What somebody wrote by hand, or a broken file, is no reason to stop. */
TEST(bears_files_of_any_content)
{
	static const char *const texts[] = { "", "\n", "Host x\n",
		"# gpucloud-entry", "# gpucloud-entry ", "# gpucloud-entry a",
		"# gpucloud-entry s1 a-1\n# gpucloud-entry s1 a-1 x\nHost",
		"# gpucloud-entry  \n\n# gpucloud-entry s1\n",
	};
	struct bed b;
	struct gpc_error err = {0};
	struct gpc_ssh_entry good = entry("a-1", "gpucloud-a-1");

	make(&b);
	assert_ok(gpc_ssh_config_put(b.path, &good, &err));
	for (size_t i = 0; i < COUNT(texts); i++) {
		gpc_auto(gpc_strv) struct gpc_strv jobs = {0};

		assert_ok(gpc_write_file(b.path, texts[i], strlen(texts[i]), 0600,
			&err));
		assert_ok(gpc_ssh_config_put(b.path, &good, &err));
		assert_ok(gpc_ssh_config_jobs(b.path, "s1", &jobs, &err));
		assert_true(gpc_strv_has(&jobs, "a-1"));
	}
	unmake(&b);
}
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_keys_of_one_form),
		cmocka_unit_test(takes_words_alone),
		cmocka_unit_test(reads_networks),
		cmocka_unit_test(refuses_addresses_for_networks),
		cmocka_unit_test(reads_what_a_node_says),
		cmocka_unit_test(writes_entries_and_removes_them),
		cmocka_unit_test(writes_no_line_of_others),
		cmocka_unit_test(bears_files_of_any_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
