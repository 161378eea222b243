/* excerpt.h: a piece of somebody's file as it can be shown in a message: short, one line, UTF-8. */
#ifndef EP_ENGINE_FILES_EXCERPT_H
#define EP_ENGINE_FILES_EXCERPT_H

#include <stdbool.h>
#include <stddef.h>

enum { EP_EXCERPT_BYTES = 64 };

/* Writes at most 40 bytes of the text, cut between characters ("…" shows that it was), with every
 * control character and every byte that is not UTF-8 as '?'. Ends in 0. Returns `out`. */
const char *ep_excerpt(char out[EP_EXCERPT_BYTES], const char *text, size_t bytes);

/* Bytes of the UTF-8 character at `text` (1 … 4), or 0 when there is none: overlong forms and
 * surrogates are none. */
size_t ep_utf8_character(const char *text, size_t bytes);
bool ep_utf8_valid(const char *text, size_t bytes);

#endif
