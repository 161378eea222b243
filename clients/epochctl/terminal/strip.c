#include "clients/epochctl/terminal/strip.h"

#include <math.h>
#include <stdio.h>

enum { LEVELS = 8 };

void ep_strip_write(const ep_terminal *terminal, const double *values, int count,
                    char text[EP_STRIP_BYTES]) {
  static const char *const BARS[LEVELS] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                           "\u2585", "\u2586", "\u2587", "\u2588"};
  static const char *const LETTERS[LEVELS] = {"_", ".", ":", "-", "=", "+", "*", "#"};
  double low = INFINITY, high = -INFINITY;
  size_t used = 0;
  text[0] = 0;
  for (int i = 0; i < count; i++) {
    low = fmin(low, isfinite(values[i]) ? values[i] : INFINITY);
    high = fmax(high, isfinite(values[i]) ? values[i] : -INFINITY);
  }
  for (int i = 0; i < count && low <= high; i++) {
    double part = high > low ? (values[i] - low) / (high - low) : 0;
    int level = isfinite(part) ? (int)fmin(part * LEVELS, LEVELS - 1) : -1;
    const char *bar = level < 0 ? " " : terminal->unicode ? BARS[level] : LETTERS[level];
    used += (size_t)snprintf(text + used, EP_STRIP_BYTES - used, "%s", bar);
  }
}
