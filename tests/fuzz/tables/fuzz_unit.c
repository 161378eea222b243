/* Any bytes as a number with a sign: read as what is left without the sign is. Any bytes as a
 * column that one writer wrote, with their sign and marks: it is read as the numbers that were
 * written, or it is words, and then no cell shows what the marks mean. */
#include <math.h>
#include <string.h>

#include "engine/data/cells/unit.h"
#include "engine/data/tables/column_types.h"
#include "tests/fuzz/fuzz.h"

/* How one writer writes numbers. */
typedef struct {
  const char *sign, *gap; /* "": none */
  bool before;
  const char *group; /* "": none */
  char point;
} style;

enum { ROWS_MOST = 12, CELL_BYTES = 64 };

/* A column as it was written. */
typedef struct {
  ep_table_rows rows; /* the first member */
  char text[ROWS_MOST][CELL_BYTES];
  double value[ROWS_MOST];
  int count;
  bool shown; /* a cell can be read in one way alone */
} written;

static void cell_holds(const char *text, size_t bytes) {
  char sign[EP_UNIT_BYTES], other[EP_UNIT_BYTES];
  bool found = ep_unit_find(text, bytes, sign);
  FUZZ_HOLDS(found == ep_unit_is_one(sign));
  for (int kind = 0; ep_cell_kind_is_number((ep_cell_kind)kind); kind++) {
    double value = -7;
    bool read = ep_unit_number_read(ep_cell_kind_marks((ep_cell_kind)kind), found ? sign : "$",
                                    text, bytes, &value);
    double plain;
    bool bare = ep_cell_read((ep_cell_kind)kind, text, bytes, &plain);
    FUZZ_HOLDS(read || (value == -7 && !bare));
    FUZZ_HOLDS(!bare || value == plain);
    FUZZ_HOLDS(bare || found || !read);
    if (!read || bare) continue;
    /* once more with a sign it is none, and in the plain form it has none */
    char again[CELL_BYTES * 2];
    FUZZ_HOLDS(!isnan(value));
    if (bytes + 1 > sizeof again) continue;
    again[0] = '$';
    memcpy(again + 1, text, bytes);
    FUZZ_HOLDS(!ep_unit_find(again, bytes + 1, other));
  }
}

/* Whole digits in groups, decimals behind the mark. */
static void number_write(const style *how, bool minus, unsigned whole, int decimals,
                         unsigned fraction, char out[CELL_BYTES]) {
  char digits[16], *at = out;
  int count = snprintf(digits, sizeof digits, "%u", whole);
  if (minus) *at++ = '-';
  if (how->before) at += sprintf(at, "%s%s", how->sign, how->gap);
  for (int i = 0; i < count; i++) {
    if (i > 0 && (count - i) % 3 == 0) at += sprintf(at, "%s", how->group);
    *at++ = digits[i];
  }
  if (decimals > 0) at += sprintf(at, "%c%0*u", how->point, decimals, fraction);
  if (!how->before) at += sprintf(at, "%s%s", how->gap, how->sign);
  *at = 0;
}

static bool clear_group(const style *how) {
  return how->group[0] && how->group[0] != ',' && how->group[0] != '.';
}

static void row_add(written *out, const style *how, const uint8_t *bytes) {
  static const unsigned tens[] = {1, 10, 100, 1000, 10000};
  int decimals = bytes[0] % 5;
  unsigned whole = (bytes[1] | (unsigned)bytes[2] << 8 | (unsigned)bytes[3] << 16) >> bytes[4] % 24;
  unsigned fraction = (bytes[5] | (unsigned)bytes[6] << 8) % tens[decimals];
  bool minus = bytes[0] & 0x80, grouped = how->group[0] && whole >= 1000;
  char plain[CELL_BYTES];
  snprintf(plain, sizeof plain, decimals ? "%s%u.%0*u" : "%s%u", minus ? "-" : "", whole, decimals,
           fraction);
  out->value[out->count] = strtod(plain, NULL);
  number_write(how, minus, whole, decimals, fraction, out->text[out->count++]);
  /* three digits behind one mark are all that can be both */
  bool marks = grouped || decimals > 0;
  bool both = (!clear_group(how) && grouped && whole < 1000000 && decimals == 0) ||
              (!grouped && decimals == 3 && whole > 0 && whole < 1000);
  out->shown |= marks && !both;
}

