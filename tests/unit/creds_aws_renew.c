/* Credentials over time: when they are got again, by whom, what is kept on disk,
 * and what the settings of the chosen profile are. */
#include "creds_lab.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "dep/crypto.h"
#include "dep/json.h"

#define MINUTE INT64_C(60000)
#define KEYS(id, end) "{\"AccessKeyId\":\"" id "\",\"SecretAccessKey\":\"S\"," \
	"\"Token\":\"T\",\"Expiration\":\"" end "\"}"
#define STS(id, end) "<a><AssumeRoleResult><Credentials><AccessKeyId>" id \
	"</AccessKeyId><SecretAccessKey>S</SecretAccessKey><SessionToken>T" \
	"</SessionToken><Expiration>" end "</Expiration></Credentials>" \
	"</AssumeRoleResult></a>"
#define ROLES "/latest/meta-data/iam/security-credentials/"
#define ROLE "arn:aws:iam::123456789012:role/r"

static struct gpc_net *net;
static struct gpc_creds *creds;

static int ask_code(void *arg, const char *question, char **ret_answer,
	struct gpc_error *err)
{
	(void)err;
	assert_has(question, "MFA code for arn:aws:iam::1:mfa/u");
	++*(int *)arg;
	*ret_answer = gpc_strdup("123456");
	return 0;
}

static int n_questions;

static int begin(void **state)
{
	const struct gpc_creds_settings settings = {.cloud = GPC_CLOUD_AWS,
		.ask = ask_code, .ask_arg = &n_questions};
	const struct gpc_net_settings how = {.max_tries = 1};

	lab_reset(state);
	lab_set("AWS_EC2_METADATA_DISABLED", "true");
	lab_set("AWS_ENDPOINT_URL", "%s", lab_url());
	n_questions = 0;
	net = gpc_net_new(&how);
	creds = gpc_creds_new(&settings, net);
	return 0;
}

static int end(void **state)
{
	(void)state;
	gpc_creds_free(creds);
	gpc_net_free(net);
	return 0;
}

/* A command that begins anew: nothing is in memory. */
static void begin_anew(void)
{
	const struct gpc_creds_settings settings = {.cloud = GPC_CLOUD_AWS,
		.ask = ask_code, .ask_arg = &n_questions};

	gpc_creds_free(creds);
	creds = gpc_creds_new(&settings, net);
}

/* Gets them; gives the id, or the code of the failure as text. Owned. */
static char *get(bool renew)
{
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	struct gpc_error err = {0};
	int r = gpc_creds_get(creds, renew, &i, &err);

	if (r)
		assert_string_not_equal(err.msg, "");
	return gpc_strdup(r ? gpc_code_to_str(err.code) : i.id);
}

#define assert_gets(renew, want) \
	do { \
		gpc_autostr *got_ = get(renew); \
		assert_string_equal(got_, want); \
	} while (0)

/* --- windows --------------------------------------------------------------- */
static const struct lab_route first[] = {
	{"GET", "/box", NULL, 200, KEYS("A1", "@+3600@"), 0},
};
static const struct lab_route second[] = {
	{"GET", "/box", NULL, 200, KEYS("A2", "@+3600@"), 0},
};
static const struct lab_route broken[] = {
	{"GET", "/box", NULL, 403, "", 0},
};

static void use_box(void)
{
	lab_set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "%s/box", lab_url());
	lab_routes(first, 1);
	assert_gets(false, "A1");
	lab_routes(second, 1);
}

TEST(test_windows)
{
	use_box();
	for (int minute = 0; minute < 44; minute++) {
		lab_ahead_ms = minute * MINUTE;
		assert_gets(false, "A1");
	}
	assert_int_equal(lab_asked("GET"), 0);
	lab_ahead_ms = 46 * MINUTE;
	assert_gets(false, "A2");
	assert_gets(false, "A2");
	assert_int_equal(lab_asked("GET"), 1);
}

TEST(test_try_then_must)
{
	use_box();
	lab_routes(broken, 1);
	lab_ahead_ms = 46 * MINUTE;
	assert_gets(false, "A1");       /* tried, in vain */
	assert_int_equal(lab_asked("GET"), 1);
	assert_gets(false, "A1");
	assert_int_equal(lab_asked("GET"), 1);
	lab_ahead_ms += 2 * MINUTE;
	assert_gets(false, "A1");       /* again after a minute */
	assert_int_equal(lab_asked("GET"), 2);
	lab_ahead_ms = 51 * MINUTE;
	assert_gets(false, "auth");     /* must */
	lab_routes(second, 1);
	assert_gets(false, "A2");
}

