/* notify: who is told, and when. An item is a command, always a list of words,
 * so that no shell ever reads a text that came with a spec, or an address. What
 * an item is and when it is told are checked here; core/notify.c tells. */
#include <string.h>

#include "base/vec.h"
#include "model/hook.h"
#include "model/spec_notify.h"
#include "model/spec_read.h"

enum { MAX_ITEMS = 32, MAX_WORDS = 256 };
#define MAX_BYTES ((size_t)64 << 10)            /* of one command */
#define DEFAULT_ON GPC_NOTIFY_END

const char *const gpc_notify_words[] = {
	"start", "checkpoint", "recovering", "success", "failure", "end", NULL,
};

static const char item_form[] = "a map such as {command: [notify-send, done], "
	"on: [failure]}, or an address";

/* --- when -------------------------------------------------------------------- */

static int read_word(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, unsigned *on)
{
	const char *text = gpc_spec_text(node), *near = NULL;
	size_t n = 0;

	for (; gpc_notify_words[n]; n++) {
		if (text && gpc_eq(text, gpc_notify_words[n])) {
			*on |= 1U << n;
			return 0;
		}
	}
	/* YAML 1.1 makes `on` a boolean; nobody means it as a word here */
	near = text ? gpc_nearest(text, gpc_notify_words, n) : NULL;
	if (near)
		return gpc_spec_expected(r, f, node, "start, checkpoint, "
			"recovering, success, failure or end; did you mean '%s'?",
			near);
	return gpc_spec_expected(r, f, node, "start, checkpoint, recovering, "
		"success, failure or end");
}

static int read_on(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, void *slot)
{
	unsigned on = 0;
	int e = 0;

	if (node->kind == GPC_YAML_LIST) {
		if (!node->n || node->n > MAX_ITEMS)
			return gpc_spec_expected(r, f, node, "a list such as "
				"[start, end]");
		for (size_t i = 0; !e && i < node->n; i++)
			e = read_word(r, f, node->items[i], &on);
	} else {
		e = read_word(r, f, node, &on);
	}
	if (!e && slot)
		*(unsigned *)slot = on;
	return e;
}

static struct gpc_json *write_on(const struct gpc_spec_field *f,
	const void *slot)
{
	unsigned on = *(const unsigned *)slot;

	(void)f;
	return on == DEFAULT_ON || !on ? NULL : gpc_notify_on_json(on);
}

static void clear_on(const struct gpc_spec_field *f, void *slot)
{
	(void)f;
	*(unsigned *)slot = 0;
}

const struct gpc_spec_kind gpc_kind_notify_on = {read_on, write_on, clear_on};

struct gpc_json *gpc_notify_on_json(unsigned on)
{
	struct gpc_json *list = gpc_json_array();

	for (size_t i = 0; gpc_notify_words[i]; i++) {
		if (on & 1U << i)
			gpc_json_add(list, gpc_json_string(gpc_notify_words[i]));
	}
	return list;
}

/* --- what -------------------------------------------------------------------- */

static int read_command(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *slot)
{
	gpc_auto(gpc_strv) struct gpc_strv words = {0};
	size_t bytes = 0;
	int e;

	if (node->kind != GPC_YAML_LIST || !node->n || node->n > MAX_WORDS) {
		e = gpc_spec_expected(r, f, node, "a list of words, such as "
			"[notify-send, done]");
		if (node->kind == GPC_YAML_SCALAR)
			gpc_hint(r->err, "no shell reads it; for a line of one, "
				"write [sh, -c, 'LINE']");
		return e;
	}
	for (size_t i = 0; i < node->n; i++) {
		const char *word = gpc_spec_text(node->items[i]);

		if (!word || (!i && !*word))
			return gpc_spec_expected(r, f, node->items[i],
				"a word, in quotes if it is not text");
		bytes += strlen(word) + 1;
		if (bytes > MAX_BYTES)
			return gpc_spec_fail(r, node, "notify.command: longer "
				"than %zu KiB", MAX_BYTES >> 10);
		gpc_strv_add(&words, word);
	}
	if (slot) {
		gpc_strv_clear(slot);
		*(struct gpc_strv *)slot = words;
		words = (struct gpc_strv){0};
	}
	return 0;
}

static struct gpc_json *write_command(const struct gpc_spec_field *f,
	const void *slot)
{
	const struct gpc_strv *words = slot;
	struct gpc_json *list;

	(void)f;
	if (!words->n)
		return NULL;
	list = gpc_json_array();        /* also of one word */
	for (size_t i = 0; i < words->n; i++)
		gpc_json_add(list, gpc_json_string(words->v[i]));
	return list;
}

static void clear_command(const struct gpc_spec_field *f, void *slot)
{
	(void)f;
	gpc_strv_clear(slot);
}

const struct gpc_spec_kind gpc_kind_notify_command = {
	read_command, write_command, clear_command,
};

/* --- addresses ------------------------------------------------------------------ */

/* The text is not repeated: it may be a secret. */
static int read_url(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, void *slot)
{
	const char *text = gpc_spec_text(node), *fault;

	if (!text)
		return gpc_spec_expected(r, f, node, "an address such as "
			"https://example.org/hook");
	fault = gpc_hook_fault(text);
	if (fault)
		return gpc_spec_fail(r, node, "notify.url: %s", fault);
	if (slot)
		gpc_set_str(slot, text);
	return 0;
}

static struct gpc_json *write_url(const struct gpc_spec_field *f,
	const void *slot)
{
	const char *url = *(char *const *)slot;
	gpc_autostr *brief = url ? gpc_hook_short(url) : NULL;

	(void)f;
	return brief ? gpc_json_string(brief) : NULL;
}

