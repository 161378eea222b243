#include "api/json/spreadsheet.h"

#include <stdlib.h>
#include <strings.h>

/* "-1.5e-3", "+1,234.5", "-inf", "-5 %", "-5 €": a sign, and no name or operator behind it. text:
 * ends in 0. */
static bool is_number(const char *text) {
  const char *at = text + (*text == '+' || *text == '-');
  if (strcasecmp(at, "inf") == 0 || strcasecmp(at, "infinity") == 0 || strcasecmp(at, "nan") == 0)
    return true;
  bool digits = false;
  for (; *at && (strchr("0123456789., %$", *at) || (unsigned char)*at >= 0x80); at++)
    digits |= *at >= '0' && *at <= '9';
  if (digits && (*at == 'e' || *at == 'E')) {
    at += 1 + (at[1] == '+' || at[1] == '-');
    digits = *at != 0;
    at += strspn(at, "0123456789");
  }
  return digits && *at == 0;
}

/* The cell has ended, with a quote or without; or it is too long for a number. */
static void held_write(ep_spreadsheet *self, ep_writer *out) {
  char cell[EP_SPREADSHEET_NUMBER_BYTES];
  const size_t count = self->held_count;
  if (count == 0) return;
  memcpy(cell, self->held, count);
  cell[cell[count - 1] == '"' ? count - 1 : count] = 0;
  if (count == sizeof cell - 1 || !is_number(cell)) ep_writer_bytes(out, "'", 1);
  ep_writer_bytes(out, self->held, count);
  self->held_count = 0;
}

static void byte_add(ep_spreadsheet *self, char byte, ep_writer *out) {
  const bool first = !self->inside, quote = byte == '"';
  const bool blank = self->delimiter == ' ' && byte == '\t'; /* runs of both delimit */
  const bool ends =
      !self->quoted && (byte == self->delimiter || blank || byte == '\n' || byte == '\r');
  const bool opens = quote && !self->quoted && (first || self->closed);
  if (ends || self->held_count == sizeof self->held - 1) held_write(self, out);
  self->inside = !ends && !(opens && first); /* the first byte between quotes is a cell's first */
  self->closed = quote && self->quoted;
  self->quoted = opens || (self->quoted && !quote);
  if (self->held_count > 0 || (first && !ends && byte && strchr("=+-@\t\r\n", byte)))
    self->held[self->held_count++] = byte;
  else
    ep_writer_bytes(out, &byte, 1);
}

void ep_spreadsheet_add(ep_spreadsheet *self, const char *bytes, size_t count, ep_writer *out) {
  for (size_t i = 0; i < count; i++) byte_add(self, bytes[i], out);
}

void ep_spreadsheet_end(ep_spreadsheet *self, ep_writer *out) {
  held_write(self, out);
}

char *ep_spreadsheet_text(char *text, char delimiter) {
  ep_spreadsheet sheet = {.delimiter = delimiter};
  ep_writer out;
  if (!text) return NULL;
  ep_writer_init(&out, SIZE_MAX / 4);
  ep_spreadsheet_add(&sheet, text, strlen(text), &out);
  ep_spreadsheet_end(&sheet, &out);
  free(text);
  return ep_writer_take(&out);
}
