/* Options of a store's URL, NAME=VALUE behind its ?, joined by &. */
#pragma once
#include <stddef.h>

/* Where the value of `word` ("journal=") begins, borrowed; *ret_n: its length. NULL
 * when it is not there. */
const char *gpc_store_word(const char *url, const char *word, size_t *ret_n);
/* The URL without the word; owned. */
char *gpc_store_without_word(const char *url, const char *word);
