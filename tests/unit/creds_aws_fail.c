/* Places of AWS's chain that are set up and do not work: each says what, where and
 * what to do, names no secret, and ends the search. */
#include "creds_lab.h"

#include "base/str.h"

#define ROLE "arn:aws:iam::123456789012:role/r"
#define STS_ERROR(code, message) "<ErrorResponse xmlns=\"https://sts.amazonaws." \
	"com/doc/2011-06-15/\"><Error><Type>Sender</Type><Code>" code "</Code>" \
	"<Message>" message "</Message></Error><RequestId>req-1</RequestId>" \
	"</ErrorResponse>"
#define SRC "[profile src]\naws_access_key_id=AKSRC\naws_secret_access_key=HIDDEN\n"
#define SSO "sso_start_url=https://x.example/start\nsso_region=eu-west-1\n" \
	"sso_account_id=111122223333\nsso_role_name=Dev\n"
#define SSO_FILE ".aws/sso/cache/80c7f57c51e0449101de09ef74138a588ea0d4a6.json"
#define STATIC "aws_access_key_id=AKNEXT\naws_secret_access_key=HIDDEN\n"

static const struct failure {
	const char *env;                /* "A=b C=d" */
	const char *profile;
	const char *config, *credentials;
	const char *file, *text;        /* one more */
	int code;
	const char *msg, *more, *hint;  /* parts of them */
	struct lab_route routes[3];
} failures[] = {
	/* environment */
	{"AWS_ACCESS_KEY_ID=AKX", NULL, NULL, "[default]\n" STATIC, NULL, NULL,
		GPC_EAUTH, "AWS_ACCESS_KEY_ID is set, but not AWS_SECRET_ACCESS"
		"_KEY", NULL, NULL, {{0}}},
	{"AWS_ACCESS_KEY_ID=AKX AWS_SECRET_ACCESS_KEY=HIDDEN "
		"AWS_CREDENTIAL_EXPIRATION=soon", NULL, NULL, NULL, NULL, NULL,
		GPC_ECONFIG, "AWS_CREDENTIAL_EXPIRATION", NULL, NULL, {{0}}},
	{"AWS_ACCESS_KEY_ID=AKX AWS_SECRET_ACCESS_KEY=HIDDEN "
		"AWS_CREDENTIAL_EXPIRATION=2020-01-01T00:00:00Z", NULL, NULL,
		NULL, NULL, NULL, GPC_EAUTH, "environment (AWS_ACCESS_KEY_ID) "
		"have expired (2020-01-01", NULL, "renew them", {{0}}},
	{"AWS_ACCESS_KEY_ID=AKX AWS_SECRET_ACCESS_KEY=HIDDEN\xc3\xa9", NULL,
		NULL, NULL, NULL, NULL, GPC_ECONFIG, "the environment: the "
		"secret key holds", NULL, NULL, {{0}}},
	/* files */
	{NULL, NULL, "[default]\nregion\n", NULL, NULL, NULL, GPC_ECONFIG,
		"/.aws/config:2: neither [section]", NULL, NULL, {{0}}},
	{NULL, NULL, NULL, "[default]\naws_access_key_id=AKX\n", NULL, NULL,
		GPC_EAUTH, "~/.aws/credentials:2: profile default has "
		"aws_access_key_id, but no aws_secret_access_key", NULL, NULL,
		{{0}}},
	{NULL, NULL, "[default]\nregion=x\naws_access_key_id=AKX\n", NULL, NULL,
		NULL, GPC_EAUTH, "~/.aws/config:3: profile default has", NULL,
		NULL, {{0}}},
	{NULL, "produktion", "[profile production]\n", "[dev]\n", NULL, NULL,
		GPC_EAUTH, "there is no profile \"produktion\" in ~/.aws/config "
		"or ~/.aws/credentials (named by the command line", NULL,
		"did you mean production?", {{0}}},
	{"AWS_PROFILE=zz", NULL, "[zz]\n", NULL, NULL, NULL, GPC_EAUTH,
		"(named by AWS_PROFILE)", NULL, "list-profiles", {{0}}},
	/* roles */
	{NULL, NULL, "[default]\nrole_arn=" ROLE "\n" STATIC, NULL, NULL, NULL,
		GPC_ECONFIG, "~/.aws/config:2: profile default has role_arn, "
		"but neither source_profile nor credential_source", NULL, NULL,
		{{0}}},
	{NULL, NULL, "[default]\nrole_arn=" ROLE "\nsource_profile=src\n"
		"credential_source=Environment\n" SRC, NULL, NULL, NULL,
		GPC_ECONFIG, "has both source_profile and credential_source",
		NULL, NULL, {{0}}},
	{NULL, NULL, "[default]\nrole_arn=" ROLE "\nsource_profile=srk\n" SRC,
		NULL, NULL, NULL, GPC_EAUTH, "no profile \"srk\"",
		"(named by source_profile, ~/.aws/config:3)",
		"did you mean src?", {{0}}},
	{NULL, NULL, "[default]\nrole_arn=" ROLE "\nsource_profile=a\n"
		"[profile a]\nrole_arn=" ROLE "\nsource_profile=b\n"
		"[profile b]\nrole_arn=" ROLE "\nsource_profile=a\n", NULL,
		NULL, NULL, GPC_ECONFIG, "~/.aws/config:9: source_profile leads "
		"in a circle: default -> a -> b -> a", NULL, NULL, {{0}}},
	{NULL, NULL, "[default]\nrole_arn=" ROLE "\nsource_profile=default\n",
		NULL, NULL, NULL, GPC_ECONFIG, "circle: default -> default",
		NULL, NULL, {{0}}},
	{NULL, NULL, "[default]\nrole_arn=" ROLE "\nsource_profile=e\n"
		"[profile e]\nregion=x\n", NULL, NULL, NULL, GPC_EAUTH,
		"~/.aws/config:3: source_profile e has no credentials", NULL,
		"aws configure --profile e", {{0}}},
	{NULL, NULL, "[default]\nrole_arn=" ROLE "\n"
		"credential_source=Environmint\n", NULL, NULL, NULL,
		GPC_ECONFIG, "~/.aws/config:3: credential_source "
		"\"Environmint\" is none of", NULL, NULL, {{0}}},
	{NULL, NULL, "[default]\nrole_arn=" ROLE "\n"
		"credential_source=Environment\n", NULL, NULL, NULL, GPC_EAUTH,
		"credential_source is Environment, but there are no credentials:"
		" AWS_ACCESS_KEY_ID is not set", NULL, NULL, {{0}}},
	{NULL, NULL, "[default]\nrole_arn=" ROLE "\nsource_profile=src\n"
		"duration_seconds=60\n" SRC, NULL, NULL, NULL, GPC_ECONFIG,
		"~/.aws/config:4: duration_seconds is a number of seconds",
		NULL, NULL, {{0}}},
	{NULL, NULL, "[default]\nrole_arn=admin\nsource_profile=src\n" SRC,
		NULL, NULL, NULL, GPC_ECONFIG, "role_arn is no ARN of a role",
		NULL, NULL, {{0}}},
	{NULL, NULL, "[default]\nrole_arn=" ROLE "\nsource_profile=src\n"
		"mfa_serial=arn:aws:iam::1:mfa/u\n" SRC, NULL, NULL, NULL,
		GPC_EAUTH, "MFA code for arn:aws:iam::1:mfa/u (profile default):"
		" but nothing may be asked", NULL, "export-credentials "
		"--profile default", {{0}}},
	{NULL, NULL, "[default]\nrole_arn=" ROLE "\nsource_profile=src\n" SRC,
		NULL, NULL, NULL, GPC_EAUTH, "AssumeRole of " ROLE " (~/.aws/"
		"config:2): STS answered 403 AccessDenied: User: u is not "
		"authorized", NULL, NULL, {{"POST", "/sts/", NULL, 403,
		STS_ERROR("AccessDenied", "User: u is not authorized"), 0}}},
	{NULL, NULL, "[default]\nrole_arn=" ROLE "\nsource_profile=src\n" SRC,
		NULL, NULL, NULL, GPC_EAUTH, "InvalidClientTokenId", NULL,
		"AWS does not know the access key", {{"POST", "/sts/", NULL, 403,
		STS_ERROR("InvalidClientTokenId", "bad"), 0}}},
	{NULL, NULL, "[default]\nrole_arn=" ROLE "\nsource_profile=src\n" SRC,
		NULL, NULL, NULL, GPC_EAUTH, "SignatureDoesNotMatch", NULL,
		"does not belong to the access key", {{"POST", "/sts/", NULL, 403,
		STS_ERROR("SignatureDoesNotMatch", "bad"), 0}}},
	{NULL, NULL, "[default]\nrole_arn=" ROLE "\nsource_profile=src\n" SRC,
		NULL, NULL, NULL, GPC_ECONFIG, "STS answered 404", NULL,
		"check AWS_ENDPOINT_URL_STS", {{"POST", "/sts/", NULL, 404,
		"<html>no", 0}}},
	{NULL, NULL, "[default]\nrole_arn=" ROLE "\nsource_profile=src\n" SRC,
		NULL, NULL, NULL, GPC_EPROTO, "AssumeRole of " ROLE " (~/.aws/"
		"config:2): the answer is no XML", NULL, NULL,
		{{"POST", "/sts/", NULL, 200, "hello", 0}}},
	{NULL, NULL, "[default]\nrole_arn=" ROLE "\nsource_profile=src\n" SRC,
		NULL, NULL, NULL, GPC_EPROTO, "AccessKeyId is missing", NULL,
		NULL, {{"POST", "/sts/", NULL, 200, "<a/>", 0}}},
	{NULL, NULL, "[default]\nregion=eu west\nrole_arn=" ROLE "\n"
		"source_profile=src\n" SRC, NULL, NULL, NULL, GPC_ECONFIG,
		"\"eu west\" is no region", NULL, "us-east-1", {{0}}},
	/* web identity */
	{"AWS_WEB_IDENTITY_TOKEN_FILE=/no/such", NULL, NULL, NULL, NULL, NULL,
		GPC_ECONFIG, "AWS_WEB_IDENTITY_TOKEN_FILE is set, but neither "
		"AWS_ROLE_ARN", NULL, NULL, {{0}}},
	{"AWS_WEB_IDENTITY_TOKEN_FILE=/no/such AWS_ROLE_ARN=" ROLE, NULL, NULL,
		NULL, NULL, NULL, GPC_EAUTH, "web identity (AWS_WEB_IDENTITY_"
		"TOKEN_FILE): web identity token: cannot open /no/such", NULL,
		NULL, {{0}}},
	{NULL, NULL, "[default]\nweb_identity_token_file=/no/such\n", NULL, NULL,
		NULL, GPC_ECONFIG, "~/.aws/config:2: web_identity_token_file "
		"without role_arn", NULL, NULL, {{0}}},
	{NULL, NULL, "[default]\nweb_identity_token_file=~/t\nrole_arn=" ROLE
		"\n", NULL, "t", "HIDDEN\r\nx: y", GPC_ECONFIG,
		"~/t (web identity token) holds a space, a line break", NULL,
		NULL, {{0}}},
	{NULL, NULL, "[default]\nweb_identity_token_file=~/t\nrole_arn=" ROLE
		"\n", NULL, "t", "", GPC_EAUTH, "is empty", NULL, NULL, {{0}}},
	{NULL, NULL, "[default]\nweb_identity_token_file=~/t\nrole_arn=" ROLE
		"\n", NULL, "t", "HIDDEN", GPC_EAUTH, "STS answered 400 "
		"ExpiredTokenException", NULL, "have a new one written",
		{{"POST", "/sts/", NULL, 400, STS_ERROR("ExpiredTokenException",
		"Token expired"), 0}}},
	/* SSO */
	{NULL, NULL, "[default]\nsso_account_id=1\n", NULL, NULL, NULL,
		GPC_ECONFIG, "~/.aws/config:2: profile default uses SSO, but "
		"lacks sso_role_name, sso_start_url, sso_region", NULL,
		"aws configure sso", {{0}}},
	{NULL, NULL, "[default]\nsso_account_id=1\nsso_session=corp\n", NULL,
		NULL, NULL, GPC_ECONFIG, "~/.aws/config:3: there is no section "
		"[sso-session corp]", NULL, NULL, {{0}}},
	{NULL, NULL, "[default]\nsso_account_id=1\nsso_role_name=r\nsso_region="
		"a-b-1\nsso_session=corp\n[sso-session corp]\nsso_region=c-d-1\n",
		NULL, NULL, NULL, GPC_ECONFIG, "disagree", NULL, NULL, {{0}}},
	{NULL, "d e", "[profile \"d e\"]\n" SSO, NULL, NULL, NULL, GPC_EAUTH,
		"profile d e: you are not logged in to SSO (there is no ~/.aws/"
		"sso/cache/", NULL, "run: aws sso login --profile 'd e'",
		{{0}}},
	{NULL, NULL, "[default]\n" SSO, NULL, SSO_FILE, "{\"accessToken\":"
		"\"HIDDEN\",\"expiresAt\":\"2020-06-17T10:02:08UTC\"}",
		GPC_EAUTH, "profile default: the SSO login has expired "
		"(2020-06-17T10:02:08Z)", NULL, "run: aws sso login", {{0}}},
	{NULL, NULL, "[default]\n" SSO, NULL, SSO_FILE, "HIDDEN", GPC_EAUTH,
		"holds no SSO token", NULL, "run: aws sso login", {{0}}},
	{NULL, NULL, "[default]\n" SSO, NULL, SSO_FILE, "{\"accessToken\":"
		"\"HIDDEN\",\"expiresAt\":\"@+3600@\"}", GPC_EAUTH,
		"SSO refuses the role Dev of account 111122223333 to profile "
		"default (status 401: Session token not found", NULL,
		"run: aws sso login", {{"GET", "/sso/*", NULL, 401,
		"{\"message\":\"Session token not found or invalid\"}", 0}}},
	{NULL, NULL, "[default]\n" SSO, NULL, SSO_FILE, "{\"accessToken\":"
		"\"HIDDEN\",\"expiresAt\":\"@+3600@\"}", GPC_EAUTH,
		"(status 403: No access)", NULL, "check sso_account_id",
		{{"GET", "/sso/*", NULL, 403, "{\"message\":\"No access\"}",
		0}}},
	/* login session, process */
	{NULL, "x", "[profile x]\nlogin_session=a\n", NULL, NULL, NULL,
		GPC_EAUTH, "~/.aws/config:2: profile x has a login_session (aws "
		"login), which gpucloud does not support", NULL,
		"aws configure export-credentials --format env --profile x",
		{{0}}},
	{NULL, NULL, "[default]\ncredential_process = sh -c 'echo HIDDEN; echo "
		"not today >&2; exit 7'\n" STATIC, NULL, NULL, NULL, GPC_EAUTH,
		"~/.aws/config:2: credential_process of profile default: sh "
		"ended with status 7: not today", NULL, NULL, {{0}}},
	{NULL, NULL, "[default]\ncredential_process = sh -c 'echo HIDDEN'\n",
		NULL, NULL, NULL, GPC_EAUTH, "sh printed no JSON", NULL, NULL,
		{{0}}},
	{NULL, NULL, "[default]\ncredential_process = echo '{\"Version\":2}'\n",
		NULL, NULL, NULL, GPC_EAUTH, "without \"Version\": 1", NULL,
		NULL, {{0}}},
	{NULL, NULL, "[default]\ncredential_process = echo '{\"Version\":1,"
		"\"AccessKeyId\":\"A\"}'\n", NULL, NULL, NULL, GPC_EPROTO,
		"what echo printed: SecretAccessKey is missing", NULL, NULL,
		{{0}}},
	{NULL, NULL, "[default]\ncredential_process = /no/such x\n", NULL, NULL,
		NULL, GPC_ECONFIG, "cannot run /no/such", NULL, NULL, {{0}}},
	{NULL, NULL, "[default]\ncredential_process = sh -c 'x\n", NULL, NULL,
		NULL, GPC_ECONFIG, "a quote of the command is not closed", NULL,
		NULL, {{0}}},
	/* container */
	{"AWS_CONTAINER_CREDENTIALS_FULL_URI=http://example.com/x", NULL, NULL,
		NULL, NULL, NULL, GPC_ECONFIG, "names the host example.com by "
		"http", NULL, "use https", {{0}}},
	{"AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1.example.com/x",
		NULL, NULL, NULL, NULL, NULL, GPC_ECONFIG, "by http", NULL,
		NULL, {{0}}},
	{"AWS_CONTAINER_CREDENTIALS_FULL_URI=ftp://localhost/x", NULL, NULL,
		NULL, NULL, NULL, GPC_ECONFIG, "AWS_CONTAINER_CREDENTIALS_FULL_"
		"URI: ", NULL, NULL, {{0}}},
	{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=x", NULL, NULL, NULL, NULL,
		NULL, GPC_ECONFIG, "does not begin with /", NULL, NULL, {{0}}},
	{"AWS_CONTAINER_CREDENTIALS_FULL_URI=http://localhost:1/x "
		"AWS_CONTAINER_AUTHORIZATION_TOKEN=HIDDEN\nHost:x", NULL, NULL,
		NULL, NULL, NULL, GPC_ECONFIG, "AWS_CONTAINER_AUTHORIZATION_"
		"TOKEN holds a line break", NULL, NULL, {{0}}},
	{"AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1:1/x", NULL, NULL,
		NULL, NULL, NULL, GPC_ENET, "the container's credentials (AWS_"
		"CONTAINER_CREDENTIALS_FULL_URI)", NULL, NULL, {{0}}},
};