TEST(test_renew)
{
	use_box();
	assert_gets(true, "A2");
	assert_int_equal(lab_asked("GET"), 1);
	assert_gets(true, "A2");        /* renewed seconds ago: the same */
	assert_int_equal(lab_asked("GET"), 1);
	lab_ahead_ms = 2 * MINUTE;
	lab_routes(broken, 1);
	assert_gets(true, "auth");
	assert_gets(false, "A2");
}

TEST(test_short_life)
{
	static const struct lab_route brief[] = {
		{"GET", "/box", NULL, 200, KEYS("A3", "@+900@"), 0},
	};

	lab_set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "%s/box", lab_url());
	lab_routes(brief, 1);
	for (int minute = 0; minute < 11; minute++) {
		lab_ahead_ms = minute * MINUTE;
		assert_gets(false, "A3");
	}
	assert_int_equal(lab_asked("GET"), 1);
	lab_ahead_ms = 12 * MINUTE;
	assert_gets(false, "A3");
	assert_int_equal(lab_asked("GET"), 2);
}

TEST(test_expired)
{
	static const struct lab_route old[] = {
		{"GET", "/box", NULL, 200, KEYS("A4", "@-60@"), 0},
	};

	lab_set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "%s/box", lab_url());
	lab_routes(old, 1);
	assert_gets(false, "auth");
}

/* Our clock is two hours fast: what has just been made has not ended. */
TEST(test_fast_clock)
{
	static const struct lab_route made[] = {
		{"GET", "/box", NULL, 200, KEYS("A6", "@-3600@"), 0},
	};

	lab_set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "%s/box", lab_url());
	lab_ahead_ms = 120 * MINUTE;
	lab_date_ms = -120 * MINUTE;
	lab_routes(made, 1);
	assert_gets(false, "A6");
	assert_true(gpc_net_now_ms(net) - gpc_wall_ms() < -119 * MINUTE);
	lab_ahead_ms += 40 * MINUTE;
	assert_gets(false, "A6");
	assert_int_equal(lab_asked("GET"), 1);
	lab_ahead_ms += 6 * MINUTE;
	assert_gets(false, "A6");
	assert_int_equal(lab_asked("GET"), 2);
}

/* Metadata that lags is used on, and asked again some minutes later. */
TEST(test_metadata_lags)
{
	static const struct lab_route old[] = {
		{"PUT", "/*", NULL, 200, "T", 0},
		{"GET", ROLES, NULL, 200, "r", 0},
		{"GET", ROLES "r", NULL, 200, KEYS("AOLD", "@-60@"), 0},
	};
	static const struct lab_route new[] = {
		{"PUT", "/*", NULL, 200, "T", 0},
		{"GET", ROLES, NULL, 200, "r", 0},
		{"GET", ROLES "r", NULL, 200, KEYS("ANEW", "@+3600@"), 0},
	};

	unsetenv("AWS_EC2_METADATA_DISABLED");
	lab_set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "%s", lab_url());
	lab_routes(old, COUNT(old));
	assert_gets(false, "AOLD");
	lab_ahead_ms = 4 * MINUTE;
	assert_gets(false, "AOLD");
	assert_int_equal(lab_asked("GET " ROLES "r "), 1);
	lab_ahead_ms = 11 * MINUTE;
	assert_gets(false, "AOLD");
	assert_int_equal(lab_asked("GET " ROLES "r "), 2);
	lab_ahead_ms = 22 * MINUTE;
	lab_routes(NULL, 0);            /* gone: still better than nothing */
	assert_gets(false, "AOLD");
	lab_ahead_ms = 33 * MINUTE;
	lab_routes(new, COUNT(new));
	assert_gets(false, "ANEW");
}

/* --- many threads ---------------------------------------------------------- */
enum { THREADS = 12 };

static void *get_in_thread(void *arg)
{
	*(char **)arg = get(false);
	return NULL;
}

