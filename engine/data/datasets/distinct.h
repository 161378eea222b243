/* distinct.h: how many values a column has, counted up to EP_LIMIT_CATEGORIES. */
#ifndef EP_ENGINE_DATA_DATASETS_DISTINCT_H
#define EP_ENGINE_DATA_DATASETS_DISTINCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A zeroed one is empty. */
typedef struct {
  uint64_t *value; /* [capacity], owned: the bits of the values, by hash, open addressing */
  int32_t count, capacity;
  uint64_t last; /* of the value that was added last */
  bool full;     /* there are EP_LIMIT_CATEGORIES, or more */
  bool given_up; /* memory was short */
} ep_distinct;

/* Adds a value that is no NaN; 0 and -0 are one. A table that must grow takes its memory from
 * *budget_bytes; where that, or memory, is short, the counting is given up. */
void ep_distinct_add(ep_distinct *distinct, double value, size_t *budget_bytes);
/* 0 when it was given up. */
int64_t ep_distinct_count(const ep_distinct *distinct);
/* The values, ascending: [count], the caller's; NULL where they are not all there, or memory is
 * short. */
double *ep_distinct_values(const ep_distinct *distinct);
/* Makes it empty; its memory goes back to *budget_bytes. */
void ep_distinct_reset(ep_distinct *distinct, size_t *budget_bytes);

/* Ascending; none is NaN. */
void ep_values_sort(double *values, int64_t count);

#endif
