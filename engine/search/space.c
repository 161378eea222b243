#include "engine/search/space.h"

#include <math.h>

#include "engine/search/draws.h"

/* Beyond, a double has no room for the next whole number. */
static const double WHOLE_LIMIT = 9007199254740992;

static bool is_whole(ep_axis_kind kind) {
  return kind == EP_AXIS_INT_UNIFORM || kind == EP_AXIS_INT_LOG_UNIFORM;
}

static bool is_log(ep_axis_kind kind) {
  return kind == EP_AXIS_LOG_UNIFORM || kind == EP_AXIS_INT_LOG_UNIFORM;
}

static ep_status axis_check(const ep_axis *axis, int index, ep_error *error) {
  if ((unsigned)axis->kind >= EP_AXIS_COUNT)
    return ep_fail(error, EP_INVALID, "axis %d is of an unknown kind", index);
  if (axis->kind == EP_AXIS_VALUES) {
    if (axis->count >= 1 && axis->count <= EP_LIMIT_AXIS_VALUES) return EP_OK;
    return ep_fail(error, EP_INVALID, "axis %d must have 1 to %d values", index,
                   EP_LIMIT_AXIS_VALUES);
  }
  if (!isfinite(axis->low) || !isfinite(axis->high) || axis->low > axis->high)
    return ep_fail(error, EP_INVALID, "axis %d must run from low to high, both finite", index);
  if (is_log(axis->kind) && !(axis->low > 0))
    return ep_fail(error, EP_INVALID, "axis %d is logarithmic: low must be above 0", index);
  if (!is_whole(axis->kind)) return EP_OK;
  if (axis->low != floor(axis->low) || axis->high != floor(axis->high) ||
      axis->low < -WHOLE_LIMIT || axis->high > WHOLE_LIMIT)
    return ep_fail(error, EP_INVALID, "axis %d must run from a whole number to a whole number",
                   index);
  return EP_OK;
}

ep_status ep_space_check(const ep_axis *axes, int axes_count, ep_error *error) {
  if (axes_count < 0 || axes_count > EP_LIMIT_SWEEP_AXES)
    return ep_fail(error, EP_INVALID, "a space has at most %d axes", EP_LIMIT_SWEEP_AXES);
  for (int i = 0; i < axes_count; i++) {
    ep_status status = axis_check(&axes[i], i, error);
    if (status) return status;
  }
  return EP_OK;
}

int64_t ep_axis_size(const ep_axis *axis) {
  if (axis->kind == EP_AXIS_VALUES) return axis->count;
  return is_whole(axis->kind) ? (int64_t)axis->high - (int64_t)axis->low + 1 : 0;
}

/* The ends of a log axis. A whole number has the range that rounds to it. */
static void log_ends(const ep_axis *axis, double *from, double *to) {
  double half = axis->kind == EP_AXIS_INT_LOG_UNIFORM ? 0.5 : 0;
  *from = log(axis->low - half);
  *to = log(axis->high + half);
}

static double clamp(double value, double low, double high) {
  return value < low ? low : value > high ? high : value;
}

double ep_axis_value(const ep_axis *axis, double fraction) {
  double from, to, size = (double)ep_axis_size(axis);
  switch (axis->kind) {
  case EP_AXIS_VALUES: return clamp(floor(fraction * size), 0, size - 1);
  case EP_AXIS_INT_UNIFORM: return clamp(axis->low + floor(fraction * size), axis->low, axis->high);
  case EP_AXIS_LOG_UNIFORM:
    log_ends(axis, &from, &to);
    return clamp(exp(from + fraction * (to - from)), axis->low, axis->high);
  case EP_AXIS_INT_LOG_UNIFORM:
    log_ends(axis, &from, &to);
    return clamp(round(exp(from + fraction * (to - from))), axis->low, axis->high);
  default: /* high - low may overflow */
    return clamp((1 - fraction) * axis->low + fraction * axis->high, axis->low, axis->high);
  }
}

/* `value` as a part of the way from low to high; the middle where there is none. */
static double part_of(double value, double low, double high) {
  if (!(high > low)) return 0.5;
  if (isinf(high - low)) return part_of(value / 4, low / 4, high / 4);
  return clamp((value - low) / (high - low), 0, 1);
}

double ep_axis_fraction(const ep_axis *axis, double value) {
  double from, to;
  if (axis->kind == EP_AXIS_VALUES) return (value + 0.5) / (double)axis->count;
  if (axis->kind == EP_AXIS_INT_UNIFORM) return part_of(value, axis->low - 0.5, axis->high + 0.5);
  if (!is_log(axis->kind)) return part_of(value, axis->low, axis->high);
  log_ends(axis, &from, &to);
  if (axis->kind == EP_AXIS_LOG_UNIFORM) return part_of(log(value), from, to);
  return part_of((log(value - 0.5) + log(value + 0.5)) / 2, from, to);
}

double ep_axis_cell(const ep_axis *axis, double value) {
  double from, to;
  if (!is_whole(axis->kind)) return 0;
  if (axis->kind == EP_AXIS_INT_UNIFORM) return 1 / (double)ep_axis_size(axis);
  log_ends(axis, &from, &to);
  return (log(value + 0.5) - log(value - 0.5)) / (to - from);
}

void ep_space_random(const ep_axis *axes, int axes_count, uint64_t seed, int64_t trial,
                     double *point) {
  for (int i = 0; i < axes_count; i++)
    point[i] = ep_axis_value(&axes[i], ep_search_draw(seed, EP_DRAW_POINT, trial, i));
}

void ep_space_grid(const ep_axis *axes, int axes_count, int64_t trial, double *point) {
  for (int i = axes_count - 1; i >= 0; i--) {
    int64_t size = ep_axis_size(&axes[i]);
    double low = axes[i].kind == EP_AXIS_VALUES ? 0 : axes[i].low;
    point[i] = low + (double)(trial % size);
    trial /= size;
  }
}

ep_status ep_search_grid_size(const ep_axis *axes, int axes_count, int64_t *size, ep_error *error) {
  ep_status status = ep_space_check(axes, axes_count, error);
  if (status) return status;
  int64_t product = 1;
  for (int i = 0; i < axes_count; i++) {
    if (axes[i].kind != EP_AXIS_VALUES && axes[i].kind != EP_AXIS_INT_UNIFORM)
      return ep_fail(error, EP_INVALID, "a grid requires lists and whole numbers; axis %d is %s", i,
                     ep_axis_kind_name(axes[i].kind));
    if (__builtin_mul_overflow(product, ep_axis_size(&axes[i]), &product)) product = INT64_MAX;
  }
  *size = product;
  return EP_OK;
}
