/* Lines, dots and bars. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server/plots/parts.h"

enum { DOTS = 2000, LINE_POINTS = 2000, LABEL_CHARACTERS = 15, WORD_CHARACTERS = 10 };

static double at(const json_t *array, size_t i) {
  return ep_plot_number(json_array_get(array, i));
}

static void unit_axes(ep_drawing *drawing, const char *x_name, const char *y_name) {
  ep_chart_axis_init(&drawing->x, 0, 1, false, false, false);
  ep_chart_axis_init(&drawing->y, 0, 1, false, false, false);
  ep_drawing_axes(drawing, x_name, y_name);
}

/* Points nearer than a pixel to the one before are left out. */
static void line_draw(ep_drawing *drawing, const json_t *x, const json_t *y) {
  size_t count = json_array_size(x), step = 1 + count / LINE_POINTS;
  ep_drawing_print(drawing, "<path class=\"line\" d=\"");
  for (size_t i = 0; i < count; i = i + 1 == count || i + step < count ? i + step : count - 1)
    ep_drawing_print(drawing, "%s%.1f %.1f", i == 0 ? "M" : "L", ep_drawing_x(drawing, at(x, i)),
                     ep_drawing_y(drawing, at(y, i)));
  ep_drawing_print(drawing, "\"/>\n");
}

static void mark_draw(ep_drawing *drawing, double x, double y) {
  ep_drawing_print(drawing, "<circle class=\"mark\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/>\n",
                   ep_drawing_x(drawing, x), ep_drawing_y(drawing, y));
}

static void diagonal_draw(ep_drawing *drawing) {
  ep_drawing_print(drawing, "<path class=\"chance\" d=\"M%d %dL%d %d\"/>\n", drawing->left,
                   drawing->bottom, drawing->right, drawing->top);
}

ep_status ep_curve_draw(ep_drawing *drawing, const json_t *numbers, ep_error *error) {
  (void)error;
  const json_t *best = json_object_get(numbers, "best_f1");
  bool roc = json_object_get(numbers, "fpr") != NULL;
  unit_axes(drawing, roc ? "false positive rate" : "recall",
            roc ? "true positive rate" : "precision");
  if (roc) diagonal_draw(drawing);
  line_draw(drawing, json_object_get(numbers, roc ? "fpr" : "recall"),
            json_object_get(numbers, roc ? "tpr" : "precision"));
  mark_draw(drawing, ep_plot_member(best, roc ? "false_positive_rate" : "recall"),
            ep_plot_member(best, roc ? "recall" : "precision"));
  ep_plot_note(drawing, "%s %.4f; best F1 %.3f at probability %.3f", roc ? "AUC" : "AP",
               ep_plot_member(numbers, roc ? "auc" : "average_precision"),
               ep_plot_member(best, "f1"), ep_plot_member(best, "probability"));
  return EP_OK;
}

ep_status ep_calibration_draw(ep_drawing *drawing, const json_t *numbers, ep_error *error) {
  (void)error;
  const json_t *x = json_object_get(numbers, "predicted");
  const json_t *y = json_object_get(numbers, "observed");
  unit_axes(drawing, "predicted probability", "observed share");
  diagonal_draw(drawing);
  line_draw(drawing, x, y);
  for (size_t i = 0; i < json_array_size(x); i++) mark_draw(drawing, at(x, i), at(y, i));
  ep_plot_note(drawing, "Brier score %.4f", ep_plot_member(numbers, "brier"));
  return EP_OK;
}

/* The least and the greatest finite number of two lists; the second may be NULL. */
static void range_find(const json_t *first, const json_t *second, double *low, double *high) {
  *low = INFINITY, *high = -INFINITY;
  for (int list = 0; list < 2; list++) {
    const json_t *values = list == 0 ? first : second;
    for (size_t i = 0; i < json_array_size(values); i++) {
      double value = at(values, i);
      if (!isfinite(value) || fabs(value) > 1e300) continue;
      if (fabs(value) < 1e-290) value = 0;
      *low = fmin(*low, value), *high = fmax(*high, value);
    }
  }
  if (*low > *high) *low = 0, *high = 1;
}

static void dots_draw(ep_drawing *drawing, const json_t *x, const json_t *y) {
  size_t count = json_array_size(x), step = 1 + count / DOTS;
  for (size_t i = 0; i < count; i += step) {
    if (!isfinite(at(x, i)) || !isfinite(at(y, i))) continue;
    ep_drawing_print(drawing, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>\n",
                     ep_drawing_x(drawing, at(x, i)), ep_drawing_y(drawing, at(y, i)));
  }
}

ep_status ep_scatter_draw(ep_drawing *drawing, const json_t *numbers, ep_error *error) {
  (void)error;
  const json_t *residual = json_object_get(numbers, "residual");
  const json_t *prediction = json_object_get(numbers, "prediction");
  const json_t *x = residual ? prediction : json_object_get(numbers, "target");
  const json_t *y = residual ? residual : prediction;
  double low, high;
  range_find(x, residual ? NULL : y, &low, &high);
  ep_chart_axis_init(&drawing->x, low, high, false, false, false);
  if (residual) range_find(y, NULL, &low, &high);
  if (residual) low = fmin(low, 0), high = fmax(high, 0);
  ep_chart_axis_init(&drawing->y, low, high, false, false, false);
  ep_drawing_axes(drawing, residual ? "prediction" : "target",
                  residual ? "target - prediction" : "prediction");
  if (residual)
    ep_drawing_print(drawing, "<path class=\"chance\" d=\"M%d %.1fH%d\"/>\n", drawing->left,
                     ep_drawing_y(drawing, 0), drawing->right);
  else
    diagonal_draw(drawing);
  dots_draw(drawing, x, y);
  if (residual)
    ep_plot_note(drawing, "mean %.4g, deviation %.4g", ep_plot_member(numbers, "mean"),
                 ep_plot_member(numbers, "deviation"));
  else
    ep_plot_note(drawing, "R² %.4f", ep_plot_member(numbers, "r2"));
  return EP_OK;
}

