/* base64.h: bytes as text (RFC 4648, with padding). */
#ifndef EP_API_JSON_BASE64_H
#define EP_API_JSON_BASE64_H

#include "api/json/writer.h"

/* The text alone, outside JSON's grammar. */
void ep_base64_write(ep_writer *writer, const unsigned char *bytes, size_t count);
/* The text as a JSON string. */
void ep_base64_string_write(ep_writer *writer, const unsigned char *bytes, size_t count);

/* Reads exactly `count` bytes; false: the text is not theirs. bytes: [count], written. */
bool ep_base64_read(const char *text, unsigned char *bytes, size_t count);

#endif
