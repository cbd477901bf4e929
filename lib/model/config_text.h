/* Where nodes of a YAML text stand in its bytes, and scalars as YAML writes
 * them: what config_edit.c needs; not for other rooms. */
#pragma once
#include "base/buf.h"
#include "dep/yaml.h"

struct gpc_config_text {
	const char *text;
	size_t n;
	const char *line_end;          /* "\n" or "\r\n", as the text has it */
};

void gpc_config_text_init(struct gpc_config_text *t, const char *text, size_t n);
/* The byte at a line and a column, both from 1. */
size_t gpc_config_text_at(const struct gpc_config_text *t, int line, int column);
size_t gpc_config_text_start(const struct gpc_config_text *t,
	const struct gpc_yaml_node *node);
/* Just behind a node. A block scalar ends at the start of a later line. */
size_t gpc_config_text_end(const struct gpc_config_text *t,
	const struct gpc_yaml_node *node);
/* The start of the line that at is on, and of the next one. */
size_t gpc_config_text_line(const struct gpc_config_text *t, size_t at);
size_t gpc_config_text_next_line(const struct gpc_config_text *t, size_t at);
/* Only blanks and comments in [from, to); comments = false: only blanks. */
bool gpc_config_text_blank(const struct gpc_config_text *t, size_t from,
	size_t to, bool comments);
/* The first byte at or after from that is neither blank nor comment; n at the
 * end. */
size_t gpc_config_text_skip(const struct gpc_config_text *t, size_t from);
/* A map or a list written with brackets. */
bool gpc_config_text_is_flow(const struct gpc_config_text *t,
	const struct gpc_yaml_node *node);

/* Appends text as a scalar that reads back the same: plain where it can be. */
void gpc_config_text_scalar(const char *text, struct gpc_buf *out);
