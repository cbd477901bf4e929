/* What a machine begins with runs on what all images have: a POSIX shell, and the
 * Python 3 of cloud-init, be it an old one; and whom it believes. */
#include "test.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/encode.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "dep/json.h"
#include "provider/aws_boot.h"
#include "provider/authorities.h"

static struct gpc_error err;

static void fill(struct gpc_launch *l)
{
	struct gpc_json *bundle = gpc_json_object();

	*l = (struct gpc_launch){ .v = 1, .token = gpc_strdup("11-aa"),
		.job = gpc_strdup("train-abcdef"), .attempt = 1, .count = 1,
		.provider = gpc_strdup("aws"),
		.store_url = gpc_strdup("s3://bucket/p"),
		.expires_ms = 1800000000000, .rest = gpc_json_object() };
	l->offer.market = gpc_strdup("spot");
	gpc_json_set_str(bundle, "url", "https://store.example.org/b/x");
	gpc_json_set_str(bundle, "region", "us-east-1");
	gpc_json_set_str(bundle, "sha256", "00ff");
	gpc_json_set(l->rest, "bundle", bundle);
}

/* A piece of the user data, from one text to another; owned. */
static char *between(const char *text, const char *from, const char *to)
{
	const char *start = strstr(text, from), *end;

	assert_non_null(start);
	start += strlen(from);
	end = strstr(start, to);
	assert_non_null(end);
	return gpc_strndup(start, (size_t)(end - start));
}

static bool has(const char *program)
{
	gpc_autostr *command = gpc_format("command -v %s >/dev/null", program);

	return system(command) == 0;
}

/* `command` with the path of a file that has this text. */
static void check_by(const char *command, const char *text)
{
	gpc_autostr *dir = scratch();
	gpc_autostr *path = gpc_format("%s/text", dir);
	gpc_autostr *line = gpc_format("%s %s", command, path);

	assert_ok(gpc_write_file(path, text, strlen(text), 0600, &err));
	if (system(line) != 0)
		fail_msg("%s", line);
	assert_ok(gpc_rmtree(dir, &err));
}

TEST(every_shell_reads_the_scripts)
{
	static const char *const shells[] = {"sh", "dash", "bash --posix", "bash"};
	gpc_auto(gpc_launch) struct gpc_launch l;
	gpc_autostr *text = NULL, *hook = NULL, *script = NULL;

	fill(&l);
	assert_ok(gpc_aws_user_data(&l, &text, &err));
	hook = between(text, "#cloud-boothook\n", "\n--==");
	script = between(text, "x-shellscript\n\n", "\n--==");
	for (size_t i = 0; i < COUNT(shells); i++) {
		gpc_autostr *name = gpc_strndup(shells[i], strcspn(shells[i], " "));
		gpc_autostr *command = gpc_format("%s -n", shells[i]);

		if (!has(name))
			continue;
		check_by(command, hook);
		check_by(command, script);
	}
	if (has("shellcheck")) {
		check_by("shellcheck -s dash", hook);
		check_by("shellcheck -s dash", script);
	}
}

/* Grammar of 3.6 and no module that is not Python's own, on the interpreter that
 * is here; and on each older one that is. */
