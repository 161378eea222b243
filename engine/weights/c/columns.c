#include "engine/weights/c/columns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/columns/column_value.h"
#include "engine/data/columns/word_hash.h"

enum { NAME_BYTES = 32 };

/* Numbers may be a category too: their cells stay numbers. */
static bool is_text(const ep_column_encoding *column) {
  return ep_column_is_category(column) && !column->value;
}

static int64_t window_rows(const ep_encoding *encoding) {
  return encoding->window.length > 0 ? encoding->window.length : 1;
}

typedef struct {
  char *text; /* within the fields */
  int64_t column;
} named_field;

static int fields_compare(const void *one, const void *other) {
  const named_field *a = one, *b = other;
  int order = strcmp(a->text, b->text);
  return order ? order : (a->column > b->column) - (a->column < b->column);
}

/* Of columns whose fields would have one name, all but the first get their number behind it, which
 * no other field ends with. */
static ep_status fields_tell_apart(ep_c_field *fields, int64_t count, ep_error *error) {
  named_field *sorted = malloc((size_t)(count + 1) * sizeof *sorted);
  if (!sorted) return ep_fail_memory(error);
  for (int64_t i = 0; i < count; i++) sorted[i] = (named_field){fields[i], i};
  qsort(sorted, (size_t)count, sizeof *sorted, fields_compare);
  for (int64_t i = count - 1; i > 0; i--)
    if (strcmp(sorted[i].text, sorted[i - 1].text) == 0 && *sorted[i].text)
      snprintf(sorted[i].text + strlen(sorted[i].text), 24, "__%lld", (long long)sorted[i].column);
  free(sorted);
  return EP_OK;
}

ep_status ep_c_fields_find(const ep_encoding *encoding, ep_c_field **out, ep_error *error) {
  *out = calloc((size_t)encoding->columns + 1, sizeof **out);
  if (!*out) return ep_fail_memory(error);
  for (int64_t i = 0; i < encoding->columns; i++)
    if (encoding->column[i].encode != EP_ENCODE_NONE)
      ep_c_identifier(encoding->column[i].name, "column", (*out)[i], EP_C_FIELD_BYTES - 24);
  ep_status status = fields_tell_apart(*out, encoding->columns, error);
  if (status == EP_OK) return EP_OK;
  free(*out);
  *out = NULL;
  return status;
}

static const char *cell_meaning(const ep_column_encoding *column) {
  if (is_text(column))
    return "a word as the training data writes it; 0 or \"\": the cell is missing";
  if (column->encode != EP_ENCODE_DATE) return "a number; NAN: the cell is missing";
  return column->form == EP_CELL_TIME ? "seconds since midnight; NAN: the cell is missing"
                                      : "seconds since 1970-01-01 UTC; NAN: the cell is missing";
}

void ep_c_row_define(ep_c_source *source, const ep_encoding *encoding, const ep_c_field *fields) {
  ep_c_add_text(source, "typedef struct {\n");
  for (int64_t i = 0; i < encoding->columns; i++) {
    const ep_column_encoding *column = &encoding->column[i];
    if (column->encode == EP_ENCODE_NONE) continue;
    ep_c_add(source, "  %s%s; /* \"", is_text(column) ? "const char *" : "double ", fields[i]);
    ep_c_add_remark(source, column->name);
    ep_c_add(source, "\": %s */\n", cell_meaning(column));
  }
  ep_c_add_text(source, "} @_row;\n\n");
}

static const char word_text[] =
    "/* The number of a word; -1: it is none of them, -2: the cell is missing. */\n"
    "static inline int32_t @_word_find(const char *const *words, int32_t count, const char *word) "
    "{\n"
    "  if (!word || !*word) return -2;\n"
    "  for (int32_t i = 0; i < count; i++)\n"
    "    if (words[i] && strcmp(words[i], word) == 0) return i;\n"
    "  return -1;\n"
    "}\n\n";

static const char value_text[] =
    "/* The number of the word that a cell stands for; -1: none. values: ascending. */\n"
    "static inline int32_t @_word_of(double cell, const double *values, int32_t count) {\n"
    "  int32_t first = 0, end = count;\n"
    "  while (first < end) {\n"
    "    const int32_t middle = first + (end - first) / 2;\n"
    "    if (values[middle] < cell)\n"
    "      first = middle + 1;\n"
    "    else\n"
    "      end = middle;\n"
    "  }\n"
    "  return first < count && values[first] == cell ? first : -1;\n"
    "}\n\n";

