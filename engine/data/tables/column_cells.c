#include "engine/data/tables/column_cells.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/number.h"

const ep_cell_marks ep_marks[EP_MARKS] = {{'.', 0},   {',', 0},   {'.', ','},  {',', '.'},
                                          {'.', ' '}, {',', ' '}, {'.', '\''}, {',', '\''}};

enum { PLAIN = 3, SPACED = 3 << 4 }; /* pairs of marks without thousands; with spaces */
enum { EXACT_DIGITS = 15 };          /* that each whole number may have, to be a double */

/* A whole number without a mark. */
static void whole_look(ep_column_cells *cells, double value) {
  cells->small = cells->small || fabs(value) < 1000;
  cells->large = cells->large || fabs(value) >= 1000;
}

static uint32_t number_reads(ep_column_cells *cells, const char *text, size_t bytes) {
  char sign[EP_UNIT_BYTES];
  uint32_t reads = 0;
  double first = 0, value, whole[2];
  bool has_sign = ep_unit_find(text, bytes, sign);
  bool point = ep_cell_number_read('.', 0, text, bytes, &whole[0]),
       comma = ep_cell_number_read(',', 0, text, bytes, &whole[1]);
  for (int i = 0; i < EP_MARKS; i++) {
    ep_cell_marks marks = ep_marks[i];
    value = whole[marks.decimal == ','];
    if (!(marks.decimal == ',' ? comma : point) &&
        ((!has_sign && !ep_cell_may_be_grouped(text, bytes, marks.thousands)) ||
         !ep_unit_number_read(marks, sign, text, bytes, &value)))
      continue;
    if (reads == 0) first = value;
    if (value != first) reads |= 1u << EP_READS_UNCLEAR;
    reads |= 1u << i;
  }
  if (reads == 0 || !has_sign) return reads;
  if ((reads & PLAIN) == PLAIN)
    whole_look(cells, first); /* with either decimal mark: it has none */
  if (!cells->sign[0]) {
    memcpy(cells->sign, sign, sizeof sign);
    ep_unit_form_find(text, bytes, cells->unit_form);
  }
  bool own = strcmp(sign, cells->sign) == 0;
  return own ? reads | 1u << EP_READS_SIGNED : 1u << EP_READS_OTHER_SIGN;
}

uint32_t ep_word_reads(ep_column_cells *cells, const char *text, size_t bytes) {
  enum { FIGURES_BYTES = 80 };
  double value;
  bool digit = false;
  uint32_t reads = !cells->listed && ep_cell_is_missing(text, bytes) ? 1u << EP_READS_GAP : 0;
  for (size_t i = 0; i < bytes && bytes <= FIGURES_BYTES && !digit; i++)
    digit = text[i] >= '0' && text[i] <= '9';
  if (!digit && !(reads == 0 && bytes <= 9 && ep_cell_read(EP_CELL_NUMBER, text, bytes, &value)))
    return reads; /* "inf" is a number, which is refused where it is stored */
  reads |= number_reads(cells, text, bytes);
  for (int kind = 0; kind < EP_CELL_KINDS; kind++)
    if (!ep_cell_kind_is_number((ep_cell_kind)kind) &&
        ep_cell_read((ep_cell_kind)kind, text, bytes, &value))
      reads |= 1u << (EP_READS_DATES + kind);
  return reads;
}

static void spaced_look(ep_column_cells *cells, const char *text, size_t bytes) {
  if (cells->spaced_most == 0 || bytes < cells->spaced_least) cells->spaced_least = bytes;
  if (bytes > cells->spaced_most) cells->spaced_most = bytes;
  cells->spaced_marked =
      cells->spaced_marked || memchr(text, '.', bytes) || memchr(text, ',', bytes);
}

void ep_reads_count(ep_column_cells *cells, uint32_t reads, int64_t rows, const char *text,
                    size_t bytes) {
  const uint32_t numbers = (1u << EP_MARKS) - 1;
  ep_reading_counts *counts = &cells->words_read;
  bool is_signed = reads >> EP_READS_SIGNED & 1, other = reads >> EP_READS_OTHER_SIGN & 1;
  int64_t *sums = is_signed ? counts->unit : counts->marks;
  for (int i = 0; i < EP_MARKS; i++)
    if (reads >> i & 1) sums[i] += rows;
  if ((reads & numbers) || other) counts->numbers += rows;
  if (is_signed || other) counts->signed_cells += rows;
  if (other) counts->other_signs += rows;
  if (reads >> EP_READS_UNCLEAR & 1) counts->unclear += rows;
  if (reads >> EP_READS_GAP & 1) counts->gaps += rows;
  for (int kind = 0; kind < EP_CELL_KINDS; kind++)
    if (reads >> (EP_READS_DATES + kind) & 1) counts->dates[kind] += rows;
  if (!(reads & SPACED) || (reads & PLAIN)) return;
  counts->spaced += rows;
  spaced_look(cells, text, bytes);
}

