/* Git's wildmatch as a machine of states instead of a recursion: all places in
 * the pattern that the text can have reached are followed at once, so that a
 * hostile pattern costs pattern times text and no more. The language is git's
 * to the letter, its oddities included; tests compare it with git itself.
 */
#include "snapshot/wild.h"

#include <string.h>

enum {
	T_CHAR,
	T_ANY,      /* one byte; no slash when pathname */
	T_SET,      /* to: index of the set */
	T_STAR,     /* any bytes but a slash */
	T_GLOBSTAR, /* any bytes */
	T_FORK,     /* also go on at token `to` */
};

struct source { const char *p, *end; };

static int peek(const struct source *s, size_t at)
{
	return s->p + at < s->end ? (unsigned char)s->p[at] : 0;
}

static void emit(struct gpc_wild *w, int kind, int ch, size_t to)
{
	struct gpc_wild_token *t = gpc_vec_push(&w->tokens);

	t->kind = (uint8_t)kind;
	t->ch = (uint8_t)ch;
	t->to = (uint16_t)to;
}

static void set_add(struct gpc_wild_set *set, int from, int to)
{
	for (int c = from; c <= to; c++)
		set->bits[c >> 3] |= (uint8_t)(1 << (c & 7));
}

static bool set_has(const struct gpc_wild_set *set, unsigned char c)
{
	return set->bits[c >> 3] & (1 << (c & 7));
}