TEST(an_old_python_reads_its_part)
{
	static const char *const pythons[] = {"python3", "python3.6", "python3.7",
		"python3.8", "python3.9", "python3.10"};
	gpc_auto(gpc_launch) struct gpc_launch l;
	gpc_autostr *text = NULL, *python = NULL;

	fill(&l);
	assert_ok(gpc_aws_user_data(&l, &text, &err));
	python = between(text, "<<'PYTHON'\n", "\nPYTHON\n");
	check_by("python3 -c 'import ast, sys\n"
		"tree = ast.parse(open(sys.argv[1]).read(), feature_version=(3, 6))\n"
		"names = {n.name.partition(\".\")[0] for x in ast.walk(tree)\n"
		"    if isinstance(x, ast.Import) for n in x.names}\n"
		"others = names - set(sys.stdlib_module_names)\n"
		"later = [x for x in ast.walk(tree) if isinstance(x, ast.JoinedStr)]\n"
		"sys.exit(\"not everywhere: %s\" % others if others or later else 0)'",
		python);
	for (size_t i = 0; i < COUNT(pythons); i++) {
		gpc_autostr *runs = gpc_format("%s -c 0 2>/dev/null", pythons[i]);
		gpc_autostr *command = gpc_format("%s -W error -c 'import sys\n"
			"with open(sys.argv[1]) as f:\n"
			"    compile(f.read(), \"boot\", \"exec\")'", pythons[i]);

		if (system(runs) == 0)
			check_by(command, python);
	}
}

/* --- its end ---------------------------------------------------------------------- */

/* Begins a boot at which the lifetime lasts so much longer: what would end this machine
 * writes down that it was asked to, and for what was slept. */
static void boot(const char *dir, int64_t left_ms)
{
	gpc_auto(gpc_launch) struct gpc_launch l;
	gpc_autostr *text = NULL, *hook = NULL, *path = gpc_format("%s/in", dir);
	gpc_autostr *line = gpc_format("cd %s && "
		"printf '#!/bin/sh\\necho $1 >>slept\\n' >sleep && "
		"printf '#!/bin/sh\\necho . >>offs\\n[ ! -e slept ] || mv slept off\\n' "
		">poweroff && "
		"printf '#!/bin/sh\\n' >sync && chmod +x sleep poweroff sync && "
		"sed -e 's|/proc/sysrq-trigger|sysrq|; s|/var/lib/gpucloud|lib|' in "
		">hook && PATH=$PWD:$PATH sh hook >said", dir);

	fill(&l);
	l.expires_ms = gpc_wall_ms() + left_ms;
	gpc_json_set_int(l.rest, "life_s", 7200);
	assert_ok(gpc_aws_user_data(&l, &text, &err));
	hook = between(text, "#cloud-boothook\n", "\n--==");
	assert_null(strstr(hook, "PATH="));     /* the real ones must not be found */
	assert_ok(gpc_write_file(path, hook, strlen(hook), 0600, &err));
	if (system(line) != 0)
		fail_msg("%s", line);
}

/* What was slept for before it was switched off, in seconds. */
static long slept(const char *dir)
{
	gpc_autostr *path = gpc_format("%s/off", dir);
	gpc_auto(gpc_buf) struct gpc_buf text = {0};

	for (int i = 0; i < 2000 && access(path, F_OK) != 0; i++)
		gpc_sleep_ms(5);
	assert_ok(gpc_read_file(path, 100, &text, &err));
	assert_int_equal(unlink(path), 0);
	return strtol(gpc_buf_str(&text), NULL, 10);
}

TEST(the_hook_ends_the_machine)
{
	static const struct { int64_t left_ms; long most; } cases[] = {
		{-5000, 0}, {60000, 60}, {8000000, 7200},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_autostr *dir = scratch();
		long n;

		boot(dir, cases[i].left_ms);
		n = slept(dir);
		if (n > cases[i].most || n < cases[i].most - 30)
			fail_msg("case %zu: %ld seconds", i, n);
		assert_ok(gpc_rmtree(dir, &err));
	}
}

TEST(it_does_not_start_twice)
{
	gpc_autostr *dir = scratch(), *path = gpc_format("%s/offs", dir);
	gpc_auto(gpc_buf) struct gpc_buf offs = {0};

	boot(dir, 60000);
	slept(dir);
	boot(dir, 60000);
	slept(dir);
	assert_ok(gpc_read_file(path, 1000, &offs, &err));
	assert_string_equal(gpc_buf_str(&offs), ".\n.\n.\n"); /* twice, of a reboot */
	assert_ok(gpc_rmtree(dir, &err));
}

/* --- whom it believes ------------------------------------------------------------ */

