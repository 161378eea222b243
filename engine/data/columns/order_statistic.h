/* order_statistic.h: what a column's cells are in their order. */
#ifndef EP_ENGINE_DATA_COLUMNS_ORDER_STATISTIC_H
#define EP_ENGINE_DATA_COLUMNS_ORDER_STATISTIC_H

#include <stdint.h>

/* values: [count], count >= 1, none is NaN. */

/* The value that has `rank` (0 … count - 1) others before it. Time is linear, whatever they are. */
double ep_order_statistic(const double *values, int64_t count, int64_t rank);
/* The middle one, or the mean of the two in the middle. */
double ep_median(const double *values, int64_t count);
/* Where a value stands among such that ascend; -1: it is not one of them. */
int64_t ep_value_find(const double *ascending, int64_t count, double value);
/* The most frequent value, the least of those that are as frequent. Sorts the values. */
double ep_mode(double *values, int64_t count);

#endif
