/* Where the certificates of authorities are. What the configuration (ca_file) or the
 * environment names counts, as with curl and OpenSSL; without it the hashed folder of the
 * system, which costs nothing to open, while parsing its one big file takes some
 * 30 ms. A bundle on a bare machine brings a file of its own, which is used when
 * the machine has none. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "dep/http.h"
#include "dep/http_parts.h"

static const char folder[] = "/etc/ssl/certs";

static const char *named(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value ? value : NULL;
}

/* "0a1b2c3d.0" */
static bool is_hash(const char *name)
{
	return strspn(name, "0123456789abcdef") == 8 && name[8] == '.';
}

static bool is_hashed(const char *path)
{
	DIR *d = opendir(path);
	bool found = false;

	for (struct dirent *e; d && !found && (e = readdir(d));)
		found = is_hash(e->d_name);
	if (d)
		closedir(d);
	return found;
}

static bool take_named(struct gpc_http_ca *ca)
{
	static const char *const files[] = {"SSL_CERT_FILE", "CURL_CA_BUNDLE"};

	ca->folder = gpc_strdup(named("SSL_CERT_DIR"));
	if (ca->folder)
		ca->from = "SSL_CERT_DIR";
	for (size_t i = 0; i < 2 && !ca->file; i++) {
		/* curl's own variable does not add to a folder. */
		if (i == 1 && ca->folder)
			break;
		ca->file = gpc_strdup(named(files[i]));
		if (ca->file)
			ca->from = files[i];
	}
	return ca->file || ca->folder;
}

/* Owned; NULL: there is none. */
static char *known_file(void)
{
	const char *const files[] = {
		"/etc/ssl/certs/ca-certificates.crt",
		"/etc/pki/tls/certs/ca-bundle.crt",
		"/etc/ssl/ca-bundle.pem",
		"/etc/ssl/cert.pem",
		named("GPUCLOUD_CA_BUNDLE"),
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (files[i] && access(files[i], R_OK) == 0)
			return gpc_strdup(files[i]);
	return NULL;
}

/* The configuration's own. */
static bool take_given(const char *given, struct gpc_http_ca *ca)
{
	if (given && *given) {
		ca->from = "ca_file";
	} else {
		given = named(GPC_HTTP_CA_ENV);
		ca->from = given ? GPC_HTTP_CA_ENV : NULL;
	}
	ca->file = gpc_strdup(given);
	ca->given = given != NULL;
	return given;
}

void gpc_http_ca_find(const char *given, struct gpc_http_ca *ret_ca)
{
	*ret_ca = (struct gpc_http_ca){0};
	if (take_given(given, ret_ca) || take_named(ret_ca))
		return;
	if (is_hashed(folder))
		ret_ca->folder = gpc_strdup(folder);
	else
		ret_ca->file = known_file();
}

char *gpc_http_ca_file(void)
{
	struct gpc_http_ca ca = {0};
	char *file;

	if (!take_given(NULL, &ca))
		(void)take_named(&ca);
	file = ca.file ? gpc_strdup(ca.file) : known_file();
	gpc_http_ca_clear(&ca);
	return file;
}

void gpc_http_ca_clear(struct gpc_http_ca *ca)
{
	free(ca->file);
	free(ca->folder);
	*ca = (struct gpc_http_ca){0};
}
