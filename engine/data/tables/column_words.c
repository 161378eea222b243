#include "engine/data/tables/column_words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/data/cells/boolean.h"
#include "engine/data/cells/word_key.h"
#include "engine/data/tables/column_types.h"

enum { LIST_BYTES = 192 }; /* of words, in a note */

static const char *text_of(const ep_column_cells *cells, uint32_t number) {
  return cells->words.text + cells->words.entry[number].offset;
}

static bool is_gap(const ep_word_entry *entry) {
  return entry->mark >> EP_READS_GAP & 1;
}

/* Of a word for a missing cell in a set of them. */
static uint64_t gap_bit(const ep_column_cells *cells, uint32_t number) {
  int word = ep_cell_missing_number(text_of(cells, number), cells->words.entry[number].bytes);
  return word < 0 ? 0 : UINT64_C(1) << word;
}

void ep_column_words_count(ep_column_cells *cells) {
  if (cells->many) return;
  cells->words_read = (ep_reading_counts){0};
  for (uint32_t i = 0; i < cells->words.count; i++) {
    ep_word_entry *entry = &cells->words.entry[i];
    entry->mark = ep_word_reads(cells, text_of(cells, i), entry->bytes);
    ep_reads_count(cells, entry->mark, entry->rows, text_of(cells, i), entry->bytes);
  }
}

/* --- numbers and dates ---------------------------------------------------------------------- */

/* "12 × `n.a.`, 1 × `5 kg`, …": words without a value. */
static void odd_list(const ep_column_cells *cells, char *out, size_t bytes) {
  enum { SHOWN = 3 };
  int shown = 0;
  out[0] = 0;
  for (uint32_t i = 0; i < cells->words.count; i++) {
    const ep_word_entry *entry = &cells->words.entry[i];
    char word[EP_EXCERPT_BYTES];
    if (!isnan(cells->value[i]) || is_gap(entry)) continue;
    size_t used = strlen(out);
    if (shown++ == SHOWN)
      snprintf(out + used, bytes - used, ", …");
    else if (shown <= SHOWN)
      snprintf(out + used, bytes - used, "%s%lld × `%s`", used ? ", " : "", (long long)entry->rows,
               ep_excerpt(word, text_of(cells, i), entry->bytes));
  }
}

/* "12 × `n.a.` taken as missing" */
static ep_status word_note(ep_column *column, const ep_column_cells *cells, uint32_t number,
                           const char *what, ep_error *error) {
  char word[EP_EXCERPT_BYTES];
  const ep_word_entry *entry = &cells->words.entry[number];
  return ep_column_note_add(column, error, "%lld × `%s` taken as %s", (long long)entry->rows,
                            ep_excerpt(word, text_of(cells, number), entry->bytes), what);
}

/* Words for a missing cell that few programs write, or that are all the column has, and numbers in
 * brackets. */
static ep_status unusual_note(ep_column *column, const ep_column_cells *cells, ep_error *error) {
  ep_status status = EP_OK;
  int64_t brackets = 0;
  bool empty = cells->present == cells->words_read.gaps;
  for (uint32_t i = 0; i < cells->words.count && status == EP_OK; i++) {
    const ep_word_entry *entry = &cells->words.entry[i];
    const char *text = text_of(cells, i);
    bool usual = entry->bytes == 1 ||
                 ((*text | 0x20) == 'n' && entry->bytes <= 4 && !memchr(text, '.', entry->bytes));
    if (is_gap(entry) && (!usual || empty)) status = word_note(column, cells, i, "missing", error);
    brackets += *text == '(' && !isnan(cells->value[i]) ? entry->rows : 0;
  }
  if (brackets == 0 || status != EP_OK) return status;
  return ep_column_note_add(column, error, "%lld number%s in brackets read as negative",
                            (long long)brackets, brackets == 1 ? "" : "s");
}

