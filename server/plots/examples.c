/* Rows with their true class and the one that was said: pictures, or the cells of a table. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/base64.h"
#include "server/plots/parts.h"

enum {
  LEFT = 16,
  MARGIN = 8, /* at the end */
  WIDE = 448, /* of all pictures of a row */
  COLUMNS = 5,
  CAPTION = 38,    /* below a picture: two lines */
  ENTRY = 46,      /* of a table: two lines a row */
  NAME_WIDE = 6,   /* characters of each class below a picture */
  NAME_LONG = 20,  /* and in a line of its own */
  CELLS_WIDE = 64, /* characters of cells */
};

static bool are_pictures(const json_t *numbers) {
  return json_object_get(numbers, "picture") != NULL;
}

static const json_t *examples_of(const json_t *numbers) {
  return json_object_get(numbers, "examples");
}

/* Height over width of a picture, within reason. */
static double shape_of(const json_t *numbers) {
  const json_t *picture = json_object_get(numbers, "picture");
  double shape = ep_plot_member(picture, "height") / ep_plot_member(picture, "width");
  return fmin(2, fmax(0.25, shape));
}

static double tile_side(void) {
  return (double)WIDE / COLUMNS - 8;
}

int ep_examples_height(const json_t *numbers) {
  size_t count = json_array_size(examples_of(numbers));
  if (!are_pictures(numbers)) return (int)count * ENTRY + MARGIN;
  return MARGIN + (int)((double)((count + COLUMNS - 1) / COLUMNS) *
                        (tile_side() * shape_of(numbers) + CAPTION));
}

static ep_status tiles_read(const json_t *numbers, ep_tiles *tiles, ep_error *error) {
  const json_t *examples = examples_of(numbers);
  ep_status status = ep_tiles_init(tiles, numbers, json_array_size(examples), error);
  for (int64_t i = 0; status == EP_OK && i < tiles->count; i++) {
    size_t bytes = (size_t)(tiles->channels * tiles->height * tiles->width);
    const char *text = ep_plot_word(json_array_get(examples, (size_t)i), "pixels");
    if (!ep_base64_read(text, tiles->bytes + (size_t)i * bytes, bytes))
      status = ep_fail(error, EP_INTERNAL, "a picture that is not of %zu bytes", bytes);
  }
  return status;
}

ep_status ep_examples_png(const json_t *numbers, void **out, size_t *bytes, ep_error *error) {
  ep_tiles tiles = {0};
  if (!are_pictures(numbers) || json_array_size(examples_of(numbers)) == 0)
    return ep_fail(error, EP_MALFORMED, "?format=png requires rows that are pictures: use svg");
  ep_status status = tiles_read(numbers, &tiles, error);
  if (status == EP_OK)
    status = ep_tiles_png(&tiles, 0, tiles.count, ep_tiles_columns(&tiles), out, bytes, error);
  ep_tiles_deinit(&tiles);
  return status;
}

/* "yes → no" */
static void classes_draw(ep_drawing *drawing, const char *style, double x, double y,
                         const char *anchor, const json_t *example, int characters) {
  ep_drawing_print(drawing, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", style,
                   x, y, anchor);
  ep_drawing_escape(drawing, ep_plot_word(example, "target"), characters);
  ep_drawing_print(drawing, " → ");
  ep_drawing_escape(drawing, ep_plot_word(example, "prediction"), characters);
  ep_drawing_print(drawing, "</text>\n");
}

static ep_status pictures_draw(ep_drawing *drawing, const json_t *numbers, ep_error *error) {
  ep_tiles tiles;
  ep_status status = tiles_read(numbers, &tiles, error);
  double side = tile_side(), high = side * shape_of(numbers);
  for (int64_t i = 0; i < tiles.count && status == EP_OK; i++) {
    const json_t *example = json_array_get(examples_of(numbers), (size_t)i);
    double x = LEFT + (double)(i % COLUMNS) * WIDE / COLUMNS;
    double y = drawing->top + (double)(i / COLUMNS) * (high + CAPTION);
    char share[16];
    void *png;
    size_t bytes;
    status = ep_tiles_png(&tiles, i, 1, 1, &png, &bytes, error);
    if (status != EP_OK) break;
    ep_drawing_png(drawing, x, y, side, high, png, bytes);
    free(png);
    classes_draw(drawing, "name", x + side / 2, y + high + 15, "middle", example, NAME_WIDE);
    snprintf(share, sizeof share, "%.0f %%", 100 * ep_plot_member(example, "probability"));
    ep_drawing_text(drawing, "quiet", x + side / 2, y + high + 30, "middle", share, 16);
  }
  ep_tiles_deinit(&tiles);
  return status;
}

/* "age 33, sex male, …", as far as there is room. */
static void cells_draw(ep_drawing *drawing, double y, const json_t *numbers,
                       const json_t *example) {
  const json_t *columns = json_object_get(numbers, "columns");
  const json_t *values = json_object_get(example, "values");
  char text[512];
  size_t used = 0;
  text[0] = 0;
  for (size_t j = 0; j < json_array_size(values) && used < sizeof text; j++) {
    const json_t *value = json_array_get(values, j);
    const char *column = json_string_value(json_array_get(columns, j));
    char number[32];
    bool named = column && strspn(column, "0123456789") < strlen(column); /* more than a number */
    snprintf(number, sizeof number, json_is_null(value) ? "-" : "%.4g", ep_plot_number(value));
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%.40s%s%.40s", j > 0 ? ", " : "",
                             named ? column : "", named ? " " : "",
                             json_is_string(value) ? json_string_value(value) : number);
  }
  ep_drawing_text(drawing, "quiet", LEFT, y, "start", text, CELLS_WIDE);
}

static void entries_draw(ep_drawing *drawing, const json_t *numbers) {
  for (size_t i = 0; i < json_array_size(examples_of(numbers)); i++) {
    const json_t *example = json_array_get(examples_of(numbers), i);
    double y = drawing->top + (double)i * ENTRY + 14;
    char words[64];
    classes_draw(drawing, "name", LEFT, y, "start", example, NAME_LONG);
    snprintf(words, sizeof words, "row %lld, %.1f %%",
             (long long)json_integer_value(json_object_get(example, "row")),
             100 * ep_plot_member(example, "probability"));
    ep_drawing_text(drawing, "name", LEFT + WIDE, y, "end", words, 40);
    cells_draw(drawing, y + 17, numbers, example);
  }
}

ep_status ep_examples_draw(ep_drawing *drawing, const json_t *numbers, ep_error *error) {
  size_t count = json_array_size(examples_of(numbers));
  long long wrong = (long long)json_integer_value(json_object_get(numbers, "wrong"));
  long long rows = (long long)json_integer_value(json_object_get(numbers, "rows"));
  ep_plot_note(drawing, "true class → predicted class; %lld of %lld rows are wrong", wrong, rows);
  if (count == 0) return EP_OK;
  if (are_pictures(numbers)) return pictures_draw(drawing, numbers, error);
  entries_draw(drawing, numbers);
  return EP_OK;
}
