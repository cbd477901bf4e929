/* The chain of AWS: which place counts before which, what each sends, and what a
 * place that is set up and fails says. */
#include "creds_lab.h"

#include <sys/stat.h>

#include "base/str.h"

#define STS_ROLE "Action=AssumeRole&"
#define STS_WEB "Action=AssumeRoleWithWebIdentity&"
#define STS(action, id) "<" action "Response xmlns=\"https://sts.amazonaws.com/" \
	"doc/2011-06-15/\"><" action "Result><AssumedRoleUser><Arn>arn:aws:sts::" \
	"123456789012:assumed-role/r/s</Arn></AssumedRoleUser><Credentials>" \
	"<AccessKeyId>" id "</AccessKeyId><SecretAccessKey>SECRET</Secret" \
	"AccessKey><SessionToken>TOKEN</SessionToken><Expiration>@+3600@" \
	"</Expiration></Credentials></" action "Result></" action "Response>"
#define KEYS(id) "{\"AccessKeyId\":\"" id "\",\"SecretAccessKey\":\"SECRET\"," \
	"\"Token\":\"TOKEN\",\"Expiration\":\"@+3600@\",\"Code\":\"Success\"}"
#define ROLES "/latest/meta-data/iam/security-credentials/"

static const struct lab_route usual[] = {
	{"POST", "/sts/", STS_WEB, 200, STS("AssumeRoleWithWebIdentity",
		"AKWEB"), 0},
	{"POST", "/sts/", STS_ROLE, 200, STS("AssumeRole", "AKROLE"), 0},
	{"GET", "/sso/federation/credentials?role_name=Dev&account_id=111122223333",
		"x-amz-sso_bearer_token: SSOTOKEN", 200, "{\"roleCredentials\":{"
		"\"accessKeyId\":\"AKSSO\",\"secretAccessKey\":\"SECRET\","
		"\"sessionToken\":\"TOKEN\",\"expiration\":@ms+3600@}}", 0},
	{"GET", "/box", NULL, 200, KEYS("AKBOX"), 0},
	{"PUT", "/latest/api/token", "ttl-seconds: 21600", 200, "IMDSTOKEN", 0},
	{"GET", ROLES, "x-aws-ec2-metadata-token: IMDSTOKEN", 200, "node\n", 0},
	{"GET", ROLES "node", "x-aws-ec2-metadata-token: IMDSTOKEN", 200,
		KEYS("AKIMDS"), 0},
	{"GET", "/latest/meta-data/placement/region", "token: IMDSTOKEN", 200,
		"ap-south-1", 0},
};

static void set_up(void)
{
	lab_routes(usual, COUNT(usual));
	lab_set("AWS_ENDPOINT_URL_STS", "%s/sts/", lab_url());
	lab_set("AWS_ENDPOINT_URL_SSO", "%s/sso", lab_url());
	lab_set("AWS_ENDPOINT_URL_SSO_OIDC", "%s/oidc", lab_url());
	lab_set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "%s/", lab_url());
	lab_set("AWS_EC2_METADATA_DISABLED", "true");
}

static int get(const char *profile, struct gpc_identity *i,
	struct gpc_error *err)
{
	const struct gpc_creds_settings settings = {.cloud = GPC_CLOUD_AWS,
		.profile = profile, .no_prompt = true};
	const struct gpc_net_settings how = {.max_tries = 2};
	gpc_autoptr(gpc_net) *net = gpc_net_new(&how);
	gpc_autoptr(gpc_creds) *c = gpc_creds_new(&settings, net);

	return gpc_creds_get(c, false, i, err);
}

/* --- order ----------------------------------------------------------------- */
enum { ENV, ROLE, WEB, SSO, FILE_KEYS, LOGIN, PROCESS, CONFIG, BOX, IMDS, STEPS };
static const char *const ids[STEPS] = {
	"AKENV", "AKROLE", "AKWEB", "AKSSO", "AKFILE", NULL, "AKPROC", "AKCONF",
	"AKBOX", "AKIMDS",
};
static const char *const sources[STEPS] = {
	"environment (AWS_ACCESS_KEY_ID)",
	"role arn:aws:iam::123456789012:role/r of profile default "
		"(~/.aws/config:2)",
	"role arn:aws:iam::123456789012:role/w by web identity "
		"(AWS_WEB_IDENTITY_TOKEN_FILE)",
	"SSO, role Dev of profile default (~/.aws/config:",
	"profile default in ~/.aws/credentials", NULL,
	"credential_process of profile default (~/.aws/config:",
	"profile default in ~/.aws/config", "container (AWS_CONTAINER_",
	"instance metadata, role node",
};