/* As engine/data/columns/calendar.c. */
static const char date_text[] =
    "/* The year, then month, day, weekday and time as shares of their cycles. Days become dates "
    "as\n"
    " * in H. Hinnant, \"chrono-Compatible Low-Level Date Algorithms\": years begin in March. */\n"
    "static inline void @_date(double seconds, double part[5]) {\n"
    "  static const int32_t month_days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};\n"
    "  if (!(seconds > -1e14)) seconds = -1e14;\n"
    "  if (seconds > 1e14) seconds = 1e14;\n"
    "  const double whole = floor(seconds / 86400);\n"
    "  const int64_t days = (int64_t)whole, moved = days + 719468;\n"
    "  const int64_t era = (moved >= 0 ? moved : moved - 146096) / 146097;\n"
    "  const int64_t day = moved - era * 146097;\n"
    "  const int64_t years = (day - day / 1460 + day / 36524 - day / 146096) / 365;\n"
    "  const int64_t year_day = day - (365 * years + years / 4 - years / 100);\n"
    "  const int64_t march = (5 * year_day + 2) / 153;\n"
    "  const int64_t month = march < 10 ? march + 3 : march - 9;\n"
    "  const int64_t year = years + era * 400 + (month <= 2);\n"
    "  const int leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;\n"
    "  part[0] = (double)year;\n"
    "  part[1] = (double)(month - 1) / 12.0;\n"
    "  part[2] = (double)(year_day - (153 * march + 2) / 5) /\n"
    "            (month_days[month - 1] + (month == 2 ? leap : 0));\n"
    "  part[3] = (double)((days % 7 + 7 + 3) % 7) / 7.0; /* 1970-01-01 was a Thursday */\n"
    "  part[4] = (seconds - whole * 86400) / 86400;\n"
    "}\n\n";

static void functions_add(ep_c_source *source, const ep_encoding *encoding) {
  bool texts = false, values = false, dates = false;
  for (int64_t i = 0; i < encoding->columns; i++) {
    texts |= is_text(&encoding->column[i]);
    values |= encoding->column[i].value != NULL;
    dates |= encoding->column[i].encode == EP_ENCODE_DATE;
  }
  if (texts) ep_c_add_text(source, word_text);
  if (values) ep_c_add_text(source, value_text);
  if (dates) ep_c_add_text(source, date_text);
}

static bool all_trained(const ep_column_encoding *column) {
  for (int64_t k = 0; k < column->words.count; k++)
    if (!column->trained[k]) return false;
  return true;
}

/* Words without training rows are not known: they are left out of the list. */
static void words_define(ep_c_source *source, const ep_column_encoding *column, int64_t number) {
  char name[NAME_BYTES];
  int64_t count = column->words.count;
  const char **words = calloc((size_t)count + 1, sizeof *words);
  if (!words) source->failed = true;
  for (int64_t k = 0; words && k < count; k++)
    words[k] = column->trained[k] ? column->words.word[k] : NULL;
  snprintf(name, sizeof name, "words_%lld", (long long)number);
  if (words) ep_c_add_strings(source, name, words, count > 0 ? count : 1);
  free(words);
}

static void values_define(ep_c_source *source, const ep_column_encoding *column, int64_t number) {
  char name[NAME_BYTES];
  snprintf(name, sizeof name, "values_%lld", (long long)number);
  ep_c_add_doubles(source, name, column->value, column->words.count > 0 ? column->words.count : 1);
}

static void trained_define(ep_c_source *source, const ep_column_encoding *column, int64_t number) {
  char name[NAME_BYTES];
  int8_t *trained = calloc((size_t)column->words.count + 1, 1);
  if (!trained) source->failed = true;
  for (int64_t k = 0; trained && k < column->words.count; k++) trained[k] = column->trained[k];
  snprintf(name, sizeof name, "trained_%lld", (long long)number);
  if (trained) ep_c_add_bytes(source, name, trained, column->words.count);
  free(trained);
}

