#include "engine/data/tables/column_types.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/utf8.h"
#include "engine/data/dialect/sample.h"
#include "engine/data/tables/column_words.h"
#include "engine/data/tables/marks.h"

/* The passes over the rows. */
typedef struct {
  int64_t columns;
  ep_column *column;      /* [columns], lent */
  ep_column_cells *cells; /* [columns], lent */
  ep_part_writer *draft;  /* lent */
  const ep_dialect *dialect;
  bool dates_given;   /* the order of its dates, that is */
  bool spaces_given;  /* between thousands */
  size_t words_bytes; /* of all words */
  int64_t *largest;   /* [2 * columns], owned: a tree over the columns, which are its leaves, from
                         `columns` on: in node k, below which are 2k and 2k + 1, the one of them whose
                         words take the most memory */
} passes;

static ep_status text_check(const passes *pass, const ep_table_cell *value, ep_error *error) {
  char label[EP_COLUMN_LABEL_BYTES], shown[EP_EXCERPT_BYTES];
  if (ep_utf8_valid(value->text, value->bytes) && !memchr(value->text, 0, value->bytes))
    return EP_OK;
  return ep_fail(error, EP_INVALID, "row %lld, %s: \"%s\" is not UTF-8 text",
                 (long long)value->line, ep_column_label(pass->column, value->column, label),
                 ep_excerpt(shown, value->text, value->bytes));
}

/* --- a draft's cells ------------------------------------------------------------------------ */

/* A quiet NaN with the word's number below; that of a missing cell has zeros there. */
#define WORD_BITS UINT64_C(0x7FF8000100000000)

double ep_drafted_word(uint32_t number) {
  uint64_t bits = WORD_BITS | number;
  double cell;
  memcpy(&cell, &bits, sizeof cell);
  return cell;
}

int64_t ep_drafted_number(double cell) {
  uint64_t bits;
  memcpy(&bits, &cell, sizeof bits);
  return (bits & UINT64_C(0xFFFFFFFF00000000)) == WORD_BITS ? (int64_t)(bits & UINT32_MAX) : -1;
}

/* --- words ---------------------------------------------------------------------------------- */

/* The words of the column take as much memory as they do now. */
static void largest_find(passes *pass, int64_t index) {
  for (int64_t at = (pass->columns + index) / 2; at > 0; at /= 2) {
    int64_t one = pass->largest[2 * at], other = pass->largest[2 * at + 1];
    bool larger =
        ep_word_set_bytes(&pass->cells[other].words) > ep_word_set_bytes(&pass->cells[one].words);
    pass->largest[at] = larger ? other : one;
  }
}

/* What the words read as is known before they go. */
static void words_drop(passes *pass, int64_t index) {
  ep_column_cells *cells = &pass->cells[index];
  ep_column_words_count(cells);
  pass->words_bytes -= ep_word_set_bytes(&cells->words);
  ep_word_set_deinit(&cells->words);
  cells->many = true;
  largest_find(pass, index);
}

/* Adds a word; *entry is its, or NULL where the column has too many. */
static ep_status word_add(passes *pass, const ep_table_cell *value, ep_word_entry **entry,
                          ep_error *error) {
  ep_word_set *words = &pass->cells[value->column].words;
  uint32_t count = words->count;
  size_t before = ep_word_set_bytes(words);
  *entry = ep_word_set_add(words, value->text, value->bytes, error);
  if (!*entry) return EP_NO_MEMORY;
  if (ep_word_set_bytes(words) > before) { /* a full set grows for any word */
    pass->words_bytes += ep_word_set_bytes(words) - before;
    largest_find(pass, value->column);
  }
  if (words->count == count) return EP_OK;
  ep_status status = text_check(pass, value, error);
  if (words->count > EP_LIMIT_CATEGORIES) words_drop(pass, value->column);
  while (pass->words_bytes > EP_LIMIT_WORDS_BYTES) words_drop(pass, pass->largest[1]);
  if (pass->cells[value->column].many) *entry = NULL;
  return status;
}

