#include "engine/data/columns/encoding.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/cells/unicode.h"
#include "engine/data/columns/calendar.h"
#include "engine/data/columns/column_value.h"
#include "engine/data/columns/order_statistic.h"
#include "engine/data/columns/word_hash.h"

int64_t ep_column_word(const ep_column_encoding *column, double cell) {
  int64_t count = column->words.count;
  if (column->value) return ep_value_find(column->value, count, cell);
  return cell >= 0 && cell < (double)count && cell == floor(cell) ? (int64_t)cell : -1;
}

double ep_column_word_cell(const ep_column_encoding *column, int64_t word) {
  if (!column->value) return (double)word;
  if (word < 0) return column->words.count > 0 ? nextafter(column->value[0], -INFINITY) : -1;
  return column->value[word];
}

static bool values_find(const ep_words *words, double *value) {
  for (int64_t k = 0; k < words->count; k++) {
    size_t bytes = strlen(words->word[k]);
    if (!ep_cell_read(EP_CELL_NUMBER, words->word[k], bytes, &value[k]) || !isfinite(value[k]) ||
        (k > 0 && value[k] < value[k - 1]))
      return false;
  }
  return true;
}

ep_status ep_column_words_index(ep_column_encoding *column, ep_error *error) {
  if (ep_column_is_category(column) && column->type == EP_COLUMN_NUMBER) {
    column->value = calloc((size_t)column->words.count + 1, sizeof *column->value);
    if (!column->value) return ep_fail_memory(error);
    if (!values_find(&column->words, column->value))
      return ep_fail(error, EP_DATA, "the words of \"%.100s\" are not ascending numbers",
                     column->name);
  }
  return ep_word_index_init(column->compare, &column->words, &column->index, error);
}

double ep_column_value(const ep_column_encoding *column, double cell) {
  if (column->scaling != EP_COLUMN_SCALE_LOG1P) return cell;
  return copysign(log1p(fabs(cell)), cell);
}

int64_t ep_encoding_inputs(const ep_encoding *encoding) {
  return encoding->features * (encoding->window.length > 0 ? encoding->window.length : 1);
}

int64_t ep_column_features(const ep_column_encoding *column) {
  int64_t features = 1;
  if (column->encode == EP_ENCODE_NONE) return 0;
  if (column->encode == EP_ENCODE_EMBEDDING) return 1;
  if (column->encode == EP_ENCODE_ONE_HOT) features = column->words.count + 1;
  if (column->encode == EP_ENCODE_HASH) features = column->buckets;
  if (column->encode == EP_ENCODE_DATE) {
    features = (column->date_parts & EP_DATE_YEAR) != 0;
    for (int part = EP_DATE_MONTH; part <= EP_DATE_HOUR; part *= 2)
      features += column->date_parts & part ? 2 : 0;
  }
  return features + column->indicator;
}

bool ep_column_is_category(const ep_column_encoding *column) {
  return column->encode == EP_ENCODE_ONE_HOT || column->encode == EP_ENCODE_EMBEDDING ||
         column->encode == EP_ENCODE_ORDINAL || column->encode == EP_ENCODE_HASH;
}

/* The columns that are embedded, or all others, behind those that have their place. */
static void columns_place(ep_encoding *encoding, bool embedded) {
  for (int64_t i = 0; i < encoding->columns; i++) {
    ep_column_encoding *column = &encoding->column[i];
    if ((column->encode == EP_ENCODE_EMBEDDING) != embedded) continue;
    column->first = encoding->features;
    column->features = ep_column_features(column);
    encoding->features += column->features;
    if (!embedded) continue;
    column->row = encoding->embedded_rows;
    encoding->embedded_rows += column->words.count + 1 + column->indicator;
    encoding->embedded_columns++;
  }
}

void ep_encoding_place(ep_encoding *encoding) {
  encoding->features = encoding->embedded_columns = encoding->embedded_rows = 0;
  columns_place(encoding, false);
  columns_place(encoding, true);
}

