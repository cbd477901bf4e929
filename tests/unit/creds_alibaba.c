/* The chain of Alibaba Cloud: which place counts before which, what each sends, when
 * it is asked again, and what a place that is set up and fails says. */
#include "creds_lab.h"

#include "base/str.h"

#define NODE "acs:ram::1234567890123456:role/node"
#define STS(id) "{\"Credentials\":{\"AccessKeyId\":\"" id "\",\"AccessKeySecret\":" \
	"\"S3CR3T\",\"SecurityToken\":\"TOKEN\",\"Expiration\":\"@+3600@\"}," \
	"\"AssumedRoleUser\":{\"Arn\":\"acs:ram::1234567890123456:assumed-role/" \
	"node/me\"}}"
#define KEYS(id, end) "{\"AccessKeyId\":\"" id "\",\"AccessKeySecret\":\"S3CR3T\"," \
	"\"SecurityToken\":\"TOKEN\",\"Expiration\":\"" end "\",\"Code\":" \
	"\"Success\"}"
#define ROLES "/latest/meta-data/ram/security-credentials/"
#define STATIC "\"access_key_id\":\"%s\",\"access_key_secret\":\"S3CR3T\""

static const struct lab_route usual[] = {
	{"POST", "/sts*", "OIDCToken=OIDCTOKEN", 200, STS("OIDC"), 0},
	{"POST", "/sts*", "x-acs-action: AssumeRole\r", 200, STS("ROLE"), 0},
	{"PUT", "/latest/api/token", "ttl-seconds: 21600", 200, "ECSTOKEN", 0},
	{"GET", ROLES, "ecs-metadata-token: ECSTOKEN", 200, "node\n", 0},
	{"GET", ROLES "node", "ecs-metadata-token: ECSTOKEN", 200,
		KEYS("ECS", "@+3600@"), 0},
	{"GET", "/latest/meta-data/region-id", NULL, 200, "cn-beijing", 0},
	{"GET", "/uri", NULL, 200, KEYS("URI", "@+3600@"), 0},
};

static void set_up(void)
{
	lab_routes(usual, COUNT(usual));
	lab_set("ALIBABA_CLOUD_STS_ENDPOINT", "%s/sts", lab_url());
	lab_set("ALIBABA_CLOUD_ECS_METADATA_SERVICE_ENDPOINT", "%s", lab_url());
	lab_set("ALIBABA_CLOUD_ECS_METADATA_DISABLED", "true");
}

static int get(const char *profile, struct gpc_identity *i,
	struct gpc_error *err)
{
	const struct gpc_creds_settings settings = {.profile = profile,
		.cloud = GPC_CLOUD_ALIBABA, .no_prompt = true};
	const struct gpc_net_settings how = {.max_tries = 2};
	gpc_autoptr(gpc_net) *net = gpc_net_new(&how);
	gpc_autoptr(gpc_creds) *c = gpc_creds_new(&settings, net);
	int r = gpc_creds_get(c, false, i, err);

	assert_false(gpc_creds_nowhere(c) && (!r || !strstr(err->msg,
		"no credentials for Alibaba Cloud")));
	if (r)
		assert_null(strstr(err->msg, "S3CR3T"));
	return r;
}

/* --- order ----------------------------------------------------------------- */
enum { ENV, OIDC, CONFIG, INI, ECS, URI, STEPS };
static const char *const ids[STEPS] = {
	"ENV", "OIDC", "CONFIG", "INI", "ECS", "URI",
};
static const char *const sources[STEPS] = {
	"environment (ALIBABA_CLOUD_ACCESS_KEY_ID)",
	"role " NODE " by OIDC (ALIBABA_CLOUD_OIDC_TOKEN_FILE)",
	"profile main in ~/.aliyun/config.json",
	"profile default (~/.alibabacloud/credentials:1)",
	"instance metadata, role node",
	"credentials URI (ALIBABA_CLOUD_CREDENTIALS_URI)",
};

