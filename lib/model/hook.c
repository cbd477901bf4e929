/* See hook.h. A URL that a person writes has no fragment, so the short form,
 * which has one, cannot be taken for it. */
#include "model/hook.h"

#include <string.h>

#include "base/str.h"
#include "dep/crypto.h"

#define HIDDEN "/...#"
#define HEX "0123456789abcdef"
#define MAX_BYTES ((size_t)4096)

/* Behind "https://" or "http://"; NULL: it begins with neither. */
static const char *past_scheme(const char *url)
{
	if (gpc_starts_with(url, "https://"))
		return url + strlen("https://");
	return gpc_starts_with(url, "http://") ? url + strlen("http://") : NULL;
}

static size_t authority_size(const char *url)
{
	const char *host = past_scheme(url);

	return host ? (size_t)(host - url) + strcspn(host, "/?#") : 0;
}

bool gpc_hook_is_short(const char *url)
{
	const char *end = url + authority_size(url);

	return past_scheme(url) && gpc_starts_with(end, HIDDEN) &&
		strspn(end + strlen(HIDDEN), HEX) == GPC_HOOK_HASH_SIZE - 1 &&
		!end[strlen(HIDDEN) + GPC_HOOK_HASH_SIZE - 1];
}

/* 127.0.0.0/8 as numbers, ::1 and localhost: nobody else hears it. */
static bool is_loopback(const char *host, size_t n)
{
	static const char *const names[] = {"localhost", "[::1]"};
	size_t digits = strspn(host, "0123456789.");

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t name = strlen(names[i]);

		if (n >= name && strncmp(host, names[i], name) == 0 &&
			(n == name || host[name] == ':'))
			return true;
	}
	return gpc_starts_with(host, "127.") &&
		(digits == n || (digits < n && host[digits] == ':'));
}

const char *gpc_hook_fault(const char *url)
{
	const char *host = past_scheme(url);
	size_t n;

	if (!host)
		return "an address begins with https://";
	if (gpc_hook_is_short(url))
		return NULL;
	n = strcspn(host, "/?#");
	for (const char *p = url; *p; p++)
		if (*p <= ' ' || *p > '~')
			return "an address is of printable ASCII, without "
				"spaces";
	if (strlen(url) > MAX_BYTES)
		return "the address is longer than 4096 bytes";
	if (n == 0 || *host == ':')
		return "the address names no host";
	if (memchr(host, '@', n))
		return "an address has no user and password before its host";
	if (strchr(url, '#'))
		return "an address has no #";
	if (gpc_starts_with(url, "http://") && !is_loopback(host, n))
		return "http:// would tell it to whoever listens on the way; "
			"it is for this machine itself (127.0.0.1): use https://";
	return NULL;
}

char *gpc_hook_hash(const char *url, char out[GPC_HOOK_HASH_SIZE])
{
	char hex[GPC_SHA256_HEX];

	if (gpc_hook_is_short(url))
		memcpy(hex, url + authority_size(url) + strlen(HIDDEN),
			GPC_HOOK_HASH_SIZE);
	else
		gpc_sha256_hex(url, strlen(url), hex);
	hex[GPC_HOOK_HASH_SIZE - 1] = '\0';
	memcpy(out, hex, GPC_HOOK_HASH_SIZE);
	return out;
}

char *gpc_hook_short(const char *url)
{
	char hash[GPC_HOOK_HASH_SIZE];

	return gpc_format("%.*s" HIDDEN "%s", (int)authority_size(url), url,
		gpc_hook_hash(url, hash));
}

char *gpc_hook_shown(const char *url)
{
	return gpc_format("%.*s/...", (int)authority_size(url), url);
}