/* Of each word 1 + the feature of its bucket, negative where its sign is. */
static void buckets_define(ep_c_source *source, const ep_column_encoding *column, int64_t number) {
  ep_c_add(source, "static const int16_t @_buckets_%lld[%lld] = {", (long long)number,
           (long long)(column->words.count > 0 ? column->words.count : 1));
  for (int64_t k = 0; k < column->words.count; k++) {
    ep_word_bucket bucket = ep_word_bucket_of(column->words.word[k], column->buckets);
    ep_c_add(source, "%s%lld",
             k == 0       ? "\n  "
             : k % 8 == 0 ? ",\n  "
                          : ", ",
             (long long)((bucket.index + 1) * (bucket.sign < 0 ? -1 : 1)));
  }
  ep_c_add_text(source, column->words.count > 0 ? "};\n" : "0};\n");
}

static void tables_add(ep_c_source *source, const ep_encoding *encoding) {
  for (int64_t i = 0; i < encoding->columns; i++) {
    const ep_column_encoding *column = &encoding->column[i];
    if (is_text(column)) words_define(source, column, i);
    if (column->value) values_define(source, column, i);
    if (column->value && !all_trained(column)) trained_define(source, column, i);
    if (column->encode == EP_ENCODE_HASH) buckets_define(source, column, i);
  }
}

/* One column of the function. Feature k of it is x[at + k * step]. */
typedef struct {
  ep_c_source *source;
  const ep_column_encoding *column;
  const char *field;
  int64_t number, at, step;
} writing;

static void double_set(const writing *w, const char *before, double value, const char *after) {
  ep_c_add_text(w->source, before);
  ep_c_add_double(w->source, value);
  ep_c_add_text(w->source, after);
}

/* "cell" and "missing": words are their number, others -1. */
static void cell_read(const writing *w) {
  const ep_column_encoding *column = w->column;
  if (is_text(column)) {
    ep_c_add(w->source,
             "    const int32_t found = @_word_find(@_words_%lld, %lld, row->%s);\n"
             "    double cell = found == -2 ? NAN : found;\n",
             (long long)w->number, (long long)column->words.count, w->field);
  } else {
    ep_c_add(w->source, "    double cell = row->%s;\n", w->field);
  }
  bool asked = column->indicator || column->encode == EP_ENCODE_ORDINAL;
  if (asked) ep_c_add_text(w->source, "    int missing = cell != cell;\n");
  if (!isnan(column->fill)) double_set(w, "    if (cell != cell) cell = ", column->fill, ";\n");
}

/* "word": -1 where the cell is none that is told apart. */
static void word_read(const writing *w) {
  if (!w->column->value) {
    ep_c_add_text(w->source, "    int32_t word = cell == cell ? (int32_t)cell : -1;\n");
    return;
  }
  ep_c_add(w->source, "    int32_t word = @_word_of(cell, @_values_%lld, %lld);\n",
           (long long)w->number, (long long)w->column->words.count);
  if (!all_trained(w->column))
    ep_c_add(w->source, "    if (word >= 0 && !@_trained_%lld[word]) word = -1;\n",
             (long long)w->number);
}

static void scaled_write(const writing *w, const char *value, int64_t feature) {
  ep_c_add(w->source, "    x[%lld] = (float)((%s", (long long)(w->at + feature * w->step), value);
  double_set(w, " - ", w->column->shift, ") / ");
  double_set(w, "", w->column->scale, ");\n");
}

static void number_write(const writing *w) {
  if (w->column->encode == EP_ENCODE_ORDINAL) {
    double_set(w, "    if (word < 0) cell = ", w->column->fill, ", missing = 1;\n");
    if (!w->column->indicator) ep_c_add_text(w->source, "    (void)missing;\n");
  }
  bool log = w->column->scaling == EP_COLUMN_SCALE_LOG1P;
  scaled_write(w, log ? "copysign(log1p(fabs(cell)), cell)" : "cell", 0);
}

static void features_clear(const writing *w, int64_t count) {
  ep_c_add(w->source, "    for (int32_t k = 0; k < %lld; k++) x[%lld + k * %lld] = 0;\n",
           (long long)count, (long long)w->at, (long long)w->step);
}

static void one_hot_write(const writing *w) {
  int64_t count = w->column->words.count;
  features_clear(w, count + 1);
  ep_c_add(w->source, "    x[%lld + (word < 0 ? %lld : word) * %lld] = 1;\n", (long long)w->at,
           (long long)count, (long long)w->step);
}

