/* axis.h: one axis of a chart: from values to positions, and its ticks. */
#ifndef EP_SERVER_DRAWING_AXIS_H
#define EP_SERVER_DRAWING_AXIS_H

#include <stdbool.h>
#include <stddef.h>

enum { EP_CHART_AXIS_TICKS = 16, EP_CHART_AXIS_LABEL_BYTES = 32 };

typedef struct {
  double low, high; /* values of its two ends, low < high */
  bool logarithmic;
  double ticks[EP_CHART_AXIS_TICKS]; /* [ticks_count], rising, within [low, high] */
  int ticks_count;
} ep_chart_axis;

/* An axis for finite values from low to high (low <= high; in magnitude 0, or 1e-290 to 1e300; low
 * > 0 if logarithmic). whole: ticks are integers. rounded: the ends move outwards to a tick. */
void ep_chart_axis_init(ep_chart_axis *axis, double low, double high, bool logarithmic, bool whole,
                        bool rounded);

/* 0 at `low`, 1 at `high`. */
double ep_chart_axis_position(const ep_chart_axis *axis, double value);

/* Few digits, such as 0.05, 1e-6, 20000, 1.5M. */
void ep_chart_axis_label(double value, char text[EP_CHART_AXIS_LABEL_BYTES]);

#endif
