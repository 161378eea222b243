#include "server/plots/plots.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/json/json.h"
#include "api/limits.h"
#include "server/plots/parts.h"

enum { WIDTH = 480, HEIGHT = 440, LEFT = 84, RIGHT = 456, TOP = 64, BOTTOM = 376 };

static const char STYLE[] =
    ".line{fill:none;stroke:#0a58ca;stroke-width:2;stroke-linejoin:round}\n"
    ".chance{fill:none;stroke:#59636e;stroke-dasharray:4 4}\n"
    ".dot{fill:#0a58ca;fill-opacity:.45}.mark{fill:#b8410b}.bar{fill:#0a58ca}\n"
    ".spread{stroke:#b8410b;stroke-width:2}\n"
    ".cell{fill:#0a58ca}.on{fill:#ffffff}.small{font-size:9px}\n"
    ".point{stroke:#ffffff;stroke-width:1}\n";
static const char DARK[] =
    ".line{stroke:#6cb2ff}.chance{stroke:#9aa4ae}.dot{fill:#6cb2ff}.mark{fill:#ffa566}\n"
    ".bar{fill:#6cb2ff}.spread{stroke:#ffa566}.cell{fill:#6cb2ff}.on{fill:#0d1117}\n";

typedef struct {
  const char *plot, *shows;
  ep_plot_draw *draw;
} plot_row;

static const plot_row ROWS[] = {
    {"confusion", "confusion matrix", ep_confusion_draw},
    {"roc", "ROC", ep_curve_draw},
    {"pr", "precision and recall", ep_curve_draw},
    {"calibration", "calibration", ep_calibration_draw},
    {"predictions", "predictions and targets", ep_scatter_draw},
    {"residuals", "residuals", ep_scatter_draw},
    {"boundary", "decision boundary", ep_boundary_draw},
    {"importance", "permutation importance", ep_importance_draw},
    {"dependence", "partial dependence", ep_dependence_draw},
    {"lr", "loss over the learning rate", ep_rates_draw},
};

double ep_plot_number(const json_t *value) {
  const char *text = json_string_value(value);
  if (text && strcmp(text, "Infinity") == 0) return INFINITY;
  return json_is_number(value) ? json_number_value(value) : NAN;
}

double ep_plot_member(const json_t *object, const char *key) {
  return ep_plot_number(json_object_get(object, key));
}

const char *ep_plot_word(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

void ep_plot_note(ep_drawing *drawing, const char *format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  ep_drawing_text(drawing, "quiet", 16, 52, "start", text, 72);
}

static ep_status numbers_load(const char *numbers, json_t **out, ep_error *error) {
  return ep_json_load(numbers, strlen(numbers), EP_LIMIT_PLOT_BYTES, out, error);
}

/* A picture of many names is as tall as they need. */
static int rows_height(const json_t *numbers) {
  size_t bars = json_array_size(json_object_get(numbers, "columns"));
  return bars > 16 ? HEIGHT + (int)(bars - 16) * 20 : HEIGHT;
}

static ep_status numbers_draw(const char *title, const json_t *numbers, char **out,
                              ep_error *error) {
  const char *plot = ep_plot_word(numbers, "plot");
  const plot_row *row = ROWS;
  const plot_row *end = ROWS + sizeof ROWS / sizeof ROWS[0];
  while (row < end && strcmp(row->plot, plot) != 0) row++;
  if (row == end) return ep_fail(error, EP_INTERNAL, "a plot of the unknown name \"%s\"", plot);
  char description[256];
  int height = rows_height(numbers);
  ep_drawing drawing = {.width = WIDTH,
                        .height = height,
                        .left = LEFT,
                        .right = RIGHT,
                        .top = TOP,
                        .bottom = height - (HEIGHT - BOTTOM)};
  const json_t *rows = json_object_get(numbers, "rows");
  if (rows)
    snprintf(description, sizeof description, "%s of %lld %s rows", row->shows,
             (long long)json_integer_value(rows), ep_plot_word(numbers, "split"));
  else
    snprintf(description, sizeof description, "%s", row->shows);
  ep_drawing_begin(&drawing, title, description, STYLE, DARK);
  ep_status status = row->draw(&drawing, numbers, error);
  *out = ep_drawing_end(&drawing);
  if (status == EP_OK && !*out) status = ep_fail_memory(error);
  return status;
}

ep_status ep_plot_format_svg(const char *title, const char *numbers, char **out, ep_error *error) {
  json_t *tree = NULL;
  *out = NULL;
  ep_status status = numbers_load(numbers, &tree, error);
  if (status == EP_OK) status = numbers_draw(title, tree, out, error);
  json_decref(tree);
  return status;
}

ep_status ep_plot_format_png(const char *numbers, void **out, size_t *bytes, ep_error *error) {
  json_t *tree = NULL;
  *out = NULL;
  ep_status status = numbers_load(numbers, &tree, error);
  if (status == EP_OK && strcmp(ep_plot_word(tree, "plot"), "boundary") != 0)
    status = ep_fail(error, EP_MALFORMED, "?format=png is for the boundary alone: svg draws this");
  if (status == EP_OK) status = ep_boundary_png(tree, out, bytes, error);
  json_decref(tree);
  return status;
}
