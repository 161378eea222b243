#include "api/wire/event_seal.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

static const char KEY[] = ",\"crc\":\"";

enum { KEY_BYTES = sizeof KEY - 1, DIGITS = 8 };
_Static_assert(KEY_BYTES + DIGITS + 1 == EP_EVENT_SEAL_BYTES, "the key, the digits and a quote");

/* Writes the digits: [DIGITS + 1]. */
static void digits_write(const char *line, size_t bytes, char *digits) {
  unsigned long crc = crc32_z(0, (const unsigned char *)line, bytes);
  snprintf(digits, DIGITS + 1, "%08lx", crc);
}

void ep_event_seal_write(ep_writer *writer) {
  char digits[DIGITS + 1];
  if (writer->failed) return;
  digits_write(writer->text, writer->count, digits);
  ep_writer_member_string(writer, "crc", digits);
}

ep_event_seal ep_event_seal_check(const char *line, size_t bytes) {
  char digits[DIGITS + 1];
  if (bytes <= EP_EVENT_SEAL_BYTES + 1 || line[bytes - 1] != '}') return EP_SEAL_ABSENT;
  size_t covered = bytes - 1 - EP_EVENT_SEAL_BYTES;
  if (memcmp(line + covered, KEY, KEY_BYTES) != 0) return EP_SEAL_ABSENT;
  digits_write(line, covered, digits);
  bool whole = memcmp(line + covered + KEY_BYTES, digits, DIGITS) == 0 && line[bytes - 2] == '"';
  return whole ? EP_SEAL_WHOLE : EP_SEAL_BROKEN;
}
