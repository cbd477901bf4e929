/* See cidr.h. */
#include "net/cidr.h"

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
