/* encoding.h: from the raw columns of a table to the numbers that a network takes: what is decided
 * from the description, what is learnt from the training rows, and how a row is encoded, in
 * training and in prediction alike. It travels with the weights. */
#ifndef EP_ENGINE_DATA_COLUMNS_ENCODING_H
#define EP_ENGINE_DATA_COLUMNS_ENCODING_H

#include "api/spec/job_spec.h"
#include "engine/data/datasets/dataset.h"

/* How the cells of one column become features. */
typedef enum {
  EP_ENCODE_NONE,    /* left out: the target, text, constants, what is excluded */
  EP_ENCODE_NUMBER,  /* one feature, scaled */
  EP_ENCODE_ONE_HOT, /* one feature a word, and one for all others and missing ones */
  EP_ENCODE_ORDINAL, /* one feature: the number of the word, scaled */
  EP_ENCODE_DATE     /* year, scaled; month, day, weekday and hour as cycles: a sine and a cosine */
} ep_encode;

typedef struct {
  int64_t column; /* of the table */
  char name[EP_LIMIT_NAME_BYTES + 1];
  ep_column_type type;
  ep_encode encode;
  int64_t first, features; /* of the encoded row: features first … first + features - 1 */
  bool indicator;          /* the last of them is 1 where the cell is missing */
  ep_words words;          /* those that are told apart, owned; cells hold their numbers */
  int64_t *place;          /* [words of the table]: the feature of each word, counted from `first`;
                              owned; NULL unless one_hot */
  /* Learnt from the training rows. */
  double fill;            /* in the place of a missing number */
  double mean, deviation; /* 0 and 1: not scaled */
} ep_column_encoding;

typedef struct {
  ep_column_encoding *column; /* [columns], owned: all of the table but the target */
  int64_t columns, features;
} ep_encoding;

/* From the description alone: which columns, how, and how many features. Problems point at
 * /data/columns/…. On failure there is nothing to deinit. */
ep_status ep_encoding_plan(const ep_data_spec *data, const ep_part *table, int64_t target,
                           ep_encoding *out, ep_error *error);
void ep_encoding_deinit(ep_encoding *encoding); /* a zeroed one is allowed */

/* row: [table columns] raw cells; out: [features], written. */
void ep_encoding_apply(const ep_encoding *encoding, const double *row, double *out);

#endif
