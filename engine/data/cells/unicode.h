/* unicode.h: one spelling for the same characters. macOS writes "é" as two code points, other
 * systems as one; a spreadsheet puts U+00A0 behind a word. Texts compare by what this returns. */
#ifndef EP_ENGINE_DATA_CELLS_UNICODE_H
#define EP_ENGINE_DATA_CELLS_UNICODE_H

#include <stdbool.h>
#include <stddef.h>

/* Drops white space at both ends (property White_Space). */
void ep_text_trim(const char **text, size_t *bytes);

/* Normalizes to NFC (Unicode Standard Annex 15) and drops white space at both ends. *text:
 * [*bytes], lent. Afterwards it is a part of the same text, and *owned is NULL; or, where NFC has
 * other bytes, *text is *owned, which ends in 0 and is the caller's (free). ASCII and Latin take no
 * allocation. Bytes that are not UTF-8 stay as they are. False: memory is short, and only the white
 * space is dropped. */
bool ep_text_nfc(const char **text, size_t *bytes, char **owned);

/* Whether two names are equal in NFC, without the space around them; "" equals "" alone. */
bool ep_text_equals(const char *one, const char *other);

/* The bytes of a space that may stand within a number, or before its unit, at the beginning of the
 * text: that of ASCII, U+00A0, U+2009, U+202F; 0: there is none. */
size_t ep_text_space_bytes(const char *at, const char *end);

#endif
