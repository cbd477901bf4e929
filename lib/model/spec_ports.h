/* The ports of a spec, and who may reach them. */
#pragma once
#include "base/vec.h"
#include "model/spec.h"

#define GPC_SPEC_MAX_PORTS 100      /* words of resources.ports, and of allow */

struct gpc_port_range { int first, last; };     /* 1 to 65535 */
struct gpc_port_ranges { struct gpc_port_range *v; size_t n, cap; };
void gpc_port_ranges_clear(struct gpc_port_ranges *x);
GPC_CLEANUP_VALUE(gpc_port_ranges);

/* "8080" or "8000-8010". */
bool gpc_port_range_parse(const char *text, struct gpc_port_range *ret);
/* All that any alternative of the spec names, each once, in the order as written:
 * which of them was bought makes no difference. */
void gpc_spec_ports(const struct gpc_spec *spec, struct gpc_port_ranges *to);
/* The same as words, and those who may reach them, as ADDRESS/BITS. */
void gpc_spec_port_words(const struct gpc_spec *spec, struct gpc_strv *to);
void gpc_spec_allowed(const struct gpc_spec *spec, struct gpc_strv *to);
/* Says so in all alternatives that name ports and nobody who may reach them. */
void gpc_spec_allow(struct gpc_spec *spec, const char *cidr);
