/* plots.h: the numbers of a plot (engine/plots has them) as pictures. */
#ifndef EP_SERVER_PLOTS_PLOTS_H
#define EP_SERVER_PLOTS_PLOTS_H

#include <stddef.h>

#include "api/responses/validation.h"
#include "api/status.h"
#include "server/drawing/drawing.h"

/* An SVG that is readable on a phone, in light and dark, with a title and a description. numbers:
 * the JSON of a plot; title: any UTF-8. *out: the caller's (free). */
ep_status ep_plot_format_svg(const char *title, const char *numbers, ep_theme theme, char **out,
                             ep_error *error);

/* The same of a network alone, by its layers. */
ep_status ep_plot_network_svg(const char *title, const ep_layer_view *layers, int count, char **out,
                              ep_error *error);

/* A picture of points as a PNG, a pixel a point, without words; a time-lapse as one that moves.
 * EP_MALFORMED: the plot is none. *out: [*bytes], the
 * caller's (free). */
ep_status ep_plot_format_png(const char *numbers, void **out, size_t *bytes, ep_error *error);

#endif
