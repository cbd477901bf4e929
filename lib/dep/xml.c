/* XML by expat, which is opened at the first document. What services answer is a
 * tree of elements with text; everything beyond that is what attacks are made of,
 * so a document type declaration ends the parse before its first entity. Expat
 * sees the whole document at once and its depth and size are limited before,
 * which leaves no place for work that grows faster than the input.
 */
#include "dep/xml.h"

#include <expat.h>
#include <string.h>

#include "base/str.h"
#include "dep/dl.h"

#define FUNCTIONS(X) \
	X(XML_ParserCreate) \
	X(XML_ParserFree) \
	X(XML_SetUserData) \
	X(XML_SetElementHandler) \
	X(XML_SetCharacterDataHandler) \
	X(XML_SetStartDoctypeDeclHandler) \
	X(XML_SetXmlDeclHandler) \
	X(XML_Parse) \
	X(XML_StopParser) \
	X(XML_GetErrorCode) \
	X(XML_ErrorString) \
	X(XML_GetCurrentLineNumber) \
	X(XML_GetCurrentColumnNumber)

GPC_DL_TABLE(FUNCTIONS, GPC_DL_NONE);

static struct gpc_dl dl = GPC_DL_INIT("expat", "libexpat1",
	symbols, &lib, "libexpat.so.1", "libexpat.1.dylib");

/* An element that is open. */
struct level {
	struct gpc_xml *x, *last;       /* its newest child */
	char *text;
	size_t len, cap;
};

struct tree {
	XML_Parser parser;
	struct level levels[GPC_XML_MAX_DEPTH];
	int depth;
	size_t n;
	struct gpc_xml *root;
	const char *why;                /* why we stopped it */
	bool no_memory;
};

static void stop(struct tree *t, const char *why)
{
	t->why = why;
	lib.XML_StopParser(t->parser, XML_FALSE);
}

static void stop_without_memory(struct tree *t)
{
	t->no_memory = true;
	stop(t, "no memory is left");
}

/* The name lies behind its element, and the NUL at its end is the empty text. */
static struct gpc_xml *new_element(const char *name)
{
	const char *colon = strrchr(name, ':');
	const char *local = colon && colon[1] ? colon + 1 : name;
	size_t n = strlen(local);
	struct gpc_xml *x = gpc_try_grow(NULL, 1, sizeof(*x) + n + 1);

	if (!x)
		return NULL;
	*x = (struct gpc_xml){.name = (char *)(x + 1)};
	memcpy(x->name, local, n + 1);
	x->text = x->name + n;
	return x;
}

static void XMLCALL begin(void *arg, const XML_Char *name,
	const XML_Char **attributes)
{
	struct tree *t = arg;
	struct level *up = t->depth > 0 ? &t->levels[t->depth - 1] : NULL;
	struct gpc_xml *x;

	(void)attributes;
	if (t->why)
		return;
	if (t->depth == GPC_XML_MAX_DEPTH || t->n == GPC_XML_MAX_ELEMENTS) {
		stop(t, t->n == GPC_XML_MAX_ELEMENTS ? "too many elements"
			: "elements nested too deeply");
		return;
	}
	x = new_element(name);
	if (!x) {
		stop_without_memory(t);
		return;
	}
	t->n++;
	if (!up)
		t->root = x;
	else if (up->last)
		up->last->next = x;
	else
		up->x->first = x;
	if (up)
		up->last = x;
	t->levels[t->depth++] = (struct level){.x = x};
}

static void XMLCALL end(void *arg, const XML_Char *name)
{
	struct tree *t = arg;
	struct level *top;

	(void)name;
	if (t->why)
		return;
	top = &t->levels[--t->depth];
	if (top->len > 0)
		top->x->text = gpc_steal(&top->text);
	free(top->text);
}

static void XMLCALL add_text(void *arg, const XML_Char *s, int n)
{
	struct tree *t = arg;
	struct level *top;
	size_t need;

	if (t->why || t->depth == 0 || n <= 0)
		return;
	top = &t->levels[t->depth - 1];
	need = top->len + (size_t)n + 1;
	if (need > top->cap) {
		size_t cap = top->cap == 0 ? need : need + need / 2;
		char *text = gpc_try_grow(top->text, cap, 1);

		if (!text) {
			stop_without_memory(t);
			return;
		}
		top->text = text;
		top->cap = cap;
	}
	memcpy(top->text + top->len, s, (size_t)n);
	top->len += (size_t)n;
	top->text[top->len] = '\0';
}

static void XMLCALL refuse_doctype(void *arg, const XML_Char *name,
	const XML_Char *system, const XML_Char *public, int internal)
{
	(void)name;
	(void)system;
	(void)public;
	(void)internal;
	stop(arg, "a document type declaration");
}

