/* The layers of a network as boxes below the data "x", with arrows from what each of them reads. A
 * box stands one row below the lowest of its inputs. An arrow that passes rows has a lane through
 * them, where there are no boxes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/limits.h"
#include "server/plots/parts.h"

enum {
  NODES = EP_LIMIT_LAYERS + 1, /* the first is x */
  COLUMNS = NODES * (1 + EP_LIMIT_LAYER_INPUTS),
  PAGE_LEAST = 480,
  MARGIN = 16,
  BOX_WIDTH = 200,
  BOX_HEIGHT = 44,
  LANE_WIDTH = 12, /* of a column without boxes */
  ACROSS = 24,     /* between columns */
  DOWN = 28,       /* between rows */
  INDENT = 10,
  CHARACTERS = 24, /* of a box's first line */
  NAME_LEAST = 4,
  TIP = 6 /* of an arrow */
};

typedef struct {
  const char *name;
  int inputs, input[EP_LIMIT_LAYER_INPUTS]; /* nodes */
  int lane[EP_LIMIT_LAYER_INPUTS];          /* the column of its arrow; -1: it passes no row */
  int row, column;
} node;

typedef struct {
  const json_t *layers;
  node nodes[NODES];
  int count, rows, columns;
  double left[COLUMNS + 1]; /* of each column, and where the last one's gap ends */
} layout;

static const json_t *layer_of(const layout *of, int index) {
  return json_array_get(of->layers, (size_t)(index - 1));
}

/* The newest of that name; x where there is none. */
static int node_find(const layout *of, const char *name) {
  int index = of->count - 1;
  while (index > 0 && strcmp(of->nodes[index].name, name) != 0) index--;
  return index;
}

/* Whether rows of a column have no box, and no arrow but those of `source`. */
static bool is_free(const layout *of, int column, int first, int last, int source) {
  for (int i = 0; i < of->count; i++) {
    const node *at = &of->nodes[i];
    if (at->column == column && at->row >= first && at->row <= last) return false;
    for (int k = 0; k < at->inputs; k++)
      if (at->lane[k] == column && at->input[k] != source && at->row > first &&
          of->nodes[at->input[k]].row < last)
        return false;
  }
  return true;
}

/* The free column that is nearest to `wanted`. */
static int column_find(layout *of, int wanted, int first, int last, int source) {
  int column = wanted;
  for (int step = 0;; step++) {
    column = wanted + step;
    if (is_free(of, column, first, last, source)) break;
    column = wanted - step;
    if (column >= 0 && is_free(of, column, first, last, source)) break;
  }
  if (column >= of->columns) of->columns = column + 1;
  return column;
}

/* Arrows of one source share a lane where they can. */
static int lane_find(layout *of, int source, int row) {
  int wanted = of->nodes[source].column;
  for (int i = 0; i < of->count; i++)
    for (int k = 0; k < of->nodes[i].inputs; k++)
      if (of->nodes[i].input[k] == source && of->nodes[i].lane[k] >= 0)
        wanted = of->nodes[i].lane[k];
  return column_find(of, wanted, of->nodes[source].row + 1, row - 1, source);
}

static void node_place(layout *of, const json_t *layer) {
  node *at = &of->nodes[of->count];
  const json_t *inputs = json_object_get(layer, "input");
  *at = (node){.name = ep_plot_word(layer, "name"), .column = COLUMNS};
  for (size_t k = 0; k < json_array_size(inputs) && k < EP_LIMIT_LAYER_INPUTS; k++) {
    const char *name = json_string_value(json_array_get(inputs, k));
    int input = node_find(of, name ? name : "");
    at->lane[at->inputs] = -1;
    at->input[at->inputs++] = input;
    if (of->nodes[input].row >= at->row) at->row = of->nodes[input].row + 1;
  }
  for (int k = 0; k < at->inputs; k++) {
    const node *input = &of->nodes[at->input[k]];
    if (input->row == at->row - 1 && input->column < at->column) at->column = input->column;
  }
  at->column = column_find(of, at->column == COLUMNS ? 0 : at->column, at->row, at->row, -1);
  if (at->row >= of->rows) of->rows = at->row + 1;
  of->count++;
  for (int k = 0; k < at->inputs; k++)
    if (of->nodes[at->input[k]].row < at->row - 1)
      at->lane[k] = lane_find(of, at->input[k], at->row);
}

static void layout_find(const json_t *numbers, layout *of) {
  *of = (layout){.layers = json_object_get(numbers, "layers"),
                 .nodes = {{.name = "x"}},
                 .count = 1,
                 .rows = 1,
                 .columns = 1};
  for (size_t i = 0; i < json_array_size(of->layers) && of->count < NODES; i++)
    node_place(of, json_array_get(of->layers, i));
  for (int i = 0; i < of->count; i++) of->left[of->nodes[i].column + 1] = BOX_WIDTH;
  for (int c = 0; c < of->columns; c++)
    of->left[c + 1] = of->left[c] + ACROSS + fmax(of->left[c + 1], LANE_WIDTH);
}

int ep_network_size(const json_t *numbers, int *width) {
  layout of;
  layout_find(numbers, &of);
  *width = (int)fmax(PAGE_LEAST, of.left[of.columns] - ACROSS + 2 * MARGIN);
  return of.rows * (BOX_HEIGHT + DOWN) - DOWN + MARGIN;
}

static double row_top(const ep_drawing *drawing, int row) {
  return drawing->top + row * (BOX_HEIGHT + DOWN);
}

