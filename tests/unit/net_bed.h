/* The server of net_server.py for a test program, and certificates for it. */
#pragma once
#include <fcntl.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#include "base/path.h"
#include "base/str.h"

enum bed_port { BED_HTTP, BED_GOOD, BED_OTHER_NAME, BED_EXPIRED, BED_PORTS };

struct bed {
	pid_t pid;
	int in;
	int ports[BED_PORTS];           /* of TLS only with certificates */
	char *dir;
};

/* The environment of this machine must not decide what a test finds. */
static inline void bed_clean_environment(void)
{
	static const char *const names[] = {"http_proxy", "https_proxy",
		"HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE",
		"GPUCLOUD_CA_BUNDLE", "GPUCLOUD_CA_FILE"};

	for (size_t i = 0; i < COUNT(names); i++)
		unsetenv(names[i]);
}

static const char bed_make_certificates[] =
	"cd \"$1\" || exit 1\n"
	"key() { openssl req \"$@\" -newkey ec -pkeyopt "
	"ec_paramgen_curve:P-256 -nodes; }\n"
	"key -x509 -days 30 -subj /CN=test-ca -keyout ca.key -out ca.pem "
	"-addext keyUsage=critical,keyCertSign,cRLSign || exit 1\n"
	"key -x509 -days 30 -subj /CN=other-ca -keyout ca2.key -out ca2.pem "
	"|| exit 1\n"
	"sign() {\n"
	"  key -subj /CN=s -keyout $1.key -out $1.csr || exit 1\n"
	"  printf 'subjectAltName=%s\\nextendedKeyUsage=serverAuth\\n' $2 >ext\n"
	"  shift 2\n"
	"  openssl x509 -req -in $n.csr -CA ca.pem -CAkey ca.key "
	"-CAcreateserial -out $n.pem -extfile ext \"$@\" || exit 1\n"
	"}\n"
	"n=good; sign good DNS:s3.test,DNS:localhost,IP:127.0.0.1 -days 10\n"
	"n=other; sign other DNS:other.test -days 10\n"
	/* x509 -req signs into the past only by days. */
	"n=old; sign old DNS:s3.test,IP:127.0.0.1 -days -1\n"
	"exit 0\n";

static inline bool bed_certificates(const char *dir)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 1);
		dup2(null, 2);
		execlp("sh", "sh", "-c", bed_make_certificates, "sh", dir,
			(char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static inline void bed_exec(int in, int out, const char *dir, bool tls)
{
	gpc_autostr *script = gpc_path_join(GPC_TEST_SOURCE,
		"tests/unit/net_server.py");

	dup2(in, 0);
	dup2(out, 1);
	if (chdir(dir) != 0)
		_exit(126);
	if (tls)
		execlp("python3", "python3", script, "good.pem", "good.key",
			"other.pem", "other.key", "old.pem", "old.key",
			(char *)NULL);
	else
		execlp("python3", "python3", script, (char *)NULL);
	_exit(127);
}

static inline void bed_read_ports(struct bed *b, int fd)
{
	char line[256];
	size_t n = 0;
	ssize_t got;

	while (n < sizeof(line) - 1 &&
		(got = read(fd, line + n, sizeof(line) - 1 - n)) > 0) {
		n += (size_t)got;
		if (line[n - 1] == '\n')
			break;
	}
	line[n] = '\0';
	if (sscanf(line, "%d %d %d %d", &b->ports[0], &b->ports[1],
		&b->ports[2], &b->ports[3]) < 1)
		fail_msg("the test server does not start");
}

/* False: this machine has no python3. */
static inline bool bed_start(struct bed *b, bool tls)
{
	int in[2], out[2];

	*b = (struct bed){ .in = -1, .dir = scratch() };
	bed_clean_environment();
	if (tls && !bed_certificates(b->dir))
		tls = false;
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	b->pid = fork();
	if (b->pid == 0)
		bed_exec(in[0], out[1], b->dir, tls);
	close(in[0]);
	close(out[1]);
	b->in = in[1];
	bed_read_ports(b, out[0]);
	close(out[0]);
	return true;
}

static inline void bed_end(struct bed *b)
{
	struct gpc_error err = {0};

	if (b->pid > 0) {
		close(b->in);
		waitpid(b->pid, NULL, 0);
	}
	assert_ok(gpc_rmtree(b->dir, &err));
	free(b->dir);
}
