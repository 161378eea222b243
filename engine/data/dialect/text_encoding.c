#include "engine/data/dialect/text_encoding.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/json/utf8.h"
#include "engine/files/durable_file.h"
#include "engine/files/temporary_file.h"

enum { PIECE_BYTES = 1 << 12, PROBE_BYTES = 4096, DROP_BYTES = 1 << 20 };

/* Windows-1252, 0x80 … 0x9F; 0: there is none. */
static const uint16_t windows_1252[32] = {
    0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0,      0x017D, 0,      0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};

static const struct {
  uint8_t bytes[3];
  size_t count;
} marks[EP_TEXT_ENCODINGS] = {[EP_TEXT_UTF_8] = {{0xEF, 0xBB, 0xBF}, 3},
                              [EP_TEXT_UTF_16LE] = {{0xFF, 0xFE}, 2},
                              [EP_TEXT_UTF_16BE] = {{0xFE, 0xFF}, 2}};

/* Whether the first characters are those of a text. */
static bool is_utf_32(const uint8_t *bytes, size_t size, bool big) {
  enum { CHARACTERS = 64 };
  for (size_t i = 0; i < size / 4 && i < CHARACTERS; i++) {
    const uint8_t *at = bytes + 4 * i;
    uint32_t code = 0;
    for (int k = 0; k < 4; k++) code = code << 8 | at[big ? k : 3 - k];
    if (code > 0x10FFFF || (code < ' ' && (code == 0 || !strchr("\t\n\r", (int)code))))
      return false;
  }
  return true;
}

bool ep_text_is_utf_32(const uint8_t *bytes, size_t size) {
  return size >= 8 && size % 4 == 0 &&
         (is_utf_32(bytes, size, false) || is_utf_32(bytes, size, true));
}

size_t ep_text_mark_bytes(ep_text_encoding encoding, const uint8_t *bytes, size_t size) {
  size_t count = marks[encoding].count;
  return count > 0 && size >= count && memcmp(bytes, marks[encoding].bytes, count) == 0 ? count : 0;
}

/* UTF-8: neither. In UTF-16 a text of Latin letters has a zero in every other place. */
static ep_text_encoding utf_16_find(const uint8_t *bytes, size_t size) {
  size_t probe = (size < PROBE_BYTES ? size : PROBE_BYTES) / 2, zeros[2] = {0};
  for (size_t i = 0; i < 2 * probe; i++) {
    zeros[i % 2] += bytes[i] == 0;
    if (bytes[i] > 0 && bytes[i] < ' ' && !strchr("\t\n\r", bytes[i]) && bytes[i ^ 1] == 0)
      return EP_TEXT_UTF_8; /* no text has such characters */
  }
  if (probe == 0 || size % 2 != 0) return EP_TEXT_UTF_8;
  if (zeros[1] > probe / 2 && zeros[0] == 0) return EP_TEXT_UTF_16LE;
  return zeros[0] > probe / 2 && zeros[1] == 0 ? EP_TEXT_UTF_16BE : EP_TEXT_UTF_8;
}

ep_text_encoding ep_text_utf_16(const uint8_t *bytes, size_t size) {
  if (ep_text_mark_bytes(EP_TEXT_UTF_16LE, bytes, size)) return EP_TEXT_UTF_16LE;
  if (ep_text_mark_bytes(EP_TEXT_UTF_16BE, bytes, size)) return EP_TEXT_UTF_16BE;
  return utf_16_find(bytes, size);
}

/* Characters of more than one byte, and bytes that begin none: `first` is the first of these. */
typedef struct {
  size_t characters, others, first;
  size_t undefined; /* the last of these that is no character of Windows-1252, from 1; 0: none */
} census;

static census bytes_count(const uint8_t *bytes, size_t size, bool mapped) {
  census found = {0};
  for (size_t i = 0, kept = 0; i < size;) {
    uint64_t ascii[4];
    if (mapped && i - kept >= DROP_BYTES) {
      ep_mapping_drop(bytes + kept, i - kept);
      kept = i;
    }
    if (i + sizeof ascii <= size) { /* as most text is */
      memcpy(ascii, bytes + i, sizeof ascii);
      if (((ascii[0] | ascii[1] | ascii[2] | ascii[3]) & UINT64_C(0x8080808080808080)) == 0) {
        i += sizeof ascii;
        continue;
      }
    }
    size_t length = ep_utf8_character((const char *)bytes + i, size - i);
    found.characters += length > 1;
    if (length == 0) {
      if (found.others++ == 0) found.first = i;
      if (bytes[i] < 0xA0 && windows_1252[bytes[i] & 0x1F] == 0) found.undefined = i + 1;
    }
    i += length ? length : 1;
  }
  return found;
}

/* The character at `at`; *code is 0x110000 where there is none. Returns its bytes. */
static size_t utf_16_take(const uint8_t *at, size_t left, bool big, uint32_t *code) {
  *code = 0x110000;
  if (left < 2) return left;
  uint32_t first = (uint32_t)at[!big] << 8 | at[big];
  if (first < 0xD800 || first > 0xDFFF) *code = first;
  if (first < 0xD800 || first > 0xDBFF || left < 4) return 2;
  uint32_t second = (uint32_t)at[2 + !big] << 8 | at[2 + big];
  if (second < 0xDC00 || second > 0xDFFF) return 2;
  *code = 0x10000 + ((first & 0x3FF) << 10 | (second & 0x3FF));
  return 4;
}

