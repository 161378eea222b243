/* plot.h: curves in characters. A braille character has 2 x 4 dots. */
#ifndef EP_CLIENTS_EPOCHCTL_TERMINAL_PLOT_H
#define EP_CLIENTS_EPOCHCTL_TERMINAL_PLOT_H

#include <stddef.h>

#include "api/status.h"
#include "clients/epochctl/terminal/terminal.h"

enum {
  EP_PLOT_SERIES = 2,
  EP_PLOT_WIDTH_MIN = 30,
  EP_PLOT_HEIGHT_MIN = 6,
  EP_PLOT_SIDE_MAX = 1000
};

typedef struct {
  const char *title;
  const double *x, *y; /* [count]; points that are not finite are left out */
  size_t count;
} ep_series;

typedef struct {
  int width, height; /* characters of the whole, with axes and titles */
  bool logarithmic;  /* the y axis; values that are not above 0 are left out */
  bool braille;      /* else letters */
  bool seconds;      /* the x axis: seconds, else epochs */
} ep_plot_options;

/* Prints at most EP_PLOT_SERIES series to standard output, each in a colour (or letter) of its own.
 * EP_INVALID when there is no point to draw. */
ep_status ep_plot_print(const ep_series *series, int series_count, const ep_plot_options *options,
                        const ep_terminal *terminal, ep_error *error);

#endif
