/* plot.h: curves in the terminal's characters. A braille character has 2 x 4 dots. */
#ifndef EP_CLIENTS_EPOCHCTL_PLOT_H
#define EP_CLIENTS_EPOCHCTL_PLOT_H

#include "api/status.h"
#include "clients/epochctl/terminal.h"

enum { EP_PLOT_SERIES = 2, EP_PLOT_LEAST_WIDTH = 30, EP_PLOT_LEAST_HEIGHT = 6 };

typedef struct {
  const char *title;
  const double *x, *y; /* [count]; what is not finite is left out */
  size_t count;
} ep_series;

typedef struct {
  int width, height; /* characters of the whole, with axes and titles */
  bool logarithmic;  /* the upright axis; values that are not above 0 are left out */
  bool braille;      /* else letters */
  bool seconds;      /* what runs along the bottom: seconds, else epochs */
} ep_plot_options;

/* Prints the series to standard output, each in a colour (or letter) of its own. EP_INVALID when
 * there is no point to draw. */
ep_status ep_plot_print(const ep_series *series, int series_count, const ep_plot_options *options,
                        const ep_terminal *terminal, ep_error *error);

#endif
