/* See cidr.h. */
#include "base/cidr.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/parse.h"
#include "base/str.h"

bool gpc_cidr_is_v6(const char *cidr)
{
	return strchr(cidr, ':') != NULL;
}

static int refuse(const char *text, struct gpc_error *err)
{
	gpc_autostr *shown = gpc_str_printable(text, strnlen(text, 80));
	int r = gpc_fail(err, GPC_EUSAGE, "\"%s\" is no address and no network",
		shown);

	gpc_hint(err, "such as 192.0.2.7, 192.0.2.0/24 or 2001:db8::/32");
	return r;
}

int gpc_cidr_parse(const char *text, char ret_cidr[GPC_CIDR_SIZE],
	struct gpc_error *err)
{
	size_t n = strcspn(text, "/");
	gpc_autostr *address = gpc_strndup(text, n);
	int family = gpc_cidr_is_v6(address) ? AF_INET6 : AF_INET;
	int64_t most = family == AF_INET6 ? 128 : 32, bits = most;
	uint8_t bytes[16];
	char plain[INET6_ADDRSTRLEN];

	if (inet_pton(family, address, bytes) != 1)
		return refuse(text, err);
	if (text[n] && gpc_parse_i64(text + n + 1, 0, most, "network", &bits,
		NULL) < 0)
		return refuse(text, err);
	for (int64_t i = bits; i < most; i++)
		bytes[i / 8] &= (uint8_t)~(0x80 >> i % 8);
	if (!inet_ntop(family, bytes, plain, sizeof(plain)))
		return refuse(text, err);
	snprintf(ret_cidr, GPC_CIDR_SIZE, "%s/%d", plain, (int)bits);
	return 0;
}

/* Two texts of one address differ in how they are written alone. */
static bool is_same_address(const char *text, const char *cidr)
{
	gpc_autostr *a = gpc_strndup(text, strcspn(text, "/"));
	gpc_autostr *b = gpc_strndup(cidr, strcspn(cidr, "/"));
	int family = gpc_cidr_is_v6(cidr) ? AF_INET6 : AF_INET;
	uint8_t x[16] = {0}, y[16] = {0};

	return inet_pton(family, a, x) == 1 && inet_pton(family, b, y) == 1 &&
		memcmp(x, y, sizeof(x)) == 0;
}

int gpc_cidr_parse_network(const char *text, char ret_cidr[GPC_CIDR_SIZE],
	struct gpc_error *err)
{
	char cidr[GPC_CIDR_SIZE];
	int r = gpc_cidr_parse(text, cidr, err);

	if (r < 0)
		return r;
	if (!is_same_address(text, cidr)) {
		r = gpc_fail(err, GPC_EUSAGE, "\"%s\" is an address within a "
			"network, and no network", text);
		gpc_hint(err, "the network is %s; the address alone is %.*s", cidr,
			(int)strcspn(text, "/"), text);
		return r;
	}
	memcpy(ret_cidr, cidr, sizeof(cidr));
	return 0;
}

bool gpc_cidr_is_everybody(const char *cidr)
{
	const char *slash = strchr(cidr, '/');

	return slash && gpc_eq(slash, "/0");
}
