#include "engine/data/tables/column_types.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/json/utf8.h"

/* What a cell is in the draft. */
enum { DRAFT_NUMBER, DRAFT_DATE, DRAFT_WORD };

/* The passes over the rows. */
typedef struct {
  int64_t columns;
  ep_column *column;      /* [columns], lent */
  ep_column_cells *types; /* [columns], lent */
  ep_draft *draft;        /* lent */
  bool decimal_commas;    /* a comma may stand in a number: it is not the delimiter */
  size_t words_bytes;     /* of all words */
} passes;

static ep_status text_check(const passes *pass, const ep_table_cell *value, ep_error *error) {
  char label[EP_COLUMN_LABEL_BYTES], shown[EP_EXCERPT_BYTES];
  if (ep_utf8_valid(value->text, value->bytes) && !memchr(value->text, 0, value->bytes))
    return EP_OK;
  return ep_fail(error, EP_INVALID, "row %lld, %s: \"%s\" is not UTF-8 text",
                 (long long)value->line, ep_column_label(pass->column, value->column, label),
                 ep_excerpt(shown, value->text, value->bytes));
}

/* --- words ---------------------------------------------------------------------------------- */

/* distinct 0: not counted. */
static void words_drop(passes *pass, int64_t column, int64_t distinct) {
  ep_column_cells *type = &pass->types[column];
  pass->words_bytes -= ep_word_set_bytes(&type->words);
  ep_word_set_deinit(&type->words);
  type->text = true;
  type->distinct = distinct;
}

/* The column whose words take the most memory becomes text. */
static void largest_drop(passes *pass) {
  int64_t largest = 0;
  size_t most = 0;
  for (int64_t i = 0; i < pass->columns; i++) {
    size_t bytes = ep_word_set_bytes(&pass->types[i].words);
    if (bytes > most) largest = i;
    if (bytes > most) most = bytes;
  }
  words_drop(pass, largest, 0);
}

/* Adds a word; *entry is its, or NULL where the column has too many. */
static ep_status word_add(passes *pass, const ep_table_cell *value, ep_word_entry **entry,
                          ep_error *error) {
  ep_word_set *words = &pass->types[value->column].words;
  uint32_t count = words->count;
  size_t before = ep_word_set_bytes(words);
  *entry = ep_word_set_add(words, value->text, value->bytes, error);
  if (!*entry) return EP_NO_MEMORY;
  pass->words_bytes += ep_word_set_bytes(words) - before; /* a full set grows for any word */
  if (words->count == count) return EP_OK;
  if (words->count > EP_LIMIT_CATEGORIES) words_drop(pass, value->column, EP_LIMIT_CATEGORIES);
  while (pass->words_bytes > EP_LIMIT_WORDS_BYTES) largest_drop(pass);
  if (pass->types[value->column].text) *entry = NULL;
  return EP_OK;
}

/* --- kinds ---------------------------------------------------------------------------------- */

/* What a cell is, a bit each: the kinds that read it; whether it was looked at at all; the kinds of
 * numbers that read it without its sign; whether two of these disagree. */
enum { SEEN = EP_CELL_KINDS, WITH_UNIT, UNCLEAR = WITH_UNIT + EP_CELL_KINDS, HAS_UNIT };

/* Of a number with a sign. The first sign of the column is its own. */
static uint32_t unit_kinds_of(ep_unit_cells *unit, const ep_table_cell *value) {
  char sign[EP_UNIT_BYTES];
  uint32_t kinds = 0;
  double first = 0, number;
  if (!ep_unit_find(value->text, value->bytes, sign)) return 0;
  for (int kind = 0; ep_cell_kind_is_number((ep_cell_kind)kind); kind++) {
    if (!ep_unit_number_read((ep_cell_kind)kind, sign, value->text, value->bytes, &number))
      continue;
    if (kinds == 0) first = number;
    if (number != first) kinds |= 1u << UNCLEAR;
    kinds |= 1u << (WITH_UNIT + kind) | 1u << HAS_UNIT;
  }
  if (kinds != 0 && !unit->sign[0]) memcpy(unit->sign, sign, sizeof sign);
  if (kinds == 0 || strcmp(sign, unit->sign) == 0) return kinds;
  unit->others = true;
  return 1u << HAS_UNIT;
}

