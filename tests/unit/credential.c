/* Which names make a file a candidate, and which first bytes make it one that
 * is named in the warning. */
#include "model/credential.h"

#include <string.h>

#include "test.h"

#define KEY "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1r\n"
#define CERT "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
#define SERVICE "{\"type\": \"service_account\", \"private_key\": \"-----B\"}"
#define TABLE "Access key ID,Secret access key\r\n" \
	"AKIAIOSFODNN7EXAMPLE,wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLE\r\n"

static const char *look_at(const char *root, const char *path,
	const char *text)
{
	const struct gpc_credential_rule *rule = gpc_credential_rule_for(root,
		path, strlen(text));

	return rule ? gpc_credential_look(rule, text, strlen(text)) : NULL;
}

TEST(names_and_contents)
{
	static const struct { const char *path, *text, *want; } cases[] = {
		/* keys */
		{"id_rsa", KEY, "a private key"},
		{"deep/.ssh/id_ed25519", KEY, "a private key"},
		{".ssh/work", KEY, "a private key"},
		{"deep/.ssh/old/work", KEY, "a private key"},
		{".ssh/work.pub", KEY, NULL},
		{".ssh/config", KEY, NULL},
		{".ssh/known_hosts", KEY, NULL},
		{".ssh/authorized_keys", KEY, NULL},
		{".ssh/notes", "of hosts\n", NULL},
		{"x.ssh/work", KEY, NULL},
		{"id_rsa.bak", KEY, "a private key"},
		{"my_id_ed25519_old", KEY, "a private key"},
		{"ssh_host_rsa_key", KEY, "a private key"},
		{"deploy-key", KEY, "a private key"},
		{"live/privkey1", KEY, "a private key"},
		{"deploy_key.pub", "ssh-ed25519 AAAA me@host\n", NULL},
		{"sort_key", "by name\n", NULL},
		{"notes", KEY, NULL},           /* names decide what is opened */
		{"id_ed25519.pub", "ssh-ed25519 AAAA me@host\n", NULL},
		{"id_rsa", "ssh-rsa AAAA\n", NULL},
		{"tls/server.key", "-----BEGIN RSA PRIVATE KEY-----\n",
			"a private key"},
		{"tls/server.pem", CERT, NULL},
		{"tls/both.pem", CERT KEY, "a private key"},
		{"tls/ca.crt", CERT, NULL},
		{"tls/public.pem", "-----BEGIN PUBLIC KEY-----\n", NULL},
		{"putty.ppk", "PuTTY-User-Key-File-3: ssh-ed25519\n",
			"a private key"},
		{"me.asc", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n",
			"a private key"},
		{"me.asc", "-----BEGIN PGP PUBLIC KEY BLOCK-----\n", NULL},
		{"primary.key", "sort keys of the table\n", NULL},
		{"store.p12", "0\202", "a key store"},
		{"vault.kdbx", "\3\331", "a password safe"},
		{"empty.p12", "", NULL},
		/* .env */
		{".env", "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENG\n",
			"tokens or passwords"},
		{".env.local", "A=1\n# note\nexport HF_TOKEN='hf_abcdefgh'\n",
			"tokens or passwords"},
		{"conf/prod.env", "DB_PASSWORD=\"s3cr3t-s3cr3t\"\n",
			"tokens or passwords"},
		{".env", "URL=postgres://me:hunter22@db/x\n",
			"tokens or passwords"},
		{".env", "API_KEY=changeme\nHF_TOKEN=<your token>\n", NULL},
		{".env", "API_KEY=${API_KEY}\nTOKEN=xxxxxxxx\nSECRET=\n", NULL},
		{".env", "API_KEY=your-key-here\nURL=postgres://u:${P}@h\n",
			NULL},
		{".env", "MAX_TOKENS=4096000\nEPOCHS=3\nSORT_KEY=date\n", NULL},
		{".env", "# HF_TOKEN=hf_abcdefgh\n", NULL},
		{".env", "SSH_PUBLIC_KEY=ssh-ed25519AAAA\n", NULL},
		{".env", "PASSWORD=******** # later\n", NULL},
		{".env.example", "HF_TOKEN=hf_abcdefgh\n", NULL},
		{"environment.yml", "HF_TOKEN=hf_abcdefgh\n", NULL},
		{".env", "TOKEN=abcdefghij", "tokens or passwords"},
		/* clouds */
		{".aws/credentials", "[default]\naws_secret_access_key = abc\n",
			"keys of AWS"},
		{".aws/config", "[default]\nregion = eu-west-1\n", NULL},
		{"credentials", "aws_secret_access_key = abc\n", NULL},
		{".aliyun/config.json", "{\"access_key_secret\": \"x9\"}",
			"keys of Alibaba Cloud"},
		{".aliyun/config.json", "{\"access_key_secret\": \"\"}", NULL},
		{".config/gcloud/credentials.db", "SQLite format 3",
			"logins of gcloud"},
		{".config/gcloud/application_default_credentials.json",
			"{\"refresh_token\": \"1//abc\"}",
			"a login of Google Cloud"},
		{"keys/my-project-0123456789ab.json", SERVICE,
			"a key of a service account"},
		{"my-project-3f2a1b4c5d6e.json", SERVICE,
			"a key of a service account"},
		{"my-project-3f2a1b4c5d6.json", SERVICE, NULL},
		{"accessKeys.csv", TABLE, "an access key of a cloud"},
		{"me_accessKeys.csv", TABLE, "an access key of a cloud"},
		{"in/accessKeys (1).csv", TABLE, "an access key of a cloud"},
		{"accessKeys.csv", "Access key ID,Secret access key\r\n", NULL},
		{"rootkey.csv", "AWSAccessKeyId=AKIAIOSFODNN7EXAMPLE\n"
			"AWSSecretKey=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLE\n",
			"an access key of a cloud"},
		{"AccessKey-me.csv", "AccessKey ID,AccessKey Secret\r\n"
			"LTAI5tExample0123456789a,0123456789abcdefghijklmnopqrst",
			"an access key of a cloud"},
		{"me_credentials.csv", TABLE, "an access key of a cloud"},
		{"results.csv", TABLE, NULL},
		{"accesskeys_by_year.csv", "year,keys\n2020,12\n", NULL},
		{"service-account.json", SERVICE, "a key of a service account"},
		{"sa.json", SERVICE, "a key of a service account"},
		{"gcs/creds.json", SERVICE, "a key of a service account"},
		{"mesa.json", SERVICE, NULL},
		{"service-account.json", "{\"type\": \"service_account\"}",
			NULL},
		{"results.json", SERVICE, NULL},
		{"kubeconfig", "users:\n- user:\n    token: abc\n",
			"a login of Kubernetes"},
		{".kube/config", "clusters: []\n", NULL},
		{".docker/config.json", "{\"auths\":{\"r\":{\"auth\":\"Zm9v\"}}}",
			"logins of registries"},
		{".docker/config.json", "{\"credsStore\":\"desktop\"}", NULL},
		{"docker/config.json", "{\"auths\":{\"r\":{\"auth\":\"Zm\"}}}",
			NULL},
		/* tools */
		{".netrc", "machine api.wandb.ai login user password abc\n",
			"passwords of servers"},
		{".netrc", "machine h login anonymous\n", NULL},
		{".pypirc", "[pypi]\npassword = pypi-abc\n",
			"a password of PyPI"},
		{".npmrc", "//registry.npmjs.org/:_authToken=npm_abc\n",
			"a token of npm"},
		{".npmrc", "registry=https://registry.npmjs.org/\n", NULL},
		{".git-credentials", "https://me:ghp_abcdef@github.com\n",
			"passwords of git"},
		{".huggingface/token", "hf_abc", "a token of Hugging Face"},
		{"tokenizer/token", "hf_abc", NULL},
		{"kaggle.json", "{\"username\":\"u\",\"key\":\"abc\"}",
			"a key of Kaggle"},
		{"train.py", KEY, NULL},
		{"README.md", "API_KEY=abcdefghijk\n", NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *got = look_at("/home/me/project", cases[i].path,
			cases[i].text);

		if (got ? !cases[i].want || strcmp(got, cases[i].want) :
			cases[i].want != NULL)
			fail_msg("%s (case %zu): got %s, want %s",
				cases[i].path, i, got ? got : "nothing",
				cases[i].want ? cases[i].want : "nothing");
	}
}

/* A mount begins where the user says, so the folder's name may be above it. */
TEST(the_root_counts_for_names_of_folders)
{
	static const char text[] = "aws_secret_access_key = abc\n";

	assert_non_null(look_at("/home/me/.aws", "credentials", text));
	assert_non_null(look_at("/home/me/.aws/", "credentials", text));
	assert_non_null(look_at("/home/me", ".aws/credentials", text));
	assert_null(look_at("/home/me/x.aws", "credentials", text));
	assert_null(look_at("/aws", "credentials", text));
	assert_null(look_at("/", "credentials", text));
	assert_non_null(look_at("/home/me/.ssh", "work", KEY));
	assert_non_null(look_at("/home/me/.ssh/", "work", KEY));
	assert_null(look_at("/home/me/x.ssh", "work", KEY));
}

/* Only the first KiB counts for a key: the rest may be a text about keys. */
TEST(a_key_is_at_the_front)
{
	char text[4096];
	const struct gpc_credential_rule *rule =
		gpc_credential_rule_for("/r", "x.pem", sizeof(text));

	memset(text, ' ', sizeof(text));
	memcpy(text + 2000, KEY, sizeof(KEY) - 1);
	assert_null(gpc_credential_look(rule, text, sizeof(text)));
	memcpy(text + 900, KEY, sizeof(KEY) - 1);
	assert_non_null(gpc_credential_look(rule, text, sizeof(text)));
}

/* Every prefix of a content, and bytes that are no text. */
TEST(cut_and_odd_bytes)
{
	static const char text[] = "export A_TOKEN=\"abc\0def\n://:@://u:\n"
		"=\nX_KEY='\n-----BEGIN \n\"service_account\"\"auth\":\n";
	static const char *const paths[] = {".env", "id_rsa", "kaggle.json",
		".git-credentials", "key.json", ".netrc", "x.p12",
		"accessKeys.csv", ".ssh/work"};

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		const struct gpc_credential_rule *rule =
			gpc_credential_rule_for("", paths[i], 100);

		assert_non_null(rule);
		for (size_t n = 0; n < sizeof(text); n++) {
			char *exact = gpc_alloc(n + 1);

			memcpy(exact, text, n);
			exact = gpc_grow(exact, n ? n : 1, 1);
			(void)gpc_credential_look(rule, exact, n);
			free(exact);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_contents),
		cmocka_unit_test(the_root_counts_for_names_of_folders),
		cmocka_unit_test(a_key_is_at_the_front),
		cmocka_unit_test(cut_and_odd_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