/* Numbers whose text says more than their value. */
static ep_status values_note(ep_column *column, const ep_column_cells *cells, ep_error *error) {
  bool one = cells->zeros == 1;
  if (cells->zeros == 0) return EP_OK;
  return ep_column_note_add(column, error, "%lld number%s with leading zeros %s read by %s value%s",
                            (long long)cells->zeros, one ? "" : "s", one ? "is" : "are",
                            one ? "its" : "their", one ? "" : "s");
}

/* What the few words of a column of numbers stand for, they stand for in its predictions. */
static ep_status missing_words_take(ep_column *column, const ep_column_cells *cells,
                                    ep_error *error) {
  enum { WORDS = 10 };
  ep_words *out = &column->missing_words;
  bool ok = ep_words_init(out, WORDS);
  out->count = 0;
  for (uint32_t i = 0; ok && i < cells->words.count; i++) {
    const ep_word_entry *entry = &cells->words.entry[i];
    if (!isnan(cells->value[i]) || is_gap(entry)) continue;
    if (entry->bytes > EP_LIMIT_WORD_BYTES || out->count == WORDS) {
      ep_words_deinit(out);
      return EP_OK;
    }
    out->word[out->count] = strndup(text_of(cells, i), entry->bytes);
    out->rows[out->count] = entry->rows;
    ok = out->word[out->count];
    out->count += ok;
  }
  return ok ? EP_OK : ep_fail_memory(error);
}

static ep_status values_settle(ep_column *column, ep_column_cells *cells, const ep_dialect *dialect,
                               ep_error *error) {
  char list[LIST_BYTES];
  for (uint32_t i = 0; i < cells->words.count; i++) {
    const ep_word_entry *entry = &cells->words.entry[i];
    if (is_gap(entry) || entry->bytes > EP_LIMIT_WORD_BYTES || /* of which the start is kept */
        !ep_column_cell_read(column, cells->kind, dialect, text_of(cells, i), entry->bytes,
                             &cells->value[i]))
      cells->value[i] = NAN;
  }
  ep_status status = unusual_note(column, cells, error);
  if (status == EP_OK && cells->kind == EP_CELL_NUMBER) status = values_note(column, cells, error);
  if (cells->odd > 0 && status == EP_OK) status = missing_words_take(column, cells, error);
  if (cells->odd == 0 || status != EP_OK) return status;
  odd_list(cells, list, sizeof list);
  return ep_column_note_add(column, error, "%lld %s; %lld other cell%s taken as missing%s%s",
                            (long long)(cells->present - cells->words_read.gaps - cells->odd),
                            cells->kind == EP_CELL_NUMBER ? "numbers" : "dates",
                            (long long)cells->odd, cells->odd == 1 ? "" : "s", list[0] ? ": " : "",
                            list);
}

/* --- words for a missing cell --------------------------------------------------------------- */

/* Whether most other words are codes of two capital letters, as those of countries: NA, NO, SE. */
static bool is_country(const ep_column_cells *cells, uint32_t number) {
  uint32_t others = 0, alike = 0;
  for (uint32_t i = 0; i < cells->words.count; i++) {
    const char *text = text_of(cells, i);
    if (i == number || is_gap(&cells->words.entry[i])) continue;
    others++;
    alike += cells->words.entry[i].bytes == 2 && *text >= 'A' && *text <= 'Z' && text[1] >= 'A' &&
             text[1] <= 'Z';
  }
  return cells->words.entry[number].bytes == 2 && others > 0 && alike * 5 >= others * 4;
}

/* A word of a fifth of the cells is a class, or hides one. */
static bool is_frequent(const ep_column_cells *cells, uint32_t number) {
  return cells->words.entry[number].rows * 5 >= cells->present;
}

