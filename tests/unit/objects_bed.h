/* The stand-in of the clouds for a test program, and its three kinds of buckets. */
#pragma once
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "dep/json.h"
#include "net/net.h"
#include "store/objects.h"

#define BED_START_S 60

struct bed {
	pid_t pid;
	int in;
	char *dir;
	char *s3, *oss, *gcs, *control, *oauth2;
	char *s3_tls, *ca_file;         /* or NULL */
	struct gpc_net *net;
};

static struct gpc_error err;

static inline void bed_exec(int in, const char *dir)
{
	gpc_autostr *ready = gpc_path_join(dir, "ready.json");
	gpc_autostr *cert = gpc_path_join(dir, "cert.pem");
	gpc_autostr *cert_option = gpc_format("--cert=%s", cert);
	gpc_autostr *key_option = gpc_format("--key=%s/key.pem", dir);

	dup2(in, 0);
	if (chdir(GPC_TEST_SOURCE "/tests") != 0)
		_exit(126);
	/* the last two only where there is a certificate */
	execlp("python3", "python3", "-B", "-m", "fakecloud", "--dir", dir,
		"--ready", ready, "--until-eof", access(cert, R_OK) == 0 ?
		cert_option : (char *)NULL, key_option, (char *)NULL);
	_exit(127);
}

