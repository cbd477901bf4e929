/* Signs what it reads, a case a line (sign_case.h) with "how" and "in_url", and
 * prints a signature or a token a line: for tests that let another program sign the
 * same (tests/unit/sign_peers.py).
 *   sign-driver [KEY.pem] <LINES
 *   sign-driver --repeat N <LINE     prints signatures per second of processor time */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/str.h"
#include "sign_case.h"

static _Noreturn void die(const struct gpc_error *err)
{
	fprintf(stderr, "sign-driver: %s\n", err->msg);
	exit(1);
}

static void sign_line(const char *line, size_t n, const char *pem)
{
	gpc_auto(gpc_request) struct gpc_request r = {0};
	gpc_autoptr(gpc_json) *j = NULL;
	gpc_autostr *token = NULL;
	struct gpc_error err = {0};
	const char *how;

	if (gpc_json_parse(line, n, &j, &err) < 0)
		die(&err);
	how = gpc_json_get_str(j, "how");
	if (gpc_eq(how, "jwt")) {
		if (sign_case_jwt(j, pem, &token, &err) < 0)
			die(&err);
		puts(token);
		return;
	}
	if (sign_case(how, j, pem, gpc_json_bool_or(gpc_json_get(j, "in_url"),
		false), &r, &err) < 0)
		die(&err);
	puts(sign_case_signature(&r));
}

/* Only the signing is timed: each works on a copy of the request. */
static void repeat(const char *line, size_t n, int64_t times)
{
	gpc_auto(gpc_request) struct gpc_request r = {0};
	gpc_autoptr(gpc_json) *j = NULL;
	struct gpc_error err = {0};
	struct timespec t;
	double began, took;

	if (gpc_json_parse(line, n, &j, &err) < 0)
		die(&err);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	began = (double)t.tv_sec + (double)t.tv_nsec / 1e9;
	for (int64_t i = 0; i < times; i++) {
		gpc_request_clear(&r);
		if (sign_case(gpc_json_get_str(j, "how"), j, NULL, false, &r,
			&err) < 0)
			die(&err);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	took = (double)t.tv_sec + (double)t.tv_nsec / 1e9 - began;
	printf("%.0f %s\n", (double)times / took, sign_case_signature(&r));
}

int main(int argc, char **argv)
{
	gpc_auto(gpc_buf) struct gpc_buf text = {0}, pem = {0};
	struct gpc_error err = {0};
	struct gpc_str rest, line;
	int64_t times;

	if (gpc_read_fd(0, 64 << 20, "stdin", &text, &err) < 0)
		die(&err);
	if (argc == 3 && gpc_eq(argv[1], "--repeat")) {
		if (gpc_parse_i64(argv[2], 1, INT64_MAX, "N", &times, &err) < 0)
			die(&err);
		repeat(gpc_buf_str(&text), text.len, times);
		return 0;
	}
	if (argc == 2 && gpc_read_file(argv[1], 1 << 20, &pem, &err) < 0)
		die(&err);
	rest = (struct gpc_str){gpc_buf_str(&text), text.len};
	while (gpc_str_split(&rest, '\n', &line))
		if (line.len > 0)
			sign_line(line.ptr, line.len, gpc_buf_str(&pem));
	return 0;
}