static bool is_comma_kind(int kind) {
  return ep_cell_kind_is_number((ep_cell_kind)kind) &&
         ep_cell_kind_marks((ep_cell_kind)kind).decimal == ',';
}

/* Of a cell that is no plain number. */
static uint32_t kinds_of(const passes *pass, const ep_table_cell *value) {
  uint32_t kinds = 1u << SEEN | unit_kinds_of(&pass->types[value->column].unit, value);
  double unused;
  for (int kind = EP_CELL_NUMBER + 1; kind < EP_CELL_KINDS; kind++) {
    if (is_comma_kind(kind) && !pass->decimal_commas) continue;
    bool reads = ep_cell_read((ep_cell_kind)kind, value->text, value->bytes, &unused);
    kinds |= (uint32_t)reads << kind;
  }
  return kinds;
}

/* Of a cell of either kind that has spaces. */
static void spaced_take(ep_spaced_cells *spaced, const ep_table_cell *value) {
  bool first = spaced->longest == 0;
  if (first || value->bytes < spaced->shortest) spaced->shortest = value->bytes;
  if (value->bytes > spaced->longest) spaced->longest = value->bytes;
  spaced->marked |=
      memchr(value->text, '.', value->bytes) || memchr(value->text, ',', value->bytes);
}

/* A cell that is neither a plain number nor an ISO date. What was found of a word is kept with it.
 */
static ep_status word_take(passes *pass, const ep_table_cell *value, double *out, ep_error *error) {
  ep_column_cells *type = &pass->types[value->column];
  ep_word_entry *entry = NULL;
  uint32_t kinds = 0;
  *out = 0;
  type->drafted[DRAFT_WORD]++;
  ep_status status = type->text ? EP_OK : word_add(pass, value, &entry, error);
  if (status != EP_OK) return status;
  if (entry) {
    *out = entry->number;
    kinds = entry->mark;
  }
  if (kinds == 0) {
    status = text_check(pass, value, error);
    kinds = kinds_of(pass, value);
    if (entry) entry->mark = kinds;
  }
  for (int kind = 0; kind < EP_CELL_KINDS; kind++) {
    type->accepted[kind] += kinds >> kind & 1;
    type->unit.accepted[kind] += kinds >> (WITH_UNIT + kind) & 1;
  }
  if (kinds & (1u << EP_CELL_SPACED | 1u << EP_CELL_SPACED_COMMA))
    spaced_take(&type->spaced, value);
  type->unit.unclear += kinds >> UNCLEAR & 1;
  type->unit.cells += kinds >> HAS_UNIT & 1;
  return status;
}

static ep_status kinds_count(void *context, const ep_table_cell *value, ep_error *error) {
  passes *pass = context;
  ep_column_cells *type = &pass->types[value->column];
  double other, *out = ep_draft_row(pass->draft) + value->column;
  if (ep_cell_is_missing(value->text, value->bytes)) {
    type->missing++;
    *out = NAN;
    return EP_OK;
  }
  type->present++;
  if (ep_cell_read(EP_CELL_NUMBER, value->text, value->bytes, out)) {
    type->drafted[DRAFT_NUMBER] += isfinite(*out); /* another one is refused where it is stored */
    type->accepted[EP_CELL_NUMBER]++;              /* which is no date */
    type->accepted[EP_CELL_GROUPED]++;
    type->accepted[EP_CELL_SPACED]++;
    type->accepted[EP_CELL_APOSTROPHE]++;
    for (int kind = 0; pass->decimal_commas && ep_cell_kind_is_number((ep_cell_kind)kind); kind++) {
      if (!is_comma_kind(kind) ||
          !ep_cell_read((ep_cell_kind)kind, value->text, value->bytes, &other))
        continue;
      type->accepted[kind]++;
      type->thousands += other != *out;
    }
    return EP_OK;
  }
  if (!ep_cell_read(EP_CELL_ISO_DATE, value->text, value->bytes, out))
    return word_take(pass, value, out, error);
  type->drafted[DRAFT_DATE]++;
  type->accepted[EP_CELL_ISO_DATE]++; /* as no other kind is */
  return EP_OK;
}

