/* XML trees by expat, for the replies of services: elements and text, nothing
 * else. Namespaces are dropped from names, attributes are ignored. Input is
 * hostile: size, depth and number of elements are limited, a document type
 * declaration is refused (no entities), and so is what is not UTF-8. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

#define GPC_XML_MAX_BYTES (32 << 20)
#define GPC_XML_MAX_DEPTH 32
#define GPC_XML_MAX_ELEMENTS (1 << 20)

struct gpc_xml {                        /* an element */
	char *name;
	char *text;                     /* its own text, joined; never NULL */
	struct gpc_xml *first, *next;   /* child, sibling */
};

int gpc_xml_parse(const char *text, size_t n, struct gpc_xml **ret_root,
	struct gpc_error *err) gpc_must_check;
void gpc_xml_free(struct gpc_xml *root);
GPC_CLEANUP_POINTER(gpc_xml);
/* The first element that a path of names leads to ("Error/Code"), from the
 * children of x; NULL-safe. */
const struct gpc_xml *gpc_xml_get(const struct gpc_xml *x, const char *path);
/* Its text, or "". */
const char *gpc_xml_text(const struct gpc_xml *x, const char *path);
/* The next sibling of the same name. */
const struct gpc_xml *gpc_xml_again(const struct gpc_xml *x);

/* Text of an element, as XML writes it. What it cannot hold (other control characters
 * than tab and line ends) the caller keeps out. */
void gpc_xml_add_text(struct gpc_buf *to, const char *text);
/* Whether it can hold a text, which is UTF-8. */
bool gpc_xml_can_hold(const char *text);
