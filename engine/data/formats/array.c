#include "engine/data/formats/array.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "engine/data/datasets/part_writer.h"
#include "engine/files/excerpt.h"

/* The place of column `column` of row 0 in a Fortran-order array, in values: the first index runs
 * fastest, and the flattened column counts the others in C order. */
static int64_t fortran_column(const ep_array_header *array, int64_t column) {
  int64_t place = 0, stride = array->rows * array->columns;
  for (int i = array->dimensions - 1; i > 0; i--) {
    stride /= array->shape[i];
    place += column % array->shape[i] * stride;
    column /= array->shape[i];
  }
  return place;
}

static void value_copy(uint8_t *out, const uint8_t *value, size_t bytes, bool swap) {
  if (!swap) {
    memcpy(out, value, bytes);
    return;
  }
  for (size_t i = 0; i < bytes; i++) out[i] = value[bytes - 1 - i];
}

static void row_copy(const ep_array_header *array, const uint8_t *values, int64_t row,
                     uint8_t *out) {
  size_t bytes = ep_dtype_bytes(array->dtype);
  bool swap = array->big_endian && bytes > 1;
  if (!array->fortran_order && !swap) {
    size_t row_bytes = (size_t)array->columns * bytes;
    memcpy(out, values + (size_t)row * row_bytes, row_bytes);
    return;
  }
  for (int64_t column = 0; column < array->columns; column++) {
    int64_t place =
        array->fortran_order ? fortran_column(array, column) + row : row * array->columns + column;
    value_copy(out + (size_t)column * bytes, values + (size_t)place * bytes, bytes, swap);
  }
}

ep_status ep_array_store(ep_ingest *ingest, const ep_array_header *array, const uint8_t *values,
                         ep_split split, ep_role role, ep_error *error) {
  ep_part_writer writer = {0};
  int64_t shape[EP_LIMIT_ROW_DIMENSIONS];
  int dimensions = ep_array_row_shape(array, shape);
  ep_status status = ep_part_writer_open(&writer, ingest->folder, split, role, array->dtype,
                                         array->columns, NULL, &ingest->budget_bytes, error);
  if (status == EP_OK && role != EP_ROLE_TABLE) ep_part_writer_shape(&writer, dimensions, shape);
  for (int64_t row = 0; row < array->rows && status == EP_OK; row++) {
    row_copy(array, values, row, ep_part_writer_next(&writer));
    status = ep_part_writer_commit(&writer, error);
  }
  if (status == EP_OK)
    status = ep_part_writer_finish(&writer, &ingest->meta->part[split][role], error);
  ep_part_writer_abandon(&writer);
  return status;
}

/* Names of splits: those of Keras, scikit-learn, MedMNIST, and of folders of published pictures.
 * Without '_', '-' and spaces, which folders are compared without. */
static const struct {
  const char *word;
  ep_split split;
} split_words[] = {
    {"train", EP_SPLIT_TRAIN},           {"training", EP_SPLIT_TRAIN},
    {"trainset", EP_SPLIT_TRAIN},        {"trainingset", EP_SPLIT_TRAIN},
    {"traindata", EP_SPLIT_TRAIN},       {"trainingdata", EP_SPLIT_TRAIN},
    {"trainimages", EP_SPLIT_TRAIN},     {"trainingimages", EP_SPLIT_TRAIN},
    {"segtrain", EP_SPLIT_TRAIN},        {"test", EP_SPLIT_TEST},
    {"testing", EP_SPLIT_TEST},          {"testset", EP_SPLIT_TEST},
    {"testingset", EP_SPLIT_TEST},       {"testdata", EP_SPLIT_TEST},
    {"testingdata", EP_SPLIT_TEST},      {"testimages", EP_SPLIT_TEST},
    {"testingimages", EP_SPLIT_TEST},    {"segtest", EP_SPLIT_TEST},
    {"val", EP_SPLIT_VALIDATION},        {"valid", EP_SPLIT_VALIDATION},
    {"validation", EP_SPLIT_VALIDATION}, {"valset", EP_SPLIT_VALIDATION},
    {"validset", EP_SPLIT_VALIDATION},   {"validationset", EP_SPLIT_VALIDATION},
    {"valdata", EP_SPLIT_VALIDATION},    {"validationdata", EP_SPLIT_VALIDATION},
    {"valimages", EP_SPLIT_VALIDATION},  {"validationimages", EP_SPLIT_VALIDATION},
    {"segval", EP_SPLIT_VALIDATION},     {"dev", EP_SPLIT_VALIDATION},
    {"devset", EP_SPLIT_VALIDATION},     {"", EP_SPLIT_TRAIN},
};
static const struct {
  const char *word;
  ep_role role;
} role_words[] = {{"x", EP_ROLE_X}, {"y", EP_ROLE_Y}, {"images", EP_ROLE_X}, {"labels", EP_ROLE_Y}};