static void set_steps(unsigned steps)
{
	if (steps & 1U << ENV) {
		lab_set("ALIBABA_CLOUD_ACCESS_KEY_ID", "ENV");
		lab_set("ALIBABA_CLOUD_ACCESS_KEY_SECRET", "S3CR3T");
	}
	if (steps & 1U << OIDC) {
		lab_file("token", "OIDCTOKEN\n");
		lab_set("ALIBABA_CLOUD_OIDC_TOKEN_FILE", "~/token");
		lab_set("ALIBABA_CLOUD_ROLE_ARN", NODE);
		lab_set("ALIBABA_CLOUD_OIDC_PROVIDER_ARN",
			"acs:ram::1:oidc-provider/p");
	}
	if (steps & 1U << CONFIG)
		lab_file(".aliyun/config.json", "{\"current\":\"main\","
			"\"profiles\":[{\"name\":\"main\",\"mode\":\"AK\","
			STATIC ",\"region_id\":\"cn-hangzhou\"}]}", "CONFIG");
	if (steps & 1U << INI)
		lab_file(".alibabacloud/credentials", "[default]\ntype = "
			"access_key\naccess_key_id = INI\naccess_key_secret = "
			"S3CR3T\n");
	if (steps & 1U << ECS)
		unsetenv("ALIBABA_CLOUD_ECS_METADATA_DISABLED");
	if (steps & 1U << URI)
		lab_set("ALIBABA_CLOUD_CREDENTIALS_URI", "%s/uri", lab_url());
}

TEST(test_order)
{
	for (unsigned steps = 1; steps < 1U << STEPS; steps++) {
		gpc_auto(gpc_identity) struct gpc_identity i = {0};
		struct gpc_error err = {0};
		int want = 0;

		while (!(steps & 1U << want))
			want++;
		lab_reset(state);
		set_up();
		set_steps(steps);
		assert_ok(get(NULL, &i, &err));
		assert_string_equal(i.id, ids[want]);
		assert_string_equal(i.secret, "S3CR3T");
		assert_string_equal(i.source, sources[want]);
		assert_int_equal(i.token != NULL, want == OIDC || want >= ECS);
		assert_int_equal(i.expires_ms > 0, i.token != NULL);
	}
}

TEST(test_nowhere)
{
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	struct gpc_error err = {0};

	set_up();
	lab_file(".aliyun/config.json", "{\"current\":\"default\",\"profiles\":"
		"[{\"name\":\"default\",\"mode\":\"AK\"}]}");
	assert_fails(get(NULL, &i, &err), GPC_EAUTH);
	assert_has(err.msg, "ALIBABA_CLOUD_ACCESS_KEY_ID is not set; ");
	assert_has(err.msg, "profile default in ~/.aliyun/config.json names no "
		"credentials; ~/.alibabacloud/credentials does not exist; "
		"ALIBABA_CLOUD_ECS_METADATA_DISABLED is set; ");
	assert_has(err.hint, "aliyun configure");
}

/* One that is named by hand goes before the environment. */
TEST(test_profiles)
{
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	struct gpc_error err = {0};

	set_up();
	set_steps(1U << ENV | 1U << CONFIG | 1U << INI);
	assert_ok(get("main", &i, &err));
	assert_string_equal(i.id, "CONFIG");
	assert_string_equal(i.region, "cn-hangzhou");
	assert_ok(get("default", &i, &err));
	assert_string_equal(i.id, "INI");
	lab_set("ALIBABA_CLOUD_PROFILE", "main");
	assert_ok(get(NULL, &i, &err));
	assert_string_equal(i.id, "ENV");
	assert_fails(get("nosuch", &i, &err), GPC_EAUTH);
	assert_has(err.msg, "there is no profile \"nosuch\"");
	assert_has(err.hint, "aliyun configure list");
}

/* Keys of two sets of variables are never mixed. */
TEST(test_families)
{
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	struct gpc_error err = {0};

	set_up();
	lab_set("ALICLOUD_ACCESS_KEY_ID", "ALI");
	lab_set("ALIBABA_CLOUD_ACCESS_KEY_SECRET", "OTHER");
	assert_fails(get(NULL, &i, &err), GPC_EAUTH);
	assert_string_equal(err.msg, "ALICLOUD_ACCESS_KEY_ID is set, but not "
		"ALICLOUD_ACCESS_KEY_SECRET");
	lab_set("ALICLOUD_ACCESS_KEY_SECRET", "S3CR3T");
	lab_set("ALIBABA_CLOUD_SECURITY_TOKEN", "OTHER");
	assert_ok(get(NULL, &i, &err));
	assert_string_equal(i.id, "ALI");
	assert_null(i.token);
	lab_set("ALICLOUD_SECURITY_TOKEN", "T");
	lab_set("ALIBABA_CLOUD_REGION_ID", "eu-central-1");
	assert_ok(get(NULL, &i, &err));
	assert_string_equal(i.token, "T");
	assert_string_equal(i.region, "eu-central-1");
	lab_set("ALICLOUD_ACCESS_KEY_SECRET", "S3C\nR3T");
	assert_fails(get(NULL, &i, &err), GPC_ECONFIG);
}

