/* utf8.h: characters of UTF-8 (RFC 3629). */
#ifndef EP_API_JSON_UTF8_H
#define EP_API_JSON_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EP_UTF8_BYTES = 4 }; /* of one character, at most */

/* Bytes of the character at `text` (1 … 4), or 0 where there is none within `bytes`: overlong forms
 * and surrogates are no characters. */
size_t ep_utf8_character(const char *text, size_t bytes);

/* Writes a character, out: [EP_UTF8_BYTES]. Returns its bytes. */
size_t ep_utf8_write(uint32_t code, char *out);

/* Whether all of the text is UTF-8. */
bool ep_utf8_valid(const char *text, size_t bytes);

/* Whether each character of the text shows: none is a control character (C0, C1), one that only
 * formats (category Cf of Unicode 15: bidirectional controls, tags, U+FEFF; but for the two
 * joiners, which emoji and Persian words need), a line or paragraph separator, or a letter without
 * a glyph. What is no UTF-8 does not show either. */
bool ep_utf8_shows(const char *text, size_t bytes);

#endif
