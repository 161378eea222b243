/* onnx_columns.c: a column's cells are float64 [N, 1], NaN where one is missing; words become such
 * numbers first. The operators are those that onnxruntime has for float64 and int64. */
#include "engine/weights/onnx_columns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/data/columns/column_value.h"
#include "engine/data/columns/word_hash.h"
#include "engine/weights/onnx_arithmetic.h"
#include "engine/weights/onnx_dates.h"

/* Numbers may be a category too: their cells stay numbers. */
static bool is_text(const ep_column_encoding *column) {
  return ep_column_is_category(column) && !column->value;
}

/* Words as cells: their numbers, NaN for "". A word that is not told apart is another one, or, of
 * an ordinal, a missing one. An operator compares bytes: words are those of `words` as they are
 * written there. */
static ep_onnx_name words_read(ep_onnx_graph *graph, const ep_column_encoding *column) {
  int count = (int)column->words.count;
  const char **keys = calloc((size_t)count + 1, sizeof *keys);
  float *values = calloc((size_t)count + 1, sizeof *values);
  const char *inputs[] = {column->name};
  ep_protobuf node = {.failed = !keys || !values};
  float other = column->encode == EP_ENCODE_ORDINAL ? NAN : -1;
  for (int k = 0; k < count && !node.failed; k++) {
    keys[k] = column->words.word[k];
    values[k] = column->trained[k] ? (float)k : other;
  }
  if (!node.failed) {
    keys[count] = "";
    values[count] = NAN;
    ep_onnx_domain_ml(&node);
    ep_onnx_attribute_strings(&node, "keys_strings", keys, count + 1);
    ep_onnx_attribute_floats(&node, "values_floats", values, count + 1);
    ep_onnx_attribute_float(&node, "default_float", other);
  }
  free(values);
  free(keys);
  ep_onnx_name found = ep_onnx_node(graph, "LabelEncoder", inputs, 1, &node);
  return ep_onnx_cast_of(graph, found, EP_ONNX_DOUBLE);
}

/* float64 [N, words]: 1 at the word of the cell, if it is told apart. */
static ep_onnx_name words_compare(ep_onnx_graph *graph, const ep_column_encoding *column,
                                  ep_onnx_name cell) {
  double *values = calloc((size_t)column->words.count + 1, sizeof *values);
  for (int64_t k = 0; values && k < column->words.count; k++)
    values[k] =
        column->trained[k] ? ep_column_word_cell(column, k) : NAN; /* which equals nothing */
  if (!values) {
    graph->nodes.failed = true;
    return cell;
  }
  ep_onnx_name all = ep_onnx_constant(graph, EP_ONNX_DOUBLE, &column->words.count, 1, values);
  free(values);
  return ep_onnx_cast_of(graph, ep_onnx_of_two(graph, "Equal", cell, all), EP_ONNX_DOUBLE);
}

/* float64 [N, 1]: the sum over the words; of words_compare: whether the cell is one of them. */
static ep_onnx_name words_any(ep_onnx_graph *graph, ep_onnx_name compared) {
  const int64_t axis = 1;
  ep_onnx_name along = ep_onnx_constant(graph, EP_ONNX_INT64, (int64_t[]){1}, 1, &axis);
  return ep_onnx_of_two(graph, "ReduceSum", compared, along);
}

static ep_onnx_name choose(ep_onnx_graph *graph, ep_onnx_name which, ep_onnx_name one,
                           ep_onnx_name other) {
  const char *inputs[] = {which.text, one.text, other.text};
  return ep_onnx_node(graph, "Where", inputs, 3, NULL);
}

/* Numbers that are an ordinal: those that are not told apart are missing. */
static ep_onnx_name ordinal_known(ep_onnx_graph *graph, const ep_column_encoding *column,
                                  ep_onnx_name cell) {
  ep_onnx_name any = words_any(graph, words_compare(graph, column, cell));
  return choose(graph, ep_onnx_cast_of(graph, any, EP_ONNX_BOOL), cell, ep_onnx_number(graph, NAN));
}

static void one_hot_add(ep_onnx_graph *graph, const ep_column_encoding *column, ep_onnx_name cell,
                        ep_protobuf *features) {
  ep_onnx_name compared = words_compare(graph, column, cell);
  ep_onnx_name none =
      ep_onnx_of_two(graph, "Sub", ep_onnx_number(graph, 1), words_any(graph, compared));
  ep_onnx_input_add(features, compared.text);
  ep_onnx_input_add(features, none.text);
}