static void check_threads(const char *want)
{
	pthread_t threads[THREADS];
	char *got[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
			get_in_thread, &got[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_string_equal(got[i], want);
		free(got[i]);
	}
}

TEST(test_single_flight)
{
	static const struct lab_route slow[] = {
		{"GET", "/box", NULL, 200, KEYS("A5", "@+3600@"), 500},
	};
	static const struct lab_route refused[] = {
		{"GET", "/box", NULL, 403, "", 500},
	};

	lab_set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "%s/box", lab_url());
	lab_routes(refused, 1);
	check_threads("auth");
	assert_in_range(lab_asked("GET"), 1, THREADS);
	lab_routes(slow, 1);
	check_threads("A5");
	assert_int_equal(lab_asked("GET"), 1);
	/* About to end: one renews, nobody waits for longer than that. */
	lab_ahead_ms = 46 * MINUTE;
	lab_routes(slow, 1);
	check_threads("A5");
	assert_int_equal(lab_asked("GET"), 1);
}

/* --- on disk --------------------------------------------------------------- */
static char *cache_path(const char *below, const char *text)
{
	char hex[2 * GPC_SHA1_SIZE + 1];
	uint8_t sum[GPC_SHA1_SIZE];
	struct gpc_error err = {0};

	assert_ok(gpc_sha1(text, strlen(text), sum, &err));
	gpc_hex(sum, sizeof(sum), hex);
	return gpc_format(".aws/%s/%s.json", below, hex);
}