/* --- what is sent ---------------------------------------------------------- */
TEST(test_role_request)
{
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	struct gpc_error err = {0};
	gpc_autostr *sent = NULL;

	set_up();
	lab_file(".aliyun/config.json", "{\"profiles\":[{\"name\":\"r\",\"mode\":"
		"\"RAMROLEARN\"," STATIC ",\"ram_role_arn\":\"" NODE "\","
		"\"ram_session_name\":\"s\",\"external_id\":\"e/x\","
		"\"expired_seconds\":900,\"policy\":\"{}\"}]}", "AK");
	assert_ok(get("r", &i, &err));
	assert_string_equal(i.id, "ROLE");
	assert_string_equal(i.account, "1234567890123456");
	assert_string_equal(i.name, "acs:ram::1234567890123456:assumed-role/"
		"node/me");
	sent = lab_request("POST /sts");
	assert_has(sent, "authorization: ACS3-HMAC-SHA256 Credential=AK,");
	assert_has(sent, "x-acs-version: 2015-04-01");
	assert_has(sent, "x-acs-signature-nonce: ");
	assert_has(sent, "DurationSeconds=900");
	assert_has(sent, "ExternalId=e%2Fx");
	assert_has(sent, "Policy=%7B%7D");
	assert_has(sent, "RoleSessionName=s");
	assert_null(strstr(sent, "S3CR3T"));
}

TEST(test_oidc_request)
{
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	struct gpc_error err = {0};
	gpc_autostr *sent = NULL;

	set_up();
	set_steps(1U << OIDC);
	lab_set("ALIBABA_CLOUD_ROLE_SESSION_NAME", "pod");
	assert_ok(get(NULL, &i, &err));
	sent = lab_request("POST /sts");
	assert_has(sent, "Action=AssumeRoleWithOIDC&Format=JSON&Timestamp=");
	assert_has(sent, "&Version=2015-04-01 ");
	assert_has(sent, "RoleSessionName=pod");
	assert_null(strcasestr(sent, "authorization:"));
	unsetenv("ALIBABA_CLOUD_OIDC_PROVIDER_ARN");
	assert_fails(get(NULL, &i, &err), GPC_ECONFIG);
	assert_has(err.msg, "but not ALIBABA_CLOUD_OIDC_PROVIDER_ARN");
	lab_set("ALIBABA_CLOUD_OIDC_PROVIDER_ARN", "p");
	lab_file("token", "two words");
	assert_fails(get(NULL, &i, &err), GPC_ECONFIG);
	assert_has(err.msg, "this is no token");
}

TEST(test_refusals)
{
	static const struct { int status; const char *body; int code;
		const char *msg, *hint; } cases[] = {
		{403, "{\"Code\":\"NoPermission\",\"Message\":\"You are not "
			"authorized\",\"RequestId\":\"R-1\"}", GPC_EAUTH,
			"STS answered 403 NoPermission: You are not", "trust"},
		{404, "{\"Code\":\"EntityNotExist.Role\"}", GPC_EAUTH,
			"404 EntityNotExist.Role", "ARN"},
		{400, "{\"Code\":\"InvalidParameter.DurationSeconds\"}",
			GPC_ECONFIG, "InvalidParameter", ""},
		{400, "{\"Code\":\"InvalidSecurityToken.Expired\"}", GPC_EAUTH,
			"Expired", "renew"},
		{400, "<html>\x1b[31m", GPC_ECONFIG, "STS answered 400",
			"check ALIBABA_CLOUD_STS_ENDPOINT"},
		{200, "{}", GPC_EPROTO, "this is no JSON object", ""},
		{200, "{\"Credentials\":{\"AccessKeyId\":\"A\"}}", GPC_EPROTO,
			"AccessKeySecret is missing", ""},
	};
	gpc_auto(gpc_identity) struct gpc_identity i = {0};

	set_up();
	set_steps(1U << OIDC);
	for (size_t k = 0; k < COUNT(cases); k++) {
		const struct lab_route routes[] = {
			{"POST", "/sts*", NULL, cases[k].status, cases[k].body,
				0},
		};
		struct gpc_error err = {0};

		lab_routes(routes, COUNT(routes));
		assert_fails(get(NULL, &i, &err), cases[k].code);
		assert_has(err.msg, cases[k].msg);
		assert_has(err.msg, "AssumeRoleWithOIDC of " NODE);
		assert_has(err.hint, cases[k].hint);
		assert_null(strstr(err.msg, "OIDCTOKEN"));
		if (k == 0)
			assert_string_equal(err.request_id, "R-1");
	}
}