/* A cell that is neither a plain number nor an ISO date. */
static __attribute__((noinline)) ep_status word_take(passes *pass, const ep_table_cell *value,
                                                     double *out, ep_error *error) {
  ep_column_cells *cells = &pass->cells[value->column];
  ep_word_entry *entry = NULL;
  *out = ep_drafted_word(0);
  if (!cells->many) {
    ep_status status = word_add(pass, value, &entry, error);
    if (entry) *out = ep_drafted_word(entry->number);
    return status;
  }
  ep_reads_count(cells, ep_word_reads(cells, value->text, value->bytes), 1, value->text,
                 value->bytes);
  return text_check(pass, value, error);
}

typedef enum { WORD, PLAIN, DATE } cell_kind;

static cell_kind date_read(const ep_table_cell *value, double *out) {
  return ep_cell_read(EP_CELL_ISO_DATE, value->text, value->bytes, out) ? DATE : WORD;
}

static cell_kind number_read(const ep_table_cell *value, double *out) {
  return ep_cell_number_read('.', 0, value->text, value->bytes, out) && isfinite(*out) ? PLAIN
                                                                                       : WORD;
}

/* A word that the column has. */
static bool word_again(ep_column_cells *cells, const ep_table_cell *value, double *out) {
  ep_word_entry *entry = ep_word_set_count(&cells->words, value->text, value->bytes);
  if (entry) *out = ep_drafted_word(entry->number);
  return entry;
}

static ep_status cell_take(void *context, const ep_table_cell *value, ep_error *error) {
  passes *pass = context;
  ep_column_cells *cells = &pass->cells[value->column];
  double *out = (double *)ep_part_writer_next(pass->draft) + value->column;
  if (value->bytes == 0 ||
      (cells->listed && ep_dialect_is_missing(pass->dialect, value->text, value->bytes))) {
    cells->missing++;
    *out = NAN;
    return EP_OK;
  }
  int64_t words = cells->present++ - cells->plain - cells->iso; /* so far */
  cell_kind kind = value->plain ? PLAIN : WORD;
  *out = value->value;
  if (kind == WORD && words > cells->iso && word_again(cells, value, out)) return EP_OK;
  if (kind == WORD && cells->iso > cells->plain)
    kind = date_read(value, out); /* no number is one */
  if (kind == WORD) kind = number_read(value, out);
  if (kind == WORD && cells->iso <= cells->plain) kind = date_read(value, out);
  if (kind == WORD) return word_take(pass, value, out, error);
  *(kind == PLAIN ? &cells->plain : &cells->iso) += 1;
  if (kind == PLAIN) ep_plain_look(cells, value->text, value->bytes, value->number, *out);
  return EP_OK;
}

static ep_status row_drafted(void *context, ep_error *error) {
  return ep_part_writer_commit(((passes *)context)->draft, error);
}

/* --- types ---------------------------------------------------------------------------------- */

/* How many words of the column are neither of the kind nor words for a missing cell. */
static int64_t odd_words(const passes *pass, int64_t index, ep_cell_kind kind) {
  const ep_column_cells *cells = &pass->cells[index];
  int64_t odd = 0;
  double value;
  for (uint32_t i = 0; i < cells->words.count; i++) {
    const ep_word_entry *entry = &cells->words.entry[i];
    const char *text = cells->words.text + entry->offset;
    odd += !(entry->mark >> EP_READS_GAP & 1) &&
           (entry->bytes > EP_LIMIT_WORD_BYTES ||
            !ep_column_cell_read(&pass->column[index], kind, pass->dialect, text, entry->bytes,
                                 &value));
  }
  return odd;
}

/* Whether few whole numbers are words of a category, as 1, 2 and 3 beside `crew`: another word
 * comes as often as one of them may. */
