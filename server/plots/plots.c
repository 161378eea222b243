#include "server/plots/plots.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"
#include "api/limits.h"
#include "server/plots/parts.h"

enum { WIDTH = 480, HEIGHT = 456, LEFT = 84, RIGHT = 456, TOP = 80, BOTTOM = 392, TITLE_LEFT = 16 };

static const char STYLE[] =
    ".line{fill:none;stroke:#0a58ca;stroke-width:2;stroke-linejoin:round}\n"
    ".chance{fill:none;stroke:#59636e;stroke-dasharray:4 4}\n"
    ".dot{fill:#0a58ca;fill-opacity:.45}.mark{fill:#b8410b}.bar{fill:#0a58ca}\n"
    ".spread{stroke:#b8410b;stroke-width:2}\n"
    ".cell{fill:#0a58ca}.on{fill:#ffffff}\n"
    ".point{stroke:#ffffff;stroke-width:1}\n"
    ".box{fill:#f6f8fa;stroke:#59636e}.layer{font-weight:600}.layer tspan{font-weight:400}\n"
    ".arrow{fill:none;stroke:#0a58ca;stroke-width:1.5}.tip{fill:#0a58ca}\n";
static const char DARK[] =
    ".line{stroke:#6cb2ff}.chance{stroke:#9aa4ae}.dot{fill:#6cb2ff}.mark{fill:#ffa566}\n"
    ".bar{fill:#6cb2ff}.spread{stroke:#ffa566}.cell{fill:#6cb2ff}.on{fill:#0d1117}\n"
    ".box{fill:#161b22;stroke:#9aa4ae}.arrow{stroke:#6cb2ff}.tip{fill:#6cb2ff}\n";

typedef struct {
  const char *plot, *shows;
  ep_plot_draw *draw;
  ep_plot_png *png; /* NULL: there is none */
} plot_row;

static const plot_row ROWS[] = {
    {"confusion", "confusion matrix", ep_confusion_draw, NULL},
    {"roc", "ROC", ep_curve_draw, NULL},
    {"pr", "precision and recall", ep_curve_draw, NULL},
    {"calibration", "calibration", ep_calibration_draw, NULL},
    {"predictions", "predictions and targets", ep_scatter_draw, NULL},
    {"residuals", "residuals", ep_scatter_draw, NULL},
    {"boundary", "decision boundary", ep_boundary_draw, ep_boundary_png},
    {"importance", "permutation importance", ep_importance_draw, NULL},
    {"dependence", "partial dependence", ep_dependence_draw, NULL},
    {"mistakes", "misclassified rows", ep_examples_draw, ep_examples_png},
    {"uncertain", "least certain rows", ep_examples_draw, ep_examples_png},
    {"weights", "weights", ep_weights_draw, ep_weights_png},
    {"network", "network", ep_network_draw, NULL},
    {"timelapse", "time-lapse of the boundary", ep_timelapse_draw, ep_timelapse_png},
    {"lr", "loss over the learning rate", ep_rates_draw, NULL},
};

static ep_status numbers_load(const char *numbers, json_t **out, ep_error *error) {
  return ep_json_load(numbers, strlen(numbers), EP_LIMIT_PLOT_BYTES, out, error);
}

static const plot_row *row_find(const char *plot) {
  for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++)
    if (strcmp(ROWS[i].plot, plot) == 0) return &ROWS[i];
  return NULL;
}

/* A picture of many names is as tall as they need, and a network as wide as its branches. */
static int rows_height(const plot_row *row, const json_t *numbers, int *width) {
  if (row->draw == ep_network_draw) return TOP + ep_network_size(numbers, width);
  size_t bars = json_array_size(json_object_get(numbers, "columns"));
  if (json_object_get(numbers, "examples")) return TOP + ep_examples_height(numbers);
  if (json_object_get(numbers, "matrix")) return TOP + ep_confusion_height(numbers);
  return bars > 16 ? HEIGHT + (int)(bars - 16) * 20 : HEIGHT;
}

static ep_status numbers_draw(const char *title, const json_t *numbers, ep_theme theme, char **out,
                              ep_error *error) {
  const char *plot = ep_plot_word(numbers, "plot");
  const plot_row *row = row_find(plot);
  if (!row) return ep_fail(error, EP_INTERNAL, "a plot of the unknown name \"%s\"", plot);
  char description[256];
  int width = WIDTH, height = rows_height(row, numbers, &width);
  ep_drawing drawing = {.width = width,
                        .height = height,
                        .left = TITLE_LEFT,
                        .right = RIGHT,
                        .top = TOP,
                        .bottom = height - (HEIGHT - BOTTOM),
                        .theme = theme};
  const json_t *rows = json_object_get(numbers, "rows");
  if (rows)
    snprintf(description, sizeof description, "%s of %lld %s rows", row->shows,
             (long long)json_integer_value(rows), ep_plot_word(numbers, "split"));
  else
    snprintf(description, sizeof description, "%s", row->shows);
  ep_drawing_begin(&drawing, title, description, STYLE, DARK);
  drawing.left = LEFT;
  ep_status status = row->draw(&drawing, numbers, error);
  *out = ep_drawing_end(&drawing);
  if (status == EP_OK && !*out) status = ep_fail_memory(error);
  return status;
}

ep_status ep_plot_format_svg(const char *title, const char *numbers, ep_theme theme, char **out,
                             ep_error *error) {
  json_t *tree = NULL;
  *out = NULL;
  ep_status status = numbers_load(numbers, &tree, error);
  if (status == EP_OK) status = numbers_draw(title, tree, theme, out, error);
  json_decref(tree);
  return status;
}

ep_status ep_plot_network_svg(const char *title, const ep_layer_view *layers, int count, char **out,
                              ep_error *error) {
  ep_writer writer;
  ep_writer_init(&writer, EP_LIMIT_PLOT_BYTES);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "plot", "network");
  ep_layer_views_write(&writer, layers, count);
  ep_writer_close(&writer, '}');
  char *numbers = ep_writer_take(&writer);
  *out = NULL;
  ep_status status = numbers ? ep_plot_format_svg(title, numbers, EP_THEME_AUTO, out, error)
                             : ep_fail_memory(error);
  free(numbers);
  return status;
}

ep_status ep_plot_format_png(const char *numbers, void **out, size_t *bytes, ep_error *error) {
  json_t *tree = NULL;
  *out = NULL;
  ep_status status = numbers_load(numbers, &tree, error);
  const plot_row *row = status == EP_OK ? row_find(ep_plot_word(tree, "plot")) : NULL;
  if (status == EP_OK && (!row || !row->png))
    status = ep_fail(error, EP_MALFORMED,
                     "?format=png is supported by boundary, timelapse, weights, mistakes and "
                     "uncertain: use svg");
  if (status == EP_OK) status = row->png(tree, out, bytes, error);
  json_decref(tree);
  return status;
}
