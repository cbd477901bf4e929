/* Help texts. Nothing is written twice: names, summaries and options come from
 * the command records, so a new command needs no edit here.
 */
#include "cmd/help.h"

#include "base/str.h"
#include "cmd/wrap.h"

enum { WIDTH = 80, NARROWEST = 20, NAME_COLUMN = 14, USAGE = 7 };

size_t gpc_help_width(const struct gpc_out *o)
{
	if (o->width <= 0 || o->width > WIDTH)
		return WIDTH;
	return o->width < NARROWEST ? NARROWEST : (size_t)o->width;
}


static void add_group(const char *title, enum gpc_command_group group,
	struct gpc_buf *out)
{
	gpc_buf_addf(out, "\n%s:\n", title);
	for (size_t i = 0; gpc_commands[i]; i++) {
		const struct gpc_command *c = gpc_commands[i];

		if (c->group == group)
			gpc_buf_addf(out, "  %-*s%s\n", NAME_COLUMN - 2,
				c->name, c->summary);
	}
}

void gpc_help_all(size_t width, struct gpc_buf *out)
{
	gpc_buf_adds(out, "usage: gpucloud COMMAND [OPTION]... [ARGUMENT]...\n"
		"\n");
	gpc_wrap_text("Runs GPU jobs from submit to results: streams the logs, "
		"saves checkpoints, survives interruptions, gives the machine "
		"back, and says what it cost. So far the machine is "
		"this one, or one of Amazon EC2.",
		0, 0, width, out);
	add_group("Life cycle", GPC_GROUP_LIFE, out);
	add_group("Around it", GPC_GROUP_AROUND, out);
	gpc_buf_adds(out, "\nOptions of every command:\n");
	gpc_opt_help(gpc_opts_global, width, out);
	gpc_buf_adds(out, "\nOptions before a command:\n");
	gpc_opt_help(gpc_opts_first, width, out);
	gpc_opt_help(gpc_opts_store, width, out);
	gpc_buf_addc(out, '\n');
	gpc_wrap_text("The options of one command: gpucloud COMMAND --help. "
		"Manual: man gpucloud.", 0, 0, width, out);
}

void gpc_help_usage(const struct gpc_command *command, struct gpc_buf *out)
{
	struct gpc_str rest = gpc_str_of(command->usage), line;
	const char *lead = "usage:";

	while (gpc_str_split(&rest, '\n', &line)) {
		gpc_buf_addf(out, "%s gpucloud %s", lead, command->name);
		if (line.len)
			gpc_buf_addf(out, " %.*s", (int)line.len, line.ptr);
		gpc_buf_addc(out, '\n');
		lead = "      ";
	}
}

void gpc_help_command(const struct gpc_command *command, size_t width,
	struct gpc_buf *out)
{
	gpc_help_usage(command, out);
	gpc_buf_addc(out, '\n');
	if (command->about) {
		gpc_wrap_text(command->about, 0, 0, width, out);
	} else {
		/* a sentence out of the summary */
		char first = command->summary[0];
		if (first >= 'a' && first <= 'z')
			first = (char)(first - 'a' + 'A');
		gpc_buf_addf(out, "%c%s.\n", first, command->summary + 1);
	}
	gpc_buf_adds(out, "\nOptions:\n");
	gpc_opt_help(command->options, width, out);
	if (command->flags & GPC_CMD_OUTPUT)
		gpc_opt_help(gpc_opts_output, width, out);
	if (command->flags & GPC_CMD_STORE)
		gpc_opt_help(gpc_opts_store, width, out);
	gpc_opt_help(gpc_opts_global, width, out);
}

int gpc_help_print(struct gpc_cmd *c, const struct gpc_buf *text,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	size_t width = gpc_help_width(&c->out);
	struct gpc_str rest = {text->data, text->len}, line;
	bool usage = true;              /* until the first empty line */
	int r = gpc_buf_check(text, err);

	if (r)
		return r;
	if (c->out.width <= 0 || c->out.width >= WIDTH)
		return gpc_out_print(&c->out, err, "%s", text->data);
	if (rest.len && rest.ptr[rest.len - 1] == '\n')
		rest.len--;
	while (gpc_str_split(&rest, '\n', &line)) {
		gpc_autostr *one = gpc_strndup(line.ptr, line.len);

		usage = usage && line.len > 0;
		if (gpc_utf8_width(one) <= width)
			gpc_buf_addf(&b, "%s\n", one);
		else if (usage && line.len > USAGE)
			gpc_wrap_line(one, USAGE, USAGE + 2, width, &b);
		else
			gpc_wrap_talk(one, width, &b);
	}
	r = gpc_buf_check(&b, err);
	return r ? r : gpc_out_print(&c->out, err, "%s", gpc_buf_str(&b));
}