static bool are_classes(const ep_column_cells *cells, int64_t odd, int64_t odd_words) {
  enum { VALUES = 10, SHARE = 20 };
  return !cells->fractions && cells->words_read.numbers == 0 &&
         cells->most - cells->least < VALUES && odd * SHARE >= cells->present &&
         odd >= 2 * odd_words;
}

/* Whether a column is of the kind: all cells but one in a hundred, or all but few words. fits: its
 * cells that are of the kind. */
static bool is_mostly(const passes *pass, int64_t index, ep_cell_kind kind, int64_t fits) {
  enum { WORDS = 10, FEW_WORDS = 3 };
  const ep_column_cells *cells = &pass->cells[index];
  int64_t present = cells->present - cells->words_read.gaps, odd = present - fits;
  if (fits == 0 || odd * 100 < present) return fits > 0;
  if (cells->many || fits * 5 < present * 4) return false;
  int64_t words = odd_words(pass, index, kind);
  if (kind == EP_CELL_NUMBER && are_classes(cells, odd, words)) return false;
  return words <= (fits * 10 >= present * 9 ? WORDS : FEW_WORDS);
}

/* c168: one letter, then digits. */
static bool is_lettered(const char *text, size_t bytes) {
  size_t at = 1;
  bool letter = bytes > 1 && (*text | 0x20) >= 'a' && (*text | 0x20) <= 'z';
  while (letter && at < bytes && text[at] >= '0' && text[at] <= '9') at++;
  return letter && at == bytes;
}

/* Whether two words are a letter and digits: then the numbers are names, too. */
static bool has_lettered_words(const ep_column_cells *cells) {
  int lettered = 0;
  for (uint32_t i = 0; i < cells->words.count && lettered < 2; i++) {
    const ep_word_entry *entry = &cells->words.entry[i];
    lettered += is_lettered(cells->words.text + entry->offset, entry->bytes);
  }
  return lettered == 2;
}

/* Phone numbers and postal codes in groups of three, 612 345 678: quantities that have all as many
 * digits are rarer. */
static bool is_spaced_code(const ep_column_cells *cells) {
  enum { CODE_BYTES = 7 }; /* 110 001 */
  return cells->spaced_most >= CODE_BYTES && cells->spaced_least == cells->spaced_most &&
         !cells->spaced_marked && cells->plain == 0 && cells->words_read.signed_cells == 0 &&
         cells->words_read.spaced == cells->words_read.numbers;
}

/* Why a column of numbers is words all the same; NULL: it is not. */
static const char *number_fault(const passes *pass, const ep_column_cells *cells,
                                int64_t signed_fits) {
  const ep_reading_counts *read = &cells->words_read;
  if (ep_cells_are_codes(cells))
    return cells->longs ? "codes, compared as text: whole numbers of more than 15 digits"
                        : "codes, compared as text: numbers with leading zeros or without a sign "
                          "in their exponents";
  if (!pass->spaces_given && is_spaced_code(cells))
    return "codes, compared as text: numbers in groups of three, all of the same length";
  if (read->signed_cells == 0) return NULL;
  if (read->other_signs > 0) return "words: its numbers have different signs";
  int64_t bare = cells->plain + read->numbers - read->signed_cells;
  if (bare * 100 >= cells->present) return "words: some of its numbers have a sign, some have none";
  return signed_fits ? NULL : "words: its numbers have other marks than the file";
}

/* The kind of dates that reads most cells; of figures that of the dialect, where it was given, or
 * reads as many. */
static ep_cell_kind date_choose(const passes *pass, int64_t index) {
  const ep_column_cells *cells = &pass->cells[index];
  const int64_t *dates = cells->words_read.dates;
  ep_cell_kind own = ep_dialect_date_kind(pass->dialect);
  bool month_first = ep_dialect_has(pass->dialect, EP_DIALECT_DATES) && own == EP_CELL_MONTH_FIRST;
  if (pass->dates_given && is_mostly(pass, index, own, dates[own])) return own;
  ep_cell_kind best = EP_CELL_ISO_DATE;
  int64_t most = cells->iso;
  for (int kind = EP_CELL_ISO_DATE + 1; kind < EP_CELL_KINDS; kind++) {
    bool tie = kind == EP_CELL_MONTH_FIRST && dates[kind] == most && month_first;
    if (dates[kind] <= most && !(tie && most > 0)) continue;
    best = (ep_cell_kind)kind;
    most = dates[kind];
  }
  return is_mostly(pass, index, best, most) ? best : EP_CELL_KINDS;
}

