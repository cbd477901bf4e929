/* HTTP/2 against nginx, where it is installed: streams of one connection, and how
 * they fail. */
#include "net_bed.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/time.h"
#include "net/net.h"

static struct {
	char *dir, *ca;
	int port;
	pid_t pid;
} bed;

/* One that was free a moment ago. */
static int free_port(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	close(fd);
	return ntohs(a.sin_port);
}

static void write_settings(const char *path)
{
	gpc_autostr *text = gpc_format("daemon off; master_process off;\n"
		"pid pid; error_log err.log; events { }\n"
		"http { access_log off; root .;\n"
		"  client_body_temp_path t1; proxy_temp_path t2;\n"
		"  fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;\n"
		"  server { listen 127.0.0.1:%d ssl http2;\n"
		"    ssl_certificate good.pem; ssl_certificate_key good.key;\n"
		"    location /who {\n"
		"      return 200 \"$server_protocol $connection\"; }\n"
		"    location /no { return 403 \"no\"; }\n"
		"    location /slow { alias %s/slow; limit_rate 64k; }\n"
		"  } }\n", bed.port, bed.dir);
	struct gpc_error err = {0};

	assert_ok(gpc_write_file(path, text, strlen(text), 0644, &err));
}

static void start_nginx(void)
{
	gpc_autostr *settings = gpc_path_join(bed.dir, "nginx.conf");
	gpc_autostr *slow = gpc_path_join(bed.dir, "slow");
	gpc_autostr *log = gpc_path_join(bed.dir, "start.log");
	gpc_autostr *bytes = gpc_array(4 << 20, 1);
	struct gpc_error err = {0};

	bed.port = free_port();
	write_settings(settings);
	assert_ok(gpc_write_file(slow, bytes, 4 << 20, 0644, &err));
	bed.pid = fork();
	if (bed.pid == 0) {
		int fd = open(log, O_CREAT | O_WRONLY, 0644);

		dup2(fd, 1);
		dup2(fd, 2);
		setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
		execlp("nginx", "nginx", "-p", bed.dir, "-c", settings,
			(char *)NULL);
		_exit(127);
	}
}

static void end_nginx(void)
{
	if (bed.pid <= 0)
		return;
	kill(bed.pid, SIGKILL);
	waitpid(bed.pid, NULL, 0);
	bed.pid = 0;
}

struct one {
	struct gpc_request request;
	struct gpc_call call;
	struct gpc_reply reply;
	struct gpc_error err;
	int r;
	char text[64];
};

static void prepare(struct one *o, const char *method, const char *path)
{
	gpc_autostr *url = gpc_format("https://127.0.0.1:%d%s", bed.port, path);
	struct gpc_error err = {0};

	*o = (struct one){ .r = 1 };
	gpc_request_init(&o->request, method);
	assert_ok(gpc_url_parse(url, &o->request.url, &err));
	o->call.request = &o->request;
	o->call.repeatable = gpc_eq(method, "GET");
	o->call.arg = o;
}

static void clear(struct one *o)
{
	gpc_request_clear(&o->request);
	gpc_reply_clear(&o->reply);
}

static struct gpc_net *new_net(int max_tries)
{
	struct gpc_net_settings settings = { .ca_file = bed.ca,
		.max_tries = max_tries };

	return gpc_net_new(&settings);
}

/* Until nginx listens; false: there is none, or it does not speak HTTP/2. */
static bool is_up(void)
{
	for (int64_t end = gpc_boot_ms() + 60000; gpc_boot_ms() < end;) {
		gpc_autoptr(gpc_net) *net = new_net(1);
		struct one o;
		bool found;

		prepare(&o, "GET", "/who");
		o.r = gpc_net_call(net, &o.call, &o.reply, &o.err);
		found = o.r == 0;
		clear(&o);
		if (found)
			return true;
		if (waitpid(bed.pid, NULL, WNOHANG) == bed.pid) {
			bed.pid = 0;
			return false;
		}
		gpc_sleep_ms(20);
	}
	return false;
}

static void on_done(void *arg, int r, const struct gpc_reply *reply,
	const struct gpc_error *err)
{
	struct one *o = arg;
	size_t n = reply->body.len < 63 ? reply->body.len : 63;

	o->r = r;
	if (r < 0)
		o->err = *err;
	memcpy(o->text, gpc_buf_str(&reply->body), n);
}