ep_gap_words ep_columns_gaps(const ep_column_cells *cells, int64_t columns) {
  ep_gap_words gaps = {0};
  for (int64_t i = 0; i < columns; i++) {
    const ep_column_cells *own = &cells[i];
    bool typed = own->kind != EP_CELL_KINDS, filled = own->present > own->words_read.gaps;
    for (uint32_t k = 0; k < own->words.count && own->words_read.gaps > 0; k++) {
      if (!is_gap(&own->words.entry[k])) continue;
      if (typed && filled) gaps.typed |= gap_bit(own, k);
      bool rare = own->missing > 0 || !is_frequent(own, k);
      if (!typed && rare && !is_country(own, k)) gaps.rare |= gap_bit(own, k);
    }
  }
  return gaps;
}

/* Whether the set has a word of as many + as the text has -: both are classes then. */
static bool has_opposite(const ep_column_cells *cells, const char *text, size_t bytes) {
  static const char minus[] = "---", plus[] = "+++";
  return bytes < sizeof minus && memcmp(text, minus, bytes) == 0 &&
         ep_word_set_find(&cells->words, plus, bytes) >= 0;
}

/* Whether NA, None, - is a word of the column like others, which nothing in the file shows to be a
 * missing cell. Programs that write None for one leave none empty, and a class may have that name;
 * what is missing in a fifth of the cells is a class, or hides one. Nobody calls a class ?, NaN or
 * \N. */
static bool is_word(const ep_column_cells *own, uint32_t number, const ep_gap_words *gaps) {
  const ep_word_entry *entry = &own->words.entry[number];
  const char *text = text_of(own, number);
  bool named = entry->bytes == 4 && memcmp(text, "None", 4) == 0;
  bool likely = *text == '-' || strncasecmp(text, "na", entry->bytes) == 0 ||
                strncasecmp(text, "n/a", entry->bytes) == 0;
  bool often = likely && is_frequent(own, number), rare = gap_bit(own, number) & gaps->rare;
  return named || has_opposite(own, text, entry->bytes) ||
         (own->missing == 0 && !rare && (often || is_country(own, number)));
}

/* gaps: as ep_columns_gaps has them. */
static ep_status gaps_settle(ep_column *column, ep_column_cells *own, const ep_gap_words *gaps,
                             ep_error *error) {
  ep_status status = EP_OK;
  for (uint32_t i = 0; i < own->words.count && status == EP_OK; i++) {
    ep_word_entry *entry = &own->words.entry[i];
    bool typed = gap_bit(own, i) & gaps->typed;
    if (!is_gap(entry) || (typed && entry->rows * 10 < own->present)) continue;
    bool is = !typed && is_word(own, i, gaps);
    if (is) entry->mark &= ~(1u << EP_READS_GAP);
    status = word_note(column, own, i,
                       is ? "a word: ?missing= makes it a missing cell"
                          : "missing: ?missing= without it makes it a word",
                       error);
  }
  return status;
}

/* --- words ---------------------------------------------------------------------------------- */

/* Words of one key. */
typedef struct {
  int64_t rows;
  uint32_t word;   /* the one that most cells have */
  uint32_t number; /* of the group, as it came */
  uint32_t words;  /* how many there are */
} group;

typedef struct {
  const ep_column_cells *cells;
  group *group;      /* [count], owned */
  uint32_t *of_word; /* [words.count], owned: the group of each */
  uint32_t count;
} grouping;

static bool is_more_frequent(const ep_column_cells *cells, uint32_t one, uint32_t other) {
  const ep_word_entry *a = &cells->words.entry[one], *b = &cells->words.entry[other];
  return a->rows != b->rows ? a->rows > b->rows
                            : strcmp(text_of(cells, one), text_of(cells, other)) < 0;
}

static int group_compare(const void *a, const void *b, void *context) {
  const group *first = a, *second = b;
  const ep_column_cells *cells = context;
  const ep_word_entry *one = &cells->words.entry[first->word],
                      *other = &cells->words.entry[second->word];
  if (first->rows != second->rows) return first->rows > second->rows ? -1 : 1;
  size_t bytes = one->bytes < other->bytes ? one->bytes : other->bytes;
  int order = memcmp(text_of(cells, first->word), text_of(cells, second->word), bytes);
  return order ? order : (one->bytes > other->bytes) - (one->bytes < other->bytes);
}

