#include "server/curves/svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/responses/curve.h"
#include "server/drawing/drawing.h"

/* The picture and the chart in it, in the picture's units. */
enum { WIDTH = 800, HEIGHT = 420, LEFT = 88, RIGHT = 764, TOP = 72, BOTTOM = 364 };

#define LOG_RATIO 30.0
#define LARGEST 1e300   /* a larger value is drawn at it, so that a range does not overflow */
#define SMALLEST 1e-290 /* a smaller value is drawn as 0, so that a step does not underflow */

static const char STYLE[] =
    ".line{fill:none;stroke-width:1.75;stroke-linejoin:round;stroke-linecap:round}\n"
    ".train{stroke:#0a58ca}.validation{stroke:#b8410b;stroke-dasharray:6 4}\n";
static const char DARK[] = ".train{stroke:#6cb2ff}.validation{stroke:#ffa566}\n";

typedef struct {
  ep_drawing drawing;
  const ep_curve_point *points;
  int64_t count;
  bool has_validation, has_values;
  int64_t not_finite; /* losses */
} picture;

/* A loss to be drawn, NaN where there is none. */
static double loss_of(const ep_curve_point *point, bool validation) {
  double loss = validation ? point->validation_loss : point->loss;
  if (!isfinite(loss)) return NAN;
  if (fabs(loss) < SMALLEST) return 0;
  return fmax(-LARGEST, fmin(LARGEST, loss));
}

/* Whether the line goes on over a point without a value: a validation is not measured after every
 * epoch. */
static bool is_skipped(const ep_curve_point *point, bool validation) {
  return validation && isnan(point->validation_loss);
}

/* Finds the range of the axes. */
static void axes_measure(picture *out) {
  double low = INFINITY, high = -INFINITY;
  for (int64_t i = 0; i < out->count; i++) {
    out->not_finite += !isfinite(out->points[i].loss);
    for (int validation = 0; validation < 2; validation++) {
      double loss = loss_of(&out->points[i], validation);
      if (isnan(loss)) continue;
      low = fmin(low, loss);
      high = fmax(high, loss);
      out->has_values = true;
      if (validation) out->has_validation = true;
    }
  }
  if (!out->has_values) low = 0, high = 1;
  bool logarithmic = low > 0 && high / low >= LOG_RATIO;
  ep_chart_axis_init(&out->drawing.y, low, high, logarithmic, false, true);
  double first = 0, last = 1;
  if (out->count > 0) {
    first = (double)out->points[0].epoch;
    last = (double)out->points[out->count - 1].epoch;
  }
  ep_chart_axis_init(&out->drawing.x, first, last, false, true, false);
}

static double x_of(const picture *out, double epoch) {
  return ep_drawing_x(&out->drawing, epoch);
}

static double y_of(const picture *out, double loss) {
  return ep_drawing_y(&out->drawing, loss);
}

/* One line of losses: a part of its own between those that are not finite. Each part begins with a
 * line of no length, whose round ends make a part of one point a dot. */
static void line_draw(picture *out, bool validation) {
  bool inside = false;
  ep_drawing_print(&out->drawing, "<path class=\"line %s\"%s d=\"",
                   validation ? "validation" : "train",
                   out->count == 1 ? " style=\"stroke-width:7\"" : "");
  for (int64_t i = 0; i < out->count; i++) {
    const ep_curve_point *point = &out->points[i];
    double loss = loss_of(point, validation);
    if (is_skipped(point, validation)) continue;
    if (!isnan(loss))
      ep_drawing_print(&out->drawing, inside ? "L%.1f %.1f" : "M%.1f %.1fh0",
                       x_of(out, (double)point->epoch), y_of(out, loss));
    inside = !isnan(loss);
  }
  ep_drawing_print(&out->drawing, "\"/>\n");
}

/* The value that a line ends with. */
static void last_find(const picture *out, bool validation, char text[EP_CHART_AXIS_LABEL_BYTES]) {
  snprintf(text, EP_CHART_AXIS_LABEL_BYTES, "no data yet");
  for (int64_t i = out->count - 1; i >= 0; i--) {
    double loss = validation ? out->points[i].validation_loss : out->points[i].loss;
    if (isnan(loss) && validation) continue; /* it is not measured after every epoch */
    snprintf(text, EP_CHART_AXIS_LABEL_BYTES, isnan(loss) ? "NaN" : "%.6g", loss);
    return;
  }
}

static void legend_draw(picture *out) {
  char train[EP_CHART_AXIS_LABEL_BYTES], validation[EP_CHART_AXIS_LABEL_BYTES];
  last_find(out, false, train);
  last_find(out, true, validation);
  double x = LEFT;
  const int y = TOP - 16;
  ep_drawing_print(&out->drawing, "<path class=\"line train\" d=\"M%.0f %dh24\"/>", x, y - 4);
  ep_drawing_print(&out->drawing, "<text x=\"%.0f\" y=\"%d\">training %s</text>\n", x + 32, y,
                   train);
  if (!out->has_validation) return;
  x += 190;
  ep_drawing_print(&out->drawing, "<path class=\"line validation\" d=\"M%.0f %dh24\"/>", x, y - 4);
  ep_drawing_print(&out->drawing, "<text x=\"%.0f\" y=\"%d\">validation %s</text>\n", x + 32, y,
                   validation);
}

static void notes_draw(picture *out) {
  if (out->not_finite > 0)
    ep_drawing_print(&out->drawing,
                     "<text class=\"quiet\" x=\"%d\" y=\"%d\" text-anchor=\"end\">%lld point%s not "
                     "finite</text>\n",
                     RIGHT, TOP - 16, (long long)out->not_finite,
                     out->not_finite == 1 ? " is" : "s are");
  if (out->count == 0)
    ep_drawing_print(&out->drawing,
                     "<text class=\"quiet\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">no epochs "
                     "reported yet</text>\n",
                     (LEFT + RIGHT) / 2, (TOP + BOTTOM) / 2);
}

char *ep_curve_format_svg(const char *title, const char *status, ep_theme theme,
                          const ep_curve_point *points, int64_t count) {
  picture out = {.drawing = {.width = WIDTH,
                             .height = HEIGHT,
                             .left = LEFT,
                             .right = RIGHT,
                             .top = TOP,
                             .bottom = BOTTOM,
                             .theme = theme},
                 .points = points,
                 .count = count};
  ep_drawing *drawing = &out.drawing;
  axes_measure(&out);
  ep_drawing_begin(drawing, title, NULL, STYLE, DARK);
  ep_drawing_text(drawing, "quiet", RIGHT, 30, "end", status, EP_DRAWING_TITLE_CHARACTERS);
  ep_drawing_axes(drawing, "epoch", drawing->y.logarithmic ? "loss (log scale)" : "loss");
  line_draw(&out, false);
  if (out.has_validation) line_draw(&out, true);
  legend_draw(&out);
  notes_draw(&out);
  return ep_drawing_end(drawing);
}