TEST(shares_a_connection)
{
	gpc_autoptr(gpc_net) *net = NULL;
	struct gpc_net_loop *loop;
	struct gpc_error err = {0};
	struct one o[32];

	if (!bed.pid)
		skip();
	net = new_net(1);
	loop = gpc_net_loop_new(net);
	for (size_t i = 0; i < COUNT(o); i++) {
		prepare(&o[i], "GET", "/who");
		assert_ok(gpc_net_loop_start(loop, &o[i].call, on_done, &o[i],
			&err));
	}
	assert_ok(gpc_net_loop_run(loop, -1, NULL, &err));
	for (size_t i = 0; i < COUNT(o); i++) {
		assert_int_equal(o[i].r, 0);
		assert_true(gpc_starts_with(o[i].text, "HTTP/2.0 "));
		assert_string_equal(o[i].text, o[0].text);
		clear(&o[i]);
	}
	/* What goes once has a connection of its own. */
	prepare(&o[1], "POST", "/who");
	assert_ok(gpc_net_loop_start(loop, &o[1].call, on_done, &o[1], &err));
	assert_ok(gpc_net_loop_run(loop, -1, NULL, &err));
	assert_int_equal(o[1].r, 0);
	assert_string_not_equal(o[1].text, o[0].text);
	clear(&o[1]);
	gpc_net_loop_free(loop);
}

/* nginx refuses without reading: libcurl would wait to be allowed to send on. */
TEST(hears_a_refusal_before_all_is_sent)
{
	gpc_autoptr(gpc_net) *net = NULL;
	gpc_autostr *bytes = NULL;
	struct one o;

	if (!bed.pid)
		skip();
	net = new_net(1);
	bytes = gpc_array(900000, 1);
	prepare(&o, "POST", "/no");
	o.request.body = (struct gpc_body){ .data = bytes, .fd = -1,
		.size = 900000 };
	o.r = gpc_net_call(net, &o.call, &o.reply, &o.err);
	assert_int_equal(o.r, -GPC_EAUTH);
	assert_int_equal(o.reply.status, 403);
	assert_string_equal(gpc_buf_str(&o.reply.body), "no");
	clear(&o);
}

/* One that is over its time does not end the others of its connection. */
TEST(limits_one_stream)
{
	gpc_autoptr(gpc_net) *net = NULL;
	struct gpc_net_loop *loop;
	struct gpc_error err = {0};
	struct one slow, quick;

	if (!bed.pid)
		skip();
	net = new_net(1);
	loop = gpc_net_loop_new(net);
	prepare(&slow, "GET", "/slow");
	slow.call.total_ms = 1500;
	prepare(&quick, "GET", "/who");
	assert_ok(gpc_net_loop_start(loop, &slow.call, on_done, &slow, &err));
	assert_ok(gpc_net_loop_run(loop, 300, NULL, &err));
	assert_ok(gpc_net_loop_start(loop, &quick.call, on_done, &quick, &err));
	assert_ok(gpc_net_loop_run(loop, -1, NULL, &err));
	assert_int_equal(slow.r, -GPC_ETIMEOUT);
	assert_int_equal(quick.r, 0);
	clear(&slow);
	clear(&quick);
	gpc_net_loop_free(loop);
}

/* The last one: the server is gone after it. */
TEST(tells_of_a_server_that_dies)
{
	gpc_autoptr(gpc_net) *net = NULL;
	struct gpc_net_loop *loop;
	struct gpc_error err = {0};
	struct one o[2];
	int running = 0;

	if (!bed.pid)
		skip();
	net = new_net(1);
	loop = gpc_net_loop_new(net);
	for (size_t i = 0; i < COUNT(o); i++) {
		prepare(&o[i], "GET", "/slow");
		assert_ok(gpc_net_loop_start(loop, &o[i].call, on_done, &o[i],
			&err));
	}
	assert_ok(gpc_net_loop_run(loop, 1000, &running, &err));
	assert_int_equal(running, 2);
	end_nginx();
	assert_ok(gpc_net_loop_run(loop, -1, NULL, &err));
	for (size_t i = 0; i < COUNT(o); i++) {
		assert_int_equal(o[i].r, -GPC_ENET);
		clear(&o[i]);
	}
	gpc_net_loop_free(loop);
}

static int set_up(void **state)
{
	(void)state;
	bed_clean_environment();
	bed.dir = scratch();
	bed.ca = gpc_path_join(bed.dir, "ca.pem");
	if (!bed_certificates(bed.dir))
		return 0;
	start_nginx();
	if (!is_up())
		end_nginx();
	return 0;
}

static int tear_down(void **state)
{
	struct gpc_error err = {0};

	(void)state;
	end_nginx();
	assert_ok(gpc_rmtree(bed.dir, &err));
	free(bed.dir);
	free(bed.ca);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_a_connection),
		cmocka_unit_test(hears_a_refusal_before_all_is_sent),
		cmocka_unit_test(limits_one_stream),
		cmocka_unit_test(tells_of_a_server_that_dies),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
