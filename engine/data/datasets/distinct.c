#include "engine/data/datasets/distinct.h"

#include <stdlib.h>
#include <string.h>

#include "api/limits.h"

enum { FIRST_CAPACITY = 8 };

static const uint64_t empty = UINT64_MAX; /* the bits of a NaN */

static void storage_free(ep_distinct *distinct, size_t *budget_bytes) {
  *budget_bytes += (size_t)distinct->capacity * sizeof *distinct->value;
  free(distinct->value);
  distinct->value = NULL;
  distinct->capacity = 0;
}

/* The slot of these bits, or the empty one where they belong. D. Knuth's multiplicative hash. */
static uint64_t *slot_find(uint64_t *value, int32_t capacity, uint64_t bits) {
  uint64_t mask = (uint64_t)capacity - 1, hash = (bits ^ bits >> 32) * 0x9E3779B97F4A7C15ULL;
  uint64_t at = hash >> 32 & mask;
  while (value[at] != bits && value[at] != empty) at = (at + 1) & mask;
  return &value[at];
}

static bool grow(ep_distinct *distinct, size_t *budget_bytes) {
  int32_t capacity = distinct->capacity ? 2 * distinct->capacity : FIRST_CAPACITY;
  size_t bytes = (size_t)capacity * sizeof *distinct->value;
  uint64_t *value = bytes <= *budget_bytes ? malloc(bytes) : NULL;
  if (!value) return false;
  memset(value, 0xFF, bytes);
  for (int32_t i = 0; i < distinct->capacity; i++)
    if (distinct->value[i] != empty)
      *slot_find(value, capacity, distinct->value[i]) = distinct->value[i];
  *budget_bytes -= bytes;
  storage_free(distinct, budget_bytes);
  distinct->value = value;
  distinct->capacity = capacity;
  return true;
}

static void value_insert(ep_distinct *distinct, uint64_t bits, size_t *budget_bytes) {
  if (2 * (distinct->count + 1) > distinct->capacity && !grow(distinct, budget_bytes)) {
    storage_free(distinct, budget_bytes);
    distinct->given_up = true;
    return;
  }
  uint64_t *slot = slot_find(distinct->value, distinct->capacity, bits);
  if (*slot == bits) return;
  *slot = bits;
  distinct->full = ++distinct->count == EP_LIMIT_CATEGORIES;
  if (distinct->full) storage_free(distinct, budget_bytes);
}

void ep_distinct_add(ep_distinct *distinct, double value, size_t *budget_bytes) {
  uint64_t bits;
  double sum = value + 0.0; /* of -0 and 0: 0 */
  memcpy(&bits, &sum, sizeof bits);
  if (distinct->full || distinct->given_up) return;
  if (distinct->count > 0 && bits == distinct->last) return;
  distinct->last = bits;
  value_insert(distinct, bits, budget_bytes);
}

int64_t ep_distinct_count(const ep_distinct *distinct) {
  return distinct->given_up ? 0 : distinct->count;
}

static int value_compare(const void *a, const void *b) {
  double first = *(const double *)a, second = *(const double *)b;
  return (first > second) - (first < second);
}

void ep_values_sort(double *values, int64_t count) {
  qsort(values, (size_t)count, sizeof *values, value_compare);
}

double *ep_distinct_values(const ep_distinct *distinct) {
  int64_t count = 0;
  if (distinct->full || distinct->given_up || distinct->count == 0) return NULL;
  double *values = malloc((size_t)distinct->count * sizeof *values);
  for (int32_t i = 0; values && i < distinct->capacity; i++)
    if (distinct->value[i] != empty) memcpy(&values[count++], &distinct->value[i], sizeof *values);
  if (values) ep_values_sort(values, count);
  return values;
}

void ep_distinct_reset(ep_distinct *distinct, size_t *budget_bytes) {
  storage_free(distinct, budget_bytes);
  *distinct = (ep_distinct){0};
}