/* float64 [N, 1]: the number of the word whose value the cell is; words.count where it is none. */
static ep_onnx_name value_number(ep_onnx_graph *graph, const ep_column_encoding *column,
                                 ep_onnx_name cell) {
  int64_t count = column->words.count;
  double *from_none = calloc((size_t)count + 1, sizeof *from_none);
  ep_onnx_name compared = words_compare(graph, column, cell);
  for (int64_t k = 0; from_none && k < count; k++) from_none[k] = (double)(k - count);
  if (!from_none) {
    graph->nodes.failed = true;
    return cell;
  }
  ep_onnx_name all = ep_onnx_constant(graph, EP_ONNX_DOUBLE, &count, 1, from_none);
  free(from_none);
  ep_onnx_name away = words_any(graph, ep_onnx_of_two(graph, "Mul", compared, all));
  return ep_onnx_with(graph, "Add", away, (double)count);
}

/* int64 [N, 1]: the number of the word of the cell; words.count where it is none. */
static ep_onnx_name word_number(ep_onnx_graph *graph, const ep_column_encoding *column,
                                ep_onnx_name cell) {
  double count = (double)column->words.count;
  ep_onnx_name number = column->value ? value_number(graph, column, cell) : cell;
  ep_onnx_name whole = ep_onnx_of_two(graph, "Equal", number, ep_onnx_of(graph, "Floor", number));
  ep_onnx_name below = ep_onnx_with(graph, "Less", number, count);
  ep_onnx_name above = ep_onnx_with(graph, "Greater", number, -1);
  ep_onnx_name known = ep_onnx_of_two(graph, "And", below, above);
  known = ep_onnx_of_two(graph, "And", known, whole);
  number = choose(graph, known, number, ep_onnx_number(graph, count));
  return ep_onnx_cast_of(graph, number, EP_ONNX_INT64);
}

/* The row of `table`, float64 [words + 1, columns], owned, that belongs to the cell's word: the
 * last one for words that are not told apart. float64 [N, columns]. */
static ep_onnx_name words_gather(ep_onnx_graph *graph, const ep_column_encoding *column,
                                 ep_onnx_name cell, double *table, int64_t columns) {
  const int64_t shape[] = {column->words.count + 1, columns};
  ep_protobuf flat = {.failed = !table};
  ep_onnx_name number = word_number(graph, column, cell), all = {0};
  if (table) all = ep_onnx_constant(graph, EP_ONNX_DOUBLE, shape, 2, table);
  free(table);
  ep_onnx_name rows = ep_onnx_of_two(graph, "Gather", all, number); /* [N, 1, columns] */
  const char *gathered[] = {rows.text};
  ep_onnx_attribute_integer(&flat, "axis", 1);
  return ep_onnx_node(graph, "Flatten", gathered, 1, &flat);
}

static void embedding_add(ep_onnx_graph *graph, const ep_column_encoding *column, ep_onnx_name cell,
                          ep_onnx_name missing, ep_protobuf *features) {
  int64_t count = column->words.count;
  double *table = calloc((size_t)count + 1, sizeof *table);
  for (int64_t k = 0; table && k <= count; k++)
    table[k] = (double)(column->row + (k < count && column->trained[k] ? k : count));
  ep_onnx_name row = words_gather(graph, column, cell, table, 1);
  if (column->indicator)
    row = choose(graph, missing, ep_onnx_number(graph, (double)(column->row + count + 1)), row);
  ep_onnx_input_add(features, row.text);
}

static void hash_add(ep_onnx_graph *graph, const ep_column_encoding *column, ep_onnx_name cell,
                     ep_protobuf *features) {
  int64_t count = column->words.count;
  double *table = calloc((size_t)(count + 1) * (size_t)column->buckets, sizeof *table);
  for (int64_t k = 0; table && k < count; k++) {
    ep_word_bucket bucket = ep_word_bucket_of(column->words.word[k], column->buckets);
    if (column->trained[k]) table[k * column->buckets + bucket.index] = bucket.sign;
  }
  ep_onnx_name row = words_gather(graph, column, cell, table, column->buckets);
  ep_onnx_input_add(features, row.text);
}

/* sign(x) * log(1 + |x|) */
static ep_onnx_name logarithm(ep_onnx_graph *graph, ep_onnx_name value) {
  ep_onnx_name above = ep_onnx_with(graph, "Add", ep_onnx_of(graph, "Abs", value), 1);
  return ep_onnx_of_two(graph, "Mul", ep_onnx_of(graph, "Sign", value),
                        ep_onnx_of(graph, "Log", above));
}