static ep_status rows_walk(ep_table_rows *rows, ep_table_cell_read read, ep_table_row_end end,
                           void *context, ep_error *error) {
  const written *from = (const written *)rows;
  for (int i = 0; i < from->count; i++) {
    ep_table_cell cell = ep_table_cell_make(from->text[i], strlen(from->text[i]), i + 1, 0);
    if (read(context, &cell, error) != EP_OK || (end && end(context, error) != EP_OK))
      return error->status;
  }
  return EP_OK;
}

/* A column of numbers has their values, or is refused, words, or noted, where no cell shows what
 * its marks mean. */
static void column_holds(written *from, const char *sign) {
  ep_column_cells cells = {0};
  ep_dialect dialect = {0};
  ep_notes notes = {0};
  ep_part_writer draft;
  int64_t budget_bytes = INT64_MAX;
  bool drafted;
  ep_error error = {0};
  from->rows.dialect = &dialect;
  FUZZ_HOLDS(ep_part_writer_open(&draft, NULL, EP_SPLIT_TRAIN, EP_ROLE_TABLE, EP_DTYPE_F64, 1, NULL,
                                 &budget_bytes, &error) == EP_OK);
  FUZZ_HOLDS(ep_part_writer_table(&draft, &error) == EP_OK);
  const ep_column *column = draft.column;
  ep_status status = ep_column_types_find(&from->rows, &cells, &draft, &drafted, &notes, &error);
  FUZZ_HOLDS(status == EP_OK || (status == EP_INVALID && !from->shown));
  if (status == EP_OK && column->type == EP_COLUMN_NUMBER && !notes.text[0]) {
    FUZZ_HOLDS(strcmp(column->unit, sign) == 0);
    for (int i = 0; i < from->count; i++) {
      double value;
      FUZZ_HOLDS(ep_column_cell_read(column, cells.kind, &dialect, from->text[i],
                                     strlen(from->text[i]), &value));
      FUZZ_HOLDS(value == from->value[i]);
    }
  } else if (status == EP_OK) {
    FUZZ_HOLDS(column->note || !from->shown);
  }
  ep_column_cells_deinit(&cells);
  ep_part_writer_abandon(&draft);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static const char *const signs[] = {"$", "€", "£", "%", "₹", "¥", ""};
  static const char *const gaps[] = {"", " ", "\xC2\xA0", "\xE2\x80\xAF"};
  static const char *const groups[] = {"",  ",",           ".", " ", "\xC2\xA0", "\xE2\x80\x89",
                                       "'", "\xE2\x80\x99"};
  enum { HEAD_BYTES = 4, ROW_BYTES = 7 };
  cell_holds((const char *)bytes, count < 200 ? count : 200);
  if (count < HEAD_BYTES + ROW_BYTES) return 0;
  style how = {.sign = signs[bytes[0] % 7],
               .gap = gaps[bytes[1] % 4],
               .before = bytes[1] & 0x80,
               .group = groups[bytes[2] % 8],
               .point = bytes[3] & 1 ? ',' : '.'};
  if (how.group[0] == how.point) how.point = how.point == ',' ? '.' : ',';
  written from = {.rows = {.columns = 1, .walk = rows_walk}};
  if (!how.sign[0]) { /* without a sign the delimiter says what a comma is, and a point is one */
    how.gap = "";
    if (how.group[0] == '.' || (how.group[0] == '\0' && how.point == ',')) how.group = " ";
  }
  for (size_t at = HEAD_BYTES; at + ROW_BYTES <= count && from.count < ROWS_MOST; at += ROW_BYTES)
    row_add(&from, &how, bytes + at);
  column_holds(&from, how.sign);
  return 0;
}
