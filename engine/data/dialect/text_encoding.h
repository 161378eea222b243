/* text_encoding.h: the encoding of a text, by its byte order mark, its zeros and its validity, and
 * the same text in UTF-8.
 *
 * The tables are the WHATWG Encoding Standard's. iconv would load modules at run time, which a
 * sandboxed process cannot do. */
#ifndef EP_ENGINE_DATA_DIALECT_TEXT_ENCODING_H
#define EP_ENGINE_DATA_DIALECT_TEXT_ENCODING_H

#include "engine/data/dialect/dialect.h"

#define EP_TEXT_ENCODING_NAMES "utf-8, utf-16le, utf-16be or windows-1252"

/* Finds the encoding of the bytes: [size]; mapped: they are a mapping's, of which what was read is
 * dropped. UTF-16 without a mark is known by its zeros; what is not
 * UTF-8 is Windows-1252, unless it has more characters of UTF-8 than bytes that are none. evidence:
 * [EP_DIALECT_EVIDENCE_BYTES], written. */
ep_text_encoding ep_text_encoding_find(const uint8_t *bytes, size_t size, bool mapped,
                                       char *evidence);

/* Whether the bytes may be a text in UTF-16: a mark, or zeros in every other place. */
bool ep_text_is_utf_16(const uint8_t *bytes, size_t size);

/* The same of UTF-32, which is not decoded. */
bool ep_text_is_utf_32(const uint8_t *bytes, size_t size);

/* Bytes of the mark that begins such a text; 0: it has none. */
size_t ep_text_mark_bytes(ep_text_encoding encoding, const uint8_t *bytes, size_t size);

/* Takes a piece of the text. */
typedef ep_status (*ep_text_write)(void *context, const char *text, size_t bytes, ep_error *error);

/* Gives the text in UTF-8, without its mark, to `write`, in pieces. EP_INVALID where the bytes are
 * not in that encoding, with the first such byte. UTF-8 is not checked. */
ep_status ep_text_decode(ep_text_encoding encoding, const uint8_t *bytes, size_t size,
                         ep_text_write write, void *context, ep_error *error);

#endif
