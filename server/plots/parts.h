/* parts.h: how each plot is drawn. For this folder alone. */
#ifndef EP_SERVER_PLOTS_PARTS_H
#define EP_SERVER_PLOTS_PARTS_H

#include <jansson.h>

#include "server/drawing/drawing.h"
#include "server/plots/plots.h"

/* Draws below the title; the drawing is open. */
typedef ep_status ep_plot_draw(ep_drawing *drawing, const json_t *numbers, ep_error *error);
ep_plot_draw ep_confusion_draw, ep_curve_draw, ep_calibration_draw, ep_scatter_draw,
    ep_boundary_draw, ep_importance_draw, ep_dependence_draw, ep_rates_draw;

/* "Infinity" is one; NaN where there is no number. */
double ep_plot_number(const json_t *value);
double ep_plot_member(const json_t *object, const char *key);
const char *ep_plot_word(const json_t *object, const char *key); /* "" where there is none */

/* A line of quiet words below the title. */
void ep_plot_note(ep_drawing *drawing, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The values of a boundary as colours: pixels: [size, size, 3], the greatest y first; the caller's
 * (free). */
ep_status ep_boundary_paint(const json_t *numbers, unsigned char **pixels, int *size,
                            ep_error *error);
ep_status ep_boundary_png(const json_t *numbers, void **out, size_t *bytes, ep_error *error);

#endif