static size_t character_take(ep_text_encoding encoding, const uint8_t *at, size_t left,
                             uint32_t *code) {
  if (encoding != EP_TEXT_WINDOWS_1252)
    return utf_16_take(at, left, encoding == EP_TEXT_UTF_16BE, code);
  *code = *at;
  if (*at >= 0x80 && *at < 0xA0)
    *code = windows_1252[*at & 0x1F] ? windows_1252[*at & 0x1F] : 0x110000;
  return 1;
}

ep_status ep_text_encoding_find(const uint8_t *bytes, size_t size, bool mapped,
                                ep_text_encoding *out, char *evidence, ep_error *error) {
  char shown[EP_UTF8_BYTES + 1] = "";
  evidence[0] = 0;
  *out = ep_text_utf_16(bytes, size);
  bool marked = ep_text_mark_bytes(*out, bytes, size) > 0;
  if (marked || *out != EP_TEXT_UTF_8) {
    snprintf(evidence, EP_DIALECT_EVIDENCE_BYTES,
             marked ? "a byte order mark" : "a zero in every other byte");
    return EP_OK;
  }
  census found = bytes_count(bytes, size, mapped);
  if (found.others == 0 || found.characters > found.others) {
    if (found.others == 0 && found.characters > 0)
      snprintf(evidence, EP_DIALECT_EVIDENCE_BYTES, "%zu characters beyond ASCII, all valid",
               found.characters);
    return EP_OK;
  }
  if (found.undefined)
    return ep_fail(error, EP_INVALID,
                   "byte %zu (0x%02X) is neither UTF-8 nor windows-1252: save the text as UTF-8; "
                   "?encoding= takes " EP_TEXT_ENCODING_NAMES,
                   found.undefined, bytes[found.undefined - 1]);
  uint32_t code;
  character_take(EP_TEXT_WINDOWS_1252, bytes + found.first, 1, &code);
  ep_utf8_write(code, shown);
  snprintf(evidence, EP_DIALECT_EVIDENCE_BYTES,
           "%zu byte%s not UTF-8, the first is byte %zu (0x%02X, there `%s`)", found.others,
           found.others == 1 ? " is" : "s are", found.first + 1, bytes[found.first], shown);
  *out = EP_TEXT_WINDOWS_1252;
  return EP_OK;
}

/* A piece on its way. */
typedef struct {
  char text[PIECE_BYTES];
  size_t used;
  int file;
  int64_t *budget_bytes;
} piece;

static ep_status piece_flush(piece *out, ep_error *error) {
  size_t bytes = out->used;
  if ((int64_t)bytes > *out->budget_bytes)
    return ep_fail(error, EP_TOO_LARGE, "in UTF-8, the data exceeds the limit");
  *out->budget_bytes -= (int64_t)bytes;
  out->used = 0;
  return ep_file_write_all(out->file, out->text, bytes, error);
}

static ep_status character_put(piece *out, uint32_t code, ep_error *error) {
  if (out->used + EP_UTF8_BYTES > sizeof out->text) {
    ep_status status = piece_flush(out, error);
    if (status != EP_OK) return status;
  }
  out->used += ep_utf8_write(code, out->text + out->used);
  return EP_OK;
}

/* From behind the mark. */
static ep_status text_decode(ep_text_encoding encoding, const uint8_t *bytes, size_t size,
                             piece *out, ep_error *error) {
  ep_status status = EP_OK;
  size_t at = ep_text_mark_bytes(encoding, bytes, size);
  while (at < size && status == EP_OK) {
    uint32_t code;
    size_t taken = character_take(encoding, bytes + at, size - at, &code);
    if (code == 0)
      return ep_fail(
          error, EP_INVALID,
          "byte %zu is zero, as in UTF-32, which is not supported: save the text as UTF-8", at + 1);
    if (code == 0x110000)
      return ep_fail(error, EP_INVALID,
                     "byte %zu is not in the encoding %s: ?encoding= takes " EP_TEXT_ENCODING_NAMES,
                     at + 1, encoding == EP_TEXT_WINDOWS_1252 ? "windows-1252" : "UTF-16");
    status = character_put(out, code, error);
    at += taken;
  }
  return status == EP_OK ? piece_flush(out, error) : status;
}

ep_status ep_text_open(ep_text_encoding encoding, const uint8_t *bytes, size_t size,
                       const char *folder, int64_t *budget_bytes, ep_text *out, ep_error *error) {
  size_t mark = ep_text_mark_bytes(encoding, bytes, size);
  piece text = {.budget_bytes = budget_bytes};
  *out = (ep_text){.start = (const char *)bytes + mark, .size = size - mark};
  if (encoding == EP_TEXT_UTF_8) return EP_OK;
  ep_status status = ep_temporary_file_create(folder, &text.file, error);
  if (status != EP_OK) return status;
  status = text_decode(encoding, bytes, size, &text, error);
  if (status == EP_OK) status = ep_mapping_of(text.file, "the text in UTF-8", &out->decoded, error);
  close(text.file);
  out->start = out->decoded.bytes ? (const char *)out->decoded.bytes : ""; /* of no characters */
  out->size = out->decoded.size;
  return status;
}