const char *ep_column_composed_name(const ep_column_encoding *column) {
  return column->composed ? column->composed : column->name;
}

/* By their composed names, then by their own, and of one name in the order of the table. */
static int columns_compare(const void *a, const void *b) {
  const ep_column_encoding *left = *(ep_column_encoding *const *)a;
  const ep_column_encoding *right = *(ep_column_encoding *const *)b;
  int order = strcmp(ep_column_composed_name(left), ep_column_composed_name(right));
  if (order == 0) order = strcmp(left->name, right->name);
  return order ? order : (left > right) - (left < right);
}

static bool name_compose(ep_column_encoding *column) {
  const char *text = column->name;
  if (column->composed) return true;
  size_t bytes = strlen(text);
  char *owned;
  if (!ep_text_nfc(&text, &bytes, &owned)) return false;
  if (owned || bytes < strlen(column->name)) column->composed = strndup(text, bytes);
  bool ok = column->composed || !(owned || bytes < strlen(column->name));
  free(owned);
  return ok;
}

ep_status ep_encoding_names_order(ep_encoding *encoding) {
  const size_t count = (size_t)encoding->columns;
  ep_column_encoding **sorted = malloc(count * sizeof *sorted + 1);
  free(encoding->by_name);
  encoding->by_name = malloc(count * sizeof *encoding->by_name + 1);
  bool ok = sorted && encoding->by_name;
  for (size_t i = 0; i < count && ok; i++) {
    sorted[i] = &encoding->column[i];
    ok = name_compose(sorted[i]);
  }
  if (ok) {
    qsort(sorted, count, sizeof *sorted, columns_compare);
    for (size_t i = 0; i < count; i++) {
      sorted[i]->again = i > 0 && strcmp(sorted[i]->name, sorted[i - 1]->name) == 0;
      encoding->by_name[i] = sorted[i] - encoding->column;
    }
  }
  free(sorted);
  return ok ? EP_OK : EP_NO_MEMORY;
}

static double scaled(const ep_column_encoding *column, double value) {
  return (value - column->shift) / column->scale;
}

/* share: of the cycle, from 0 to below 1. Returns what comes after the two. */
static double *cycle_write(double share, double *out) {
  const double circle = 6.283185307179586;
  *out++ = sin(circle * share);
  *out++ = cos(circle * share);
  return out;
}

static void date_write(const ep_column_encoding *column, double cell, double *out) {
  ep_calendar date = ep_calendar_of(cell);
  int parts = column->date_parts;
  if (parts & EP_DATE_YEAR) *out++ = scaled(column, (double)date.year);
  if (parts & EP_DATE_MONTH) out = cycle_write((date.month - 1) / 12.0, out);
  if (parts & EP_DATE_DAY) out = cycle_write((date.day - 1) / (double)date.month_days, out);
  if (parts & EP_DATE_WEEKDAY) out = cycle_write(date.weekday / 7.0, out);
  if (parts & EP_DATE_HOUR) cycle_write(date.day_second / 86400, out);
}

static void one_hot_write(const ep_column_encoding *column, int64_t word, double *out) {
  memset(out, 0, (size_t)(column->words.count + 1) * sizeof *out);
  out[word < 0 || !column->trained[word] ? column->words.count : word] = 1;
}

static double embedding_row(const ep_column_encoding *column, int64_t word, bool missing) {
  if (missing && column->indicator) return (double)(column->row + column->words.count + 1);
  if (word < 0 || !column->trained[word]) word = column->words.count;
  return (double)(column->row + word);
}

static void hash_write(const ep_column_encoding *column, int64_t word, double *out) {
  memset(out, 0, (size_t)column->buckets * sizeof *out);
  if (word < 0 || !column->trained[word]) return;
  ep_word_bucket bucket = ep_word_bucket_of(column->words.word[word], column->buckets);
  out[bucket.index] = bucket.sign;
}

