/* See creds_lab.h. The server takes one connection at a time. */
#include "creds_lab.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"

int64_t __real_gpc_wall_ms(void);
int64_t __real_gpc_boot_ms(void);
int64_t __wrap_gpc_wall_ms(void);
int64_t __wrap_gpc_boot_ms(void);

const char *lab_header;
int64_t lab_ahead_ms, lab_date_ms;

int64_t __wrap_gpc_wall_ms(void)
{
	return __real_gpc_wall_ms() + lab_ahead_ms;
}

int64_t __wrap_gpc_boot_ms(void)
{
	return __real_gpc_boot_ms() + lab_ahead_ms;
}

static struct {
	pthread_mutex_t lock;
	pthread_t thread;
	int listener, ender[2];
	char *url, *home;
	const struct lab_route *routes;
	size_t n_routes;
	struct gpc_strv asked;
} lab = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- the server ------------------------------------------------------------ */
static void fill_times(const char *body, struct gpc_buf *to)
{
	const char *at;

	while ((at = strchr(body, '@'))) {
		bool ms = strncmp(at, "@ms+", 4) == 0;
		char text[GPC_RFC3339_SIZE];
		int64_t when;

		if (!ms && at[1] != '+' && at[1] != '-') {
			gpc_buf_add(to, body, (size_t)(at - body) + 1);
			body = at + 1;
			continue;
		}
		gpc_buf_add(to, body, (size_t)(at - body));
		when = gpc_wall_ms() + strtol(at + (ms ? 4 : 2), NULL, 10) *
			(at[1] == '-' ? -1000 : 1000);
		if (ms)
			gpc_buf_addf(to, "%lld", (long long)when);
		else
			gpc_buf_adds(to, gpc_format_rfc3339(when, text));
		body = strchr(at + 1, '@') + 1;
	}
	gpc_buf_adds(to, body);
}

static bool fits(const struct lab_route *r, const char *request)
{
	gpc_autostr *line = gpc_format("%s %s\n", r->method, r->path);
	size_t n = strlen(line) - 1;

	if (line[n - 1] == '*')
		n--;
	else
		line[n++] = ' ';        /* the path ends there */
	return strncmp(request, line, n) == 0 &&
		(!r->need || strstr(request, r->need));
}

static void answer(int fd, const char *request)
{
	gpc_auto(gpc_buf) struct gpc_buf body = {0}, b = {0};
	const struct lab_route *found = NULL;
	time_t seconds;
	struct tm tm;
	char date[40];
	size_t i;

	pthread_mutex_lock(&lab.lock);
	gpc_strv_add(&lab.asked, request);
	for (i = 0; i < lab.n_routes && !found; i++)
		if (fits(&lab.routes[i], request))
			found = &lab.routes[i];
	pthread_mutex_unlock(&lab.lock);
	if (found && found->delay_ms)
		gpc_sleep_ms(found->delay_ms);
	if (found && !found->status)
		return;
	fill_times(found && found->body ? found->body : "", &body);
	seconds = (gpc_wall_ms() + lab_date_ms) / 1000;
	strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT",
		gmtime_r(&seconds, &tm));
	gpc_buf_addf(&b, "HTTP/1.1 %d X\r\nContent-Length: %zu\r\nDate: %s\r\n"
		"%s%sConnection: close\r\n\r\n%s",
		found ? found->status : 404, body.len, date,
		lab_header ? lab_header : "", lab_header ? "\r\n" : "",
		gpc_buf_str(&body));
	if (gpc_write_all(fd, b.data, b.len, "client", NULL) < 0)
		return;
}

static void serve(int fd)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	const char *end = NULL, *length;
	size_t want = 0;
	char piece[4096];
	ssize_t n;

	while (!end || b.len < want) {
		n = read(fd, piece, sizeof(piece));
		if (n <= 0)
			return;
		gpc_buf_add(&b, piece, (size_t)n);
		end = strstr(b.data, "\r\n\r\n");
		length = strcasestr(b.data, "\r\ncontent-length:");
		if (end)
			want = (size_t)(end - b.data) + 4 + (length &&
				length < end ? (size_t)strtol(length + 17,
				NULL, 10) : 0);
	}
	answer(fd, b.data);
}

static void *run(void *arg)
{
	struct pollfd fds[] = {
		{.fd = lab.listener, .events = POLLIN},
		{.fd = lab.ender[0], .events = POLLIN},
	};

	(void)arg;
	while (poll(fds, 2, -1) >= 0 && !fds[1].revents) {
		gpc_autofd fd = accept4(lab.listener, NULL, NULL,
			SOCK_CLOEXEC);

		if (fd >= 0)
			serve(fd);
	}
	return NULL;
}

