/* What a node says of its SSH server, and what is taken for a key: both come from
 * outside and end in files that ssh reads, so that nothing but the expected letters
 * passes. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "dep/json.h"

/* A line of a public key without its comment takes so many bytes: "ssh-ed25519 " and
 * the 68 letters of 51 bytes. */
#define GPC_SSH_KEY_SIZE 81

struct gpc_ssh_fact {            /* jobs/J/A/R/ssh.json */
	int v;
	char *instance, *boot;       /* the node, and the boot of its machine */
	char *address;               /* where it listens; "0.0.0.0": everywhere */
	int port;
	char *user;                  /* whom to log in as */
	char *host_key;              /* made for this node of this job */
	struct gpc_strv keys;        /* that are let in */
	char *error;                 /* why there is none, or NULL */
	struct gpc_json *rest;
};
/* GPC_EPROTO for what is not said or could not be such a value; a fact with an error
 * needs nothing more. */
int gpc_ssh_fact_parse(const char *text, size_t n, struct gpc_ssh_fact *ret_f,
	struct gpc_error *err) gpc_must_check;
struct gpc_json *gpc_ssh_fact_write(const struct gpc_ssh_fact *f);
void gpc_ssh_fact_clear(struct gpc_ssh_fact *f);
GPC_CLEANUP_VALUE(gpc_ssh_fact);

/* "ssh-ed25519 AAAA…", with nothing after it. */
bool gpc_ssh_key_valid(const char *line);
/* The key of a line as ssh-keygen writes it, without its comment; NULL when it holds
 * none. Owned. */
char *gpc_ssh_key_of(const char *line);
/* What ssh may be told as the name of a user or a host: letters, digits and ._:%- ,
 * not beginning with -. */
bool gpc_ssh_word_valid(const char *word);