/* What is said of durations, and of a column whose dates have another order than those of the file.
 */
static ep_status form_note(const passes *pass, int64_t index, ep_error *error) {
  ep_cell_kind kind = pass->cells[index].kind;
  bool figures = kind == EP_CELL_DAY_FIRST || kind == EP_CELL_MONTH_FIRST;
  if (kind == EP_CELL_DURATION)
    return ep_column_note_set(&pass->column[index], "durations, in seconds", error);
  if (!figures || !ep_dialect_has(pass->dialect, EP_DIALECT_DATES) ||
      kind == ep_dialect_date_kind(pass->dialect))
    return EP_OK;
  return ep_column_note_set(
      &pass->column[index],
      kind == EP_CELL_DAY_FIRST
          ? "dates with the day first, as they show; those of the file have the month "
            "first"
          : "dates with the month first, as they show; those of the file have the day "
            "first",
      error);
}

/* Finds the kind of a column. */
static ep_status kind_find(passes *pass, int64_t index, int marks, ep_error *error) {
  ep_column *column = &pass->column[index];
  ep_column_cells *cells = &pass->cells[index];
  int64_t numbers = ep_numbers_count(cells, marks), of_sign = cells->words_read.unit[marks];
  cells->kind = EP_CELL_KINDS;
  if (cells->present == cells->words_read.gaps) {
    cells->kind = EP_CELL_NUMBER; /* nothing is there */
    return EP_OK;
  }
  if (of_sign > 0) {
    memcpy(column->unit, cells->sign, sizeof column->unit);
    memcpy(column->unit_form, cells->unit_form, sizeof column->unit_form);
  }
  const char *fault = ep_cells_are_numbers(cells) ? number_fault(pass, cells, of_sign) : NULL;
  if (!fault && is_mostly(pass, index, EP_CELL_NUMBER, numbers) && !has_lettered_words(cells)) {
    cells->kind = EP_CELL_NUMBER;
    return EP_OK;
  }
  column->unit[0] = column->unit_form[0] = 0;
  cells->kind = fault ? EP_CELL_KINDS : date_choose(pass, index);
  return fault ? ep_column_note_set(column, fault, error) : form_note(pass, index, error);
}

/* The form of numbers with these marks; "type": "number" reads words by it. */
static ep_cell_kind number_form(int marks) {
  for (int kind = 0; ep_cell_kind_is_number((ep_cell_kind)kind); kind++) {
    ep_cell_marks form = ep_cell_kind_marks((ep_cell_kind)kind);
    if (form.decimal == ep_marks[marks].decimal &&
        (!ep_marks[marks].thousands || form.thousands == ep_marks[marks].thousands))
      return (ep_cell_kind)kind;
  }
  return EP_CELL_NUMBER;
}

