/* Google's chain: which place counts before which, whom its files may send secrets
 * to, what each type of them sends, when it is asked again, and what a place that
 * is set up and fails says. */
#include "creds_lab.h"

#include "base/str.h"

#define ADC ".config/gcloud/application_default_credentials.json"
#define USER(more) "{\"type\":\"authorized_user\",\"client_id\":\"CLIENT\"," \
	"\"client_secret\":\"S3CR3T\",\"refresh_token\":\"R3FR3SH\"," \
	"\"token_uri\":\"%s/user\"" more "}"
#define EXTERNAL(source, more) "{\"type\":\"external_account\",\"audience\":" \
	"\"//iam.googleapis.com/locations/global/workforcePools/p/providers/q\"" \
	",\"subject_token_type\":\"urn:ietf:params:oauth:token-type:jwt\"," \
	"\"token_url\":\"%s/sts\",\"credential_source\":" source more "}"
#define TOKEN(word) "{\"access_token\":\"" word "\",\"expires_in\":3600}"
#define META "/computeMetadata/v1/"

static const struct lab_route usual[] = {
	{"POST", "/user", "refresh_token=R3FR3SH", 200, TOKEN("USER"), 0},
	{"POST", "/sts", "subject_token=SUBJECT", 200, TOKEN("STS"), 0},
	{"POST", "/impersonate/a@b:generateAccessToken",
		"authorization: Bearer ", 200, "{\"accessToken\":\"OTHER\","
		"\"expireTime\":\"@+3600@\"}", 0},
	{"GET", "/", "metadata-flavor: Google", 200, "computeMetadata/", 0},
	{"GET", META "instance/service-accounts/default/token", NULL, 200,
		TOKEN("META"), 0},
	{"GET", META "instance/service-accounts/default/email", NULL, 200,
		"n@p.iam", 0},
	{"GET", META "project/project-id", NULL, 200, "meta-project", 0},
	{"GET", META "instance/zone", NULL, 200,
		"projects/1/zones/europe-west4-b", 0},
	{"GET", "/subject", "x-extra: yes", 200, "{\"v\":\"SUBJECT\"}", 0},
};

static void set_up(void)
{
	lab_routes(usual, COUNT(usual));
	lab_header = "Metadata-Flavor: Google";
	lab_set("GCE_METADATA_HOST", "127.0.0.1:1");
	lab_set("GCE_METADATA_DETECT_RETRIES", "1");
}

static void set_metadata(void)
{
	lab_set("GCE_METADATA_HOST", "%s", lab_url() + strlen("http://"));
}

static int get(const char *profile, struct gpc_identity *i,
	struct gpc_error *err)
{
	const struct gpc_creds_settings settings = {.profile = profile,
		.cloud = GPC_CLOUD_GCP, .no_prompt = true};
	const struct gpc_net_settings how = {.max_tries = 2};
	gpc_autoptr(gpc_net) *net = gpc_net_new(&how);
	gpc_autoptr(gpc_creds) *c = gpc_creds_new(&settings, net);
	int r = gpc_creds_get(c, false, i, err);

	if (r) {
		assert_null(strstr(err->msg, "S3CR3T"));
		assert_null(strstr(err->msg, "R3FR3SH"));
		assert_null(strstr(err->msg, "SUBJECT"));
	}
	return r;
}

/* --- order ----------------------------------------------------------------- */
TEST(test_order)
{
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	struct gpc_error err = {0};

	set_up();
	assert_fails(get(NULL, &i, &err), GPC_EAUTH);
	assert_has(err.msg, "GOOGLE_APPLICATION_CREDENTIALS is not set; "
		"~/.config/gcloud/application_default_credentials.json does "
		"not exist; the metadata server does not answer");
	assert_has(err.hint, "gcloud auth application-default login");
	set_metadata();
	assert_ok(get(NULL, &i, &err));
	assert_string_equal(i.bearer, "META");
	assert_string_equal(i.source, "the metadata server");
	assert_string_equal(i.name, "n@p.iam");
	assert_string_equal(i.account, "meta-project");
	lab_file(ADC, USER(",\"quota_project_id\":\"q1\""), lab_url());
	assert_ok(get(NULL, &i, &err));
	assert_string_equal(i.bearer, "USER");
	assert_string_equal(i.source, "login of gcloud in ~/" ADC);
	assert_string_equal(i.quota_project, "q1");
	lab_file("a.json", "%s", "{");
	lab_set("GOOGLE_APPLICATION_CREDENTIALS", "~/a.json");
	assert_fails(get(NULL, &i, &err), GPC_ECONFIG);
	lab_file("a.json", EXTERNAL("{\"file\":\"~/t\"}", ""), lab_url());
	lab_file("t", "SUBJECT\n");
	assert_ok(get(NULL, &i, &err));
	assert_string_equal(i.bearer, "STS");
	assert_string_equal(i.source, "workload identity in ~/a.json "
		"(GOOGLE_APPLICATION_CREDENTIALS)");
	lab_file("b.json", USER(""), lab_url());
	assert_ok(get("~/b.json", &i, &err));
	assert_string_equal(i.bearer, "USER");
}

