/* utf8.h: characters of UTF-8 (RFC 3629). */
#ifndef EP_API_JSON_UTF8_H
#define EP_API_JSON_UTF8_H

#include <stdbool.h>
#include <stddef.h>

enum { EP_UTF8_BYTES = 4 }; /* of one character, at most */

/* Bytes of the character at `text` (1 … 4), or 0 where there is none within `bytes`: overlong forms
 * and surrogates are no characters. */
size_t ep_utf8_character(const char *text, size_t bytes);

/* Whether all of the text is UTF-8. */
bool ep_utf8_valid(const char *text, size_t bytes);

#endif
