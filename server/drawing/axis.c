#include "server/drawing/axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { INTERVALS = 5 }; /* about so many between linear ticks */

/* 1, 2 or 5 times a power of ten: the least that makes at most INTERVALS + 1 of `span`. */
static double step_find(double span, bool whole) {
  double raw = span / INTERVALS, power = pow(10, floor(log10(raw)));
  double step = raw <= power       ? power
                : raw <= 2 * power ? 2 * power
                : raw <= 5 * power ? 5 * power
                                   : 10 * power;
  return whole && step < 1 ? 1 : step;
}

static void tick_add(ep_chart_axis *axis, double value) {
  /* a hair outside is an end that rounding moved */
  double slack = 1e-9;
  double position = ep_chart_axis_position(axis, value);
  if (axis->ticks_count == EP_CHART_AXIS_TICKS || position < -slack || position > 1 + slack) return;
  axis->ticks[axis->ticks_count++] = value;
}

static void linear_init(ep_chart_axis *axis, bool whole, bool rounded) {
  if (axis->high - axis->low <= fabs(axis->high) * 1e-9) { /* one value: room around it */
    double room = axis->high != 0 ? fabs(axis->high) * 0.1 : 1;
    if (whole && room < 1) room = 1;
    axis->low -= room;
    axis->high += room;
  }
  double step = step_find(axis->high - axis->low, whole);
  double first = floor(axis->low / step), last = ceil(axis->high / step);
  if (rounded) {
    axis->low = first * step;
    axis->high = last * step;
  }
  for (double i = first; i <= last; i++) tick_add(axis, i * step);
}

/* Powers of ten, thinned where there are many; with 2 and 5 between where there are few. */
static void log_init(ep_chart_axis *axis, bool rounded) {
  double first = floor(log10(axis->low)), last = ceil(log10(axis->high));
  if (rounded && last - first >= 3) {
    axis->low = pow(10, first);
    axis->high = pow(10, last);
  }
  double every = ceil((last - first) / 8);
  for (double power = first; power <= last; power += every) {
    tick_add(axis, pow(10, power));
    if (last - first > 2) continue;
    tick_add(axis, 2 * pow(10, power));
    tick_add(axis, 5 * pow(10, power));
  }
}

void ep_chart_axis_init(ep_chart_axis *axis, double low, double high, bool logarithmic, bool whole,
                        bool rounded) {
  *axis = (ep_chart_axis){.low = low, .high = high, .logarithmic = logarithmic};
  if (logarithmic)
    log_init(axis, rounded);
  else
    linear_init(axis, whole, rounded);
}

double ep_chart_axis_position(const ep_chart_axis *axis, double value) {
  if (axis->logarithmic)
    return (log10(value) - log10(axis->low)) / (log10(axis->high) - log10(axis->low));
  return (value - axis->low) / (axis->high - axis->low);
}

void ep_chart_axis_label(double value, char text[EP_CHART_AXIS_LABEL_BYTES]) {
  double size = fabs(value);
  if (size >= 1e6 && size < 1e12) {
    bool giga = size >= 1e9;
    snprintf(text, EP_CHART_AXIS_LABEL_BYTES, "%.4g%s", value / (giga ? 1e9 : 1e6),
             giga ? "G" : "M");
  } else if (size >= 1e-3 && size < 1e6) {
    snprintf(text, EP_CHART_AXIS_LABEL_BYTES, "%.9g", value);
  } else if (size < 1e-300) {
    snprintf(text, EP_CHART_AXIS_LABEL_BYTES, "0");
  } else {
    /* 5e-06 as 5e-6 */
    snprintf(text, EP_CHART_AXIS_LABEL_BYTES, "%.3g", value);
    char *zero = strstr(text, "e-0");
    if (!zero) zero = strstr(text, "e+0");
    if (zero) memmove(zero + 2, zero + 3, strlen(zero + 3) + 1);
  }
}