static void set_files(unsigned steps)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	static const struct { unsigned step; const char *text; } parts[] = {
		{ROLE, "role_arn = arn:aws:iam::123456789012:role/r\n"
			"source_profile = src\n"},
		{SSO, "sso_start_url = https://x.example/start\nsso_region = "
			"eu-west-1\nsso_account_id = 111122223333\n"
			"sso_role_name = Dev\n"},
		{LOGIN, "login_session = arn:aws:iam::1:user/u\n"},
		{PROCESS, "credential_process = /bin/sh -c 'cat \"$HOME\"/out'"
			"\n"},
		{CONFIG, "aws_access_key_id = AKCONF\naws_secret_access_key = "
			"SECRET\n"},
	};

	gpc_buf_adds(&b, "[default]\n");
	for (size_t i = 0; i < COUNT(parts); i++)
		if (steps & 1U << parts[i].step)
			gpc_buf_adds(&b, parts[i].text);
	lab_file(".aws/config", "%s[profile src]\naws_access_key_id = AKSRC\n"
		"aws_secret_access_key = SECRET\n", b.data);
	lab_file(".aws/credentials", steps & 1U << FILE_KEYS ? "[default]\n"
		"aws_access_key_id = AKFILE\naws_secret_access_key = SECRET\n" :
		"");
	lab_file("out", "{\"Version\":1,\"AccessKeyId\":\"AKPROC\","
		"\"SecretAccessKey\":\"SECRET\"}");
	/* sha1 of the start URL */
	lab_file(".aws/sso/cache/80c7f57c51e0449101de09ef74138a588ea0d4a6.json",
		"{\"accessToken\":\"SSOTOKEN\",\"expiresAt\":\"@+7200@\"}");
	lab_file("token", "WEBTOKEN\n");
}

static void set_steps(unsigned steps)
{
	set_files(steps);
	if (steps & 1U << ENV) {
		lab_set("AWS_ACCESS_KEY_ID", "AKENV");
		lab_set("AWS_SECRET_ACCESS_KEY", "SECRET");
	}
	if (steps & 1U << WEB) {
		lab_set("AWS_WEB_IDENTITY_TOKEN_FILE", "%s/token", lab_home());
		lab_set("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/w");
	}
	if (steps & 1U << BOX)
		lab_set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "%s/box",
			lab_url());
	if (steps & 1U << IMDS)
		unsetenv("AWS_EC2_METADATA_DISABLED");
}

static void check_steps(unsigned steps, int want, const char *profile)
{
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	struct gpc_error err = {0};
	void *state = NULL;

	lab_reset(&state);
	set_up();
	set_steps(steps);
	if (want == LOGIN) {
		assert_fails(get(profile, &i, &err), GPC_EAUTH);
		assert_has(err.msg, "login_session");
		return;
	}
	assert_ok(get(profile, &i, &err));
	assert_string_equal(i.id, ids[want]);
	assert_string_equal(i.secret, "SECRET");
	if (!gpc_starts_with(i.source, sources[want]))
		fail_msg("%s is not %s", i.source, sources[want]);
	assert_int_equal(i.token != NULL, want == ROLE || want == WEB ||
		want == SSO || want >= BOX);
	assert_int_equal(i.expires_ms > 0, i.token != NULL);
}

TEST(test_order)
{
	for (int first = 0; first < STEPS; first++) {
		check_steps(1U << first, first, NULL);
		for (int more = first + 1; more < STEPS; more++)
			check_steps(1U << first | 1U << more, first, NULL);
		check_steps(((1U << STEPS) - 1) & ~((1U << first) - 1), first,
			NULL);
	}
}

/* A profile that is named by hand goes before the environment; one that is named
 * by the environment does not. */
TEST(test_named)
{
	check_steps(1U << ENV | 1U << ROLE, ROLE, "default");
	check_steps(1U << ENV | 1U << WEB | 1U << SSO, SSO, "default");
	check_steps(1U << ENV | 1U << CONFIG, CONFIG, "default");
	check_steps(1U << ENV | 1U << BOX, BOX, "default");
	check_steps(1U << ENV, ENV, "");
}

