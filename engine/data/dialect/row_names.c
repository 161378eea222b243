#include "engine/data/dialect/row_names.h"

#include <stdlib.h>
#include <string.h>

#include "engine/data/cells/cell.h"

static int text_compare(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Whether all are different and none is empty. Frees them. */
static bool all_differ(char **text, int count) {
  bool differ = count > 0;
  qsort(text, (size_t)count, sizeof *text, text_compare);
  for (int i = 0; i < count; i++)
    differ = differ && *text[i] && (i == 0 || strcmp(text[i - 1], text[i]) != 0);
  for (int i = 0; i < count; i++) free(text[i]);
  return differ;
}

bool ep_row_cells_differ(const ep_sample *sample, int row, ep_csv_cell *cell) {
  enum { COMPARED = 1000 };
  ep_csv_text line = sample->row[row].start;
  char *text[COMPARED];
  int count = 0;
  do {
    if (ep_csv_cell_read(&line, 1, cell, NULL) != EP_OK) break;
    text[count] = strndup(cell->text, cell->bytes);
    if (!text[count]) break;
    count++;
  } while (count < COMPARED && cell->stop == EP_CSV_DELIMITER);
  return all_differ(text, count);
}

static bool are_digits(const char *text, bool may_have_sign) {
  text += may_have_sign && (*text == '-' || *text == '+');
  return *text && text[strspn(text, "0123456789")] == 0;
}

/* What stands behind a decimal comma: 5, 25e-3. */
static bool are_decimals(const char *text) {
  size_t digits = strspn(text, "0123456789");
  bool exponent = digits > 0 && (text[digits] | 0x20) == 'e';
  return exponent ? are_digits(text + digits + 1, true) : are_digits(text, false);
}

/* One row. whole, digits: [columns] with a sign or without one, so far. */
static bool row_start_see(const ep_sample *sample, int row, ep_csv_cell *cell, ep_row_starts *out,
                          bool *whole, bool *digits, char **first) {
  ep_csv_text text = sample->row[row].start;
  double value = 0;
  out->quoted = out->quoted && ep_csv_is_quoted(&text);
  for (int64_t column = 0; column < sample->columns; column++) {
    if (ep_csv_cell_read(&text, 1, cell, NULL) != EP_OK) return false;
    const char *string = ep_csv_cell_string(cell);
    whole[column] = whole[column] && are_digits(string, true);
    digits[column] = digits[column] && are_decimals(string);
    out->points = out->points ||
                  (strchr(string, '.') && ep_cell_number_read('.', 0, string, cell->bytes, &value));
    if (column > 0) continue;
    *first = strdup(string);
    out->counted = out->counted && ep_cell_read(EP_CELL_NUMBER, string, cell->bytes, &value) &&
                   (out->rows == 0 || value == out->last + 1);
    out->last = value;
  }
  return *first != NULL;
}

ep_status ep_row_starts_find(const ep_sample *sample, int first_row, ep_csv_cell *cell,
                             ep_row_starts *out, ep_error *error) {
  size_t columns = (size_t)sample->columns;
  char **first = calloc((size_t)sample->count + 1, sizeof *first);
  bool *whole = malloc(2 * columns), ok = first && whole;
  *out = (ep_row_starts){.distinct = true, .quoted = true, .counted = true};
  if (whole) memset(whole, true, 2 * columns);
  for (int i = first_row; ok && i < sample->count; i++) {
    if (!ep_sample_is_row(sample, i) || sample->row[i].cells != sample->columns) continue;
    ok = row_start_see(sample, i, cell, out, whole, whole + columns, &first[out->rows]);
    out->rows += first[out->rows] != NULL;
  }
  out->distinct = first && all_differ(first, out->rows);
  for (size_t i = 0; ok && i + 1 < columns; i++)
    out->halves = out->halves || (whole[i] && whole[columns + i + 1]);
  free(first);
  free(whole);
  return ok ? EP_OK : ep_fail_memory(error);
}

bool ep_text_is_unit(const char *text, size_t bytes) {
  static const char *const units[] = {
      "m",   "cm",   "mm",  "km",  "kg",  "g",    "mg",    "t",    "s",     "sec", "ms",
      "min", "h",    "hr",  "hrs", "day", "days", "kW",    "kWh",  "MW",    "MWh", "W",
      "Wh",  "V",    "mV",  "A",   "mA",  "Hz",   "kHz",   "MHz",  "Pa",    "hPa", "kPa",
      "bar", "mbar", "K",   "C",   "F",   "USD",  "EUR",   "GBP",  "ppm",   "l",   "ml",
      "L",   "mL",   "N",   "J",   "kJ",  "rpm",  "deg",   "unit", "count", "ft",  "in",
      "lb",  "mph",  "mol", "dB",  "lux", "lx",   "years", "year"};
  text = ep_cell_trim(text, &bytes);
  ep_cell_shape shape = ep_cell_shape_of(text, bytes);
  bool digit = bytes > 0 && *text >= '0' && *text <= '9';
  if (bytes == 0 || bytes > 16 || digit || shape == EP_SHAPE_NUMBER || shape == EP_SHAPE_DATE)
    return false;
  bool bracket =
      (text[0] == '(' && text[bytes - 1] == ')') || (text[0] == '[' && text[bytes - 1] == ']');
  if (bracket) return true;
  for (size_t i = 0; i < bytes; i++)
    if (strchr("/%^", text[i]) || (bytes <= 4 && (unsigned char)text[i] >= 0x80)) return true;
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (strlen(units[i]) == bytes && memcmp(units[i], text, bytes) == 0) return true;
  return false;
}

void ep_units_look_add(ep_units_look *look, const char *text, size_t bytes, bool above_numbers) {
  enum { UNIT_BYTES = 16 };
  look->filled++;
  look->known += ep_text_is_unit(text, bytes);
  look->numbers += above_numbers;
  ep_cell_shape shape = ep_cell_shape_of(text, bytes);
  bool figure = shape == EP_SHAPE_NUMBER || shape == EP_SHAPE_DATE; /* £5 */
  look->other = look->other || figure || bytes > UNIT_BYTES || (*text >= '0' && *text <= '9');
}

bool ep_cells_are_units(const ep_units_look *look) {
  return !look->other && look->known > 0 && 2 * look->known >= look->filled &&
         2 * look->numbers >= look->filled;
}
