/* See words.h. Nothing is decoded: the names are ours, and values stay as they are. */
#include "store/words.h"

#include <string.h>

#include "base/str.h"

const char *gpc_store_word(const char *url, const char *word, size_t *ret_n)
{
	const char *p = strchr(url, '?');

	while (p) {
		p++;
		if (gpc_starts_with(p, word)) {
			p += strlen(word);
			*ret_n = strcspn(p, "&");
			return p;
		}
		p = strchr(p, '&');
	}
	return NULL;
}

char *gpc_store_without_word(const char *url, const char *word)
{
	size_t n = 0, head;
	const char *value = gpc_store_word(url, word, &n);

	if (!value)
		return gpc_strdup(url);
	head = (size_t)(value - url) - strlen(word) - 1;
	return value[n] ? gpc_format("%.*s%c%s", (int)head, url, url[head],
		value + n + 1) : gpc_strndup(url, head);
}
