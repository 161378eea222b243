#include "server/curves/svg.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/json/utf8.h"
#include "api/json/writer.h"
#include "api/responses/curve.h"
#include "server/curves/axis.h"

/* The picture and the chart in it, in the picture's units. */
enum {
  WIDTH = 800,
  HEIGHT = 420,
  LEFT = 88,
  RIGHT = 764,
  TOP = 72,
  BOTTOM = 364,
  TITLE_CHARACTERS = 64,
  LIMIT_BYTES = 32 << 20 /* EP_LIMIT_CURVE_POINTS of two lines need 4 MB */
};

#define LOG_RATIO 30.0
#define LARGEST 1e300   /* a larger value is drawn at it, so that a range does not overflow */
#define SMALLEST 1e-290 /* a smaller value is drawn as 0, so that a step does not underflow */

static const char STYLE[] =
    "<style>\n"
    ":root{color-scheme:light dark}\n"
    "text{font:13px system-ui,sans-serif;fill:#1f2328}\n"
    ".title{font-size:16px;font-weight:600}.quiet{fill:#59636e}\n"
    ".page{fill:#ffffff}.grid{stroke:#d8dee4}.axis{stroke:#59636e}\n"
    ".line{fill:none;stroke-width:1.75;stroke-linejoin:round;stroke-linecap:round}\n"
    ".train{stroke:#0a58ca}.validation{stroke:#b8410b;stroke-dasharray:6 4}\n"
    "@media (prefers-color-scheme:dark){\n"
    "text{fill:#e6edf3}.quiet{fill:#9aa4ae}\n"
    ".page{fill:#0d1117}.grid{stroke:#2b323b}.axis{stroke:#9aa4ae}\n"
    ".train{stroke:#6cb2ff}.validation{stroke:#ffa566}\n"
    "}\n"
    "</style>\n";

typedef struct {
  ep_writer writer;
  const ep_curve_point *points;
  int64_t count;
  ep_chart_axis x, y;
  bool has_validation, has_values;
  int64_t not_finite; /* losses */
} picture;

static void text_print(picture *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void text_print(picture *out, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  int bytes = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (bytes > 0)
    ep_writer_bytes(&out->writer, text,
                    (size_t)bytes < sizeof text ? (size_t)bytes : sizeof text - 1);
}

/* Whether XML has the character: no control characters, no U+FFFE and U+FFFF. */
static bool character_allowed(const char *text, size_t bytes) {
  unsigned char first = (unsigned char)*text;
  if (bytes == 1) return first >= 0x20 && first < 0x7F;
  return bytes != 3 ||
         (memcmp(text, "\xEF\xBF\xBE", 3) != 0 && memcmp(text, "\xEF\xBF\xBF", 3) != 0);
}

/* Text between tags; after `characters` of them an ellipsis. A byte that is not UTF-8 becomes
 * U+FFFD. */
static void text_escape(picture *out, const char *text, int characters) {
  for (size_t left = strlen(text); left > 0;) {
    size_t bytes = ep_utf8_character(text, left);
    if (characters-- == 0) {
      text_print(out, "…");
      return;
    }
    if (bytes == 0 || !character_allowed(text, bytes))
      text_print(out, "\xEF\xBF\xBD");
    else if (*text == '<')
      text_print(out, "&lt;");
    else if (*text == '>')
      text_print(out, "&gt;");
    else if (*text == '&')
      text_print(out, "&amp;");
    else if (*text == '"')
      text_print(out, "&quot;");
    else
      ep_writer_bytes(&out->writer, text, bytes);
    if (bytes == 0) bytes = 1;
    text += bytes;
    left -= bytes;
  }
}

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
  ep_chart_axis_init(&out->y, low, high, logarithmic, false, true);
  double first = 0, last = 1;
  if (out->count > 0) {
    first = (double)out->points[0].epoch;
    last = (double)out->points[out->count - 1].epoch;
  }
  ep_chart_axis_init(&out->x, first, last, false, true, false);
}

static double x_of(const picture *out, double epoch) {
  return LEFT + ep_chart_axis_position(&out->x, epoch) * (RIGHT - LEFT);
}

static double y_of(const picture *out, double loss) {
  return BOTTOM - ep_chart_axis_position(&out->y, loss) * (BOTTOM - TOP);
}