int lab_open(void **state)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	socklen_t n = sizeof(a);

	(void)state;
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	lab.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(lab.listener, (struct sockaddr *)&a, n), 0);
	assert_int_equal(listen(lab.listener, 64), 0);
	assert_int_equal(getsockname(lab.listener, (struct sockaddr *)&a, &n),
		0);
	lab.url = gpc_format("http://127.0.0.1:%d", ntohs(a.sin_port));
	lab.home = scratch();
	assert_int_equal(gpc_pipe(lab.ender, NULL), 0);
	return pthread_create(&lab.thread, NULL, run, NULL);
}

int lab_close(void **state)
{
	(void)state;
	gpc_close(&lab.ender[1]);
	pthread_join(lab.thread, NULL);
	gpc_close(&lab.ender[0]);
	gpc_close(&lab.listener);
	assert_int_equal(gpc_rmtree(lab.home, NULL), 0);
	free(lab.url);
	free(lab.home);
	gpc_strv_clear(&lab.asked);
	return 0;
}

/* What whoever runs the tests says to them, and to sanitizers. */
static void forget_environment(void)
{
	static const char *const kept[] = { "CMOCKA_MESSAGE_OUTPUT",
		"ASAN_OPTIONS", "UBSAN_OPTIONS", "GPUCLOUD_TEST_VALGRIND" };
	char *values[COUNT(kept)];

	for (size_t i = 0; i < COUNT(kept); i++)
		values[i] = gpc_strdup(getenv(kept[i]));
	clearenv();
	for (size_t i = 0; i < COUNT(kept); i++) {
		if (values[i])
			setenv(kept[i], values[i], 1);
		free(values[i]);
	}
}

int lab_reset(void **state)
{
	struct gpc_error err = {0};

	(void)state;
	forget_environment();
	lab_ahead_ms = lab_date_ms = 0;
	lab_routes(NULL, 0);
	assert_ok(gpc_rmtree(lab.home, &err));
	assert_ok(gpc_mkdirs(lab.home, 0700, &err));
	lab_set("HOME", "%s", lab.home);
	lab_set("PATH", "/usr/bin:/bin");
	return 0;
}

/* --- what tests see -------------------------------------------------------- */
const char *lab_url(void)
{
	return lab.url;
}

const char *lab_home(void)
{
	return lab.home;
}

void lab_routes(const struct lab_route *routes, size_t n)
{
	pthread_mutex_lock(&lab.lock);
	lab.routes = routes;
	lab.n_routes = n;
	gpc_strv_clear(&lab.asked);
	pthread_mutex_unlock(&lab.lock);
}

int lab_asked(const char *what)
{
	int n = 0;

	pthread_mutex_lock(&lab.lock);
	for (size_t i = 0; i < lab.asked.n; i++)
		n += gpc_starts_with(lab.asked.v[i], what);
	pthread_mutex_unlock(&lab.lock);
	return n;
}

char *lab_request(const char *what)
{
	char *found = NULL;

	pthread_mutex_lock(&lab.lock);
	for (size_t i = 0; i < lab.asked.n; i++)
		if (gpc_starts_with(lab.asked.v[i], what))
			gpc_set_str(&found, lab.asked.v[i]);
	pthread_mutex_unlock(&lab.lock);
	return found;
}

void lab_file(const char *path, const char *fmt, ...)
{
	gpc_autostr *full = gpc_path_join(lab.home, path);
	gpc_autostr *dir = gpc_path_dir(full);
	gpc_autostr *text = NULL;
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_error err = {0};
	va_list ap;

	va_start(ap, fmt);
	text = gpc_vformat(fmt, ap);
	va_end(ap);
	fill_times(text, &b);
	assert_ok(gpc_mkdirs(dir, 0700, &err));
	assert_ok(gpc_write_file(full, gpc_buf_str(&b), b.len, 0600, &err));
}

char *lab_read(const char *path)
{
	gpc_autostr *full = gpc_path_join(lab.home, path);
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_error err = {0};

	assert_ok(gpc_read_file(full, 1 << 20, &b, &err));
	return gpc_strdup(gpc_buf_str(&b));
}

void lab_set(const char *variable, const char *fmt, ...)
{
	gpc_autostr *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = gpc_vformat(fmt, ap);
	va_end(ap);
	setenv(variable, text, 1);
}