/* *words: a column has words. */
static ep_status kinds_find(passes *pass, int marks, bool *words, ep_error *error) {
  ep_status status = EP_OK;
  *words = false;
  for (int64_t i = 0; i < pass->columns && status == EP_OK; i++) {
    status = kind_find(pass, i, marks, error);
    ep_cell_kind kind = pass->cells[i].kind;
    *words = *words || kind == EP_CELL_KINDS;
    bool number = ep_cell_kind_is_number(kind) || kind == EP_CELL_DURATION;
    pass->column[i].type = kind == EP_CELL_KINDS ? EP_COLUMN_CATEGORY
                           : number              ? EP_COLUMN_NUMBER
                                                 : EP_COLUMN_DATE;
    bool plain = kind == EP_CELL_NUMBER && pass->cells[i].words_read.numbers == 0;
    pass->column[i].form =
        kind == EP_CELL_KINDS || (kind == EP_CELL_NUMBER && !plain) ? number_form(marks) : kind;
    if (kind != EP_CELL_KINDS)
      pass->cells[i].odd = pass->cells[i].present - pass->cells[i].words_read.gaps -
                           (kind == EP_CELL_NUMBER     ? ep_numbers_count(&pass->cells[i], marks)
                            : kind == EP_CELL_ISO_DATE ? pass->cells[i].iso
                                                       : pass->cells[i].words_read.dates[kind]);
  }
  return status;
}

/* Whether the draft has each column's cells as they will be stored. The place of an odd cell is not
 * in it. */
static bool is_as_drafted(const passes *pass) {
  for (int64_t i = 0; i < pass->columns; i++) {
    const ep_column_cells *cells = &pass->cells[i];
    bool numbers = cells->kind == EP_CELL_NUMBER, words = cells->kind == EP_CELL_KINDS;
    if (words && cells->many && cells->plain + cells->iso == 0) continue; /* text */
    if (cells->many || cells->odd > 0) return false;
    if (cells->iso > 0 && cells->kind != EP_CELL_ISO_DATE) return false;
    if (cells->plain > 0 && !numbers) return false;
    if (cells->points > 0 && numbers && pass->dialect->decimal == ',') return false;
  }
  return true;
}

/* Whether numbers and dates of the column have to be counted as words. */
static bool lacks_words(const ep_column_cells *cells) {
  return cells->kind == EP_CELL_KINDS && !cells->many && cells->plain + cells->iso > 0;
}

static bool words_forget(passes *pass) {
  bool lacking = false;
  for (int64_t i = 0; i < pass->columns; i++) {
    ep_column_cells *cells = &pass->cells[i];
    cells->recounted = lacks_words(cells);
    if (!cells->recounted) continue;
    pass->words_bytes -= ep_word_set_bytes(&cells->words);
    ep_word_set_deinit(&cells->words);
    largest_find(pass, i);
    lacking = true;
  }
  return lacking;
}

static ep_status word_count(void *context, const ep_table_cell *value, ep_error *error) {
  passes *pass = context;
  ep_word_entry *unused;
  const ep_column_cells *cells = &pass->cells[value->column];
  if (!cells->recounted || cells->many || value->bytes == 0 ||
      (cells->listed && ep_dialect_is_missing(pass->dialect, value->text, value->bytes)))
    return EP_OK;
  return word_add(pass, value, &unused, error);
}

static ep_status types_find(passes *pass, ep_table_rows *rows, bool *drafted, ep_notes *notes,
                            ep_error *error) {
  bool words = false;
  int marks = 0;
  ep_column *column = pass->column;
  ep_column_cells *cells = pass->cells;
  ep_dialect *dialect = rows->dialect;
  pass->spaces_given = ep_dialect_has(dialect, EP_DIALECT_THOUSANDS) && dialect->thousands == ' ';
  ep_status status = rows->walk(rows, cell_take, row_drafted, pass, error);
  if (status != EP_OK) return status;
  for (int64_t i = 0; i < pass->columns; i++) ep_column_words_count(&cells[i]);
  status = ep_marks_find(column, cells, pass->columns, dialect, notes, &marks, error);
  if (status != EP_OK) return status;
  status = ep_dates_order_find(column, cells, pass->columns, dialect, notes, error);
  if (status != EP_OK) return status;
  status = kinds_find(pass, marks, &words, error);
  *drafted = pass->draft->file >= 0 && is_as_drafted(pass);
  if (status == EP_OK && !*drafted && words && words_forget(pass)) {
    status = rows->walk(rows, word_count, NULL, pass, error);
    for (int64_t i = 0; i < pass->columns; i++)
      if (cells[i].recounted) ep_column_words_count(&cells[i]);
  }
  const ep_gap_words gaps = ep_columns_gaps(cells, pass->columns);
  for (int64_t i = 0; i < pass->columns && status == EP_OK; i++)
    status = ep_column_words_settle(&column[i], &cells[i], &gaps, dialect, error);
  ep_dialect_missing_usual(dialect);
  return status;
}

