/* A confusion matrix: up to some 30 classes with their counts, more as colours alone. */
#include <math.h>
#include <stdio.h>

#include "server/plots/parts.h"

enum { NAMED = 60, COUNTED = 30, SHORT = 8 };

static double cell_of(const json_t *matrix, size_t i, size_t j) {
  return ep_plot_number(json_array_get(json_array_get(matrix, i), j));
}

static void names_draw(ep_drawing *drawing, const json_t *names, double side) {
  size_t count = json_array_size(names);
  const char *style = side < 18 ? "small" : "name";
  for (size_t i = 0; i < count && count <= NAMED; i++) {
    const char *name = json_string_value(json_array_get(names, i));
    double middle = ((double)i + 0.5) * side;
    ep_drawing_text(drawing, style, drawing->left - 6, drawing->top + middle + 4, "end", name,
                    SHORT);
    ep_drawing_print(drawing,
                     "<text class=\"%s\" text-anchor=\"end\" transform=\"translate(%.1f %d) "
                     "rotate(-60)\">",
                     style, drawing->left + middle + 4, drawing->bottom + 12);
    ep_drawing_escape(drawing, name, SHORT);
    ep_drawing_print(drawing, "</text>\n");
  }
}

static void cell_draw(ep_drawing *drawing, double value, double share, double x, double y,
                      double side, size_t classes, bool normalized) {
  char label[32];
  ep_drawing_print(drawing,
                   "<rect class=\"cell\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
                   "fill-opacity=\"%.3f\"/>",
                   x, y, side, side, 0.06 + 0.94 * share);
  if (classes > COUNTED || value == 0) return;
  if (normalized && side < 28)
    snprintf(label, sizeof label, "%.0f", 100 * value); /* percent */
  else
    snprintf(label, sizeof label, normalized ? "%.2f" : "%.0f", value);
  ep_drawing_print(drawing,
                   "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\""
                   " style=\"font-size:%.0fpx\">%s</text>\n",
                   share > 0.5 ? "on" : "name", x + side / 2, y + side / 2 + fmin(4, side / 4),
                   fmax(5, fmin(13, side * 0.42)), label);
}

ep_status ep_confusion_draw(ep_drawing *drawing, const json_t *numbers, ep_error *error) {
  (void)error;
  const json_t *matrix = json_object_get(numbers, "matrix");
  size_t classes = json_array_size(matrix);
  bool normalized = json_is_true(json_object_get(numbers, "normalized"));
  drawing->right = drawing->left + (drawing->bottom - drawing->top);
  double side = (double)(drawing->right - drawing->left) / (double)classes;
  for (size_t i = 0; i < classes; i++) {
    double sum = 0;
    for (size_t j = 0; j < classes; j++) sum += cell_of(matrix, i, j);
    for (size_t j = 0; j < classes; j++) {
      double value = cell_of(matrix, i, j);
      cell_draw(drawing, value, sum > 0 ? value / sum : 0, drawing->left + (double)j * side,
                drawing->top + (double)i * side, side, classes, normalized);
    }
  }
  names_draw(drawing, json_object_get(numbers, "classes"), side);
  ep_drawing_text(drawing, "name", (drawing->left + drawing->right) / 2, drawing->height - 8,
                  "middle", "predicted", 16);
  ep_drawing_print(drawing,
                   "<text transform=\"rotate(-90 14 %d)\" x=\"14\" y=\"%d\" "
                   "text-anchor=\"middle\">true</text>\n",
                   (drawing->top + drawing->bottom) / 2, (drawing->top + drawing->bottom) / 2);
  ep_plot_note(drawing, "accuracy %.4f%s", ep_plot_member(numbers, "accuracy"),
               normalized ? "; shares of each true class" : "");
  return EP_OK;
}