/* What answers there must say that it is Google's. */
TEST(test_other_metadata)
{
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	struct gpc_error err = {0};

	set_up();
	set_metadata();
	lab_header = NULL;
	assert_fails(get(NULL, &i, &err), GPC_EAUTH);
	assert_has(err.msg, "the metadata server is not Google's");
	lab_set("NO_GCE_CHECK", "true");
	assert_fails(get(NULL, &i, &err), GPC_EAUTH);
	assert_has(err.msg, "the metadata server is not Google's");
}

TEST(test_projects)
{
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	struct gpc_error err = {0};

	set_up();
	lab_file(ADC, USER(""), lab_url());
	lab_file(".config/gcloud/active_config", "work\n");
	lab_file(".config/gcloud/configurations/config_work", "[core]\nproject "
		"= wp\n[compute]\nregion = asia-east1\n");
	assert_ok(get(NULL, &i, &err));
	assert_string_equal(i.account, "wp");
	assert_string_equal(i.region, "asia-east1");
	assert_null(i.quota_project);
	lab_set("CLOUDSDK_CORE_PROJECT", "cp");
	lab_set("GOOGLE_CLOUD_QUOTA_PROJECT", "qp");
	assert_ok(get(NULL, &i, &err));
	assert_string_equal(i.account, "cp");
	assert_string_equal(i.quota_project, "qp");
	lab_set("GOOGLE_CLOUD_PROJECT", "gp");
	lab_set("CLOUDSDK_COMPUTE_REGION", "us-west1");
	assert_ok(get(NULL, &i, &err));
	assert_string_equal(i.account, "gp");
	assert_string_equal(i.region, "us-west1");
}

/* --- what is sent, and to whom --------------------------------------------- */
TEST(test_addresses)
{
	static const char *const cases[] = {
		"http://oauth2.googleapis.com/token",
		"https://oauth2.googleapis.com.example.org/token",
		"https://googleapis.com.example.org/token",
		"https://example.org/oauth2.googleapis.com",
		"https://evilgoogleapis.com/token",
		"http://127.0.0.1.example.org/token",
		"http://169.254.169.254/token",
		"ftp://oauth2.googleapis.com/",
	};
	gpc_auto(gpc_identity) struct gpc_identity i = {0};

	set_up();
	for (size_t k = 0; k < COUNT(cases); k++) {
		struct gpc_error err = {0};

		lab_file(ADC, "{\"type\":\"authorized_user\",\"client_id\":\"C\","
			"\"client_secret\":\"S3CR3T\",\"refresh_token\":"
			"\"R3FR3SH\",\"token_uri\":\"%s\"}", cases[k]);
		assert_fails(get(NULL, &i, &err), GPC_ECONFIG);
		assert_has(err.msg, "token_uri of ~/" ADC);
	}
	assert_int_equal(lab_asked("POST "), 0);
}