TEST(test_profile_by_env)
{
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	struct gpc_error err = {0};

	set_up();
	lab_file(".aws/config", "[profile a]\naws_access_key_id=AKA\n"
		"aws_secret_access_key=SECRET\nregion = eu-west-1\n"
		"[profile \"b c\"]\naws_access_key_id=AKB\n"
		"aws_secret_access_key=SECRET\n");
	lab_file(".aws/credentials", "[a]\naws_session_token=TOKEN\n"
		"[b c]\naws_access_key_id=AKBC\naws_secret_access_key=SECRET\n"
		"aws_session_token=TOKEN\n");
	lab_set("AWS_DEFAULT_PROFILE", "b c");
	assert_ok(get(NULL, &i, &err));
	assert_string_equal(i.id, "AKBC");
	assert_string_equal(i.token, "TOKEN");
	lab_set("AWS_PROFILE", "a");
	assert_ok(get(NULL, &i, &err));
	assert_string_equal(i.id, "AKA");
	assert_null(i.token);
	assert_string_equal(i.region, "eu-west-1");
	lab_set("AWS_ACCESS_KEY_ID", "AKENV");
	lab_set("AWS_SECRET_ACCESS_KEY", "SECRET");
	lab_set("AWS_SESSION_TOKEN", "T2");
	lab_set("AWS_ACCOUNT_ID", "123456789012");
	assert_ok(get(NULL, &i, &err));
	assert_string_equal(i.id, "AKENV");
	assert_string_equal(i.token, "T2");
	assert_string_equal(i.account, "123456789012");
	lab_set("AWS_CONFIG_FILE", "${HOME}/other");
	lab_set("AWS_SHARED_CREDENTIALS_FILE", "~/keys");
	lab_file("keys", "[x]\naws_access_key_id=AKX\naws_secret_access_key="
		"SECRET\n");
	assert_ok(get("x", &i, &err));
	assert_string_equal(i.id, "AKX");
	assert_string_equal(i.source, "profile x in ~/keys");
}

/* --- what is sent ---------------------------------------------------------- */
TEST(test_role_request)
{
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	struct gpc_error err = {0};
	gpc_autostr *sent = NULL;

	set_up();
	lab_set("AWS_REGION", "eu-west-3");
	lab_file(".aws/config", "[profile r]\nrole_arn = arn:aws:iam::"
		"123456789012:role/a/r\nsource_profile = s\nexternal_id = e/x+1"
		"\nrole_session_name = me@home\nduration_seconds = 7200\n"
		"[profile s]\naws_access_key_id=AKSRC\n"
		"aws_secret_access_key=SECRET\naws_session_token=T=\n");
	assert_ok(get("r", &i, &err));
	assert_string_equal(i.account, "123456789012");
	sent = lab_request("POST /sts/");
	assert_has(sent, "Credential=AKSRC/");
	assert_has(sent, "/eu-west-3/sts/aws4_request");
	assert_has(sent, "x-amz-security-token: T=");
	assert_has(sent, "ExternalId=e%2Fx%2B1");
	assert_has(sent, "RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2F"
		"a%2Fr");
	assert_has(sent, "RoleSessionName=me%40home");
	assert_has(sent, "DurationSeconds=7200");
	assert_has(sent, "Version=2011-06-15");
	assert_null(strstr(sent, "SECRET"));
}

TEST(test_web_request)
{
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	struct gpc_error err = {0};
	gpc_autostr *sent = NULL;

	set_up();
	lab_file("token", "  WEB.TO-KEN_1\n");
	lab_file(".aws/config", "[profile w]\nrole_arn = arn:aws:iam::1:role/w\n"
		"web_identity_token_file = ~/token\nrole_session_name = s1\n");
	assert_ok(get("w", &i, &err));
	assert_string_equal(i.id, "AKWEB");
	assert_string_equal(i.source, "role arn:aws:iam::1:role/w by web "
		"identity (profile w, ~/.aws/config:3)");
	sent = lab_request("POST /sts/");
	assert_has(sent, "WebIdentityToken=WEB.TO-KEN_1");
	assert_has(sent, "RoleSessionName=s1");
	assert_null(strcasestr(sent, "authorization:"));
}