static double column_middle(const layout *of, int column) {
  return (of->left[column] + of->left[column + 1] - ACROSS) / 2;
}

/* A curve between two rows, or the start of one. */
static void curve_draw(ep_drawing *drawing, double x, double y, double to_x, double to_y) {
  double middle = (y + to_y) / 2;
  ep_drawing_print(drawing, "C%.1f %.1f %.1f %.1f %.1f %.1f", x, middle, to_x, middle, to_x, to_y);
}

/* The arrow from a box's input k. Ends stand side by side, in the order of the inputs. */
static void arrow_draw(ep_drawing *drawing, const layout *of, const node *to, int k) {
  const node *from = &of->nodes[to->input[k]];
  double x = column_middle(of, from->column), y = row_top(drawing, from->row) + BOX_HEIGHT;
  double end_x = of->left[to->column] + BOX_WIDTH * (k + 1.0) / (to->inputs + 1.0);
  double end_y = row_top(drawing, to->row);
  ep_drawing_print(drawing, "<path class=\"arrow\" d=\"M%.1f %.1f", x, y);
  if (to->lane[k] >= 0) {
    double lane = column_middle(of, to->lane[k]);
    curve_draw(drawing, x, y, lane, row_top(drawing, from->row + 1));
    x = lane, y = end_y - DOWN;
    ep_drawing_print(drawing, "V%.1f", y);
  }
  curve_draw(drawing, x, y, end_x, end_y - TIP);
  ep_drawing_print(drawing, "\"/><path class=\"tip\" d=\"M%.1f %.1fl-4 -%dh8z\"/>\n", end_x, end_y,
                   TIP);
}

/* "16 × 26 × 26" */
static void shape_write(const json_t *shape, char *text, size_t text_bytes) {
  size_t used = 0;
  text[0] = 0;
  for (size_t i = 0; i < json_array_size(shape) && used < text_bytes; i++)
    used += (size_t)snprintf(text + used, text_bytes - used, "%s%lld", i > 0 ? " × " : "",
                             (long long)json_integer_value(json_array_get(shape, i)));
}

/* Of x: what the first layer that reads nothing else first takes. */
static const json_t *node_shape(const layout *of, int index) {
  if (index > 0) return json_object_get(layer_of(of, index), "out_shape");
  for (int i = 1; i < of->count; i++)
    if (of->nodes[i].inputs > 0 && of->nodes[i].input[0] == 0)
      return json_object_get(layer_of(of, i), "in_shape");
  return NULL;
}

static void box_draw(ep_drawing *drawing, const layout *of, int index) {
  const node *at = &of->nodes[index];
  const char *type = index > 0 ? ep_plot_word(layer_of(of, index), "type") : at->name;
  const json_t *parameters = json_object_get(layer_of(of, index), "parameters");
  double x = of->left[at->column], y = row_top(drawing, at->row);
  char text[96], number[16];
  ep_drawing_print(drawing,
                   "<rect class=\"box\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" "
                   "rx=\"4\"/><text class=\"layer\" x=\"%.1f\" y=\"%.1f\">",
                   x, y, BOX_WIDTH, BOX_HEIGHT, x + INDENT, y + 18);
  ep_drawing_escape(drawing, type, CHARACTERS);
  snprintf(number, sizeof number, "%d", index - 1);
  if (index > 0 && strcmp(at->name, number) != 0) {
    int left = CHARACTERS - (int)strlen(type) - 1;
    ep_drawing_print(drawing, " <tspan class=\"quiet\">");
    ep_drawing_escape(drawing, at->name, left > NAME_LEAST ? left : NAME_LEAST);
    ep_drawing_print(drawing, "</tspan>");
  }
  ep_drawing_print(drawing, "</text>\n");
  shape_write(node_shape(of, index), text, sizeof text);
  ep_drawing_text(drawing, "quiet", x + INDENT, y + 36, "start", text, INT32_MAX);
  snprintf(text, sizeof text, "%lld", (long long)json_integer_value(parameters));
  if (json_integer_value(parameters) > 0)
    ep_drawing_text(drawing, "quiet", x + BOX_WIDTH - INDENT, y + 36, "end", text, INT32_MAX);
  if (strcmp(type, "residual") == 0) /* its input goes past its block */
    ep_drawing_print(drawing,
                     "<path class=\"arrow\" d=\"M%.1f %.1fh4q8 0 8 8v8q0 8 -8 8h0\"/>"
                     "<path class=\"tip\" d=\"M%.1f %.1fl6 -4v8z\"/>\n",
                     x + BOX_WIDTH, y + 10, x + BOX_WIDTH, y + 34);
}

ep_status ep_network_draw(ep_drawing *drawing, const json_t *numbers, ep_error *error) {
  (void)error;
  layout of;
  int64_t parameters = 0;
  layout_find(numbers, &of);
  double shift = (drawing->width - of.left[of.columns] + ACROSS) / 2;
  for (int c = 0; c <= of.columns; c++) of.left[c] += shift;
  for (int i = 0; i < of.count; i++)
    for (int k = 0; k < of.nodes[i].inputs; k++) arrow_draw(drawing, &of, &of.nodes[i], k);
  for (int i = 0; i < of.count; i++) {
    parameters += json_integer_value(json_object_get(layer_of(&of, i), "parameters"));
    box_draw(drawing, &of, i);
  }
  ep_plot_note(drawing, "%d layer%s, %lld parameters; in each box: output shape, parameters",
               of.count - 1, of.count == 2 ? "" : "s", (long long)parameters);
  return EP_OK;
}