TEST(test_external_request)
{
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	struct gpc_error err = {0};
	gpc_autostr *sent = NULL, *other = NULL;

	set_up();
	lab_file(ADC, EXTERNAL("{\"url\":\"%s/subject\",\"headers\":{\"X-Extra\":"
		"\"yes\"},\"format\":{\"type\":\"json\","
		"\"subject_token_field_name\":\"v\"}}",
		",\"workforce_pool_user_project\":\"123\","
		"\"service_account_impersonation\":{\"token_lifetime_seconds\":"
		"900},\"service_account_impersonation_url\":\"%s/impersonate/"
		"a@b:generateAccessToken\""), lab_url(), lab_url(), lab_url());
	assert_ok(get(NULL, &i, &err));
	assert_string_equal(i.bearer, "OTHER");
	assert_string_equal(i.name, "a@b");
	sent = lab_request("POST /sts");
	assert_has(sent, "audience=%2F%2Fiam.googleapis.com%2Flocations%2F");
	assert_has(sent, "options=%257B%2522userProject%2522%253A%2522123%2522"
		"%257D");
	assert_has(sent, "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type"
		"%3Atoken-exchange");
	assert_null(strcasestr(sent, "authorization:"));
	other = lab_request("POST /impersonate");
	assert_has(other, "authorization: Bearer STS");
	assert_has(other, "\"lifetime\":\"900s\"");
	assert_has(other, "\"scope\":[\"https://www.googleapis.com/auth/"
		"cloud-platform\"]");
}

TEST(test_pool_user)
{
	static const struct lab_route routes[] = {
		{"POST", "/pool", "authorization: Basic Q0xJRU5UOlMzQ1IzVA==",
			200, "{\"access_token\":\"POOL\",\"expires_in\":\"60\"}",
			0},
	};
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	struct gpc_error err = {0};

	set_up();
	lab_routes(routes, COUNT(routes));
	lab_file(ADC, "{\"type\":\"external_account_authorized_user\","
		"\"client_id\":\"CLIENT\",\"client_secret\":\"S3CR3T\","
		"\"refresh_token\":\"R3FR3SH\",\"token_url\":\"%s/pool\"}",
		lab_url());
	assert_ok(get(NULL, &i, &err));
	assert_string_equal(i.bearer, "POOL");
	assert_true(i.expires_ms > 0);
}

/* --- what is wrong --------------------------------------------------------- */
TEST(test_login_again)
{
	static const struct { int status; const char *body; int code;
		bool again; int tries; } cases[] = {
		{400, "{\"error\":\"invalid_grant\",\"error_description\":"
			"\"Token has been revoked.\"}", GPC_EAUTH, true, 1},
		{400, "{\"error\":\"invalid_request\",\"error_subtype\":"
			"\"invalid_rapt\"}", GPC_EAUTH, true, 1},
		{401, "{\"error\":\"invalid_client\"}", GPC_EAUTH, false, 1},
		{403, "no JSON", GPC_EAUTH, false, 1},
		{302, "", GPC_EPROTO, false, 1},
		{503, "{\"error\":\"temporarily_unavailable\"}", GPC_ENET,
			false, 3},
		/* Another time, whatever the status. */
		{400, "{\"error\":\"internal_failure\"}", GPC_ENET, false, 3},
		{200, "{\"access_token\":\"A\"}", GPC_EPROTO, false, 1},
		{200, "{\"access_token\":\"A\\nB\",\"expires_in\":9}",
			GPC_EPROTO, false, 1},
		{200, "", GPC_EPROTO, false, 1},
	};
	gpc_auto(gpc_identity) struct gpc_identity i = {0};

	set_up();
	lab_file(ADC, USER(""), lab_url());
	for (size_t k = 0; k < COUNT(cases); k++) {
		const struct lab_route routes[] = {
			{"POST", "/user", NULL, cases[k].status, cases[k].body,
				0},
		};
		struct gpc_error err = {0};

		lab_routes(routes, COUNT(routes));
		assert_fails(get(NULL, &i, &err), cases[k].code);
		assert_has(err.msg, "~/" ADC);
		assert_int_equal(lab_asked("POST /user"), cases[k].tries);
		assert_int_equal(strstr(err.hint, "run: gcloud auth "
			"application-default login") != NULL, cases[k].again);
	}
}

