#include "engine/metrics/roc_auc.h"

#include <math.h>
#include <string.h>

enum { DIGIT_BITS = 8, DIGITS = 8, DIGIT_VALUES = 1 << DIGIT_BITS }; /* of 64 bits */

/* Bits that are in the order of the numbers: a positive one's come above all negative ones', whose
 * own order is turned around. */
static uint64_t ordered_bits(double score) {
  uint64_t bits;
  double value = score + 0.0; /* -0 is 0 */
  memcpy(&bits, &value, sizeof bits);
  return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static unsigned digit_of(const ep_scored *row, int place) {
  return (unsigned)(ordered_bits(row->score) >> place * DIGIT_BITS) % DIGIT_VALUES;
}

/* How often each value of each digit occurs. */
static void digits_count(const ep_scored *rows, int64_t count,
                         int64_t counts[DIGITS][DIGIT_VALUES]) {
  memset(counts, 0, sizeof(int64_t) * DIGITS * DIGIT_VALUES);
  for (int64_t i = 0; i < count; i++)
    for (int place = 0; place < DIGITS; place++) counts[place][digit_of(&rows[i], place)]++;
}

/* Orders by one digit from rows into out, keeping the order of those that share it. */
static void digit_sort(const ep_scored *rows, ep_scored *out, int64_t count, int place,
                       int64_t *counts) {
  int64_t sum = 0;
  for (int value = 0; value < DIGIT_VALUES; value++) {
    int64_t here = counts[value];
    counts[value] = sum;
    sum += here;
  }
  for (int64_t i = 0; i < count; i++) out[counts[digit_of(&rows[i], place)]++] = rows[i];
}

/* By score, the least first: digit by digit from the last one, skipping those that all share.
 * Returns where the result is. */
static const ep_scored *rows_sort(ep_scored *rows, ep_scored *spare, int64_t count) {
  int64_t counts[DIGITS][DIGIT_VALUES];
  digits_count(rows, count, counts);
  for (int place = 0; place < DIGITS; place++) {
    if (count == 0 || counts[place][digit_of(&rows[0], place)] == count) continue;
    digit_sort(rows, spare, count, place, counts[place]);
    ep_scored *sorted = spare;
    spare = rows;
    rows = sorted;
  }
  return rows;
}

double ep_roc_auc(ep_scored *rows, ep_scored *spare, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (isnan(rows[i].score)) return NAN;
  const ep_scored *sorted = rows_sort(rows, spare, count);
  double rank_sum = 0;
  int64_t positives = 0;
  for (int64_t first = 0, last; first < count; first = last) {
    for (last = first; last < count && sorted[last].score == sorted[first].score;) last++;
    double shared_rank = 0.5 * (double)(first + 1 + last); /* ranks count from 1 */
    for (int64_t i = first; i < last; i++)
      if (sorted[i].positive) rank_sum += shared_rank, positives++;
  }
  int64_t negatives = count - positives;
  if (positives == 0 || negatives == 0) return NAN;
  return (rank_sum - 0.5 * (double)positives * (double)(positives + 1)) /
         ((double)positives * (double)negatives);
}