ep_status ep_column_types_find(ep_table_rows *rows, ep_column_cells *cells, ep_part_writer *draft,
                               bool *drafted, ep_notes *notes, ep_error *error) {
  const int64_t columns = rows->columns;
  passes pass = {.columns = columns,
                 .column = draft->column,
                 .cells = cells,
                 .draft = draft,
                 .dialect = rows->dialect,
                 .dates_given = ep_dialect_has(rows->dialect, EP_DIALECT_DATES),
                 .largest = malloc(2 * (size_t)columns * sizeof *pass.largest)};
  if (!pass.largest) return ep_fail_memory(error);
  for (int64_t i = 0; i < columns; i++) pass.largest[columns + i] = i;
  for (int64_t i = columns - 1; i > 0; i--) pass.largest[i] = pass.largest[2 * i];
  for (int64_t i = 0; i < columns; i++)
    cells[i].listed = ep_dialect_has(rows->dialect, EP_DIALECT_MISSING);
  ep_status status = types_find(&pass, rows, drafted, notes, error);
  free(pass.largest);
  return status;
}

/* What the names of the columns are. Of those of numbers and dates, read as such: */
typedef struct {
  int64_t dates, numbers, marked, counts, years;
  int64_t inside, likely; /* like those of their columns; and no name is like them */
  int64_t same;           /* fractions and negative numbers that are like those of their columns */
  int64_t unlike;         /* names of such columns that are no cells of them */
  int64_t asked, known;   /* names of columns of words; of these: that are cells below */
  int64_t text;           /* names of columns of text */
  double last, step;
  bool sequence; /* they go up by one step: 1, 2, 3, or wavelengths */
} name_figures;

static void range_add(double value, double *least, double *most) {
  if (!(*least <= value)) *least = value;
  if (!(*most >= value)) *most = value;
}

static bool is_year(double value) {
  return value == floor(value) && value >= 1900 && value < 2100;
}

/* Whether the column counts 2, 3, 4, …, and the number is the one before. */
static bool is_count(const ep_column_cells *cells, double value) {
  return cells->plain > 1 && cells->plain == cells->present && value == cells->least - 1 &&
         cells->most - cells->least + 1 == (double)cells->plain;
}

/* Whether a number is like those of the column: as large, or beyond them by less than they differ.
 * A year is like years alone. */
static bool is_alike(const ep_column_cells *cells, double value) {
  double least = NAN, most = NAN;
  if (cells->plain > 0) range_add(cells->least, &least, &most);
  if (cells->plain > 0) range_add(cells->most, &least, &most);
  for (uint32_t i = 0; i < cells->words.count; i++)
    if (!isnan(cells->value[i])) range_add(cells->value[i], &least, &most);
  double wide = most - least;
  if (is_year(value)) return least >= 1700 && most <= 2200;
  return value >= least - wide && value <= most + wide;
}

static void figure_add(name_figures *found, const ep_column_cells *cells, const char *name,
                       double value) {
  double plain;
  double step = value - found->last;
  found->marked += !ep_cell_number_read('.', 0, name, strlen(name), &plain);
  bool inside = is_alike(cells, value);
  found->counts += is_count(cells, value);
  found->years += is_year(value);
  bool fraction = value < 0 || value != floor(value);
  found->inside += inside || fraction;
  found->same += inside && fraction;
  found->likely += fraction || (inside && value > 9999); /* not 2001 */
  if (found->numbers == 1) found->step = step;
  if (found->numbers >= 1 && (step <= 0 || fabs(step - found->step) > 1e-9 * fabs(step)))
    found->sequence = false;
  found->last = value;
  found->numbers++;
}

