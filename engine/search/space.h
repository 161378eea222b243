/* space.h: the axes of a sweep's space. A fraction in [0, 1) stands for a value of an axis: even
 * fractions give even values, or logarithms, or whole numbers, as the axis's kind says. */
#ifndef EP_ENGINE_SEARCH_SPACE_H
#define EP_ENGINE_SEARCH_SPACE_H

#include "api/status.h"
#include "engine/search/search.h"

/* EP_INVALID with a message unless each axis has values: low <= high, finite, whole where the kind
 * is int, above 0 where it is log; a count of 1 … EP_LIMIT_AXIS_VALUES. */
ep_status ep_space_check(const ep_axis *axes, int axes_count, ep_error *error);

/* How many values the axis has; 0 where they are not whole. */
int64_t ep_axis_size(const ep_axis *axis);

/* The value at a fraction in [0, 1), or the index of one. Never outside the axis. */
double ep_axis_value(const ep_axis *axis, double fraction);

/* The inverse: the middle of the fractions that give this value. */
double ep_axis_fraction(const ep_axis *axis, double value);

/* The part of [0, 1) that gives the same value; 0 where the values are not whole. */
double ep_axis_cell(const ep_axis *axis, double value);

/* The point of a trial: a function of (seed, trial) alone. point: [axes_count]. */
void ep_space_random(const ep_axis *axes, int axes_count, uint64_t seed, int64_t trial,
                     double *point);

/* Point number `trial` of the grid, the last axis fastest. point: [axes_count]. */
void ep_space_grid(const ep_axis *axes, int axes_count, int64_t trial, double *point);

#endif