/* Git's own character classes: ASCII, whatever the locale. */
static const struct {
	const char *name;
	struct { uint8_t from, to; } ranges[4];
} classes[] = {
	{"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
	{"alpha", {{'A', 'Z'}, {'a', 'z'}}},
	{"blank", {{' ', ' '}, {'\t', '\t'}}},
	{"cntrl", {{1, 31}, {127, 127}}},
	{"digit", {{'0', '9'}}},
	{"graph", {{33, 126}}},
	{"lower", {{'a', 'z'}}},
	{"print", {{32, 126}}},
	{"punct", {{33, 47}, {58, 64}, {91, 96}, {123, 126}}},
	{"space", {{' ', ' '}, {'\t', '\n'}, {'\r', '\r'}}},
	{"upper", {{'A', 'Z'}}},
	{"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
};

static bool add_class(struct gpc_wild_set *set, const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		if (strlen(classes[i].name) != n
			|| memcmp(classes[i].name, name, n) != 0)
			continue;
		for (size_t r = 0; r < 4 && classes[i].ranges[r].to; r++)
			set_add(set, classes[i].ranges[r].from,
				classes[i].ranges[r].to);
		return true;
	}
	return false;
}

/* "[:name:]" with s->p at its "[". Sets *ret_named when there was one; false
 * when the whole pattern is malformed. */
static bool read_class(struct source *s, struct gpc_wild_set *set,
	bool *ret_named)
{
	size_t close = 2;

	while (peek(s, close) && peek(s, close) != ']')
		close++;
	if (!peek(s, close))
		return false;
	*ret_named = close >= 3 && peek(s, close - 1) == ':';
	if (!*ret_named)
		return true;
	if (!add_class(set, s->p + 2, close - 3))
		return false;
	s->p += close;
	return true;
}

/* One member of a set; *previous is the start of a possible range, 0 = none.
 * Leaves s->p at the member's last byte. */
static bool read_member(struct source *s, struct gpc_wild_set *set,
	int *previous)
{
	int c = peek(s, 0);
	bool named = false;

	if (c == '-' && *previous && peek(s, 1) && peek(s, 1) != ']') {
		s->p++;
		if (peek(s, 0) == '\\')
			s->p++;
		if (!peek(s, 0))
			return false;
		set_add(set, *previous, peek(s, 0));
		*previous = 0;
		return true;
	}
	if (c == '[' && peek(s, 1) == ':') {
		if (!read_class(s, set, &named))
			return false;
		if (named) {
			*previous = 0;
			return true;
		}
	}
	if (c == '\\') {
		s->p++;
		c = peek(s, 0);
	}
	if (!c)
		return false;
	set_add(set, c, c);
	*previous = c;
	return true;
}

/* A set, with s->p behind its "["; leaves it behind the "]". */
static bool read_set(struct gpc_wild *w, struct source *s)
{
	struct gpc_wild_set set = {{0}};
	bool negated = peek(s, 0) == '!' || peek(s, 0) == '^';
	int previous = 0;

	if (negated)
		s->p++;
	do {
		if (!read_member(s, &set, &previous))
			return false;
		s->p++;
	} while (peek(s, 0) != ']');
	s->p++;
	for (size_t i = 0; negated && i < sizeof(set.bits); i++)
		set.bits[i] = (uint8_t)~set.bits[i];
	if (w->pathname)
		set.bits['/' >> 3] &= (uint8_t)~(1 << ('/' & 7));
	emit(w, T_SET, 0, w->sets.n);
	*gpc_vec_push(&w->sets) = set;
	return true;
}

/* One or more stars, with s->p at the first; start: of the pattern. */
static void read_stars(struct gpc_wild *w, struct source *s, const char *start)
{
	bool begins = s->p == start || s->p[-1] == '/';
	size_t n = 0;
	int next;

	while (peek(s, n) == '*')
		n++;
	s->p += n;
	next = peek(s, 0);
	if (!w->pathname) {
		emit(w, T_GLOBSTAR, 0, 0);
		return;
	}
	if (n == 1 || !begins || (next != 0 && next != '/'
		&& !(next == '\\' && peek(s, 1) == '/'))) {
		emit(w, T_STAR, 0, 0);
		return;
	}
	if (next == '/')        /* no folder at all: on behind the slash */
		emit(w, T_FORK, 0, w->tokens.n + 3);
	emit(w, T_GLOBSTAR, 0, 0);
}

void gpc_wild_compile(const char *pattern, size_t n, bool pathname,
	struct gpc_wild *ret_w)
{
	struct source s = {pattern, pattern + n};

	ret_w->pathname = pathname;
	while (s.p < s.end && !ret_w->never) {
		int c = peek(&s, 0);

		if (c == '*') {
			read_stars(ret_w, &s, pattern);
			continue;
		}
		s.p++;
		if (c == '?') {
			emit(ret_w, T_ANY, 0, 0);
		} else if (c == '[') {
			ret_w->never = !read_set(ret_w, &s);
		} else if (c == '\\') {
			ret_w->never = s.p == s.end;
			emit(ret_w, T_CHAR, peek(&s, 0), 0);
			s.p++;
		} else {
			emit(ret_w, T_CHAR, c, 0);
		}
	}
}

/* Adds what is reached from the states without a byte of text. All such steps
 * lead forward. Returns whether any state is left. */
static bool follow(const struct gpc_wild *w, uint8_t *states)
{
	bool any = states[w->tokens.n];

	for (size_t i = 0; i < w->tokens.n; i++) {
		if (!states[i])
			continue;
		any = true;
		if (w->tokens.v[i].kind == T_FORK)
			states[w->tokens.v[i].to] = 1;
		if (w->tokens.v[i].kind >= T_STAR)
			states[i + 1] = 1;
	}
	return any;
}

static void step(const struct gpc_wild *w, const uint8_t *from, uint8_t *to,
	unsigned char c)
{
	memset(to, 0, w->tokens.n + 1);
	for (size_t i = 0; i < w->tokens.n; i++) {
		const struct gpc_wild_token *t = &w->tokens.v[i];

		if (!from[i])
			continue;
		if (t->kind == T_CHAR)
			to[i + 1] |= t->ch == c;
		else if (t->kind == T_ANY)
			to[i + 1] |= !(w->pathname && c == '/');
		else if (t->kind == T_SET)
			to[i + 1] |= set_has(&w->sets.v[t->to], c);
		else if (t->kind == T_GLOBSTAR || (t->kind == T_STAR && c != '/'))
			to[i] = 1;
	}
}

bool gpc_wild_match(const struct gpc_wild *w, const char *text, size_t n)
{
	uint8_t states[2][2 * GPC_WILD_MAX];
	unsigned now = 0;

	if (w->never)
		return false;
	memset(states[0], 0, w->tokens.n + 1);
	states[0][0] = 1;
	if (!follow(w, states[0]))
		return false;
	for (size_t i = 0; i < n; i++) {
		step(w, states[now], states[!now], (unsigned char)text[i]);
		now = !now;
		if (!follow(w, states[now]))
			return false;
	}
	return states[now][w->tokens.n];
}

void gpc_wild_clear(struct gpc_wild *w)
{
	gpc_vec_free(&w->tokens);
	gpc_vec_free(&w->sets);
	w->never = false;
}