/* For bed_start_tls: of localhost, and its own authority. */
static inline void bed_certificate(const char *dir)
{
	gpc_autostr *cert = gpc_path_join(dir, "cert.pem");
	gpc_autostr *key = gpc_path_join(dir, "key.pem");
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		freopen("/dev/null", "w", stderr);
		execlp("openssl", "openssl", "req", "-x509", "-newkey", "ec",
			"-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
			"-subj", "/CN=localhost", "-addext",
			"subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key,
			"-out", cert, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static inline struct gpc_json *bed_wait(struct bed *b)
{
	gpc_autostr *path = gpc_path_join(b->dir, "ready.json");
	const struct timespec pause = { .tv_nsec = 50000000 };

	for (int i = 0; i < BED_START_S * 20; i++) {
		gpc_auto(gpc_buf) struct gpc_buf text = {0};
		struct gpc_json *j;

		if (access(path, R_OK) == 0 &&
			gpc_read_file(path, 1 << 20, &text, &err) == 0 &&
			gpc_json_parse(gpc_buf_str(&text), text.len, &j,
				&err) == 0)
			return j;
		nanosleep(&pause, NULL);
	}
	fail_msg("the stand-in does not start");
	return NULL;
}

static inline void bed_keys(const struct bed *b, const struct gpc_json *config)
{
	const struct gpc_json *aws = gpc_json_first(gpc_json_get(
		gpc_json_get(config, "aws"), "keys"));
	const struct gpc_json *alibaba = gpc_json_first(gpc_json_get(
		gpc_json_get(config, "alibaba"), "keys"));
	gpc_autostr *adc = gpc_path_join(b->dir, "adc.json");
	FILE *f = fopen(adc, "w");

	fprintf(f, "{\"type\": \"authorized_user\", \"client_id\": \"client-id\", "
		"\"client_secret\": \"client-secret\", \"refresh_token\": "
		"\"refresh-token\", \"token_uri\": \"%s/token\"}", b->oauth2);
	fclose(f);
	setenv("AWS_ACCESS_KEY_ID", gpc_json_get_str(aws, "id"), 1);
	setenv("AWS_SECRET_ACCESS_KEY", gpc_json_get_str(aws, "secret"), 1);
	setenv("ALIBABA_CLOUD_ACCESS_KEY_ID", gpc_json_get_str(alibaba, "id"), 1);
	setenv("ALIBABA_CLOUD_ACCESS_KEY_SECRET", gpc_json_get_str(alibaba,
		"secret"), 1);
	setenv("GOOGLE_APPLICATION_CREDENTIALS", adc, 1);
}

/* The environment of this machine must not decide what a test finds. */
static inline void bed_environment(const char *dir)
{
	static const char *const names[] = {"http_proxy", "https_proxy",
		"HTTPS_PROXY", "all_proxy", "ALL_PROXY", "AWS_PROFILE",
		"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN",
		"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "OSS_ENDPOINT",
		"ALIBABA_CLOUD_OSS_ENDPOINT", "ALIBABA_CLOUD_SECURITY_TOKEN",
		"STORAGE_EMULATOR_HOST", "GOOGLE_CLOUD_QUOTA_PROJECT"};

	for (size_t i = 0; i < COUNT(names); i++)
		unsetenv(names[i]);
	setenv("HOME", dir, 1);
	setenv("no_proxy", "*", 1);
}

static inline void bed_start_with(struct bed *b, bool tls)
{
	gpc_autoptr(gpc_json) *ready = NULL;
	const struct gpc_json *http, *https;
	struct gpc_net_settings settings = {0};
	int in[2];

	*b = (struct bed){ .dir = scratch() };
	bed_environment(b->dir);
	if (tls)
		bed_certificate(b->dir);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	b->pid = fork();
	if (b->pid == 0)
		bed_exec(in[0], b->dir);
	close(in[0]);
	b->in = in[1];
	ready = bed_wait(b);
	http = gpc_json_get(ready, "http");
	b->s3 = gpc_strdup(gpc_json_get_str(http, "s3"));
	b->oss = gpc_strdup(gpc_json_get_str(http, "oss"));
	b->gcs = gpc_strdup(gpc_json_get_str(http, "gcs"));
	b->control = gpc_strdup(gpc_json_get_str(http, "control"));
	b->oauth2 = gpc_strdup(gpc_json_get_str(http, "oauth2"));
	setenv("AWS_ENDPOINT_URL_EC2", gpc_json_get_str(http, "ec2"), 1);
	setenv("AWS_ENDPOINT_URL_SSM", gpc_json_get_str(http, "ssm"), 1);
	setenv("AWS_ENDPOINT_URL_AUTO_SCALING", gpc_json_get_str(http,
		"auto_scaling"), 1);
	bed_keys(b, gpc_json_get(ready, "config"));
	https = gpc_json_get(ready, "https");
	b->s3_tls = gpc_strdup(gpc_json_get_str(https, "s3"));
	b->ca_file = tls ? gpc_path_join(b->dir, "cert.pem") : NULL;
	settings.ca_file = b->ca_file;
	b->net = gpc_net_new(&settings);
}

static inline void bed_start(struct bed *b)
{
	bed_start_with(b, false);
}

/* With ports for https as well. */
static inline void bed_start_tls(struct bed *b)
{
	bed_start_with(b, true);
}

static inline void bed_end(struct bed *b)
{
	gpc_net_free(b->net);
	close(b->in);
	waitpid(b->pid, NULL, 0);
	assert_ok(gpc_rmtree(b->dir, &err));
	free(b->dir);
	free(b->s3);
	free(b->oss);
	free(b->gcs);
	free(b->control);
	free(b->oauth2);
	free(b->s3_tls);
	free(b->ca_file);
}

/* Asks the control channel. Owned. */
static inline struct gpc_json *bed_send(struct bed *b, const char *method,
	const char *what, const char *body)
{
	gpc_auto(gpc_request) struct gpc_request request;
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	gpc_autostr *url = gpc_format("%s/_control/%s", b->control, what);
	struct gpc_call call = { .request = &request };
	struct gpc_json *j = NULL;

	gpc_request_init(&request, method);
	assert_ok(gpc_url_parse(url, &request.url, &err));
	if (body)
		request.body = (struct gpc_body){ .data = body,
			.size = strlen(body) };
	assert_ok(gpc_net_call(b->net, &call, &reply, &err));
	assert_ok(gpc_json_parse(gpc_buf_str(&reply.body), reply.body.len, &j,
		&err));
	return j;
}
/* GET, or POST of a body. Owned. */
static inline struct gpc_json *bed_control(struct bed *b, const char *what,
	const char *body)
{
	return bed_send(b, body ? "POST" : "GET", what, body);
}
static inline void bed_tell(struct bed *b, const char *what, const char *body)
{
	gpc_json_free(bed_control(b, what, body));
}
