/* parts.h: how each plot is drawn. For this folder alone. */
#ifndef EP_SERVER_PLOTS_PARTS_H
#define EP_SERVER_PLOTS_PARTS_H

#include <jansson.h>

#include "server/drawing/drawing.h"
#include "server/plots/plots.h"

/* Draws below the title; the drawing is open. */
typedef ep_status ep_plot_draw(ep_drawing *drawing, const json_t *numbers, ep_error *error);
ep_plot_draw ep_confusion_draw, ep_curve_draw, ep_calibration_draw, ep_scatter_draw,
    ep_boundary_draw, ep_importance_draw, ep_dependence_draw, ep_examples_draw, ep_weights_draw,
    ep_timelapse_draw, ep_rates_draw, ep_network_draw;

/* "Infinity" is one; NaN where there is no number. */
double ep_plot_number(const json_t *value);
double ep_plot_member(const json_t *object, const char *key);
const char *ep_plot_word(const json_t *object, const char *key); /* "" where there is none */

/* A line of quiet words below the title. */
void ep_plot_note(ep_drawing *drawing, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A plot as a PNG file, [*bytes], the caller's (free). */
typedef ep_status ep_plot_png(const json_t *numbers, void **out, size_t *bytes, ep_error *error);
ep_plot_png ep_boundary_png, ep_timelapse_png, ep_weights_png, ep_examples_png;

/* How high the matrix is with all that is below it. */
int ep_confusion_height(const json_t *numbers);
/* How high the rows of examples are, below the title. */
int ep_examples_height(const json_t *numbers);

/* How high the layers are, below the title, and how wide the picture is that holds them. */
int ep_network_size(const json_t *numbers, int *width);

/* Small pictures side by side, as they lie in bytes. */
typedef struct {
  int64_t count, channels, height, width; /* channels: 1, or 3: red, green, blue */
  bool scaled;                            /* 128 is 0, of one channel: blue below, orange above */
  unsigned char *bytes;                   /* [count, channels, height, width]; owned */
} ep_tiles;

/* Tiles of that many pictures, each as {"picture": {"channels", "height", "width"}} says. *out is
 * zeroed but for its shape, and its bytes are the caller's to write; ep_tiles_deinit. */
ep_status ep_tiles_init(ep_tiles *tiles, const json_t *numbers, size_t count, ep_error *error);
void ep_tiles_deinit(ep_tiles *tiles);
/* Pictures from `first` on as one PNG file, so many a row, with a line of nothing between them. */
ep_status ep_tiles_png(const ep_tiles *tiles, int64_t first, int64_t count, int64_t columns,
                       void **out, size_t *bytes, ep_error *error);
/* How many a row make a sheet about as wide as it is high. */
int64_t ep_tiles_columns(const ep_tiles *tiles);

#endif