TEST(test_wrong_files)
{
	static const struct { const char *text; int code; const char *msg; }
		cases[] = {
		{"[]", GPC_ECONFIG, "is no JSON object"},
		{"{}", GPC_ECONFIG, "has no \"type\""},
		{"{\"type\":\"gdch_service_account\"}", GPC_EUNSUPPORTED,
			"gdch_service_account"},
		{"{\"type\":\"authorized_user\"}", GPC_ECONFIG,
			"has no \"refresh_token\""},
		{"{\"type\":\"service_account\"}", GPC_ECONFIG,
			"has no \"client_email\""},
		{"{\"type\":\"service_account\",\"client_email\":\"a@b\"}",
			GPC_ECONFIG, "has no \"private_key\""},
		{"{\"type\":\"service_account\",\"client_email\":\"a@b\","
			"\"private_key\":\"S3CR3T\"}", GPC_ECONFIG,
			": private_key: "},
		{"{\"type\":\"external_account\",\"audience\":\"a\","
			"\"subject_token_type\":\"t\"}", GPC_ECONFIG,
			"credential_source names none of"},
		{"{\"type\":\"external_account\",\"audience\":\"a\","
			"\"subject_token_type\":\"t\",\"credential_source\":"
			"{\"file\":\"a\",\"url\":\"b\"}}", GPC_ECONFIG,
			"credential_source names more than one of"},
		{"{\"type\":\"external_account\",\"audience\":\"a\","
			"\"subject_token_type\":\"t\",\"credential_source\":"
			"{\"url\":\"http://example.org/\"}}", GPC_ECONFIG,
			"secrets would travel in the clear"},
		{"{\"type\":\"external_account\",\"audience\":\"a\","
			"\"subject_token_type\":\"t\",\"credential_source\":"
			"{\"file\":\"~/nosuch\"}}", GPC_EAUTH, "subject token"},
		{"{\"type\":\"external_account\",\"audience\":\"a\","
			"\"workforce_pool_user_project\":\"1\","
			"\"subject_token_type\":\"t\"}", GPC_ECONFIG,
			"is for workforce pools only"},
		{"{\"type\":\"external_account\",\"audience\":\"a\","
			"\"subject_token_type\":\"t\",\"credential_source\":"
			"{\"certificate\":{}}}", GPC_EUNSUPPORTED,
			"certificate"},
		{"{\"type\":\"external_account\",\"audience\":\"a\","
			"\"subject_token_type\":\"t\",\"credential_source\":"
			"{\"executable\":\"/bin/true\"}}", GPC_ECONFIG,
			"of a form that gpucloud does not know"},
		{"{\"type\":\"external_account\",\"audience\":\"a\","
			"\"subject_token_type\":\"t\",\"credential_source\":"
			"{\"environment_id\":\"aws9\"}}", GPC_EUNSUPPORTED,
			"is aws1"},
		{"{\"type\":\"external_account\",\"audience\":\"a\","
			"\"subject_token_type\":\"t\",\"credential_source\":"
			"{\"environment_id\":\"aws1\",\"region_url\":"
			"\"http://example.org/\"}}", GPC_ECONFIG,
			"no address of AWS's metadata service"},
		{"{\"type\":\"impersonated_service_account\","
			"\"service_account_impersonation_url\":"
			"\"https://iamcredentials.googleapis.com/v1/a@b:"
			"generateAccessToken\"}", GPC_ECONFIG,
			"has no \"source_credentials\""},
		{"{\"type\":\"impersonated_service_account\","
			"\"service_account_impersonation_url\":"
			"\"https://iamcredentials.googleapis.com/v1/a@b:"
			"generateAccessToken\",\"source_credentials\":{\"type\":"
			"\"impersonated_service_account\"}}", GPC_ECONFIG,
			"are impersonated themselves"},
		{"{\"type\":\"impersonated_service_account\","
			"\"service_account_impersonation_url\":"
			"\"https://example.org/a@b:generateAccessToken\"}",
			GPC_ECONFIG, "which is not Google's"},
	};
	gpc_auto(gpc_identity) struct gpc_identity i = {0};

	set_up();
	for (size_t k = 0; k < COUNT(cases); k++) {
		struct gpc_error err = {0};

		lab_file(ADC, "%s", cases[k].text);
		assert_fails(get(NULL, &i, &err), cases[k].code);
		assert_has(err.msg, cases[k].msg);
		/* What is refused by name says what to do instead. */
		if (cases[k].code == GPC_EUNSUPPORTED)
			assert_has(err.hint, "gcloud ");
	}
	assert_int_equal(lab_asked("POST "), 0);
}