TEST(test_ci)
{
	static const struct lab_route routes[] = {
		{"GET", "/gh?v=1&audience=sts.amazonaws.com",
			"authorization: bearer GHKEY", 200,
			"{\"value\":\"GHTOKEN\"}", 0},
		{"POST", "/sts/", "WebIdentityToken=GHTOKEN", 200,
			STS("AssumeRoleWithWebIdentity", "AKGH"), 0},
		{"POST", "/sts/", "WebIdentityToken=GLTOKEN", 200,
			STS("AssumeRoleWithWebIdentity", "AKGL"), 0},
	};
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	struct gpc_error err = {0};

	set_up();
	lab_routes(routes, COUNT(routes));
	lab_set("AWS_ROLE_ARN", "arn:aws:iam::1:role/ci");
	lab_set("GITHUB_ACTIONS", "true");
	assert_fails(get(NULL, &i, &err), GPC_EAUTH);
	assert_has(err.msg, "permissions: id-token: write");
	lab_set("ACTIONS_ID_TOKEN_REQUEST_URL", "%s/gh?v=1", lab_url());
	lab_set("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "GHKEY");
	assert_ok(get(NULL, &i, &err));
	assert_string_equal(i.id, "AKGH");
	assert_has(i.source, "(GitHub Actions, AWS_ROLE_ARN)");
	lab_set("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "WRONG");
	assert_fails(get(NULL, &i, &err), GPC_EAUTH);
	assert_has(err.msg, "GitHub's token service answered with status 404");
	unsetenv("GITHUB_ACTIONS");
	lab_set("GITLAB_CI", "true");
	lab_set("GITLAB_OIDC_TOKEN", "GLTOKEN");
	assert_ok(get(NULL, &i, &err));
	assert_string_equal(i.id, "AKGL");
	assert_has(i.source, "(GitLab, AWS_ROLE_ARN)");
}

TEST(test_container)
{
	static const struct lab_route routes[] = {
		{"GET", "/box?a=1", "authorization: Bearer x y", 200,
			KEYS("AKTOKEN"), 0},
		{"GET", "/box?a=1", "authorization: Basic from file=\r", 200,
			KEYS("AKTFILE"), 0},
		{"GET", "/box?a=1", NULL, 401, "{\"code\":\"Denied\","
			"\"message\":\"no such task\"}", 0},
	};
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	struct gpc_error err = {0};

	set_up();
	lab_routes(routes, COUNT(routes));
	lab_set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "%s/box?a=1", lab_url());
	lab_set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Bearer x y");
	assert_ok(get(NULL, &i, &err));
	assert_string_equal(i.id, "AKTOKEN");
	lab_file("t", "Basic from file=\n");
	lab_set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "%s/t", lab_home());
	assert_ok(get(NULL, &i, &err));
	assert_string_equal(i.id, "AKTFILE");
	lab_file("t", "other");
	assert_fails(get(NULL, &i, &err), GPC_EAUTH);
	assert_has(err.msg, "status 401: no such task");
	lab_file("t", "two\nlines");
	assert_fails(get(NULL, &i, &err), GPC_ECONFIG);
	assert_has(err.msg, "TOKEN_FILE holds a line break");
	lab_file("t", "\n");
	assert_fails(get(NULL, &i, &err), GPC_EAUTH);
	assert_has(err.msg, "TOKEN_FILE names an empty token");
}

/* --- instance metadata ----------------------------------------------------- */
#define V1(id) {"GET", ROLES, NULL, 200, "r1", 0}, \
	{"GET", ROLES "r1", NULL, 200, KEYS(id), 0}

static const struct {
	const char *name;
	struct lab_route routes[4];
	const char *v1_disabled;
	const char *id;                 /* NULL: falls through, and says: */
	const char *says;
} metadata[] = {
	{"no token, version 1", {{"PUT", "/*", NULL, 404, "", 0}, V1("AKV1")},
		NULL, "AKV1", NULL},
	{"forbidden token", {{"PUT", "/*", NULL, 403, "", 0}, V1("AKV1")},
		NULL, "AKV1", NULL},
	{"version 1 disabled", {{"PUT", "/*", NULL, 403, "", 0}, V1("AKV1")},
		"true", NULL, "version 1 is disabled"},
	{"no role", {{"PUT", "/*", NULL, 200, "T", 0},
		{"GET", ROLES, NULL, 404, "", 0}}, NULL, NULL,
		"this instance has no role"},
	{"a complaint", {{"PUT", "/*", NULL, 200, "T", 0},
		{"GET", ROLES, NULL, 200, "r1", 0}, {"GET", ROLES "r1", NULL,
		200, "{\"Code\":\"AssumeRoleUnauthorizedAccess\",\"Message\":"
		"\"EC2 cannot assume r1\"}", 0}}, NULL, NULL,
		"role r1: AssumeRoleUnauthorizedAccess: EC2 cannot assume r1"},
	{"a token that is lost", {{"PUT", "/*", NULL, 200, "T", 1500},
		{"GET", ROLES, NULL, 401, "", 0}}, NULL, NULL,
		"in a container the hop limit must be 2"},
	{"a strange role", {{"PUT", "/*", NULL, 200, "T", 0},
		{"GET", ROLES, NULL, 200, "../x y", 0}}, NULL, NULL,
		"instance metadata names no role"},
};

