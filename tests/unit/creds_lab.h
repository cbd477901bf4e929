/* A machine for chains of credentials: a home folder and an environment of its own,
 * one small HTTP server that answers by a table and remembers what it was asked, and
 * clocks that tests move. */
#pragma once
#include "test.h"

#include <stdbool.h>

#include "creds/creds.h"

struct lab_route {
	const char *method;
	const char *path;               /* with the query; "/a*": begins so */
	const char *need;               /* the request holds this; NULL: any */
	int status;                     /* 0: closes without an answer */
	const char *body;               /* @+60@: the time in 60 s; @ms+60@: the
	                                 * same as a number */
	int delay_ms;
};

extern int64_t lab_ahead_ms;            /* of both clocks */
extern int64_t lab_date_ms;             /* the server's clock less that one */
extern const char *lab_header;          /* of all replies; NULL: none more */

int lab_open(void **state);             /* of a group of tests */
int lab_close(void **state);
int lab_reset(void **state);            /* before each test */
const char *lab_url(void);              /* "http://127.0.0.1:PORT" */
const char *lab_home(void);
/* Borrowed until the next call. */
void lab_routes(const struct lab_route *routes, size_t n);
/* How often something that begins so was asked for ("GET /x"). */
int lab_asked(const char *what);
/* All of the newest such request; owned. NULL: none. */
char *lab_request(const char *what);
/* A file below the home folder; what it holds is replaced. */
void lab_file(const char *path, const char *fmt, ...) gpc_printf(2, 3);
char *lab_read(const char *path);
void lab_set(const char *variable, const char *fmt, ...) gpc_printf(2, 3);