/* Whether text: [bytes] is the word. */
static bool is_word(const char *text, size_t bytes, const char *word) {
  for (size_t i = 0; i < bytes; i++) {
    if (text[i] == '_' || text[i] == '-' || text[i] == ' ') continue;
    if (tolower((unsigned char)text[i]) != *word || !*word) return false;
    word++;
  }
  return !*word;
}

bool ep_array_split_find(const char *word, size_t bytes, ep_split *split) {
  for (size_t s = 0; s < sizeof split_words / sizeof *split_words; s++) {
    if (!*split_words[s].word || !is_word(word, bytes, split_words[s].word)) continue;
    *split = split_words[s].split;
    return true;
  }
  return false;
}

bool ep_array_part_find(const char *name, ep_split *split, ep_role *role) {
  char known[2][32];
  for (size_t s = 0; s < sizeof split_words / sizeof *split_words; s++)
    for (size_t r = 0; r < sizeof role_words / sizeof *role_words; r++) {
      const char *word = split_words[s].word, *line = *word ? "_" : "";
      snprintf(known[0], sizeof known[0], "%s%s%s", word, line, role_words[r].word);
      snprintf(known[1], sizeof known[1], "%s%s%s", role_words[r].word, line, word);
      if (strcasecmp(name, known[0]) != 0 && strcasecmp(name, known[1]) != 0) continue;
      *split = split_words[s].split;
      *role = role_words[r].role;
      return true;
    }
  return false;
}

ep_status ep_array_part_check(const ep_ingest *ingest, const char *format, const char *name,
                              ep_split split, ep_role role, ep_error *error) {
  char shown[EP_EXCERPT_BYTES];
  if (ingest->meta->part[split][role].rows == 0) return EP_OK;
  return ep_fail(error, EP_INVALID, "%s: \"%s\" duplicates %s of the %s set", format,
                 ep_excerpt(shown, name, strlen(name)), ep_role_name(role), ep_split_name(split));
}

ep_status ep_array_parts_check(const ep_ingest *ingest, const char *format, ep_error *error) {
  for (int split = 0; split < EP_SPLIT_COUNT; split++) {
    const ep_part *x = &ingest->meta->part[split][EP_ROLE_X];
    const ep_part *y = &ingest->meta->part[split][EP_ROLE_Y];
    const char *name = ep_split_name((ep_split)split);
    if (x->rows == 0 && y->rows == 0 && split != EP_SPLIT_TRAIN) continue;
    if (split == EP_SPLIT_TEST && y->rows == 0) continue; /* rows to be predicted */
    if (x->rows == 0 || y->rows == 0)
      return ep_fail(error, EP_INVALID, "%s: %s of the %s set is missing: name it %s_%s", format,
                     x->rows == 0 ? "x" : "y", name, x->rows == 0 ? "x" : "y", name);
    if (x->rows != y->rows)
      return ep_fail(error, EP_INVALID, "%s: the %s set has %lld rows of x and %lld of y", format,
                     name, (long long)x->rows, (long long)y->rows);
  }
  return EP_OK;
}