static ep_onnx_name scaled(ep_onnx_graph *graph, const ep_column_encoding *column,
                           ep_onnx_name value) {
  ep_onnx_name moved = ep_onnx_with(graph, "Sub", value, column->shift);
  return ep_onnx_with(graph, "Div", moved, column->scale);
}

static void date_add(ep_onnx_graph *graph, const ep_column_encoding *column, ep_onnx_name cell,
                     ep_protobuf *features) {
  ep_onnx_date date = ep_onnx_date_of(graph, cell, column->date_parts);
  if (column->date_parts & EP_DATE_YEAR) {
    ep_onnx_name year = scaled(graph, column, date.year);
    ep_onnx_input_add(features, year.text);
  }
  for (int i = 0; i < date.cycles_count; i++) {
    ep_onnx_input_add(features, date.sine[i].text);
    ep_onnx_input_add(features, date.cosine[i].text);
  }
}

/* Adds the column's features to the inputs of the node that joins them. */
static void column_add(ep_onnx_graph *graph, const ep_column_encoding *column,
                       ep_protobuf *features) {
  ep_onnx_name cell = {0}, missing;
  snprintf(cell.text, sizeof cell.text, "%s", column->name);
  if (is_text(column))
    cell = words_read(graph, column);
  else if (column->encode == EP_ENCODE_ORDINAL)
    cell = ordinal_known(graph, column, cell);
  missing = ep_onnx_of(graph, "IsNaN", cell);
  if (!isnan(column->fill))
    cell = choose(graph, missing, ep_onnx_number(graph, column->fill), cell);
  if (column->encode == EP_ENCODE_ONE_HOT) {
    one_hot_add(graph, column, cell, features);
  } else if (column->encode == EP_ENCODE_EMBEDDING) {
    embedding_add(graph, column, cell, missing, features);
    return;
  } else if (column->encode == EP_ENCODE_HASH) {
    hash_add(graph, column, cell, features);
  } else if (column->encode == EP_ENCODE_DATE) {
    date_add(graph, column, cell, features);
  } else {
    if (column->scaling == EP_COLUMN_SCALE_LOG1P) cell = logarithm(graph, cell);
    cell = scaled(graph, column, cell);
    ep_onnx_input_add(features, cell.text);
  }
  if (!column->indicator) return;
  missing = ep_onnx_cast_of(graph, missing, EP_ONNX_DOUBLE);
  ep_onnx_input_add(features, missing.text);
}

void ep_onnx_columns_add(ep_onnx_graph *graph, const ep_encoding *encoding) {
  ep_protobuf features = {0};
  for (int64_t i = 0; i < encoding->columns; i++)
    if (encoding->column[i].encode != EP_ENCODE_NONE &&
        encoding->column[i].encode != EP_ENCODE_EMBEDDING)
      column_add(graph, &encoding->column[i], &features);
  for (int64_t i = 0; i < encoding->columns; i++)
    if (encoding->column[i].encode == EP_ENCODE_EMBEDDING)
      column_add(graph, &encoding->column[i], &features);
  ep_onnx_attribute_integer(&features, "axis", 1);
  graph->value.name = ep_onnx_node(graph, "Concat", NULL, 0, &features);
  ep_onnx_cast(graph, EP_ONNX_FLOAT);
}

static const char *cell_meaning(const ep_column_encoding *column) {
  if (is_text(column)) return "a word as the training data writes it; \"\" is a missing cell";
  if (column->encode != EP_ENCODE_DATE) return "a number; NaN is a missing cell";
  return column->form == EP_CELL_TIME ? "seconds since midnight; NaN is a missing cell"
                                      : "seconds since 1970-01-01 UTC; NaN is a missing cell";
}

void ep_onnx_columns_describe(ep_onnx_graph *graph, const ep_encoding *encoding) {
  const int64_t one = 1;
  for (int64_t i = 0; i < encoding->columns; i++) {
    const ep_column_encoding *column = &encoding->column[i];
    if (column->encode == EP_ENCODE_NONE) continue;
    ep_onnx_describe(graph, EP_ONNX_GRAPH_INPUT, column->name,
                     is_text(column) ? EP_ONNX_STRING : EP_ONNX_DOUBLE, &one, 1,
                     cell_meaning(column));
  }
}