static const char words_not_below[] =
    "the first line has numbers, and is read as the names of the columns, because its words do not "
    "occur below: ?header=false makes it a row";

static void name_look(name_figures *found, const ep_column *column, const ep_column_cells *cells,
                      const ep_dialect *dialect) {
  const char *name = column->name;
  size_t length = strlen(name);
  double value;
  bool word = ep_word_set_find(&cells->words, name, length) >= 0;
  bool typed = cells->kind != EP_CELL_KINDS;
  bool is_text = column->type == EP_COLUMN_TEXT;
  bool reads = typed && ep_column_cell_read(column, cells->kind, dialect, name, length, &value);
  bool number = typed && !reads && !word && column->type == EP_COLUMN_NUMBER &&
                ep_cell_shape_of(name, length) == EP_SHAPE_NUMBER; /* with marks of its own */
  if (number) {
    found->numbers++;
    found->marked++;
    found->sequence = false;
    return;
  }
  if (typed && !reads && !word) {
    found->unlike++;
    return;
  }
  found->dates += reads && column->type == EP_COLUMN_DATE;
  if (reads && column->type == EP_COLUMN_NUMBER) figure_add(found, cells, name, value);
  found->text += is_text;
  found->asked += !reads && !is_text;
  found->known += !reads && !is_text && word;
}

/* Where a column of numbers or dates has a name that is none: the others show a row only where they
 * are like the cells below them, and are three times as many. */
static bool odd_names_are_cells(const name_figures *figures, bool sequence, bool few,
                                const char **note) {
  bool like =
      !sequence && figures->same > 0 && figures->dates + figures->same >= 3 * figures->unlike;
  bool row = like && (figures->asked == 0 || figures->known > 0);
  if (like)
    *note = row ? "the first line has numbers and dates like those below, and is read as a row: "
                  "?header=true makes it the names of the columns"
                : words_not_below;
  else if (few && figures->dates + figures->numbers > 0)
    *note = "the first line has numbers, and is read as the names of the columns: ?header=false "
            "makes it a row";
  return row;
}

bool ep_column_names_are_cells(const ep_column *column, const ep_column_cells *cells,
                               int64_t columns, const ep_dialect *dialect, const char **note) {
  name_figures figures = {.sequence = true};
  for (int64_t i = 0; i < columns; i++)
    if (!ep_cell_is_missing(column[i].name, strlen(column[i].name)) &&
        cells[i].present > cells[i].words_read.gaps)
      name_look(&figures, &column[i], &cells[i], dialect);
  bool few = columns > 0 && cells[0].present + cells[0].missing < 2;
  bool sequence = figures.sequence && (figures.numbers >= 3 || figures.step == 1);
  if (figures.unlike > 0) return odd_names_are_cells(&figures, sequence, few, note);
  if (figures.dates > 0 || figures.counts > 0 || 2 * figures.known > figures.asked) return true;
  bool inside = figures.numbers > 0 && !sequence &&
                (figures.inside * 2 >= figures.numbers + (figures.known == 0) ||
                 (few && figures.numbers > figures.asked + figures.text));
  bool likely = figures.likely > 0 || few;
  bool row = inside && (figures.asked == 0 || figures.known > 0 || likely);
  if (figures.known == 0 && (inside || (figures.numbers > figures.years && !sequence)))
    *note = row ? "the first line has numbers, and is read as a row: "
                  "?header=true makes it the names of the columns"
                : words_not_below;
  if (row) return true;
  if (figures.text > 0 && figures.asked + figures.numbers == 0)
    *note = "the first line is read as the names of the columns, which nothing below it shows: "
            "?header=false makes it a row";
  if (figures.asked + figures.text > 0 || figures.marked == 0) return false;
  *note = "the first line is numbers alone, and is read as a row: ?header=true makes it the names "
          "of the columns";
  return true;
}
