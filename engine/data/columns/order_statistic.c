#include "engine/data/columns/order_statistic.h"

#include <string.h>

#include "engine/data/datasets/distinct.h"

enum { DIGIT_BITS = 8, DIGITS = 64 / DIGIT_BITS, DIGIT_VALUES = 1 << DIGIT_BITS };

/* Unsigned integers in the order of the doubles: a negative one has all bits turned over, a
 * positive one its sign. */
static uint64_t key_of(double value) {
  uint64_t bits;
  value += 0.0; /* -0 is 0 */
  memcpy(&bits, &value, sizeof bits);
  return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static double value_of(uint64_t key) {
  uint64_t bits = key >> 63 ? key & ~(UINT64_C(1) << 63) : ~key;
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Radix selection: the digits of the key one after the other, from the highest; each time those
 * that begin with the digits found so far are counted by their next one. */
double ep_order_statistic(const double *values, int64_t count, int64_t rank) {
  uint64_t found = 0;
  int64_t with_digit[DIGIT_VALUES];
  for (int digit = DIGITS - 1; digit >= 0; digit--) {
    int shift = digit * DIGIT_BITS;
    memset(with_digit, 0, sizeof with_digit);
    for (int64_t i = 0; i < count; i++) {
      uint64_t key = key_of(values[i]);
      if (digit == DIGITS - 1 || key >> (shift + DIGIT_BITS) == found)
        with_digit[key >> shift & (DIGIT_VALUES - 1)]++;
    }
    uint64_t next = 0;
    while (rank >= with_digit[next]) rank -= with_digit[next++];
    found = found << DIGIT_BITS | next;
  }
  return value_of(found);
}

double ep_median(const double *values, int64_t count) {
  double low = ep_order_statistic(values, count, (count - 1) / 2);
  if (count % 2 == 1) return low;
  double high = ep_order_statistic(values, count, count / 2);
  return low + (high - low) / 2;
}

int64_t ep_value_find(const double *ascending, int64_t count, double value) {
  int64_t first = 0, end = count; /* where it may be */
  while (first < end) {
    int64_t middle = (first + end) / 2;
    if (ascending[middle] < value)
      first = middle + 1;
    else
      end = middle;
  }
  return first < count && ascending[first] == value ? first : -1;
}

double ep_mode(double *values, int64_t count) {
  double mode = values[0];
  int64_t most = 0, run = 0;
  ep_values_sort(values, count);
  for (int64_t i = 0; i < count; i++) {
    run = i > 0 && values[i] == values[i - 1] ? run + 1 : 1;
    if (run <= most) continue;
    most = run;
    mode = values[i];
  }
  return mode;
}
