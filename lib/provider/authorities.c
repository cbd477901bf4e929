/* Certificates are public; whatever else stands in the file stays here. */
#include "provider/authorities.h"

#include <string.h>

#include "base/fd.h"
#include "base/str.h"

#define BEGIN "-----BEGIN CERTIFICATE-----"
#define END "-----END CERTIFICATE-----"
#define FILE_MAX ((size_t)4 << 20)

/* Of AWS's own names, which any image believes. */
static bool is_aws(const char *url)
{
	const char *host = strstr(url, "://");
	gpc_autostr *name = host ? gpc_strndup(host + 3,
		strcspn(host + 3, "/:?")) : NULL;

	return name && (gpc_ends_with(name, ".amazonaws.com") ||
		gpc_ends_with(name, ".amazonaws.com.cn") ||
		gpc_ends_with(name, ".api.aws"));
}

bool gpc_authorities_needed(const struct gpc_launch *l)
{
	const char *url = gpc_json_get_str(gpc_json_get(l->rest, "bundle"), "url");

	if (url && gpc_starts_with(url, "https://") && !is_aws(url))
		return true;
	for (size_t i = 0; i < l->buckets.n; i++)
		if (strstr(l->buckets.v[i], "endpoint=https"))
			return true;
	return false;
}

int gpc_authorities_read(const char *path, char **ret_pem, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf file = { .max = FILE_MAX }, pem = {0};
	const char *at, *end;
	int r = gpc_read_file(path, FILE_MAX, &file, err);

	if (r < 0)
		return gpc_wrap(err, r, "ca_file");
	at = gpc_buf_str(&file);
	while ((at = strstr(at, BEGIN)) && (end = strstr(at, END))) {
		gpc_buf_add(&pem, at, (size_t)(end - at) + strlen(END));
		gpc_buf_adds(&pem, "\n");
		at = end;
	}
	if (!pem.len)
		return gpc_fail(err, GPC_ECONFIG, "ca_file: %s has no certificate",
			path);
	*ret_pem = gpc_strdup(gpc_buf_str(&pem));
	return 0;
}