static ep_status words_group(const ep_column_cells *cells, ep_word_compare compare, grouping *out,
                             ep_error *error) {
  size_t count = (size_t)cells->words.count + 1;
  ep_word_set keys = {0};
  ep_status status = EP_OK;
  *out = (grouping){.cells = cells,
                    .group = calloc(count, sizeof *out->group),
                    .of_word = calloc(count, sizeof *out->of_word)};
  if (!out->group || !out->of_word) return ep_fail_memory(error);
  for (uint32_t i = 0; i < cells->words.count && status == EP_OK; i++) {
    const ep_word_entry *word = &cells->words.entry[i];
    char key[EP_WORD_KEY_BYTES];
    size_t bytes;
    if (is_gap(word)) continue;
    status = ep_word_key(compare, text_of(cells, i), word->bytes, key, &bytes);
    if (status != EP_OK) break;
    const ep_word_entry *entry = ep_word_set_add(&keys, key, bytes, error);
    if (!entry) status = EP_NO_MEMORY;
    if (!entry) break;
    group *its = &out->group[entry->number];
    bool new = entry->number == out->count;
    out->count += new;
    if (new || is_more_frequent(cells, i, its->word)) its->word = i;
    its->number = entry->number;
    its->rows += word->rows;
    its->words++;
    out->of_word[i] = entry->number;
  }
  ep_word_set_deinit(&keys);
  return status == EP_NO_MEMORY ? ep_fail_memory(error) : status;
}

/* The groups in their order become the words; each word's cell is the place of its group. */
static ep_status groups_take(grouping *from, ep_column_cells *cells, ep_words *out,
                             ep_error *error) {
  uint32_t *place = calloc((size_t)from->count + 1, sizeof *place);
  qsort_r(from->group, from->count, sizeof *from->group, group_compare, cells);
  bool ok = place && ep_words_init(out, from->count);
  for (uint32_t i = 0; ok && i < from->count; i++) {
    const group *its = &from->group[i];
    place[its->number] = i;
    out->word[i] = strndup(text_of(cells, its->word), cells->words.entry[its->word].bytes);
    out->rows[i] = its->rows;
    ok = out->word[i] != NULL;
  }
  for (uint32_t i = 0; ok && i < cells->words.count; i++)
    cells->value[i] = is_gap(&cells->words.entry[i]) ? NAN : place[from->of_word[i]];
  free(place);
  return ok ? EP_OK : ep_fail_memory(error);
}

static bool are_booleans(const ep_column_cells *cells) {
  int bits = 0;
  int64_t words = 0;
  for (uint32_t i = 0; i < cells->words.count && !(bits & EP_WORD_OTHER); i++) {
    if (is_gap(&cells->words.entry[i])) continue;
    bits |= ep_boolean_bits(text_of(cells, i), cells->words.entry[i].bytes);
    words++;
  }
  return ep_words_are_booleans(bits, words);
}

static bool are_codes(const ep_column_cells *cells) {
  for (uint32_t i = 0; i < cells->words.count; i++)
    if (ep_word_is_code(text_of(cells, i), cells->words.entry[i].bytes)) return true;
  return false;
}

/* Numbers are a part of it: why they are words, and what makes them numbers. */
static ep_status numbers_note(ep_column *column, const ep_column_cells *cells, ep_error *error) {
  int64_t numbers = (cells->recounted ? 0 : cells->plain) + cells->words_read.numbers;
  if (column->note || numbers * 2 < cells->present) return EP_OK;
  return ep_column_note_add(
      column, error,
      "words: %lld of %lld cells are numbers; \"type\": \"number\" takes the others as "
      "missing",
      (long long)numbers, (long long)cells->present);
}