static void set_env(const char *env)
{
	struct gpc_str rest = gpc_str_of(env), one;

	lab_set("AWS_ENDPOINT_URL_STS", "%s/sts/", lab_url());
	lab_set("AWS_ENDPOINT_URL_SSO", "%s/sso", lab_url());
	lab_set("AWS_EC2_METADATA_DISABLED", "true");
	while (env && gpc_str_split(&rest, ' ', &one)) {
		gpc_autostr *text = gpc_strndup(one.ptr, one.len);
		char *value = strchr(text, '=');

		*value = '\0';
		lab_set(text, "%s", value + 1);
	}
}

static int get(const struct failure *f, struct gpc_error *err)
{
	const struct gpc_creds_settings settings = {.cloud = GPC_CLOUD_AWS,
		.profile = f->profile, .no_prompt = true};
	const struct gpc_net_settings how = {.max_tries = 1};
	gpc_autoptr(gpc_net) *net = gpc_net_new(&how);
	gpc_autoptr(gpc_creds) *c = gpc_creds_new(&settings, net);
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	int r = gpc_creds_get(c, false, &i, err);

	if (r == 0)
		fail_msg("credentials of %s instead of: %s", i.source, f->msg);
	assert_null(i.id);
	return r;
}

TEST(test_failures)
{
	for (size_t n = 0; n < COUNT(failures); n++) {
		const struct failure *f = &failures[n];
		struct gpc_error err = {0};

		lab_reset(state);
		lab_routes(f->routes, f->routes[0].method ? 1 : 0);
		set_env(f->env);
		if (f->config)
			lab_file(".aws/config", "%s", f->config);
		if (f->credentials)
			lab_file(".aws/credentials", "%s", f->credentials);
		if (f->file)
			lab_file(f->file, "%s", f->text);
		get(f, &err);
		if ((int)err.code != f->code || !strstr(err.msg, f->msg) ||
			(f->more && !strstr(err.msg, f->more)) ||
			(f->hint && !strstr(err.hint, f->hint)))
			fail_msg("case %zu: \"%s\" (%s), code %s, lacks \"%s\"",
				n, err.msg, err.hint, gpc_code_to_str(err.code),
				f->msg);
		if (strstr(err.msg, "HIDDEN") || strstr(err.hint, "HIDDEN"))
			fail_msg("case %zu shows a secret: %s", n, err.msg);
	}
}

TEST(test_request_id)
{
	struct gpc_error err = {0};
	const struct failure f = {
		.config = "[default]\nrole_arn=" ROLE "\nsource_profile=src\n"
			SRC,
		.routes = {{"POST", "/sts/", NULL, 403,
			STS_ERROR("AccessDenied", "no"), 0}},
	};

	lab_routes(f.routes, 1);
	set_env(NULL);
	lab_file(".aws/config", "%s", f.config);
	get(&f, &err);
	assert_string_equal(err.request_id, "req-1");
	assert_int_equal(err.http, 403);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_failures, lab_reset),
		cmocka_unit_test_setup(test_request_id, lab_reset),
	};

	return cmocka_run_group_tests(tests, lab_open, lab_close);
}
