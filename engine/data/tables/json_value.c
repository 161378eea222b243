#include "engine/data/tables/json_value.h"

#include <string.h>

#include "api/json/number_scan.h"
#include "engine/files/excerpt.h"

ep_status ep_json_unexpected(const ep_json_text *text, const char *wanted, ep_error *error) {
  enum { SHOWN_BYTES = 12 };
  char shown[EP_EXCERPT_BYTES];
  size_t left = (size_t)(text->left.end - text->left.at);
  if (left == 0)
    return ep_fail(error, EP_INVALID, "JSON: unexpected end of file, expected %s", wanted);
  return ep_fail(error, EP_INVALID, "JSON, byte %lld: expected %s, not \"%s\"",
                 (long long)(text->left.at - text->start) + 1, wanted,
                 ep_excerpt(shown, text->left.at, left < SHOWN_BYTES ? left : SHOWN_BYTES));
}

ep_status ep_json_token_read(ep_json_text *text, char token, const char *wanted, ep_error *error) {
  return ep_scan_token(&text->left, token) ? EP_OK : ep_json_unexpected(text, wanted, error);
}

/* at … end: what stands between the quotes; no longer decoded than that. */
static ep_status string_decode(ep_json_text *text, const char *at, const char *end,
                               ep_json_cell *cell, ep_error *error) {
  char *out = cell->decoded;
  while (at < end) {
    const char *backslash = memchr(at, '\\', (size_t)(end - at));
    size_t plain = (size_t)((backslash ? backslash : end) - at);
    memcpy(out, at, plain);
    out += plain;
    at += plain;
    if (!backslash) break;
    const char *next = ep_scan_escape(at + 1, end, &out);
    if (!next) {
      text->left.at = at;
      return ep_json_unexpected(text, "a valid JSON escape", error);
    }
    at = next;
  }
  cell->text = cell->decoded;
  cell->bytes = (size_t)(out - cell->decoded);
  return EP_OK;
}

static ep_status string_read(ep_json_text *text, ep_json_cell *cell, ep_error *error) {
  const char *start = text->left.at, *at = start + 1, *end = text->left.end;
  bool escapes = false;
  for (; at < end && *at != '"' && (unsigned char)*at >= 0x20; at++) {
    escapes |= *at == '\\';
    if (*at == '\\' && at + 1 < end) at++;
  }
  if (at >= end || *at != '"') {
    text->left.at = at < end ? at : end;
    return ep_json_unexpected(text, "a closing quote", error);
  }
  cell->text = start + 1;
  cell->bytes = (size_t)(at - start - 1);
  if (cell->bytes > EP_LIMIT_CSV_FIELD_BYTES)
    return ep_fail(error, EP_TOO_LARGE, "JSON, byte %lld: a string of more than %d bytes",
                   (long long)(start - text->start) + 1, EP_LIMIT_CSV_FIELD_BYTES);
  text->left.at = at + 1;
  return escapes ? string_decode(text, start + 1, at, cell, error) : EP_OK;
}

/* Python writes NaN and Infinity, though JSON has none. */
static bool word_read(ep_json_text *text, ep_json_cell *cell) {
  static const char *const words[] = {"true", "false", "null", "NaN", "Infinity", "-Infinity"};
  const char *start = text->left.at;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (!ep_scan_word(&text->left, words[i])) continue;
    cell->text = start;
    cell->bytes = words[i][0] == 'n' || words[i][0] == 'N' ? 0 : strlen(words[i]);
    return true;
  }
  return false;
}

static bool number_read(ep_json_text *text, ep_json_cell *cell) {
  double value;
  const char *start = text->left.at;
  const char *end = ep_number_scan(start, text->left.end, EP_NUMBER_JSON, &value);
  if (!end) return false;
  cell->text = start;
  cell->bytes = (size_t)(end - start);
  cell->number = true;
  text->left.at = end;
  return true;
}

/* Its first bytes alone: so much text is no category. */
static bool nested_read(ep_json_text *text, ep_json_cell *cell) {
  const char *start = text->left.at;
  if ((*start != '{' && *start != '[') || !ep_scan_skip_python(&text->left)) return false;
  cell->nested = true;
  cell->text = start;
  cell->bytes = (size_t)(text->left.at - start);
  if (cell->bytes <= EP_LIMIT_CSV_FIELD_BYTES) return true;
  cell->bytes = EP_LIMIT_CSV_FIELD_BYTES;
  while (cell->bytes > 0 && (cell->text[cell->bytes] & 0xC0) == 0x80) cell->bytes--;
  return true;
}

ep_status ep_json_cell_read(ep_json_text *text, ep_json_cell *cell, ep_error *error) {
  char next = ep_scan_peek(&text->left);
  cell->nested = cell->number = false;
  if (next == '"') return string_read(text, cell, error);
  if (text->left.at < text->left.end &&
      (word_read(text, cell) || number_read(text, cell) || nested_read(text, cell)))
    return EP_OK;
  return ep_json_unexpected(text, "a value", error);
}

ep_status ep_json_key_read(ep_json_text *text, ep_json_cell *cell, ep_error *error) {
  cell->nested = cell->number = false;
  if (ep_scan_peek(&text->left) != '"') return ep_json_unexpected(text, "a key in quotes", error);
  ep_status status = string_read(text, cell, error);
  return status == EP_OK ? ep_json_token_read(text, ':', "a colon", error) : status;
}