static void text_make(ep_column *column, ep_column_cells *cells, int64_t distinct) {
  ep_words_deinit(&column->words);
  column->type = EP_COLUMN_TEXT;
  column->distinct = distinct;
  for (uint32_t i = 0; i < cells->words.count; i++)
    cells->value[i] = is_gap(&cells->words.entry[i]) ? NAN : 0;
}

/* "`Yes` = `yes`, `no` = `No`, …": words of one key, as far as there is room. */
static void spellings_list(const grouping *groups, char *out, size_t room) {
  enum { MARKS_BYTES = 12 }; /* between words, and behind the last one */
  size_t used = 0;
  for (uint32_t i = 0; i < groups->count; i++) {
    const char *before = used > 0 ? ", " : "";
    if (groups->group[i].words < 2) continue;
    for (uint32_t k = 0; k < groups->cells->words.count; k++) {
      const ep_word_entry *entry = &groups->cells->words.entry[k];
      char word[EP_EXCERPT_BYTES];
      if (is_gap(entry) || groups->of_word[k] != groups->group[i].number) continue;
      ep_excerpt(word, text_of(groups->cells, k), entry->bytes);
      bool fits = used + strlen(word) + MARKS_BYTES < room;
      used += (size_t)snprintf(out + used, room - used, fits ? "%s`%s`" : ", …", before, word);
      if (!fits) return;
      before = " = ";
    }
  }
}

static ep_status spellings_note(ep_column *column, const grouping *groups, ep_error *error) {
  char list[LIST_BYTES];
  uint32_t words = 0;
  for (uint32_t i = 0; i < groups->count; i++) words += groups->group[i].words;
  if (words <= groups->count) return EP_OK;
  spellings_list(groups, list, sizeof list);
  return ep_column_note_add(column, error, "%u spellings of %u word%s, equal by %s: %s", words,
                            groups->count, groups->count == 1 ? "" : "s",
                            column->boolean ? "meaning"
                            : column->codes ? "Unicode's normal form"
                                            : "value",
                            list);
}

static ep_status category_settle(ep_column *own, ep_column_cells *words, const ep_gap_words *gaps,
                                 ep_error *error) {
  grouping groups = {0};
  ep_status status = gaps_settle(own, words, gaps, error);
  own->boolean = are_booleans(words);
  own->codes = !own->boolean && are_codes(words);
  ep_word_compare compare = own->boolean ? EP_WORD_BOOLEAN
                            : own->codes ? EP_WORD_CODE
                                         : EP_WORD_VALUE;
  if (status == EP_OK && words->words.too_long) {
    text_make(own, words, words->words.count);
    return numbers_note(own, words, error);
  }
  if (status == EP_OK) status = words_group(words, compare, &groups, error);
  if (status == EP_OK) status = groups_take(&groups, words, &own->words, error);
  int64_t filled = 0;
  for (uint32_t i = 0; i < groups.count; i++) filled += groups.group[i].rows;
  if (status == EP_OK) status = numbers_note(own, words, error);
  if (status == EP_OK) status = spellings_note(own, &groups, error);
  free(groups.group);
  free(groups.of_word);
  /* names, numbers of persons: as many words as cells */
  if (status == EP_OK && own->words.count == filled && filled > EP_LIMIT_IDENTIFIER_ROWS)
    text_make(own, words, own->words.count);
  return status;
}

ep_status ep_column_words_settle(ep_column *column, ep_column_cells *cells,
                                 const ep_gap_words *gaps, const ep_dialect *dialect,
                                 ep_error *error) {
  cells->value = calloc((size_t)cells->words.count + 1, sizeof *cells->value);
  if (!cells->value) return ep_fail_memory(error);
  if (cells->kind != EP_CELL_KINDS) return values_settle(column, cells, dialect, error);
  if (!cells->many) return category_settle(column, cells, gaps, error);
  text_make(column, cells, EP_LIMIT_CATEGORIES);
  return numbers_note(column, cells, error);
}