static ep_status row_drafted(void *context, ep_error *error) {
  (void)error;
  ep_draft_add(((passes *)context)->draft);
  return EP_OK;
}

/* Whether all cells but less than 1 % are so. */
static bool is_column(const ep_column_cells *type, int64_t cells) {
  int64_t odd = type->present - cells;
  return odd == 0 || odd * 100 < type->present;
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Phone numbers and postal codes in groups of three, 612 345 678: quantities that have all as many
 * digits are rarer. */
static bool is_codes(const ep_column_cells *type, ep_cell_kind kind) {
  enum { CODE_BYTES = 7 }; /* 110 001 */
  return (kind == EP_CELL_SPACED || kind == EP_CELL_SPACED_COMMA) &&
         type->accepted[EP_CELL_NUMBER] == 0 && !type->spaced.marked &&
         type->spaced.shortest == type->spaced.longest && type->spaced.longest >= CODE_BYTES;
}

/* The kind that reads the most cells, the first of those that read as many; EP_CELL_KINDS when it
 * leaves 1 % of them or more. */
static ep_cell_kind kind_choose(ep_column_cells *type) {
  int best = 0;
  for (int kind = 1; kind < EP_CELL_KINDS; kind++)
    if (type->accepted[kind] > type->accepted[best]) best = kind;
  if (!is_column(type, type->accepted[best])) return EP_CELL_KINDS;
  /* 1/2/2024 throughout: nobody can tell */
  if (best == EP_CELL_DAY_FIRST && type->accepted[EP_CELL_MONTH_FIRST] == type->accepted[best])
    return EP_CELL_KINDS;
  if (is_codes(type, (ep_cell_kind)best)) type->number_fault = EP_NUMBER_FAULT_CODES;
  return type->number_fault == EP_NUMBER_FAULT_NONE ? (ep_cell_kind)best : EP_CELL_KINDS;
}

/* The same of numbers with a sign. What their commas and points mean must show in a cell, whatever
 * the delimiter: €1.234 is a thousand in one country, and a fraction in another. */
static ep_cell_kind unit_kind_choose(ep_column_cells *type) {
  const int64_t *accepted = type->unit.accepted;
  int best = 0;
  int64_t bare = 0, points = 0, commas = 0;
  for (int kind = 0; ep_cell_kind_is_number((ep_cell_kind)kind); kind++) {
    int64_t *marked = is_comma_kind(kind) ? &commas : &points;
    *marked = larger(*marked, accepted[kind]);
    if (accepted[kind] > accepted[best]) best = kind;
    bare = larger(bare, type->accepted[kind]);
  }
  if (type->unit.cells == 0 || !is_column(type, type->unit.cells + bare)) return EP_CELL_KINDS;
  type->number_fault = type->unit.others                            ? EP_NUMBER_FAULT_SIGNS
                       : !is_column(type, type->unit.cells)         ? EP_NUMBER_FAULT_BARE
                       : !is_column(type, accepted[best])           ? EP_NUMBER_FAULT_FORMS
                       : type->unit.unclear > 0 && points == commas ? EP_NUMBER_FAULT_UNCLEAR
                                                                    : EP_NUMBER_FAULT_NONE;
  return type->number_fault == EP_NUMBER_FAULT_NONE ? (ep_cell_kind)best : EP_CELL_KINDS;
}

/* Returns whether a column has words. */
static bool kinds_choose(passes *pass) {
  bool words = false;
  for (int64_t i = 0; i < pass->columns; i++) {
    ep_column_cells *type = &pass->types[i];
    type->kind = kind_choose(type);
    if (type->kind == EP_CELL_KINDS && type->number_fault == EP_NUMBER_FAULT_NONE) {
      type->kind = unit_kind_choose(type);
      if (type->kind < EP_CELL_KINDS)
        memcpy(pass->column[i].unit, type->unit.sign, sizeof type->unit.sign);
    }
    words |= type->kind == EP_CELL_KINDS;
    pass->column[i].type = type->kind == EP_CELL_KINDS          ? EP_COLUMN_CATEGORY
                           : ep_cell_kind_is_number(type->kind) ? EP_COLUMN_NUMBER
                                                                : EP_COLUMN_DATE;
    if (type->kind < EP_CELL_KINDS) pass->column[i].form = type->kind;
  }
  return words;
}

/* Whether each column is in the draft what it is said to be. */
static bool is_as_drafted(const passes *pass) {
  for (int64_t i = 0; i < pass->columns; i++) {
    const ep_column_cells *type = &pass->types[i];
    int as = type->kind == EP_CELL_NUMBER     ? DRAFT_NUMBER
             : type->kind == EP_CELL_ISO_DATE ? DRAFT_DATE
                                              : DRAFT_WORD;
    bool odd = type->kind < EP_CELL_KINDS && as == DRAFT_WORD;
    if (odd || type->drafted[as] < type->present) return false;
  }
  return true;
}

static void words_forget(passes *pass) {
  for (int64_t i = 0; i < pass->columns; i++) {
    ep_word_set_deinit(&pass->types[i].words);
    pass->types[i].text = false;
  }
  pass->words_bytes = 0;
}

static ep_status word_count(void *context, const ep_table_cell *value, ep_error *error) {
  passes *pass = context;
  ep_word_entry *unused;
  if (pass->types[value->column].kind != EP_CELL_KINDS || pass->types[value->column].text ||
      ep_cell_is_missing(value->text, value->bytes))
    return EP_OK;
  return word_add(pass, value, &unused, error);
}

/* Names, numbers of persons: as many words as cells. */
static bool is_identifier(const ep_column_cells *type) {
  return type->words.count == type->present && type->present > EP_LIMIT_IDENTIFIER_ROWS;
}

static void text_make(passes *pass, int64_t column, int64_t distinct) {
  words_drop(pass, column, distinct);
  pass->column[column].type = EP_COLUMN_TEXT;
  pass->column[column].distinct = distinct;
}

static ep_status words_order(passes *pass, ep_error *error) {
  ep_status status = EP_OK;
  for (int64_t i = 0; i < pass->columns && status == EP_OK; i++) {
    ep_column_cells *type = &pass->types[i];
    if (pass->column[i].type != EP_COLUMN_CATEGORY)
      ep_word_set_deinit(&type->words); /* cells that are none of its type */
    else if (type->text)
      text_make(pass, i, type->distinct);
    else if (type->words.too_long || is_identifier(type))
      text_make(pass, i, type->words.count);
    else
      status = ep_word_set_order(&type->words, &pass->column[i].words, error);
  }
  return status;
}

ep_status ep_column_types_find(ep_table_rows *rows, ep_column *column, ep_column_cells *types,
                               ep_draft *draft, ep_error *error) {
  passes pass = {.columns = rows->columns,
                 .column = column,
                 .types = types,
                 .draft = draft,
                 .decimal_commas = rows->decimal_commas};
  ep_status status = rows->walk(rows, kinds_count, row_drafted, &pass, error);
  if (status != EP_OK) return status;
  bool words = kinds_choose(&pass);
  draft->kept = draft->kept && is_as_drafted(&pass);
  if (!draft->kept) words_forget(&pass);
  if (!draft->kept && words) status = rows->walk(rows, word_count, NULL, &pass, error);
  return status == EP_OK ? words_order(&pass, error) : status;
}

/* Adds the line if there is room: half of it may be half a character. */
static void note_add(const char *line, char *note, size_t bytes) {
  size_t used = strlen(note);
  if (used + strlen(line) + 2 < bytes)
    snprintf(note + used, bytes - used, "%s%s", used ? "; " : "", line);
}

bool ep_column_names_are_cells(const ep_column *column, const ep_column_cells *types,
                               int64_t columns, char *note, size_t bytes) {
  int64_t asked = 0, found = 0, numbers = 0;
  bool text = false;
  for (int64_t i = 0; i < columns; i++) {
    const char *name = column[i].name;
    size_t length = strlen(name);
    double value;
    if (ep_cell_is_missing(name, length)) continue;
    if (column[i].type == EP_COLUMN_TEXT) {
      text = true;
      continue;
    }
    if (column[i].type != EP_COLUMN_CATEGORY &&
        !ep_cell_read(types[i].kind, name, length, &value) &&
        !ep_unit_number_read(types[i].kind, column[i].unit, name, length, &value))
      return false;
    if (column[i].type == EP_COLUMN_NUMBER) { /* a year or 10 % may be a name */
      numbers += !ep_cell_read(EP_CELL_NUMBER, name, length, &value);
      continue;
    }
    asked++;
    found +=
        column[i].type == EP_COLUMN_DATE || ep_word_set_find(&types[i].words, name, length) >= 0;
  }
  if (asked > 0 || text) return 2 * found > asked;
  if (numbers > 0) note_add("the first line is numbers alone, and is read as a row", note, bytes);
  return numbers > 0;
}

static void words_note(const ep_column *column, const ep_column_cells *types, int64_t columns,
                       char *note, size_t bytes) {
  static const char *const reasons[] = {
      [EP_NUMBER_FAULT_SIGNS] = "its numbers have different signs",
      [EP_NUMBER_FAULT_BARE] = "some of its numbers have a sign, and some have none",
      [EP_NUMBER_FAULT_FORMS] = "some of its numbers have decimal points, and some have commas",
      [EP_NUMBER_FAULT_UNCLEAR] =
          "no cell shows whether the mark before three digits is the decimal "
          "one or divides thousands: leave it out",
      [EP_NUMBER_FAULT_CODES] = "its numbers with spaces have all the same length, as codes and "
                                "phone numbers do: leave the spaces out where they are amounts"};
  char label[EP_COLUMN_LABEL_BYTES], line[EP_NOTE_BYTES];
  int64_t first = 0, faults = 0;
  for (int64_t i = columns; i-- > 0;) {
    if (types[i].number_fault == EP_NUMBER_FAULT_NONE) continue;
    first = i;
    faults++;
  }
  if (faults == 0) return;
  snprintf(line, sizeof line, "%s is words: %s", ep_column_label(column, first, label),
           reasons[types[first].number_fault]);
  note_add(line, note, bytes);
  snprintf(line, sizeof line, "%lld more %s words alike", (long long)faults - 1,
           faults == 2 ? "is" : "are");
  if (faults > 1) note_add(line, note, bytes);
}

static void thousands_note(const ep_column *column, const ep_column_cells *types, int64_t columns,
                           char *note, size_t bytes) {
  char label[EP_COLUMN_LABEL_BYTES], line[EP_NOTE_BYTES];
  int64_t first = -1;
  bool commas = false;
  for (int64_t i = columns; i-- > 0;) {
    const ep_column_cells *type = &types[i];
    commas |= type->kind == EP_CELL_DECIMAL_COMMA || type->kind == EP_CELL_SPACED_COMMA;
    if (type->kind == EP_CELL_NUMBER && type->thousands > 0 &&
        type->accepted[EP_CELL_DECIMAL_COMMA] == type->accepted[EP_CELL_NUMBER])
      first = i;
  }
  if (!commas || first < 0) return;
  snprintf(line, sizeof line,
           "in %s 1.234 is read as a fraction, and no thousand, though other columns have decimal "
           "commas",
           ep_column_label(column, first, label));
  note_add(line, note, bytes);
}

void ep_column_types_note(const ep_column *column, const ep_column_cells *types, int64_t columns,
                          char *note, size_t bytes) {
  words_note(column, types, columns, note, bytes);
  thousands_note(column, types, columns, note, bytes);
}

void ep_column_types_reset(ep_column *column, ep_column_cells *types, int64_t columns,
                           ep_draft *draft) {
  ep_draft_reset(draft);
  for (int64_t i = 0; i < columns; i++) {
    ep_words_deinit(&column[i].words);
    ep_word_set_deinit(&types[i].words);
    column[i] = (ep_column){0};
    types[i] = (ep_column_cells){0};
  }
}