static void XMLCALL check_encoding(void *arg, const XML_Char *version,
	const XML_Char *encoding, int standalone)
{
	(void)version;
	(void)standalone;
	if (encoding && !gpc_eq_nocase(encoding, "utf-8")
		&& !gpc_eq_nocase(encoding, "us-ascii"))
		stop(arg, "an encoding other than UTF-8");
}

static int fail_at(const struct tree *t, struct gpc_error *err)
{
	const char *why = t->why ? t->why
		: lib.XML_ErrorString(lib.XML_GetErrorCode(t->parser));

	return gpc_fail(err, t->no_memory ? GPC_EIO : GPC_EPROTO,
		"XML that cannot be read: %s (line %lu, column %lu)", why,
		(unsigned long)lib.XML_GetCurrentLineNumber(t->parser),
		(unsigned long)lib.XML_GetCurrentColumnNumber(t->parser) + 1);
}

static int parse(struct tree *t, const char *text, size_t n,
	struct gpc_error *err)
{
	int r = 0;

	t->parser = lib.XML_ParserCreate("UTF-8");
	if (!t->parser)
		return gpc_fail(err, GPC_EIO, "no memory for a parser of XML");
	lib.XML_SetUserData(t->parser, t);
	lib.XML_SetElementHandler(t->parser, begin, end);
	lib.XML_SetCharacterDataHandler(t->parser, add_text);
	lib.XML_SetStartDoctypeDeclHandler(t->parser, refuse_doctype);
	lib.XML_SetXmlDeclHandler(t->parser, check_encoding);
	if (lib.XML_Parse(t->parser, text, (int)n, XML_TRUE) != XML_STATUS_OK)
		r = fail_at(t, err);
	lib.XML_ParserFree(t->parser);
	while (t->depth > 0)
		free(t->levels[--t->depth].text);
	return r;
}

int gpc_xml_parse(const char *text, size_t n, struct gpc_xml **ret_root,
	struct gpc_error *err)
{
	struct tree t = {0};
	int r = gpc_dl_open(&dl, err);

	if (r < 0)
		return r;
	if (n > GPC_XML_MAX_BYTES)
		return gpc_fail(err, GPC_EPROTO, "XML that cannot be read: "
			"longer than %d MiB", GPC_XML_MAX_BYTES >> 20);
	if (!gpc_utf8_valid(text, n))
		return gpc_fail(err, GPC_EPROTO,
			"XML that cannot be read: not UTF-8");
	r = parse(&t, text, n, err);
	if (r < 0) {
		gpc_xml_free(t.root);
		return r;
	}
	*ret_root = t.root;
	return 0;
}

/* As deep as the tree, which is limited. */
void gpc_xml_free(struct gpc_xml *root)
{
	while (root) {
		struct gpc_xml *next = root->next;

		gpc_xml_free(root->first);
		if (root->text != root->name + strlen(root->name))
			free(root->text);
		free(root);
		root = next;
	}
}

const struct gpc_xml *gpc_xml_get(const struct gpc_xml *x, const char *path)
{
	size_t n = strcspn(path, "/");

	if (!x)
		return NULL;
	for (x = x->first; x; x = x->next) {
		const struct gpc_xml *found = x;

		if (strncmp(x->name, path, n) != 0 || x->name[n] != '\0')
			continue;
		if (path[n] == '/')
			found = gpc_xml_get(x, path + n + 1);
		if (found)
			return found;
	}
	return NULL;
}

const char *gpc_xml_text(const struct gpc_xml *x, const char *path)
{
	const struct gpc_xml *found = gpc_xml_get(x, path);

	return found ? found->text : "";
}

const struct gpc_xml *gpc_xml_again(const struct gpc_xml *x)
{
	if (!x)
		return NULL;
	for (const struct gpc_xml *next = x->next; next; next = next->next)
		if (gpc_eq(next->name, x->name))
			return next;
	return NULL;
}

void gpc_xml_add_text(struct gpc_buf *to, const char *text)
{
	for (const char *p = text; *p; p++)
		switch (*p) {
		case '&': gpc_buf_adds(to, "&amp;"); break;
		case '<': gpc_buf_adds(to, "&lt;"); break;
		case '>': gpc_buf_adds(to, "&gt;"); break;
		case '"': gpc_buf_adds(to, "&quot;"); break;
		/* readers would make other characters of them */
		case '\t': case '\n': case '\r':
			gpc_buf_addf(to, "&#%d;", *p);
			break;
		default: gpc_buf_addc(to, *p);
		}
}

/* XML 1.0, production 2. */
bool gpc_xml_can_hold(const char *text)
{
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < 0x20 && !strchr("\t\n\r", *p))
			return false;
	return !strstr(text, "\xef\xbf\xbe") && !strstr(text, "\xef\xbf\xbf");
}