/* Whether a whole number of JSON is that of the double: programs write 1e20 in full. */
static bool is_exact(const char *text, size_t bytes, double value) {
  char whole[EP_PLAIN_BYTES];
  return (size_t)snprintf(whole, sizeof whole, "%.0f", value) == bytes &&
         memcmp(whole, text, bytes) == 0;
}

/* A plain number without a point: digits, from `at` on, up to an exponent. */
static __attribute__((noinline)) void pointless_look(ep_column_cells *cells, const char *text,
                                                     size_t bytes, bool json, double value) {
  const char *at = text + (*text == '-' || *text == '+');
  size_t digits = (size_t)(text + bytes - at);
  if (memchr(at, 'e', digits) || memchr(at, 'E', digits)) {
    cells->floats = cells->floats || json;
    cells->exponents += !json && !memchr(at, '+', digits) && !memchr(at, '-', digits) && at == text;
    return;
  }
  bool zero = digits > 1 && *at == '0';
  cells->zeros += zero;
  cells->padded = cells->padded || (zero && value != 0);
  if (zero && value == 0 && digits > cells->naught_most) cells->naught_most = digits;
  cells->longs += digits > EXACT_DIGITS && !(json && is_exact(text, bytes, value));
  whole_look(cells, value);
  if (cells->digits_most == 0 || digits < cells->digits_least) cells->digits_least = digits;
  if (digits > cells->digits_most) cells->digits_most = digits;
}

void ep_plain_look(ep_column_cells *cells, const char *text, size_t bytes, bool json,
                   double value) {
  const char *at = text + (*text == '-' || *text == '+'), *end = text + bytes;
  cells->negative = cells->negative || *text == '-';
  cells->fractions = cells->fractions || value != floor(value);
  if (cells->plain == 1 || value < cells->least) cells->least = value;
  if (cells->plain == 1 || value > cells->most) cells->most = value;
  const char *point = at;
  while (point < end && *point != '.') point++;
  if (point == end) {
    pointless_look(cells, text, bytes, json, value);
  } else if (json) {
    cells->floats = true;
  } else {
    cells->points++;
    cells->threes += end - point == 4 && point > at && point - at <= 3 && *at != '0';
  }
}

bool ep_cells_are_codes(const ep_column_cells *cells) {
  enum { SHARE = 20 }; /* one in so many */
  bool likely = cells->digits_least == cells->digits_most || cells->zeros * SHARE >= cells->plain;
  bool few = cells->plain <= EP_LIMIT_CATEGORIES ||
             cells->most - cells->least < EP_LIMIT_CATEGORIES; /* words */
  bool zeros = cells->padded || (cells->zeros > 0 && cells->naught_most == cells->digits_most);
  zeros = zeros && (likely || few);
  bool exponents = cells->exponents > 0 && cells->exponents < cells->plain;
  return cells->points == 0 && !cells->floats &&
         (cells->longs > 0 || (!cells->negative && (zeros || exponents)));
}

bool ep_word_is_code(const char *text, size_t bytes) {
  ep_column_cells one = {0};
  double value;
  if (bytes == 0 || *text < '0' || *text > '9' || !ep_cell_number_read('.', 0, text, bytes, &value))
    return false;
  ep_plain_look(&one, text, bytes, false, value);
  return one.zeros + one.exponents + one.longs > 0;
}

int64_t ep_numbers_count(const ep_column_cells *cells, int marks) {
  int64_t plain = cells->plain;
  if (ep_marks[marks].decimal == ',') plain -= cells->points;
  if (ep_marks[marks].decimal == ',' && ep_marks[marks].thousands == '.') plain += cells->threes;
  return plain + cells->words_read.marks[marks] + cells->words_read.unit[marks];
}

void ep_column_cells_deinit(ep_column_cells *cells) {
  ep_word_set_deinit(&cells->words);
  free(cells->value);
  cells->value = NULL;
}

bool ep_column_cell_read(const ep_column *column, ep_cell_kind kind, const ep_dialect *dialect,
                         const char *text, size_t bytes, double *value) {
  if (!ep_cell_kind_is_number(kind))
    return kind < EP_CELL_KINDS && ep_cell_read(kind, text, bytes, value);
  ep_cell_marks marks = {dialect->decimal, dialect->thousands};
  return ep_unit_number_read(marks, column->unit, text, bytes, value);
}