static void clear_url(const struct gpc_spec_field *f, void *slot)
{
	(void)f;
	if (*(char **)slot)
		gpc_spec_wipe(*(char **)slot);
	gpc_set_str(slot, NULL);
}

const struct gpc_spec_kind gpc_kind_notify_url = {
	read_url, write_url, clear_url,
};

/* --- the list ------------------------------------------------------------------ */

static int read_item(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, struct gpc_spec_notice *x)
{
	const char *text = gpc_spec_text(node);
	int e = 0;

	if (text && strstr(text, "://"))
		e = read_url(r, f, node, &x->url);
	else if (node->kind == GPC_YAML_MAP)
		e = gpc_spec_read_section(r, "notice", node, x);
	else
		return gpc_spec_expected(r, f, node, "%s", item_form);
	if (!x->on)
		x->on = DEFAULT_ON;
	if (!e && !x->url == !x->command.n)
		return gpc_spec_fail(r, node, "notify: an item needs %s",
			x->url ? "command or url, not both" :
			"'command' or 'url'");
	return e;
}

static int read_notify(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *slot)
{
	gpc_auto(gpc_spec_notify) struct gpc_spec_notify list = {0};
	struct gpc_spec_reader inner = *r;
	bool many = node->kind == GPC_YAML_LIST;
	size_t n = many ? node->n : 1;

	inner.spec = NULL;
	if (n > MAX_ITEMS)
		return gpc_spec_fail(r, node, "notify: more than %d items",
			MAX_ITEMS);
	for (size_t i = 0; i < n; i++) {
		int e = read_item(&inner, f, many ? node->items[i] : node,
			gpc_vec_push(&list));

		if (e)
			return e;
	}
	if (slot) {
		gpc_spec_notify_clear(slot);
		*(struct gpc_spec_notify *)slot = list;
		list = (struct gpc_spec_notify){0};
	}
	return 0;
}

static struct gpc_json *write_notify(const struct gpc_spec_field *f,
	const void *slot)
{
	const struct gpc_spec_notify *list = slot;

	(void)f;
	return list->n ? gpc_spec_notify_json(list) : NULL;
}

static void clear_notify(const struct gpc_spec_field *f, void *slot)
{
	(void)f;
	gpc_spec_notify_clear(slot);
}

const struct gpc_spec_kind gpc_kind_notify = {
	read_notify, write_notify, clear_notify,
};

void gpc_spec_notify_clear(struct gpc_spec_notify *list)
{
	for (size_t i = 0; i < list->n; i++)
		gpc_spec_clear_section("notice", &list->v[i]);
	gpc_vec_free(list);
}

struct gpc_json *gpc_spec_notify_json(const struct gpc_spec_notify *list)
{
	struct gpc_json *array = gpc_json_array();

	for (size_t i = 0; i < list->n; i++) {
		struct gpc_json *object = gpc_json_object();

		gpc_spec_write_section("notice", &list->v[i], object);
		gpc_json_add(array, object);
	}
	return array;
}

struct gpc_json *gpc_notify_json(const struct gpc_spec_notify *list)
{
	struct gpc_json *array = gpc_json_array();

	for (size_t i = 0; i < list->n; i++) {
		const struct gpc_spec_notice *x = &list->v[i];
		struct gpc_json *j = gpc_json_object();
		struct gpc_json *words = gpc_json_array();
		gpc_autostr *brief = x->url ? gpc_hook_shown(x->url) : NULL;

		for (size_t k = 0; k < x->command.n; k++)
			gpc_json_add(words, gpc_json_string(x->command.v[k]));
		gpc_json_set(j, "command", words);
		gpc_json_set(j, "url", brief ? gpc_json_string(brief) :
			gpc_json_null());
		gpc_json_set(j, "on", gpc_notify_on_json(x->on));
		gpc_json_add(array, j);
	}
	return array;
}

int gpc_spec_notify_read(const struct gpc_json *j, const char *name,
	struct gpc_spec_notify *ret_list, struct gpc_error *err)
{
	gpc_auto(gpc_yaml_docs) struct gpc_yaml_docs docs = {0};
	struct gpc_spec_reader r = { .name = name, .docs = &docs, .err = err };
	int e = gpc_yaml_from_json(j, name, &docs, err);

	return e ? e : read_notify(&r, gpc_spec_field_find("task", "notify"),
		gpc_yaml_root(docs.v[0]), ret_list);
}

/* --- after reading --------------------------------------------------------------- */

int gpc_spec_notify_check(const struct gpc_spec *spec, struct gpc_error *err)
{
	gpc_vec_each(x, &spec->notify) {
		gpc_autostr *where = NULL;

		if (!x->url || !gpc_hook_is_short(x->url))
			continue;
		where = gpc_spec_where(spec, "notify");
		return gpc_fail(err, GPC_ECONFIG, "%s: notify '%s' is the short "
			"form that gpucloud shows: write the whole address",
			where, x->url);
	}
	return 0;
}

char *gpc_notice_text(const struct gpc_spec_notice *x)
{
	gpc_auto(gpc_strv) struct gpc_strv words = {0}, on = {0};
	gpc_autostr *what = x->url ? gpc_hook_shown(x->url) : NULL, *when = NULL;

	for (size_t i = 0; i < x->command.n; i++)
		gpc_strv_take(&words, gpc_shell_quote(x->command.v[i]));
	for (size_t i = 0; gpc_notify_words[i]; i++) {
		if (x->on & 1U << i)
			gpc_strv_add(&on, gpc_notify_words[i]);
	}
	if (!what)
		what = gpc_strv_join(&words, " ");
	when = gpc_strv_join(&on, ", ");
	return gpc_format("%s (on %s)", what, when);
}