static void check_private(const char *path)
{
	gpc_autostr *full = gpc_path_join(lab_home(), path);
	struct stat st;

	assert_int_equal(stat(full, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

TEST(test_role_cache)
{
	static const struct lab_route sts[] = {
		{"POST", "/", "TokenCode=123456", 200, STS("AR1", "@+3600@"),
			0},
	};
	static const struct lab_route later[] = {
		{"POST", "/", "SerialNumber=arn%3Aaws%3Aiam%3A%3A1%3Amfa%2Fu",
			200, STS("AR2", "@+3600@"), 0},
	};
	gpc_autostr *path = cache_path("cli/cache", "{\"DurationSeconds\": 3600,"
		" \"ExternalId\": \"e\", \"RoleArn\": \"" ROLE "\", "
		"\"RoleSessionName\": \"n\", \"SerialNumber\": "
		"\"arn:aws:iam::1:mfa/u\"}");
	gpc_autostr *text = NULL;

	lab_file(".aws/config", "[default]\nrole_arn=" ROLE "\nsource_profile="
		"s\nmfa_serial=arn:aws:iam::1:mfa/u\nexternal_id=e\n"
		"role_session_name=n\nduration_seconds=3600\n[profile s]\n"
		"aws_access_key_id=AS\naws_secret_access_key=S\n");
	lab_routes(sts, 1);
	assert_gets(false, "AR1");
	assert_int_equal(n_questions, 1);
	check_private(path);
	text = lab_read(path);
	assert_has(text, "\"AccessKeyId\":\"AR1\"");
	lab_routes(later, 1);
	begin_anew();
	assert_gets(false, "AR1");
	assert_int_equal(lab_asked("POST"), 0);
	assert_int_equal(n_questions, 1);
	lab_ahead_ms = 46 * MINUTE;     /* about to end: not from disk */
	begin_anew();
	assert_gets(false, "AR2");
	assert_int_equal(n_questions, 2);
	begin_anew();
	lab_ahead_ms += MINUTE;
	assert_gets(true, "AR2");       /* refused by a service: not from disk */
	assert_int_equal(n_questions, 3);
	lab_file(path, "{\"Credentials\": damaged");
	begin_anew();
	assert_gets(false, "AR2");
	assert_int_equal(n_questions, 4);
}

#define SESSION "[default]\nsso_session = corp\nsso_account_id = 111122223333\n" \
	"sso_role_name = Dev\n[sso-session corp]\nsso_region = eu-west-1\n" \
	"sso_start_url = https://x.example/start\n"
#define LOGIN(token, end) "{\"startUrl\":\"https://x.example/start\"," \
	"\"region\":\"eu-west-1\",\"accessToken\":\"" token "\",\"expiresAt\":\"" \
	end "\",\"clientId\":\"cid\",\"clientSecret\":\"csec\"," \
	"\"registrationExpiresAt\":\"@+86400@\",\"refreshToken\":\"R1\"," \
	"\"scopes\":[\"sso\"]}"
#define PORTAL(token, id) {"GET", "/federation/credentials?role_name=Dev&" \
	"account_id=111122223333", "x-amz-sso_bearer_token: " token, 200, \
	"{\"roleCredentials\":{\"accessKeyId\":\"" id "\",\"secretAccessKey\":" \
	"\"S\",\"sessionToken\":\"T\",\"expiration\":@ms+3600@}}", 0}

TEST(test_sso_renews)
{
	static const struct lab_route routes[] = {
		{"POST", "/token", "\"refreshToken\":\"R1\"", 200,
			"{\"accessToken\":\"NEW\",\"expiresIn\":28800,"
			"\"refreshToken\":\"R2\",\"tokenType\":\"Bearer\"}", 0},
		PORTAL("NEW", "ASSO"),
	};
	gpc_autostr *path = cache_path("sso/cache", "corp");
	gpc_autostr *kept = cache_path("cli/cache", "{\"accountId\":"
		"\"111122223333\",\"roleName\":\"Dev\",\"sessionName\":"
		"\"corp\"}");
	gpc_autoptr(gpc_json) *j = NULL;
	gpc_autostr *text = NULL, *sent = NULL;
	struct gpc_error err = {0};

	lab_file(".aws/config", SESSION);
	lab_file(path, LOGIN("OLD", "@+600@"));
	lab_routes(routes, COUNT(routes));
	assert_gets(false, "ASSO");
	sent = lab_request("POST /token");
	assert_has(sent, "\"grantType\":\"refresh_token\"");
	assert_has(sent, "\"clientId\":\"cid\"");
	assert_has(sent, "content-type: application/json");
	check_private(path);
	check_private(kept);
	text = lab_read(path);
	assert_ok(gpc_json_parse(text, strlen(text), &j, &err));
	assert_string_equal(gpc_json_get_str(j, "accessToken"), "NEW");
	assert_string_equal(gpc_json_get_str(j, "refreshToken"), "R2");
	assert_string_equal(gpc_json_get_str(j, "clientSecret"), "csec");
	assert_non_null(gpc_json_get(j, "scopes"));
	/* The next command finds keys of the role on disk. */
	lab_routes(NULL, 0);
	begin_anew();
	assert_gets(false, "ASSO");
	assert_int_equal(lab_asked("GET"), 0);
}

/* The refresh token is refused, but another program has renewed meanwhile, or the
 * old token is still good for some minutes; else a person must log in. */
TEST(test_sso_refused)
{
	static const struct lab_route refused[] = {
		{"POST", "/token", NULL, 400, "{\"error\":\"invalid_grant\"}",
			0},
		PORTAL("OLD", "ASSO"),
	};
	gpc_autostr *path = cache_path("sso/cache", "corp");
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	struct gpc_error err = {0};

	lab_file(".aws/config", SESSION);
	lab_file(path, LOGIN("OLD", "@+600@"));
	lab_routes(refused, COUNT(refused));
	assert_gets(false, "ASSO");
	assert_int_equal(lab_asked("POST"), 1);
	begin_anew();
	lab_ahead_ms = 55 * MINUTE;
	assert_fails(gpc_creds_get(creds, true, &i, &err), GPC_EAUTH);
	assert_has(err.msg, "the SSO login of session corp has expired");
	assert_string_equal(err.hint, "run: aws sso login");
	/* The service is away: that is not the person's fault. */
	lab_routes(NULL, 0);
	lab_set("AWS_ENDPOINT_URL_SSO_OIDC", "http://127.0.0.1:1");
	assert_fails(gpc_creds_get(creds, true, &i, &err), GPC_ENET);
	assert_has(err.msg, "renewing the SSO login of profile default");
}

/* --- region and settings --------------------------------------------------- */
static void check_setting(const char *service, const char *name,
	const char *want)
{
	gpc_autostr *got = gpc_creds_setting(creds, service, name);

	if (!gpc_eq(got, want))
		fail_msg("%s.%s is %s, not %s", service ? service : "", name,
			got ? got : "unset", want ? want : "unset");
}

TEST(test_settings)
{
	unsetenv("AWS_ENDPOINT_URL");
	check_setting("s3", "endpoint_url", NULL);
	lab_file(".aws/config", "[default]\nendpoint_url = http://profile\n"
		"services = own\nca_bundle = /ca.pem\ns3 =\n"
		"  addressing_style = path\n  endpoint_url = http://wrong\n"
		"[services own]\ns3 =\n  endpoint_url = http://services-s3\n"
		"sso_oidc =\n  endpoint_url = http://services-oidc\n");
	check_setting("s3", "endpoint_url", "http://services-s3");
	check_setting("sso_oidc", "endpoint_url", "http://services-oidc");
	check_setting("sts", "endpoint_url", "http://profile");
	check_setting(NULL, "endpoint_url", "http://profile");
	lab_set("AWS_ENDPOINT_URL", "http://env");
	check_setting("s3", "endpoint_url", "http://env");
	lab_set("AWS_ENDPOINT_URL_S3", "http://env-s3");
	check_setting("s3", "endpoint_url", "http://env-s3");
	check_setting("sts", "endpoint_url", "http://env");
	lab_set("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true");
	check_setting("s3", "endpoint_url", NULL);
	check_setting("s3", "addressing_style", "path");
	check_setting("s3", "none", NULL);
	check_setting(NULL, "ca_bundle", "/ca.pem");
	lab_set("AWS_CA_BUNDLE", "/env.pem");
	check_setting(NULL, "ca_bundle", "/env.pem");
	check_setting(NULL, "profile", "default");
}

static void check_region(const char *want)
{
	gpc_autostr *got = NULL;
	struct gpc_error err = {0};

	begin_anew();
	assert_ok(gpc_creds_region(creds, &got, &err));
	if (!gpc_eq(got, want))
		fail_msg("the region is %s", got ? got : "unset");
}

TEST(test_region)
{
	static const struct lab_route imds[] = {
		{"PUT", "/*", NULL, 200, "T", 0},
		{"GET", "/latest/meta-data/placement/region", NULL, 200,
			"ap-south-1\n", 0},
	};
	gpc_autostr *got = NULL;
	struct gpc_error err = {0};

	check_region(NULL);
	unsetenv("AWS_EC2_METADATA_DISABLED");
	lab_set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "%s", lab_url());
	lab_routes(imds, COUNT(imds));
	check_region("ap-south-1");
	lab_set("AWS_ACCESS_KEY_ID", "A");
	lab_routes(imds, COUNT(imds));
	check_region(NULL);             /* with keys of our own: not asked */
	assert_int_equal(lab_asked(""), 0);
	unsetenv("AWS_ACCESS_KEY_ID");
	lab_file(".aws/config", "[default]\nregion=eu-west-1\n[profile p]\n"
		"region = eu-west-2\n");
	check_region("eu-west-1");
	lab_set("AWS_PROFILE", "p");
	check_region("eu-west-2");
	lab_set("AWS_DEFAULT_REGION", "us-east-2");
	check_region("us-east-2");
	lab_set("AWS_REGION", "us-west-2");
	check_region("us-west-2");
	unsetenv("AWS_REGION");
	unsetenv("AWS_DEFAULT_REGION");
	lab_set("AWS_PROFILE", "q");
	begin_anew();
	assert_fails(gpc_creds_region(creds, &got, &err), GPC_EAUTH);
}

/* --- nobody is asked what is not needed ------------------------------------ */
TEST(test_lazy)
{
	lab_set("HOME", "/nowhere");
	lab_set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "%s/box", lab_url());
	lab_routes(first, 1);
	begin_anew();
	assert_int_equal(lab_asked(""), 0);
	assert_gets(false, "A1");
	assert_int_equal(lab_asked(""), 1);
}

#define TIMED(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TIMED(test_windows), TIMED(test_try_then_must),
		TIMED(test_renew), TIMED(test_short_life),
		TIMED(test_expired), TIMED(test_fast_clock),
		TIMED(test_metadata_lags),
		TIMED(test_single_flight), TIMED(test_role_cache),
		TIMED(test_sso_renews), TIMED(test_sso_refused),
		TIMED(test_settings), TIMED(test_region), TIMED(test_lazy),
	};

	return cmocka_run_group_tests(tests, lab_open, lab_close);
}