static void axes_draw(picture *out) {
  char label[EP_CHART_AXIS_LABEL_BYTES];
  for (int i = 0; i < out->y.ticks_count; i++) {
    double y = y_of(out, out->y.ticks[i]);
    ep_chart_axis_label(out->y.ticks[i], label);
    text_print(out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>", LEFT, y, RIGHT);
    text_print(out, "<text class=\"quiet\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
               LEFT - 8, y + 4, label);
  }
  for (int i = 0; i < out->x.ticks_count; i++) {
    double x = x_of(out, out->x.ticks[i]);
    ep_chart_axis_label(out->x.ticks[i], label);
    text_print(out, "<path class=\"axis\" d=\"M%.1f %dv5\"/>", x, BOTTOM);
    text_print(out, "<text class=\"quiet\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
               x, BOTTOM + 20, label);
  }
  text_print(out, "<path class=\"axis\" d=\"M%d %dH%d\"/>\n", LEFT, BOTTOM, RIGHT);
  text_print(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">epoch</text>\n",
             (LEFT + RIGHT) / 2, BOTTOM + 42);
  text_print(out,
             "<text x=\"18\" y=\"%d\" text-anchor=\"middle\" transform=\"rotate(-90 18 "
             "%d)\">loss%s</text>\n",
             (TOP + BOTTOM) / 2, (TOP + BOTTOM) / 2, out->y.logarithmic ? " (log scale)" : "");
}

/* One line of losses: a part of its own between those that are not finite. Each part begins with a
 * line of no length, whose round ends make a part of one point a dot. */
static void line_draw(picture *out, bool validation) {
  bool inside = false;
  text_print(out, "<path class=\"line %s\"%s d=\"", validation ? "validation" : "train",
             out->count == 1 ? " style=\"stroke-width:7\"" : "");
  for (int64_t i = 0; i < out->count; i++) {
    const ep_curve_point *point = &out->points[i];
    double loss = loss_of(point, validation);
    if (is_skipped(point, validation)) continue;
    if (!isnan(loss))
      text_print(out, inside ? "L%.1f %.1f" : "M%.1f %.1fh0", x_of(out, (double)point->epoch),
                 y_of(out, loss));
    inside = !isnan(loss);
  }
  text_print(out, "\"/>\n");
}

/* The value that a line ends with. */
static void last_find(const picture *out, bool validation, char text[EP_CHART_AXIS_LABEL_BYTES]) {
  snprintf(text, EP_CHART_AXIS_LABEL_BYTES, "no figure yet");
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
  text_print(out, "<path class=\"line train\" d=\"M%.0f %dh24\"/>", x, y - 4);
  text_print(out, "<text x=\"%.0f\" y=\"%d\">training %s</text>\n", x + 32, y, train);
  if (!out->has_validation) return;
  x += 190;
  text_print(out, "<path class=\"line validation\" d=\"M%.0f %dh24\"/>", x, y - 4);
  text_print(out, "<text x=\"%.0f\" y=\"%d\">validation %s</text>\n", x + 32, y, validation);
}

static void notes_draw(picture *out) {
  if (out->not_finite > 0)
    text_print(out,
               "<text class=\"quiet\" x=\"%d\" y=\"%d\" text-anchor=\"end\">%lld point%s not "
               "finite</text>\n",
               RIGHT, TOP - 16, (long long)out->not_finite, out->not_finite == 1 ? " is" : "s are");
  if (out->count == 0)
    text_print(
        out,
        "<text class=\"quiet\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">no epoch was reported "
        "yet</text>\n",
        (LEFT + RIGHT) / 2, (TOP + BOTTOM) / 2);
}

char *ep_curve_format_svg(const char *title, const char *status, const ep_curve_point *points,
                          int64_t count) {
  picture out = {.points = points, .count = count};
  ep_writer_init(&out.writer, LIMIT_BYTES);
  axes_measure(&out);
  text_print(
      &out,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
      "role=\"img\">\n<title>",
      WIDTH, HEIGHT, WIDTH, HEIGHT);
  text_escape(&out, title, INT32_MAX);
  text_print(&out, "</title>\n");
  ep_writer_bytes(&out.writer, STYLE, sizeof STYLE - 1);
  text_print(&out, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", WIDTH, HEIGHT);
  text_print(&out, "<text class=\"title\" x=\"%d\" y=\"30\">", LEFT);
  text_escape(&out, title, TITLE_CHARACTERS);
  text_print(&out, "</text>\n<text class=\"quiet\" x=\"%d\" y=\"30\" text-anchor=\"end\">", RIGHT);
  text_escape(&out, status, TITLE_CHARACTERS);
  text_print(&out, "</text>\n");
  axes_draw(&out);
  line_draw(&out, false);
  if (out.has_validation) line_draw(&out, true);
  legend_draw(&out);
  notes_draw(&out);
  text_print(&out, "</svg>\n");
  return ep_writer_take(&out.writer);
}
