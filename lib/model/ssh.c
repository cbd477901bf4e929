/* See ssh.h. Ed25519 alone: every OpenSSH since 2014 has it, and its keys have one
 * length. */
#include "model/ssh.h"

#include <ctype.h>
#include <string.h>

#include "dep/bind.h"

#define KIND "ssh-ed25519 "
#define START "AAAAC3NzaC1lZDI1NTE5AAAAI"       /* lengths and kind, in base64 */
#define LETTERS 68
#define WORD_MAX 255

static const struct gpc_bind fields[] = {
	GPC_BIND(gpc_ssh_fact, v, INT, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_ssh_fact, instance, STR),
	GPC_BIND(gpc_ssh_fact, boot, STR),
	GPC_BIND(gpc_ssh_fact, address, STR),
	GPC_BIND(gpc_ssh_fact, port, INT),
	GPC_BIND(gpc_ssh_fact, user, STR),
	GPC_BIND(gpc_ssh_fact, host_key, STR),
	GPC_BIND(gpc_ssh_fact, keys, STRV),
	GPC_BIND(gpc_ssh_fact, error, STR),
	GPC_BIND(gpc_ssh_fact, rest, REST),
	GPC_BIND_LAST
};

bool gpc_ssh_key_valid(const char *line)
{
	const char *at = line;

	if (!line || strlen(line) != strlen(KIND) + LETTERS ||
		!gpc_starts_with(line, KIND))
		return false;
	at += strlen(KIND);
	if (!gpc_starts_with(at, START))
		return false;
	for (; *at; at++)
		if (!isalnum((unsigned char)*at) && *at != '+' && *at != '/')
			return false;
	return true;
}

char *gpc_ssh_key_of(const char *line)
{
	size_t n = strlen(KIND) + LETTERS;
	gpc_autostr *key = NULL;

	if (strlen(line) < n || (line[n] && !isspace((unsigned char)line[n])))
		return NULL;
	key = gpc_strndup(line, n);
	return gpc_ssh_key_valid(key) ? gpc_steal(&key) : NULL;
}

bool gpc_ssh_word_valid(const char *word)
{
	if (!word || !*word || *word == '-' || strlen(word) > WORD_MAX)
		return false;
	for (const char *at = word; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("._:%-", *at))
			return false;
	return true;
}

static int check(const struct gpc_ssh_fact *f, struct gpc_error *err)
{
	if (f->error)
		return 0;
	if (f->port < 1 || f->port > 65535)
		return gpc_fail(err, GPC_EPROTO, "$.port: not the number of one");
	if (!gpc_ssh_word_valid(f->address) || !gpc_ssh_word_valid(f->user))
		return gpc_fail(err, GPC_EPROTO, "$.address or $.user: no name "
			"that ssh takes");
	if (!gpc_ssh_key_valid(f->host_key))
		return gpc_fail(err, GPC_EPROTO, "$.host_key: no key of Ed25519");
	if (!f->instance || !f->boot)
		return gpc_fail(err, GPC_EPROTO, "$.instance or $.boot: missing");
	return 0;
}

int gpc_ssh_fact_parse(const char *text, size_t n, struct gpc_ssh_fact *ret_f,
	struct gpc_error *err)
{
	gpc_auto(gpc_ssh_fact) struct gpc_ssh_fact f = {0};
	int r = gpc_bind_parse(text, n, fields, &f, err);

	if (r == 0 && f.v != 1)
		r = gpc_fail(err, GPC_EUNSUPPORTED, "$.v: version %d is of a "
			"newer gpucloud", f.v);
	if (r == 0)
		r = check(&f, err);
	if (r < 0)
		return r;
	*ret_f = f;
	f = (struct gpc_ssh_fact){0};
	return 0;
}

struct gpc_json *gpc_ssh_fact_write(const struct gpc_ssh_fact *f)
{
	return gpc_bind_write(fields, f);
}

void gpc_ssh_fact_clear(struct gpc_ssh_fact *f)
{
	gpc_bind_clear(fields, f);
}