/* --- instance metadata ----------------------------------------------------- */
TEST(test_metadata_modes)
{
	static const struct lab_route normal[] = {
		{"GET", ROLES, NULL, 200, "node", 0},
		{"GET", ROLES "node", NULL, 200, KEYS("ECS", "@+3600@"), 0},
	};
	static const struct lab_route complaint[] = {
		{"PUT", "/latest/api/token", NULL, 200, "T", 0},
		{"GET", ROLES "x", NULL, 200, "{\"Code\":\"Failed\"}", 0},
	};
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	struct gpc_error err = {0};

	set_up();
	set_steps(1U << ECS);
	lab_routes(normal, COUNT(normal));
	assert_ok(get(NULL, &i, &err));
	assert_string_equal(i.id, "ECS");
	lab_set("ALIBABA_CLOUD_IMDSV1_DISABLED", "true");
	assert_fails(get(NULL, &i, &err), GPC_EAUTH);
	assert_has(err.msg, "gives no token (status 404), and the normal mode "
		"is disabled");
	lab_routes(complaint, COUNT(complaint));
	lab_set("ALIBABA_CLOUD_ECS_METADATA", "x");
	assert_fails(get(NULL, &i, &err), GPC_EAUTH);
	assert_has(err.msg, "has no keys of the role x: Failed");
	assert_int_equal(lab_asked("GET " ROLES " "), 0);
	lab_set("ALIBABA_CLOUD_ECS_METADATA", "../x");
	assert_fails(get(NULL, &i, &err), GPC_ECONFIG);
	lab_set("ALIBABA_CLOUD_ECS_METADATA_SERVICE_ENDPOINT",
		"http://127.0.0.1:1");
	unsetenv("ALIBABA_CLOUD_ECS_METADATA");
	assert_fails(get(NULL, &i, &err), GPC_EAUTH);
	assert_has(err.msg, "instance metadata at http://127.0.0.1:1 does not "
		"answer");
}

/* From three minutes before the end; a failure then is put up with for a while. */
TEST(test_renewal)
{
	static const struct lab_route later[] = {
		{"PUT", "/latest/api/token", NULL, 200, "T", 0},
		{"GET", ROLES, NULL, 200, "node", 0},
		{"GET", ROLES "node", NULL, 200, KEYS("NEW", "@+3600@"), 0},
	};
	const struct gpc_creds_settings settings = {.no_prompt = true,
		.cloud = GPC_CLOUD_ALIBABA};
	const struct gpc_net_settings how = {.max_tries = 1};
	gpc_autoptr(gpc_net) *net = gpc_net_new(&how);
	gpc_autoptr(gpc_creds) *c = gpc_creds_new(&settings, net);
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	struct gpc_error err = {0};

	set_up();
	set_steps(1U << ECS);
	assert_ok(gpc_creds_get(c, false, &i, &err));
	lab_ahead_ms += INT64_C(56) * 60000;
	assert_ok(gpc_creds_get(c, false, &i, &err));
	assert_int_equal(lab_asked("GET " ROLES "node"), 1);
	lab_routes(NULL, 0);
	lab_ahead_ms += INT64_C(90000);
	assert_ok(gpc_creds_get(c, false, &i, &err));
	assert_string_equal(i.id, "ECS");
	assert_true(lab_asked("PUT ") > 0);
	lab_routes(later, COUNT(later));
	lab_ahead_ms += INT64_C(61000);
	assert_ok(gpc_creds_get(c, false, &i, &err));
	assert_string_equal(i.id, "NEW");
}

