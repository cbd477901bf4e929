/* Networks as people write them: "192.0.2.7", "192.0.2.0/24", "2001:db8::/32". */
#pragma once
#include <stdbool.h>

#include "base/err.h"

#define GPC_CIDR_SIZE 64

/* Writes it as ADDRESS/BITS, without what lies beyond the bits ("192.0.2.7/24" is
 * "192.0.2.0/24"); an address alone is itself and nothing more. GPC_EUSAGE for what is
 * none. */
int gpc_cidr_parse(const char *text, char ret_cidr[GPC_CIDR_SIZE],
	struct gpc_error *err) gpc_must_check;
/* The same, but what has bits beyond those is refused, with the network that it lies
 * in: where many are let in, nobody should be by a slip. */
int gpc_cidr_parse_network(const char *text, char ret_cidr[GPC_CIDR_SIZE],
	struct gpc_error *err) gpc_must_check;
/* Of such a text: whether it is all of the Internet. */
bool gpc_cidr_is_everybody(const char *cidr);
/* Of such a text: whether it is of IPv6. */
bool gpc_cidr_is_v6(const char *cidr);