static const char certificate[] = "-----BEGIN CERTIFICATE-----\nMIIB\n"
	"-----END CERTIFICATE-----\n";

TEST(only_certificates_leave_this_machine)
{
	gpc_autostr *dir = scratch(), *path = gpc_path_join(dir, "ca.pem");
	gpc_autostr *text = gpc_format("# ours\n%s-----BEGIN PRIVATE KEY-----\n"
		"secret\n-----END PRIVATE KEY-----\n%s", certificate, certificate);
	gpc_autostr *pem = NULL, *two = gpc_format("%s%s", certificate, certificate);

	assert_ok(gpc_write_file(path, text, strlen(text), 0600, &err));
	assert_ok(gpc_authorities_read(path, &pem, &err));
	assert_string_equal(pem, two);
	free(gpc_steal(&pem));
	assert_ok(gpc_write_file(path, "-----BEGIN CERTIFICATE-----\ncut", 31, 0600,
		&err));
	assert_fails(gpc_authorities_read(path, &pem, &err), GPC_ECONFIG);
	assert_fails(gpc_authorities_read(dir, &pem, &err), GPC_EIO);
	assert_ok(gpc_rmtree(dir, &err));
}

TEST(only_servers_of_ones_own_need_it)
{
	static const struct { const char *url, *bucket; bool needed; } cases[] = {
		{"https://store.example.org/b/x", NULL, true},
		{"http://store.example.org/b/x", NULL, false},
		{"https://b.s3.us-east-1.amazonaws.com/x", NULL, false},
		{"https://b.s3.cn-north-1.amazonaws.com.cn/x", NULL, false},
		{"https://b.s3.dualstack.eu-west-1.amazonaws.com/x", NULL, false},
		{"https://amazonaws.com.example.org/x", NULL, true},
		{"https://b.s3.us-east-1.amazonaws.com/x",
			"s3://data?endpoint=https://own", true},
		{"https://b.s3.us-east-1.amazonaws.com/x", "s3://data/x", false},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_auto(gpc_launch) struct gpc_launch l;
		struct gpc_json *bundle = gpc_json_object();

		fill(&l);
		gpc_json_set_str(bundle, "url", cases[i].url);
		gpc_json_set(l.rest, "bundle", bundle);
		if (cases[i].bucket)
			gpc_strv_add(&l.buckets, cases[i].bucket);
		if (gpc_authorities_needed(&l) != cases[i].needed)
			fail_msg("case %zu", i);
	}
}

TEST(it_is_in_the_user_data_as_far_as_it_fits)
{
	gpc_auto(gpc_launch) struct gpc_launch l;
	gpc_auto(gpc_buf) struct gpc_buf config = {0}, many = {0};
	gpc_autostr *text = NULL, *coded = NULL;
	char *none = NULL;

	fill(&l);
	gpc_json_set_str(l.rest, "ca", certificate);
	assert_ok(gpc_aws_user_data(&l, &text, &err));
	coded = between(text, "b64decode(\"", "\")");
	assert_ok(gpc_unbase64(coded, strlen(coded), false, &config, &err));
	assert_has(gpc_buf_str(&config), "MIIB");
	while (many.len < 9000)
		gpc_buf_adds(&many, certificate);
	gpc_json_set_str(l.rest, "ca", gpc_buf_str(&many));
	assert_fails(gpc_aws_user_data(&l, &none, &err), GPC_ECONFIG);
	assert_has(err.hint, "certificates of ca_file");
	assert_null(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_shell_reads_the_scripts),
		cmocka_unit_test(an_old_python_reads_its_part),
		cmocka_unit_test(the_hook_ends_the_machine),
		cmocka_unit_test(it_does_not_start_twice),
		cmocka_unit_test(only_certificates_leave_this_machine),
		cmocka_unit_test(only_servers_of_ones_own_need_it),
		cmocka_unit_test(it_is_in_the_user_data_as_far_as_it_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
