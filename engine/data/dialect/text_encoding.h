/* text_encoding.h: the encoding of a text, by its byte order mark, its zeros and its validity, and
 * the same text in UTF-8.
 *
 * The tables are the WHATWG Encoding Standard's. iconv would load modules at run time, which a
 * sandboxed process cannot do. */
#ifndef EP_ENGINE_DATA_DIALECT_TEXT_ENCODING_H
#define EP_ENGINE_DATA_DIALECT_TEXT_ENCODING_H

#include "engine/data/dialect/dialect.h"
#include "engine/files/mapping.h"

#define EP_TEXT_ENCODING_NAMES "utf-8, utf-16le, utf-16be or windows-1252"

/* Finds the encoding of the bytes: [size]; mapped: they are a mapping's, of which what was read is
 * dropped. UTF-16 without a mark is known by its zeros; what is not
 * UTF-8 is Windows-1252, unless it has more characters of UTF-8 than bytes that are none. evidence:
 * [EP_DIALECT_EVIDENCE_BYTES], written. EP_INVALID: some bytes are neither. */
ep_status ep_text_encoding_find(const uint8_t *bytes, size_t size, bool mapped,
                                ep_text_encoding *out, char *evidence, ep_error *error);

/* UTF-16, where a mark or zeros in every other place show it; else UTF-8. */
ep_text_encoding ep_text_utf_16(const uint8_t *bytes, size_t size);

/* The same of UTF-32, which is not decoded. */
bool ep_text_is_utf_32(const uint8_t *bytes, size_t size);

/* Bytes of the mark that begins such a text; 0: it has none. */
size_t ep_text_mark_bytes(ep_text_encoding encoding, const uint8_t *bytes, size_t size);

/* A text in UTF-8, without its mark. */
typedef struct {
  const char *start; /* [size], lent, or of `decoded` */
  size_t size;
  ep_mapping decoded; /* owned; empty: it was in UTF-8 before */
} ep_text;

/* Decodes into a file without a name (temporary_file.h); UTF-8 is neither copied nor checked.
 * budget_bytes: lowered by what is written; EP_TOO_LARGE. EP_INVALID where the bytes are not in
 * that encoding, with the first such byte. Afterwards, also on failure: ep_mapping_close of
 * `decoded`. */
ep_status ep_text_open(ep_text_encoding encoding, const uint8_t *bytes, size_t size,
                       const char *folder, int64_t *budget_bytes, ep_text *out, ep_error *error);

#endif