TEST(test_metadata)
{
	for (size_t i = 0; i < COUNT(metadata); i++) {
		gpc_auto(gpc_identity) struct gpc_identity id = {0};
		struct gpc_error err = {0};

		set_up();
		unsetenv("AWS_EC2_METADATA_DISABLED");
		lab_routes(metadata[i].routes, 4);
		if (metadata[i].v1_disabled)
			lab_set("AWS_EC2_METADATA_V1_DISABLED", "%s",
				metadata[i].v1_disabled);
		else
			unsetenv("AWS_EC2_METADATA_V1_DISABLED");
		if (metadata[i].id) {
			assert_ok(get(NULL, &id, &err));
			assert_string_equal(id.id, metadata[i].id);
		} else {
			assert_fails(get(NULL, &id, &err), GPC_EAUTH);
			assert_has(err.msg, metadata[i].says);
		}
	}
}

/* What the machine is told, by one session until that ends. */
TEST(test_machine_texts)
{
	static const struct lab_route routes[] = {
		{"PUT", "/latest/api/token", NULL, 200, "IMDSTOKEN", 0},
		{"GET", "/latest/meta-data/spot", "x-aws-ec2-metadata-token: IMDSTOKEN",
			200, "soon", 0},
		{"GET", "/latest/meta-data/ended", NULL, 401, "", 0},
		{"GET", "/latest/meta-data/none", NULL, 404, "no such", 0},
		{"GET", "/latest/meta-data/broken", NULL, 500, "", 0},
	};
	static const struct gpc_net_settings how = {0};
	static const struct gpc_creds_settings settings = { .cloud = GPC_CLOUD_AWS };
	gpc_autoptr(gpc_net) *net = gpc_net_new(&how);
	gpc_autoptr(gpc_creds) *c = gpc_creds_new(&settings, net);
	struct gpc_error err = {0};
	char *text = NULL;

	set_up();
	lab_routes(routes, COUNT(routes));
	assert_ok(gpc_creds_machine(c, "/latest/meta-data/none", &text, &err));
	assert_null(text);
	assert_ok(gpc_creds_machine(c, "/latest/meta-data/spot", &text, &err));
	assert_string_equal(text, "soon");
	free(gpc_steal(&text));
	assert_int_equal(lab_asked("PUT /latest/api/token"), 1);
	assert_ok(gpc_creds_machine(c, "/latest/meta-data/ended", &text, &err));
	assert_null(text);
	assert_fails(gpc_creds_machine(c, "/latest/meta-data/broken", &text, &err),
		GPC_ENET);
	assert_int_equal(lab_asked("PUT /latest/api/token"), 2);
	assert_null(text);
}

TEST(test_metadata_refused)
{
	static const struct lab_route bad[] = {
		{"PUT", "/*", NULL, 400, "", 0},
	};
	static const struct lab_route sick[] = {
		{"PUT", "/*", NULL, 200, "T", 0},
		{"GET", "/*", NULL, 500, "", 0},
	};
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	struct gpc_error err = {0};

	set_up();
	unsetenv("AWS_EC2_METADATA_DISABLED");
	lab_routes(bad, COUNT(bad));
	assert_fails(get(NULL, &i, &err), GPC_EAUTH);
	assert_has(err.msg, "status 400");
	lab_routes(sick, COUNT(sick));
	assert_fails(get(NULL, &i, &err), GPC_ENET);
	assert_int_equal(lab_asked("GET"), 1);
	lab_set("AWS_METADATA_SERVICE_NUM_ATTEMPTS", "2");
	assert_fails(get(NULL, &i, &err), GPC_ENET);
	assert_int_equal(lab_asked("GET"), 3);
	/* Nothing listens: no error of its own. */
	lab_set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1");
	assert_fails(get(NULL, &i, &err), GPC_EAUTH);
	assert_has(err.msg, "http://127.0.0.1:1 does not answer");
}