static void embedding_write(const writing *w) {
  const ep_column_encoding *column = w->column;
  int64_t others = column->row + column->words.count;
  ep_c_add(w->source, "    x[%lld] = (float)(word < 0 ? %lld : %lld + word);\n", (long long)w->at,
           (long long)others, (long long)column->row);
  if (column->indicator)
    ep_c_add(w->source, "    if (missing) x[%lld] = %lld;\n", (long long)w->at,
             (long long)(others + 1));
}

static void hash_write(const writing *w) {
  features_clear(w, w->column->buckets);
  ep_c_add(w->source,
           "    const int32_t bucket = word < 0 ? 0 : @_buckets_%lld[word];\n"
           "    if (bucket > 0) x[%lld + (bucket - 1) * %lld] = 1;\n"
           "    if (bucket < 0) x[%lld + (-bucket - 1) * %lld] = -1;\n",
           (long long)w->number, (long long)w->at, (long long)w->step, (long long)w->at,
           (long long)w->step);
}

static void date_write(const writing *w) {
  static const int parts[] = {EP_DATE_YEAR, EP_DATE_MONTH, EP_DATE_DAY, EP_DATE_WEEKDAY,
                              EP_DATE_HOUR};
  int64_t feature = 0;
  ep_c_add_text(w->source, "    double part[5];\n    @_date(cell, part);\n");
  if (w->column->date_parts & EP_DATE_YEAR) scaled_write(w, "part[0]", feature++);
  for (int i = 1; i < 5; i++) {
    if (!(w->column->date_parts & parts[i])) continue;
    ep_c_add(w->source,
             "    x[%lld] = (float)sin(6.283185307179586 * part[%d]);\n"
             "    x[%lld] = (float)cos(6.283185307179586 * part[%d]);\n",
             (long long)(w->at + feature * w->step), i,
             (long long)(w->at + (feature + 1) * w->step), i);
    feature += 2;
  }
}

static void column_write(const writing *w) {
  const ep_column_encoding *column = w->column;
  ep_c_add_text(w->source, "  {\n");
  cell_read(w);
  if (ep_column_is_category(column)) word_read(w);
  switch (column->encode) {
  case EP_ENCODE_ONE_HOT: one_hot_write(w); break;
  case EP_ENCODE_EMBEDDING: embedding_write(w); break;
  case EP_ENCODE_HASH: hash_write(w); break;
  case EP_ENCODE_DATE: date_write(w); break;
  default: number_write(w); break;
  }
  if (column->indicator && column->encode != EP_ENCODE_EMBEDDING)
    ep_c_add(w->source, "    x[%lld] = (float)missing;\n",
             (long long)(w->at + (column->features - 1) * w->step));
  ep_c_add_text(w->source, "  }\n");
}

void ep_c_encode_define(ep_c_source *source, const ep_encoding *encoding,
                        const ep_c_field *fields) {
  int64_t step = window_rows(encoding);
  functions_add(source, encoding);
  tables_add(source, encoding);
  ep_c_add_text(source, "\nstatic inline void @_encode(const @_row *row, float *x) {\n");
  for (int64_t i = 0; i < encoding->columns; i++) {
    const ep_column_encoding *column = &encoding->column[i];
    if (column->encode == EP_ENCODE_NONE) continue;
    column_write(&(writing){source, column, fields[i], i, column->first * step, step});
  }
  ep_c_add_text(source, "}\n\n");
}

/* The word of a cell; NULL: it is missing. */
static const char *cell_word(const ep_column_encoding *column, double cell) {
  int64_t word = ep_column_word(column, cell);
  if (isnan(cell)) return NULL;
  return word >= 0 ? column->words.word[word] : "(another word)";
}

void ep_c_row_add(ep_c_source *source, const ep_encoding *encoding, const ep_c_field *fields,
                  const double *cells) {
  ep_c_add_text(source, "{");
  for (int64_t i = 0, given = 0; i < encoding->columns; i++) {
    const ep_column_encoding *column = &encoding->column[i];
    if (column->encode == EP_ENCODE_NONE) continue;
    ep_c_add(source, "%s.%s = ", given++ ? ",\n     " : "", fields[i]);
    if (is_text(column))
      ep_c_add_string(source, cell_word(column, cells[i]));
    else
      ep_c_add_double(source, cells[i]);
  }
  ep_c_add_text(source, "}");
}