/* --- files that are wrong -------------------------------------------------- */
TEST(test_wrong_profiles)
{
	static const struct { const char *text; int code; const char *msg; }
		cases[] = {
		{"{", GPC_ECONFIG, "config.json is no JSON"},
		{"{\"profiles\":[{\"name\":\"p\",\"mode\":\"AK\",\"access_key_id\""
			":\"A\"}]}", GPC_ECONFIG, "has no access_key_secret"},
		{"{\"profiles\":[{\"name\":\"p\",\"mode\":\"StsToken\","
			"\"access_key_id\":\"A\",\"access_key_secret\":\"S\"}]}",
			GPC_ECONFIG, "has no sts_token"},
		{"{\"profiles\":[{\"name\":\"p\",\"mode\":\"OIDC\"}]}",
			GPC_ECONFIG, "has no ram_role_arn"},
		{"{\"profiles\":[{\"name\":\"p\",\"mode\":\"External\"}]}",
			GPC_ECONFIG, "has no process_command"},
		{"{\"profiles\":[{\"name\":\"p\",\"mode\":\"External\","
			"\"process_command\":\"/bin/echo {}\"}]}", GPC_EAUTH,
			"neither AK nor StsToken"},
		{"{\"profiles\":[{\"name\":\"p\",\"mode\":\"CredentialsURI\"}]}",
			GPC_ECONFIG, "has no credentials_uri"},
		{"{\"profiles\":[{\"name\":\"p\",\"mode\":\"CredentialsURI\","
			"\"credentials_uri\":\"http://example.com/\"}]}",
			GPC_ECONFIG, "secrets would travel in the clear"},
		{"{\"profiles\":[{\"name\":\"p\",\"mode\":\"CloudSSO\"}]}",
			GPC_ECONFIG, "has no cloud_sso_sign_in_url"},
		{"{\"profiles\":[{\"name\":\"p\",\"mode\":\"OAuth\"}]}",
			GPC_EAUTH, "the OAuth login was not done yet"},
		{"{\"profiles\":[{\"name\":\"p\",\"mode\":\"ChainableRamRoleArn\","
			"\"source_profile\":\"q\"}]}", GPC_EAUTH,
			"there is no profile q"},
		{"{\"profiles\":[{\"name\":\"p\",\"mode\":\"\\u001b[1m\"}]}",
			GPC_EUNSUPPORTED, "has the mode \\x1b[1m, which"},
	};
	gpc_auto(gpc_identity) struct gpc_identity i = {0};

	set_up();
	for (size_t k = 0; k < COUNT(cases); k++) {
		struct gpc_error err = {0};

		lab_file(".aliyun/config.json", "%s", cases[k].text);
		assert_fails(get("p", &i, &err), cases[k].code);
		assert_has(err.msg, cases[k].msg);
	}
}

TEST(test_wrong_ini)
{
	static const struct { const char *text; int code; const char *msg; }
		cases[] = {
		{"type = access_key\naccess_key_id = A\n", GPC_EAUTH,
			"has no access_key_secret"},
		{"type = ram_role_arn\naccess_key_id = A\naccess_key_secret = "
			"S\n", GPC_ECONFIG, "has no role_arn"},
		{"type = rsa_key_pair\n", GPC_EUNSUPPORTED, "rsa_key_pair"},
		{"type = ecs_ram_role\n", GPC_EAUTH, "DISABLED is set"},
	};
	gpc_auto(gpc_identity) struct gpc_identity i = {0};

	set_up();
	for (size_t k = 0; k < COUNT(cases); k++) {
		struct gpc_error err = {0};

		lab_file(".alibabacloud/credentials", "[p]\n%s", cases[k].text);
		assert_fails(get("p", &i, &err), cases[k].code);
		assert_has(err.msg, cases[k].msg);
		assert_has(err.msg, "~/.alibabacloud/credentials:1: profile p");
	}
}

static char *setting(const char *service)
{
	const struct gpc_creds_settings settings = {
		.cloud = GPC_CLOUD_ALIBABA};
	const struct gpc_net_settings how = {.max_tries = 1};
	gpc_autoptr(gpc_net) *net = gpc_net_new(&how);
	gpc_autoptr(gpc_creds) *c = gpc_creds_new(&settings, net);

	return gpc_creds_setting(c, service, "endpoint_url");
}

TEST(test_settings)
{
	gpc_autostr *none = setting("oss"), *tool = NULL, *own = NULL;

	assert_null(none);
	lab_set("OSS_ENDPOINT", "https://a");
	tool = setting("oss");
	assert_string_equal(tool, "https://a");
	lab_set("ALIBABA_CLOUD_OSS_ENDPOINT", "https://b");
	own = setting("oss");
	assert_string_equal(own, "https://b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_order, lab_reset),
		cmocka_unit_test_setup(test_nowhere, lab_reset),
		cmocka_unit_test_setup(test_profiles, lab_reset),
		cmocka_unit_test_setup(test_families, lab_reset),
		cmocka_unit_test_setup(test_role_request, lab_reset),
		cmocka_unit_test_setup(test_oidc_request, lab_reset),
		cmocka_unit_test_setup(test_refusals, lab_reset),
		cmocka_unit_test_setup(test_metadata_modes, lab_reset),
		cmocka_unit_test_setup(test_renewal, lab_reset),
		cmocka_unit_test_setup(test_wrong_profiles, lab_reset),
		cmocka_unit_test_setup(test_wrong_ini, lab_reset),
		cmocka_unit_test_setup(test_settings, lab_reset),
	};

	return cmocka_run_group_tests(tests, lab_open, lab_close);
}
