/* edge.c: a best trial at the end of a range, beyond which nothing was tried. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "api/sweep/sweep_spec.h"

static const double near = 0.03; /* of the range: so close to its end is at it */
enum { VALUES_LEAST = 3 };       /* of fewer values one is always at an end */

/* The least and the greatest of a list of different numbers; false: it is none. */
static bool list_range(const ep_sweep_axis *axis, double *low, double *high) {
  size_t index;
  json_t *item;
  *low = INFINITY, *high = -INFINITY;
  json_array_foreach((json_t *)axis->lists[0], index, item) {
    if (!json_is_number(item)) return false;
    *low = fmin(*low, json_number_value(item));
    *high = fmax(*high, json_number_value(item));
  }
  return axis->count >= VALUES_LEAST && *low < *high;
}

/* The value's place in the range, from 0 to 1. */
static double place_of(const ep_sweep_axis *axis, double value, double low, double high) {
  if (axis->kind == EP_AXIS_LOG_UNIFORM || axis->kind == EP_AXIS_INT_LOG_UNIFORM)
    return log(value / low) / log(high / low);
  return (value - low) / (high - low);
}

bool ep_sweep_edge_format(const ep_sweep_axis *axis, double value, char *out, size_t bytes) {
  double low = axis->low, high = axis->high;
  if (axis->pointers_count != 1) return false;
  if (axis->kind == EP_AXIS_VALUES) {
    if (!list_range(axis, &low, &high)) return false;
    value = json_number_value(json_array_get(axis->lists[0], (size_t)value));
  }
  double place = low < high ? place_of(axis, value, low, high) : 0.5;
  bool list = axis->kind == EP_AXIS_VALUES;
  bool upper = place >= (list ? 1 : 1 - near);
  bool lower = place <= (list ? 0 : near) && low > 0; /* no field that varies goes below 0 */
  if (!upper && !lower) return false;
  snprintf(out, bytes, "the best %s, %.4g, is at the %s end of its range, %.4g to %.4g: widen it",
           axis->pointers[0], value, upper ? "upper" : "lower", low, high);
  return true;
}
