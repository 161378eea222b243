#include "clients/epochctl/terminal/plot.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/epochctl/terminal/human.h"

enum { LABEL_WIDTH = 10, TITLE_LINES = 1, AXIS_LINES = 2, MARKS = 5 };

static const ep_colour COLOURS[EP_PLOT_SERIES] = {EP_COLOUR_BLUE, EP_COLOUR_YELLOW};
static const char LETTERS[EP_PLOT_SERIES] = {'*', 'o'};

/* The dots of all series: dots: [dots_high, dots_wide] bytes, one bit a series, row 0 at the top.
 */
typedef struct {
  int columns, rows;        /* characters */
  int dots_wide, dots_high; /* columns * 2 and rows * 4 in braille, else columns and rows */
  double low[2], high[2];   /* of x and y; logarithms on a logarithmic axis */
  unsigned char *dots;
} canvas;

static bool point_read(const ep_series *series, size_t index, bool logarithmic, double out[2]) {
  out[0] = series->x[index];
  out[1] = series->y[index];
  if (logarithmic) out[1] = out[1] > 0 ? log10(out[1]) : (double)NAN;
  return isfinite(out[0]) && isfinite(out[1]);
}

static bool ranges_find(canvas *area, const ep_series *series, int count, bool logarithmic) {
  bool any = false;
  double point[2];
  for (int s = 0; s < count; s++) {
    for (size_t i = 0; i < series[s].count; i++) {
      if (!point_read(&series[s], i, logarithmic, point)) continue;
      for (int axis = 0; axis < 2; axis++) {
        area->low[axis] = any ? fmin(area->low[axis], point[axis]) : point[axis];
        area->high[axis] = any ? fmax(area->high[axis], point[axis]) : point[axis];
      }
      any = true;
    }
  }
  for (int axis = 0; axis < 2 && any; axis++) {
    double span = area->high[axis] - area->low[axis];
    if (span > 0 && isfinite(span)) continue; /* else a flat curve, in the middle */
    double around = axis == 1 && !logarithmic ? fmax(fabs(area->low[axis]) * 0.1, 1e-12) : 0.5;
    area->low[axis] -= around;
    area->high[axis] += around;
  }
  return any && isfinite(area->high[0] - area->low[0]) && isfinite(area->high[1] - area->low[1]);
}

static int dot_find(const canvas *area, int axis, double value) {
  int most = (axis == 0 ? area->dots_wide : area->dots_high) - 1;
  double part = (value - area->low[axis]) / (area->high[axis] - area->low[axis]);
  int dot = (int)lround(part * most);
  return dot < 0 ? 0 : dot > most ? most : dot;
}

static void dot_set(canvas *area, int x, int y, unsigned char series) {
  size_t row = (size_t)(area->dots_high - 1 - y);
  area->dots[row * (size_t)area->dots_wide + (size_t)x] |= series;
}

/* Sets every dot between two (Bresenham 1965, by steps along the longer side). */
static void line_draw(canvas *area, const int from[2], const int to[2], unsigned char series) {
  int across = to[0] - from[0], up = to[1] - from[1];
  int steps = abs(across) > abs(up) ? abs(across) : abs(up);
  for (int i = 0; i <= steps; i++) {
    double part = steps > 0 ? (double)i / steps : 0;
    dot_set(area, from[0] + (int)lround(across * part), from[1] + (int)lround(up * part), series);
  }
}

static void series_draw(canvas *area, const ep_series *series, int index, bool logarithmic) {
  double point[2];
  int before[2] = {0, 0};
  bool connected = false;
  for (size_t i = 0; i < series->count; i++) {
    bool good = point_read(series, i, logarithmic, point);
    if (good) {
      int now[2] = {dot_find(area, 0, point[0]), dot_find(area, 1, point[1])};
      line_draw(area, connected ? before : now, now, (unsigned char)(1 << index));
      memcpy(before, now, sizeof before);
    }
    connected = good; /* no line over a gap */
  }
}

