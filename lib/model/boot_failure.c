/* See boot_failure.h. Where a reason is one that other machines may not have, the
 * job goes on with another one, once. */
#include "model/boot_failure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define SAID_MAX 240

const struct gpc_boot_failure gpc_boot_failures[] = {
	{"no_metadata", GPC_REASON_STORE_UNREACHABLE, false,
		"the machine's metadata service does not answer",
		"the image's firewall has to let it ask 169.254.169.254"},
	{"no_profile", GPC_REASON_AUTH, true,
		"the machine has no role to reach the store with",
		"give it one: `gpucloud setup` makes what an account needs"},
	{"no_network", GPC_REASON_STORE_UNREACHABLE, false,
		"the machine does not reach the store",
		"its subnet needs a way there: a public address, a NAT gateway or an "
		"endpoint of the store's service"},
	{"bad_certificate", GPC_REASON_STORE_UNREACHABLE, true,
		"the machine does not trust the store's certificate",
		"name the CA that signed it in ca_file of the configuration"},
	{"bad_clock", GPC_REASON_STORE_UNREACHABLE, false,
		"the machine's clock is wrong, so that the store refuses it",
		"the image has to set its clock, by chrony or the like"},
	{"access_denied", GPC_REASON_AUTH, true,
		"the machine's role may not use the store",
		"allow the role to read, write and list below the store's prefix: "
		"`gpucloud setup` does"},
	{"wrong_region", GPC_REASON_STORE_UNREACHABLE, true,
		"the store's bucket is in another region than was found",
		"submit the job again; with an endpoint of one's own, name "
		"region= in the store's URL"},
	{"no_bucket", GPC_REASON_STORE_UNREACHABLE, true,
		"the store's bucket is not there",
		"make it again, or name another store"},
	{"no_bundle", GPC_REASON_STORE_UNREACHABLE, true,
		"the bundle that machines run is not in the store",
		"submit the job again, which uploads it"},
	{"store_error", GPC_REASON_STORE_UNREACHABLE, false,
		"the store answers the machine with errors",
		"try again later"},
	{"bad_checksum", GPC_REASON_AGENT_FAILED, true,
		"the bundle in the store is not what was uploaded",
		"delete it from blobs/ in the store and submit the job again"},
	{"no_space", GPC_REASON_DISK_FULL, true,
		"the machine's disk is full before the job begins",
		"ask for a larger resources.disk_size, or a smaller image"},
	{"no_python", GPC_REASON_SPEC_INVALID, true,
		"the image has no Python 3",
		"name an image with cloud-init and Python 3 in resources.image_id"},
	{"wrong_arch", GPC_REASON_SPEC_INVALID, true,
		"the bundle is for another architecture than the machine",
		"make one for that architecture, as gpucloud-aws(7) says, or name another "
		"type"},
	{"agent_died", GPC_REASON_AGENT_FAILED, false,
		"gpucloud's agent died on the machine as it started",
		"the machine's console, which the provider shows, tells more"},
	{"script_failed", GPC_REASON_AGENT_FAILED, false,
		"the script that starts the machine failed",
		"the machine's console, which the provider shows, tells more"},
	{"no_driver", GPC_REASON_GPU_ERROR, false,
		"the machine has no working GPU driver",
		"name an image with the driver in resources.image_id"},
	{"few_gpus", GPC_REASON_GPU_ERROR, false,
		"the machine shows fewer GPUs than were asked for",
		"`gpucloud resume` takes another machine"},
	{"old_driver", GPC_REASON_SPEC_INVALID, true,
		"the machine's GPU driver is older than min_driver",
		"name a newer image in resources.image_id, or lower min_driver"},
	{NULL, GPC_REASON_NONE, false, NULL, NULL},
};

static const struct gpc_boot_failure *find(const char *word, size_t n)
{
	for (const struct gpc_boot_failure *f = gpc_boot_failures; f->word; f++)
		if (strlen(f->word) == n && memcmp(f->word, word, n) == 0)
			return f;
	return NULL;
}

const struct gpc_boot_failure *gpc_boot_failure_find(const char *word)
{
	return word ? find(word, strlen(word)) : NULL;
}

/* The end of the last mark in these bytes; NULL. */
static const char *last_mark(const char *text, size_t n)
{
	const size_t len = strlen(GPC_BOOT_MARK);

	for (size_t i = n >= len ? n - len + 1 : 0; i > 0; i--)
		if (memcmp(text + i - 1, GPC_BOOT_MARK, len) == 0)
			return text + i - 1 + len;
	return NULL;
}

const char *gpc_boot_failure_word(const struct gpc_error *err)
{
	if (err->sys == ENOSPC || err->sys == EDQUOT || err->code == GPC_ENOROOM)
		return "no_space";
	switch (err->code) {
	case GPC_EAUTH:
		return "access_denied";
	case GPC_ENET:
	case GPC_ETIMEOUT:
		return err->http ? "store_error" : "no_network";
	case GPC_EIO:
		return "agent_died";
	default:
		return "store_error";
	}
}

/* What the line of a mark says, from the mark's end on. */
static const struct gpc_boot_failure *read_mark(const char *at, size_t n,
	char **ret_said)
{
	const char *stop = at, *end = at + n;
	const struct gpc_boot_failure *f;

	while (stop < end && *stop != '\n' && *stop != '\r')
		stop++;
	end = memchr(at, ':', (size_t)(stop - at));
	f = find(at, (size_t)((end ? end : stop) - at));
	if (!f)
		return NULL;
	at = end ? end + 1 : stop;
	while (at < stop && *at == ' ')
		at++;
	free(*ret_said);
	*ret_said = gpc_str_printable(at, (size_t)(stop - at) > SAID_MAX ?
		SAID_MAX : (size_t)(stop - at));
	return f;
}

const struct gpc_boot_failure *gpc_boot_failure_read(const char *console,
	size_t n, char **ret_said)
{
	const char *at = last_mark(console, n);
	const struct gpc_boot_failure *last, *before = NULL;

	last = at ? read_mark(at, (size_t)(console + n - at), ret_said) : NULL;
	if (!last || !gpc_eq(last->word, "agent_died"))
		return last;
	n = (size_t)(at - console) - strlen(GPC_BOOT_MARK);
	at = last_mark(console, n);
	if (at)
		before = read_mark(at, (size_t)(console + n - at), ret_said);
	return before ? before : last;
}

char *gpc_boot_failure_text(const struct gpc_boot_failure *f, const char *said)
{
	return gpc_format("%s%s%s (%s)", f->what, said && *said ? ": " : "",
		said ? said : "", f->advice);
}
