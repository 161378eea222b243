#include "engine/data/cells/unit.h"

#include <stdio.h>
#include <string.h>

enum { NUMBER_BYTES = 64 }; /* longer ones are none */

/* A text without its sign. */
typedef struct {
  char unit[EP_UNIT_BYTES];
  char form[EP_UNIT_FORM_BYTES]; /* with a 0 for the number */
  char number[NUMBER_BYTES + 1]; /* with the minus that stood before the sign */
  size_t bytes;
} parts;

/* The bytes of a sign at the beginning of the text; 0: there is none. */
static size_t sign_bytes(const char *text, const char *end) {
  const unsigned char *at = (const unsigned char *)text;
  size_t left = (size_t)(end - text);
  if (left >= 1 && (*at == '$' || *at == '%')) return 1;
  if (left >= 2 && at[0] == 0xC2 && at[1] >= 0xA2 && at[1] <= 0xA5) return 2;
  bool currency = left >= 3 && at[0] == 0xE2 &&
                  ((at[1] == 0x82 && at[2] >= 0xA0 && at[2] <= 0xBF) ||
                   (at[1] == 0x83 && at[2] >= 0x80 && at[2] <= 0x8F));
  return currency ? 3 : 0;
}

/* The bytes of a sign at the end of the text. */
static size_t last_sign_bytes(const char *text, const char *end) {
  for (size_t bytes = 1; bytes < EP_UNIT_BYTES && bytes <= (size_t)(end - text); bytes++)
    if (sign_bytes(end - bytes, end) == bytes) return bytes;
  return 0;
}

static const char *spaces_skip(const char *at, const char *end) {
  for (size_t bytes; (bytes = ep_text_space_bytes(at, end)) > 0;) at += bytes;
  return at;
}

static const char *spaces_drop(const char *at, const char *end) {
  const char *kept = at; /* behind the last character that is no space */
  while (at < end) {
    size_t bytes = ep_text_space_bytes(at, end);
    at += bytes ? bytes : 1;
    if (bytes == 0) kept = at;
  }
  return kept;
}

/* Takes a sign of the number at *at: -, + or U+2212, which becomes a -. */
static bool minus_take(const char **at, const char *end, parts *out) {
  bool wide = end - *at >= 3 && memcmp(*at, "\xE2\x88\x92", 3) == 0;
  if (!wide && (*at == end || (**at != '-' && **at != '+'))) return false;
  out->number[out->bytes++] = wide ? '-' : **at;
  *at += wide ? 3 : 1;
  return true;
}

static bool parts_find(const char *at, size_t bytes, parts *out) {
  const char *end = at + bytes;
  out->bytes = 0;
  bool minus = minus_take(&at, end, out);
  size_t first = sign_bytes(at, end), last = last_sign_bytes(at, end);
  if ((first > 0) == (last > 0)) return false;
  const char *sign = first ? at : end - last;
  memcpy(out->unit, sign, first + last);
  out->unit[first + last] = 0;
  const char *inner = first ? spaces_skip(at + first, end) : spaces_drop(at, end - last);
  const char *space = first ? at + first : inner;
  int space_bytes = (int)ep_text_space_bytes(space, first ? inner : end - last);
  snprintf(out->form, sizeof out->form, "%s%.*s%s", first ? out->unit : "0", space_bytes, space,
           first ? "0" : out->unit);
  at = first ? inner : at;
  end = last ? inner : end;
  if (first && !minus) minus_take(&at, end, out);
  size_t left = (size_t)(end - at);
  /* no infinity, and no second minus */
  if (left == 0 || out->bytes + left > NUMBER_BYTES || !strchr("0123456789.,", *at)) return false;
  memcpy(out->number + out->bytes, at, left);
  out->bytes += left;
  return true;
}

bool ep_unit_is_one(const char *text) {
  size_t bytes = strlen(text);
  return bytes > 0 && sign_bytes(text, text + bytes) == bytes;
}

bool ep_unit_find(const char *text, size_t bytes, char unit[EP_UNIT_BYTES]) {
  parts found;
  unit[0] = 0;
  if (!parts_find(text, bytes, &found)) return false;
  memcpy(unit, found.unit, EP_UNIT_BYTES);
  return true;
}

void ep_unit_form_find(const char *text, size_t bytes, char form[EP_UNIT_FORM_BYTES]) {
  parts found;
  snprintf(form, EP_UNIT_FORM_BYTES, "%s", parts_find(text, bytes, &found) ? found.form : "");
}

bool ep_unit_form_parse(const char *text, char form[EP_UNIT_FORM_BYTES], char unit[EP_UNIT_BYTES]) {
  char whole[EP_UNIT_FORM_BYTES];
  bool percent = strcmp(text, "%") == 0, sign = ep_unit_is_one(text);
  if (sign)
    snprintf(whole, sizeof whole, "%s%s%s", percent ? "0" : "", text, percent ? "" : "0");
  else if ((size_t)snprintf(whole, sizeof whole, "%s", text) >= sizeof whole)
    return false;
  ep_unit_form_find(whole, strlen(whole), form);
  return strcmp(form, whole) == 0 && ep_unit_find(whole, strlen(whole), unit);
}

bool ep_unit_number_read(ep_cell_marks marks, const char *unit, const char *text, size_t bytes,
                         double *value) {
  parts found;
  if (ep_cell_number_read(marks.decimal, marks.thousands, text, bytes, value)) return true;
  return unit[0] && parts_find(text, bytes, &found) && strcmp(found.unit, unit) == 0 &&
         ep_cell_number_read(marks.decimal, marks.thousands, found.number, found.bytes, value);
}