/* --- nothing anywhere ------------------------------------------------------ */
TEST(test_nothing)
{
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	struct gpc_error err = {0};

	set_up();
	assert_fails(get(NULL, &i, &err), GPC_EAUTH);
	assert_string_equal(err.msg, "no credentials for AWS: "
		"AWS_ACCESS_KEY_ID is not set; "
		"AWS_WEB_IDENTITY_TOKEN_FILE is not set; "
		"~/.aws/credentials does not exist; "
		"~/.aws/config does not exist; "
		"AWS_CONTAINER_CREDENTIALS_*_URI are not set; "
		"AWS_EC2_METADATA_DISABLED is set");
	assert_has(err.hint, "aws configure");
	lab_file(".aws/config", "[default]\nregion = us-east-1\n");
	lab_file(".aws/credentials", "[other]\n");
	lab_set("AWS_SECRET_ACCESS_KEY", "SECRET");
	assert_fails(get(NULL, &i, &err), GPC_EAUTH);
	assert_has(err.msg, "AWS_SECRET_ACCESS_KEY is set, but not AWS_ACCESS");
	assert_has(err.msg, "~/.aws/credentials has no profile default");
	assert_has(err.msg, "profile default in ~/.aws/config names no cred");
}

TEST(test_whoami)
{
	static const struct lab_route routes[] = {
		{"POST", "/sts/", "Action=GetCallerIdentity&Version=2011-06-15",
			200, "<GetCallerIdentityResponse><GetCallerIdentity"
			"Result><Arn>arn:aws:iam::123456789012:user/u</Arn>"
			"<UserId>A</UserId><Account>123456789012</Account></Get"
			"CallerIdentityResult></GetCallerIdentityResponse>", 0},
	};
	static const struct lab_route refused[] = {
		{"POST", "/sts/", NULL, 403, "<ErrorResponse><Error><Code>"
			"InvalidClientTokenId</Code><Message>no</Message>"
			"</Error></ErrorResponse>", 0},
	};
	const struct gpc_creds_settings settings = {.cloud = GPC_CLOUD_AWS};
	const struct gpc_net_settings how = {.max_tries = 1};
	gpc_autoptr(gpc_net) *net = gpc_net_new(&how);
	gpc_autoptr(gpc_creds) *c = gpc_creds_new(&settings, net);
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	struct gpc_error err = {0};
	gpc_autostr *sent = NULL;

	set_up();
	lab_set("AWS_ACCESS_KEY_ID", "AKX");
	lab_set("AWS_SECRET_ACCESS_KEY", "SECRET");
	lab_routes(routes, 1);
	assert_ok(gpc_creds_whoami(c, &i, &err));
	assert_string_equal(i.name, "arn:aws:iam::123456789012:user/u");
	assert_string_equal(i.account, "123456789012");
	assert_string_equal(i.id, "AKX");
	sent = lab_request("POST");
	assert_has(sent, "Credential=AKX/");
	assert_has(sent, "/us-east-1/sts/");
	assert_null(strstr(sent, "RoleArn"));
	lab_routes(refused, 1);
	assert_fails(gpc_creds_whoami(c, &i, &err), GPC_EAUTH);
	assert_has(err.msg, "GetCallerIdentity (environment (AWS_ACCESS_KEY_ID)"
		"): STS answered 403 InvalidClientTokenId: no");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_order, lab_reset),
		cmocka_unit_test_setup(test_named, lab_reset),
		cmocka_unit_test_setup(test_profile_by_env, lab_reset),
		cmocka_unit_test_setup(test_role_request, lab_reset),
		cmocka_unit_test_setup(test_web_request, lab_reset),
		cmocka_unit_test_setup(test_ci, lab_reset),
		cmocka_unit_test_setup(test_container, lab_reset),
		cmocka_unit_test_setup(test_metadata, lab_reset),
		cmocka_unit_test_setup(test_machine_texts, lab_reset),
		cmocka_unit_test_setup(test_metadata_refused, lab_reset),
		cmocka_unit_test_setup(test_nothing, lab_reset),
		cmocka_unit_test_setup(test_whoami, lab_reset),
	};

	return cmocka_run_group_tests(tests, lab_open, lab_close);
}