/* Bars from the left, a name each. values: [count] by `of`. */
static void bars_draw(ep_drawing *drawing, const json_t *list, const char *name_key,
                      const char *value_key, const char *spread_key) {
  size_t count = json_array_size(list);
  double step = (double)(drawing->bottom - drawing->top) / (double)(count ? count : 1);
  double thick = fmin(18, step * 0.7), zero = ep_drawing_x(drawing, 0);
  for (size_t i = 0; i < count; i++) {
    const json_t *row = json_array_get(list, i);
    double value = ep_plot_member(row, value_key), spread = ep_plot_member(row, spread_key);
    double middle = drawing->top + ((double)i + 0.5) * step, end = ep_drawing_x(drawing, value);
    ep_drawing_text(drawing, "name", drawing->left - 8, middle + 4, "end",
                    ep_plot_word(row, name_key), LABEL_CHARACTERS);
    ep_drawing_print(drawing,
                     "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
                     fmin(zero, end), middle - thick / 2, fabs(end - zero), thick);
    ep_drawing_print(drawing, "<path class=\"spread\" d=\"M%.1f %.1fH%.1f\"/>\n",
                     ep_drawing_x(drawing, value - spread), middle,
                     ep_drawing_x(drawing, value + spread));
  }
}

ep_status ep_importance_draw(ep_drawing *drawing, const json_t *numbers, ep_error *error) {
  (void)error;
  const json_t *list = json_object_get(numbers, "columns");
  double low = 0, high = 0;
  char name[64];
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *row = json_array_get(list, i);
    double mean = ep_plot_member(row, "mean"), spread = ep_plot_member(row, "deviation");
    low = fmin(low, mean - spread), high = fmax(high, mean + spread);
  }
  drawing->left += 48;
  ep_chart_axis_init(&drawing->x, low, high, false, false, true);
  drawing->y = (ep_chart_axis){.low = 0, .high = 1};
  snprintf(name, sizeof name, "%s lost when the column is shuffled",
           ep_plot_word(numbers, "score"));
  ep_drawing_axes(drawing, name, "");
  bars_draw(drawing, list, "column", "mean", "deviation");
  ep_plot_note(drawing, "%s %.4f; %d shuffles of each column", ep_plot_word(numbers, "score"),
               ep_plot_member(numbers, "baseline"),
               (int)json_integer_value(json_object_get(numbers, "repeats")));
  return EP_OK;
}

/* Words are places in a row; what they are called is written there. */
static void words_draw(ep_drawing *drawing, const json_t *words) {
  size_t count = json_array_size(words);
  for (size_t i = 0; i < count; i++) {
    double x = ep_drawing_x(drawing, (double)i);
    ep_drawing_print(drawing,
                     "<text class=\"quiet\" text-anchor=\"end\" transform=\"translate(%.1f %d) "
                     "rotate(-40)\">",
                     x + 4, drawing->bottom + 14);
    const char *word = json_string_value(json_array_get(words, i));
    ep_drawing_escape(drawing, word ? word : "", WORD_CHARACTERS);
    ep_drawing_print(drawing, "</text>\n");
  }
}

ep_status ep_dependence_draw(ep_drawing *drawing, const json_t *numbers, ep_error *error) {
  (void)error;
  const json_t *value = json_object_get(numbers, "value"), *mean = json_object_get(numbers, "mean");
  bool words = json_is_string(json_array_get(value, 0));
  double low, high;
  range_find(mean, NULL, &low, &high);
  ep_chart_axis_init(&drawing->y, low, high, false, false, true);
  range_find(value, NULL, &low, &high);
  if (words) low = -0.5, high = (double)json_array_size(value) - 0.5; /* half a place beside each */
  ep_chart_axis_init(&drawing->x, low, high, false, false, false);
  if (words) drawing->x.ticks_count = 0;
  if (words) drawing->bottom -= 24; /* for the words, above the column's name */
  bool probability = strcmp(ep_plot_word(numbers, "shows"), "probability") == 0;
  ep_drawing_axes(drawing, words ? "" : ep_plot_word(numbers, "column"),
                  probability ? "mean probability" : "mean prediction");
  if (words) {
    words_draw(drawing, value);
    ep_drawing_text(drawing, "name", (drawing->left + drawing->right) / 2.0, drawing->height - 12,
                    "middle", ep_plot_word(numbers, "column"), EP_DRAWING_TITLE_CHARACTERS);
  }
  if (!words) line_draw(drawing, value, mean);
  for (size_t i = 0; words && i < json_array_size(mean); i++)
    mark_draw(drawing, (double)i, at(mean, i));
  if (probability) ep_plot_note(drawing, "of the class %.60s", ep_plot_word(numbers, "class"));
  return EP_OK;
}