static void column_apply(const ep_column_encoding *column, double cell, double *out) {
  bool missing = isnan(cell);
  int64_t word = -1;
  if (missing) cell = column->fill;
  if (ep_column_is_category(column)) word = ep_column_word(column, cell);
  if (column->encode == EP_ENCODE_ORDINAL && (word < 0 || !column->trained[word])) {
    missing = true;
    cell = column->fill;
  }
  switch (column->encode) {
  case EP_ENCODE_NONE: return;
  case EP_ENCODE_ONE_HOT: one_hot_write(column, word, out); break;
  case EP_ENCODE_EMBEDDING: *out = embedding_row(column, word, missing); return;
  case EP_ENCODE_HASH: hash_write(column, word, out); break;
  case EP_ENCODE_DATE: date_write(column, cell, out); break;
  case EP_ENCODE_NUMBER:
  case EP_ENCODE_ORDINAL: *out = scaled(column, ep_column_value(column, cell)); break;
  }
  if (column->indicator) out[column->features - 1] = missing;
}

void ep_encoding_apply(const ep_encoding *encoding, const double *cells, double *out) {
  for (int64_t i = 0; i < encoding->columns; i++)
    column_apply(&encoding->column[i], cells[i], out + encoding->column[i].first);
}

ep_status ep_encoding_plain(const ep_words *names, const char *target, ep_encoding *out,
                            ep_error *error) {
  *out = (ep_encoding){.columns = names->count, .features = names->count};
  out->column = calloc((size_t)names->count + 1, sizeof *out->column);
  if (!out->column) return ep_fail_memory(error);
  snprintf(out->target, sizeof out->target, "%s", target);
  for (int64_t i = 0; i < names->count; i++) {
    out->column[i] = (ep_column_encoding){.encode = EP_ENCODE_NUMBER,
                                          .first = i,
                                          .features = 1,
                                          .scaling = EP_COLUMN_SCALE_NONE,
                                          .fill = NAN,
                                          .scale = 1,
                                          .range = {NAN, NAN, NAN, false}};
    snprintf(out->column[i].name, sizeof out->column[i].name, "%s", names->word[i]);
  }
  if (ep_encoding_names_order(out) == EP_OK) return EP_OK;
  ep_encoding_deinit(out);
  return ep_fail_memory(error);
}

bool ep_encoding_is_plain(const ep_encoding *encoding) {
  for (int64_t i = 0; i < encoding->columns; i++)
    if (encoding->column[i].encode != EP_ENCODE_NUMBER || !isnan(encoding->column[i].fill))
      return false;
  return true;
}

static int names_compare(const void *one, const void *other) {
  return strcmp(*(const char *const *)one, *(const char *const *)other);
}

ep_status ep_encoding_repeated_name(const ep_encoding *encoding, const char **out,
                                    ep_error *error) {
  const char **names = calloc((size_t)encoding->columns + 1, sizeof *names);
  int64_t count = 0;
  *out = NULL;
  if (!names) return ep_fail_memory(error);
  for (int64_t i = 0; i < encoding->columns; i++)
    if (encoding->column[i].encode != EP_ENCODE_NONE) names[count++] = encoding->column[i].name;
  qsort(names, (size_t)count, sizeof *names, names_compare);
  for (int64_t i = 1; i < count && !*out; i++)
    if (strcmp(names[i - 1], names[i]) == 0) *out = names[i];
  free(names);
  return EP_OK;
}

void ep_encoding_deinit(ep_encoding *encoding) {
  for (int64_t i = 0; encoding->column && i < encoding->columns; i++) {
    ep_column_encoding *column = &encoding->column[i];
    ep_word_index_deinit(&column->index);
    ep_words_deinit(&column->words);
    free(column->value);
    free(column->trained);
    free(column->composed);
  }
  free(encoding->notes);
  free(encoding->by_name);
  free(encoding->column);
  ep_words_deinit(&encoding->classes);
  *encoding = (ep_encoding){0};
}