TEST(test_programs)
{
	static const struct { const char *out, *msg; } cases[] = {
		{"x", "printed no JSON"},
		{"{}", "without \"version\": 1"},
		{"{\"version\":1,\"success\":false,\"message\":\"log in\"}",
			"has no token: log in"},
		{"{\"version\":1,\"success\":true,\"expiration_time\":1,"
			"\"id_token\":\"SUBJECT\"}", "has expired"},
		{"{\"version\":1,\"success\":true}", "printed no token"},
		{"{\"version\":1,\"success\":true,\"id_token\":\"SUBJECT\"}",
			NULL},
		{"{\"version\":1,\"success\":true,\"saml_response\":\"SUBJECT\","
			"\"token_type\":\"urn:ietf:params:oauth:token-type:"
			"saml2\"}", NULL},
	};
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	struct gpc_error err = {0};

	set_up();
	lab_file(ADC, EXTERNAL("{\"executable\":{\"command\":\"/bin/cat '%s/o'\","
		"\"output_file\":\"~/kept\"}}", ""), lab_url(), lab_home());
	assert_fails(get(NULL, &i, &err), GPC_EAUTH);
	assert_has(err.hint, "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1");
	lab_set("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "1");
	for (size_t k = 0; k < COUNT(cases); k++) {
		lab_file("o", "%s", cases[k].out);
		if (cases[k].msg) {
			assert_fails(get(NULL, &i, &err), GPC_EAUTH);
			assert_has(err.msg, cases[k].msg);
		} else {
			assert_ok(get(NULL, &i, &err));
			assert_string_equal(i.bearer, "STS");
		}
	}
	/* What it has kept is used before it is run. */
	lab_file("o", "x");
	lab_file("kept", "%s", cases[5].out);
	assert_ok(get(NULL, &i, &err));
}

/* --- over time ------------------------------------------------------------- */
TEST(test_renewal)
{
	static const struct lab_route later[] = {
		{"POST", "/user", NULL, 200, TOKEN("NEW"), 0},
	};
	const struct gpc_creds_settings settings = {.no_prompt = true,
		.cloud = GPC_CLOUD_GCP};
	const struct gpc_net_settings how = {.max_tries = 1};
	gpc_autoptr(gpc_net) *net = gpc_net_new(&how);
	gpc_autoptr(gpc_creds) *c = gpc_creds_new(&settings, net);
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	struct gpc_error err = {0};

	set_up();
	lab_file(ADC, USER(""), lab_url());
	assert_ok(gpc_creds_get(c, false, &i, &err));
	lab_ahead_ms += INT64_C(3360) * 1000;
	assert_ok(gpc_creds_get(c, false, &i, &err));
	assert_int_equal(lab_asked("POST /user"), 1);
	lab_routes(later, COUNT(later));
	lab_ahead_ms += INT64_C(30) * 1000;
	assert_ok(gpc_creds_get(c, false, &i, &err));
	assert_string_equal(i.bearer, "NEW");
	assert_ok(gpc_creds_get(c, true, &i, &err));
	assert_false(gpc_creds_nowhere(c));
}

TEST(test_region)
{
	const struct gpc_creds_settings settings = {.cloud = GPC_CLOUD_GCP};
	const struct gpc_net_settings how = {.max_tries = 1};
	gpc_autoptr(gpc_net) *net = gpc_net_new(&how);
	gpc_autoptr(gpc_creds) *c = gpc_creds_new(&settings, net);
	gpc_autostr *region = NULL, *url = NULL;
	struct gpc_error err = {0};

	set_up();
	set_metadata();
	lab_set("STORAGE_EMULATOR_HOST", "localhost:9");
	assert_ok(gpc_creds_region(c, &region, &err));
	assert_string_equal(region, "europe-west4");
	url = gpc_creds_setting(c, "storage", "endpoint_url");
	assert_string_equal(url, "http://localhost:9");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_order, lab_reset),
		cmocka_unit_test_setup(test_other_metadata, lab_reset),
		cmocka_unit_test_setup(test_projects, lab_reset),
		cmocka_unit_test_setup(test_addresses, lab_reset),
		cmocka_unit_test_setup(test_external_request, lab_reset),
		cmocka_unit_test_setup(test_pool_user, lab_reset),
		cmocka_unit_test_setup(test_login_again, lab_reset),
		cmocka_unit_test_setup(test_wrong_files, lab_reset),
		cmocka_unit_test_setup(test_programs, lab_reset),
		cmocka_unit_test_setup(test_renewal, lab_reset),
		cmocka_unit_test_setup(test_region, lab_reset),
	};

	return cmocka_run_group_tests(tests, lab_open, lab_close);
}
