/* The store's layout: no other file spells a key. */
#include "record/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "dep/crypto.h"

/* A key that would not fit comes out empty, which every store refuses. */
static gpc_printf(2, 3) const char *put(char *out, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(out, GPC_KEY_SIZE, fmt, ap);
	va_end(ap);
	if (n < 0 || n >= GPC_KEY_SIZE)
		out[0] = '\0';
	return out;
}

const char *gpc_key_job(gpc_key out, const char *job)
{
	return put(out, "jobs/%s/job.json", job);
}

const char *gpc_key_event(gpc_key out, const char *job, int64_t n)
{
	return put(out, "jobs/%s/events/%08" PRId64 ".json", job, n);
}

const char *gpc_key_job_file(gpc_key out, const char *job, const char *name)
{
	return put(out, "jobs/%s/%s", job, name);
}

const char *gpc_key_rank(gpc_key out, const char *job, int attempt, int rank,
	const char *name)
{
	return put(out, "jobs/%s/%d/%d/%s", job, attempt, rank, name);
}

/* All in one folder, so that a list shows whose have come. */
const char *gpc_key_beat(gpc_key out, const char *job, int attempt, int rank)
{
	return put(out, "jobs/%s/%d/beats/%05d", job, attempt, rank);
}

const char *gpc_key_attempt(gpc_key out, const char *job, int attempt,
	const char *name)
{
	return put(out, "jobs/%s/%d/%s", job, attempt, name);
}

const char *gpc_key_checkpoint(gpc_key out, const char *job, const char *id)
{
	return put(out, "jobs/%s/checkpoints/%s.json", job, id);
}

const char *gpc_key_secrets(gpc_key out, const char *job, const char *name)
{
	return name ? put(out, "secrets/%s" GPC_KEY_RESUME "%s", job, name) :
		put(out, "secrets/%s", job);
}

const char *gpc_key_hook(gpc_key out, const char *job, const char *hash)
{
	return put(out, "secrets/%s" GPC_KEY_HOOK "%s", job, hash ? hash : "");
}

const char *gpc_key_once(gpc_key out, const char *owner_hash, const char *key)
{
	gpc_autostr *text = gpc_format("%s%s", owner_hash, key);
	char hex[GPC_SHA256_HEX];

	return put(out, "once/%s", gpc_sha256_hex(text, strlen(text), hex));
}

/* --- paths as keys --------------------------------------------------------- */

char *gpc_key_escape(const char *path)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	for (const char *at = path; *at; at++) {
		unsigned char c = (unsigned char)*at;
		bool hidden = c == '.' && (at == path || at[-1] == '/')
			&& gpc_starts_with(at, ".tmp-");

		if (c <= ' ' || c >= 0x7f || c == '%' || hidden)
			gpc_buf_addf(&b, "%%%02X", c);
		else
			gpc_buf_addc(&b, *at);
	}
	return gpc_strdup(gpc_buf_str(&b));
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0'
		: c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

char *gpc_key_unescape(const char *tail)
{
	gpc_autostr *path = gpc_strdup(tail);
	char *to = path;

	for (const char *at = tail; *at; at++) {
		int high, low;

		if (*at != '%') {
			*to++ = *at;
			continue;
		}
		high = hex_digit(at[1]);
		low = high < 0 ? -1 : hex_digit(at[2]);
		if (low < 0 || high * 16 + low == 0)
			return NULL;
		*to++ = (char)(high * 16 + low);
		at += 2;
	}
	*to = '\0';
	return gpc_steal(&path);
}