/* Prints a character of the plot. Where two series meet, the later one shows. */
static void cell_print(const canvas *area, int column, int row, bool braille,
                       const ep_terminal *terminal) {
  static const int BITS[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  int wide = area->dots_wide / area->columns, high = area->dots_high / area->rows;
  int pattern = 0;
  unsigned char all = 0;
  for (int y = 0; y < high; y++) {
    for (int x = 0; x < wide; x++) {
      size_t at = (size_t)(row * high + y) * (size_t)area->dots_wide + (size_t)(column * wide + x);
      if (area->dots[at]) pattern |= BITS[y][x];
      all |= area->dots[at];
    }
  }
  if (!all) {
    putchar(' ');
    return;
  }
  int shown = all & 2 ? 1 : 0;
  fputs(ep_terminal_colour(terminal, COLOURS[shown]), stdout);
  if (braille) /* U+2800 and eight bits, in UTF-8 */
    printf("\xe2%c%c", 0xa0 | pattern >> 6, 0x80 | (pattern & 0x3f));
  else
    putchar(LETTERS[shown]);
  fputs(ep_terminal_colour(terminal, EP_COLOUR_PLAIN), stdout);
}

static void titles_print(const ep_series *series, int count, const ep_plot_options *options,
                         const ep_terminal *terminal) {
  printf("%*s", LABEL_WIDTH + 2, "");
  for (int s = 0; s < count; s++) {
    fputs(ep_terminal_colour(terminal, COLOURS[s]), stdout);
    if (options->braille)
      fputs("\u28c0\u28e4", stdout);
    else
      putchar(LETTERS[s]);
    printf("%s %s   ", ep_terminal_colour(terminal, EP_COLOUR_PLAIN), series[s].title);
  }
  puts(options->logarithmic ? "(logarithmic)" : "");
}

static void x_axis_print(const canvas *area, const ep_plot_options *options) {
  char left[EP_HUMAN_BYTES], right[EP_HUMAN_BYTES], middle[64];
  const char *corner = options->braille ? "\u2514" : "+", *dash = options->braille ? "\u2500" : "-";
  printf("%*s %s", LABEL_WIDTH, "", corner);
  for (int c = 0; c < area->columns; c++) fputs(dash, stdout);
  putchar('\n');
  if (options->seconds) {
    ep_human_seconds(area->low[0], left);
    ep_human_seconds(area->high[0], right);
  } else {
    ep_human_count((int64_t)ceil(area->low[0]), left);
    ep_human_count((int64_t)floor(area->high[0]), right);
  }
  snprintf(middle, sizeof middle, "%s", options->seconds ? "seconds of training" : "epoch");
  int room = area->columns - (int)strlen(left) - (int)strlen(right);
  int words = (int)strlen(middle);
  if (room < words + 2) words = 0;
  int before = (room - words) / 2;
  printf("%*s  %s%*s%.*s%*s%s\n", LABEL_WIDTH, "", left, before > 0 ? before : 1, "", words, middle,
         room - words - before > 0 ? room - words - before : 0, "", right);
}

/* The value at the middle of a row; "" between the marks. */
static void y_label_print(const canvas *area, int row, const ep_plot_options *options) {
  char text[EP_HUMAN_BYTES] = "";
  int marks = area->rows > 2 * MARKS ? MARKS : 3;
  bool marked = false;
  for (int mark = 0; mark < marks; mark++)
    marked = marked || row == (int)lround((double)mark * (area->rows - 1) / (marks - 1));
  if (marked) {
    double part = 1 - (double)row / (area->rows - 1);
    double value = area->low[1] + part * (area->high[1] - area->low[1]);
    if (options->logarithmic)
      snprintf(text, sizeof text, "%.3g", pow(10, value));
    else
      snprintf(text, sizeof text, "%.4g", value);
  }
  const char *tick = options->braille ? (marked ? "\u2524" : "\u2502") : (marked ? "+" : "|");
  printf("%*s %s", LABEL_WIDTH, text, tick);
}

ep_status ep_plot_print(const ep_series *series, int series_count, const ep_plot_options *options,
                        const ep_terminal *terminal, ep_error *error) {
  canvas area = {.columns = options->width - LABEL_WIDTH - 2,
                 .rows = options->height - TITLE_LINES - AXIS_LINES};
  if (options->width < EP_PLOT_WIDTH_MIN || options->height < EP_PLOT_HEIGHT_MIN)
    return ep_fail(error, EP_INVALID, "a plot needs at least %d columns and %d lines",
                   EP_PLOT_WIDTH_MIN, EP_PLOT_HEIGHT_MIN);
  if (!ranges_find(&area, series, series_count, options->logarithmic))
    return ep_fail(error, EP_INVALID, "nothing to plot: no epochs reported%s",
                   options->logarithmic ? " with a value above 0" : "");
  area.dots_wide = area.columns * (options->braille ? 2 : 1);
  area.dots_high = area.rows * (options->braille ? 4 : 1);
  area.dots = calloc((size_t)area.dots_wide, (size_t)area.dots_high);
  if (!area.dots) return ep_fail_memory(error);
  for (int s = 0; s < series_count; s++) series_draw(&area, &series[s], s, options->logarithmic);
  titles_print(series, series_count, options, terminal);
  for (int row = 0; row < area.rows; row++) {
    y_label_print(&area, row, options);
    for (int column = 0; column < area.columns; column++)
      cell_print(&area, column, row, options->braille, terminal);
    putchar('\n');
  }
  x_axis_print(&area, options);
  free(area.dots);
  return EP_OK;
}
