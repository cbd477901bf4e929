/* The commented starter specs that `gpucloud init [TEMPLATE]` writes. */
#pragma once

struct gpc_template {
	const char *name;
	const char *summary;      /* one line */
	const char *text;         /* YAML; parses without a warning */
};
extern const struct gpc_template gpc_templates[];   /* ends with name NULL */
/* NULL when there is none of this name. */
const struct gpc_template *gpc_template_find(const char *name);
