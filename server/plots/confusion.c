/* A confusion matrix: a row a true class, with the pairs that are confused most in words below,
 * since the cells of many classes have no room for numbers on a phone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/utf8.h"
#include "server/plots/parts.h"

enum {
  EDGE = 464, /* of the matrix, to the right */
  NAMED = 40, /* classes that there is room for the names of */
  SHORT = 10, /* characters of a name beside the matrix, */
  LONG = 22,  /* and in words */
  CELL_MOST = 120,
  ROW_LEAST = 17, /* what a name needs */
  PAIRS = 6,      /* that are confused most */
  PAIRS_FROM = 8, /* classes: fewer are seen at a glance */
  CROWDED = 100,  /* classes: cells without a row are one rectangle, or the picture has megabytes */
  LINE = 20,
  FONT = 13,
  FONT_LEAST = 8
};
static const double CHARACTER = 7.4, /* the width of one, of FONT, */
    DIGIT = 0.64;                    /* and of a digit, of its height */

typedef struct {
  size_t classes;
  const json_t *matrix, *names;
  bool normalized;
  double name_wide;           /* of the longest name; 0: names are left out */
  double left, width, height; /* of the matrix; of a cell */
  bool upright;               /* the names below it */
} layout;

static double cell_of(const json_t *matrix, size_t i, size_t j) {
  return ep_plot_number(json_array_get(json_array_get(matrix, i), j));
}

static const char *name_of(const layout *of, size_t class) {
  const char *name = json_string_value(json_array_get(of->names, class));
  return name ? name : "";
}

static int characters_of(const char *text) {
  int count = 0;
  for (size_t left = strlen(text); left > 0; count++) {
    size_t bytes = ep_utf8_character(text, left);
    if (bytes == 0) bytes = 1;
    text += bytes, left -= bytes;
  }
  return count;
}

static layout layout_find(const json_t *numbers) {
  layout of = {.matrix = json_object_get(numbers, "matrix"),
               .names = json_object_get(numbers, "classes"),
               .normalized = json_is_true(json_object_get(numbers, "normalized"))};
  int longest = 1;
  of.classes = json_array_size(of.matrix);
  for (size_t i = 0; i < of.classes; i++) {
    int characters = characters_of(name_of(&of, i));
    if (characters > SHORT) characters = SHORT + 1; /* and the ellipsis */
    if (characters > longest) longest = characters;
  }
  of.name_wide = of.classes <= NAMED ? longest * CHARACTER : 0;
  of.left = 42 + of.name_wide;
  of.width = fmin(CELL_MOST, (EDGE - of.left) / (double)(of.classes ? of.classes : 1));
  of.height = of.name_wide > 0 ? fmax(ROW_LEAST, of.width) : of.width;
  of.upright = of.name_wide > of.width - 4;
  return of;
}

/* Between the matrix and what is below its names. */
static double names_height(const layout *of) {
  return of->name_wide == 0 ? 8 : of->upright ? of->name_wide + 14 : LINE;
}

/* A pair of classes that are confused. */
typedef struct {
  size_t truth, guess;
  double value, share; /* share: of the true class */
} pair;

static int pair_compare(const void *a, const void *b) {
  const pair *first = a, *second = b;
  return (first->value < second->value) - (first->value > second->value);
}

static double row_sum(const layout *of, size_t i) {
  double sum = 0;
  for (size_t j = 0; j < of->classes; j++) sum += cell_of(of->matrix, i, j);
  return sum;
}

/* Keeps the most frequent ones. pairs: [PAIRS], written; returns how many there are. */
static size_t pairs_find(const layout *of, pair *pairs) {
  size_t count = 0;
  for (size_t i = 0; i < of->classes && of->classes >= PAIRS_FROM; i++) {
    double sum = row_sum(of, i);
    for (size_t j = 0; j < of->classes; j++) {
      pair one = {i, j, cell_of(of->matrix, i, j), 0};
      if (i == j || !(one.value > 0)) continue;
      one.share = one.value / sum;
      if (count == PAIRS && one.value <= pairs[PAIRS - 1].value) continue;
      pairs[count < PAIRS ? count++ : PAIRS - 1] = one;
      qsort(pairs, count, sizeof *pairs, pair_compare);
    }
  }
  return count;
}

int ep_confusion_height(const json_t *numbers) {
  layout of = layout_find(numbers);
  pair pairs[PAIRS];
  size_t count = pairs_find(&of, pairs);
  double words = count > 0 ? (double)(count + 1) * LINE + 8 : 0;
  return (int)ceil((double)of.classes * of.height + names_height(&of) + 2 * LINE + words);
}

static void names_draw(ep_drawing *drawing, const layout *of) {
  for (size_t i = 0; i < of->classes && of->name_wide > 0; i++) {
    double middle = of->left + ((double)i + 0.5) * of->width;
    double bottom = drawing->top + (double)of->classes * of->height;
    ep_drawing_text(drawing, "name", of->left - 6,
                    drawing->top + ((double)i + 0.5) * of->height + 4.5, "end", name_of(of, i),
                    SHORT);
    if (!of->upright) {
      ep_drawing_text(drawing, "name", middle, bottom + 16, "middle", name_of(of, i), SHORT);
      continue;
    }
    ep_drawing_print(drawing,
                     "<text style=\"font-size:%.1fpx\" text-anchor=\"end\" "
                     "transform=\"translate(%.1f %.1f) rotate(-90)\">",
                     fmin(FONT, fmax(FONT_LEAST, of->width)), middle + 4, bottom + 6);
    ep_drawing_escape(drawing, name_of(of, i), SHORT);
    ep_drawing_print(drawing, "</text>\n");
  }
}

/* A number where there is room for one. It is dark on pale cells and pale on dark ones: between
 * both there is a step, so that each can be read. */
static void cell_draw(ep_drawing *drawing, const layout *of, double value, double share, double x,
                      double y) {
  char label[32];
  bool most = share > 0.5, shares = of->normalized && of->width < 44;
  double opacity = most ? 0.84 + 0.32 * (share - 0.5) : 0.06 + 0.98 * share;
  ep_drawing_print(drawing,
                   "<rect class=\"cell\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
                   "fill-opacity=\"%.3f\"/>",
                   x, y, of->width, of->height, opacity);
  if (value == 0) return;
  snprintf(label, sizeof label, of->normalized && !shares ? "%.2f" : "%.0f",
           shares ? 100 * value : value);
  double font = fmin(FONT, (of->width - 2) / (DIGIT * (double)strlen(label)));
  if (font < FONT_LEAST) return;
  ep_drawing_print(drawing,
                   "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\""
                   " style=\"font-size:%.1fpx\">%s</text>\n",
                   most ? "on" : "name", x + of->width / 2, y + of->height / 2 + font * 0.35, font,
                   label);
}

static void pairs_draw(ep_drawing *drawing, const layout *of, double y) {
  pair pairs[PAIRS];
  size_t count = pairs_find(of, pairs);
  if (count > 0)
    ep_drawing_text(drawing, "quiet", 16, y, "start", "most often confused, true → predicted:", 64);
  for (size_t i = 0; i < count; i++) {
    char number[48];
    y += LINE;
    ep_drawing_print(drawing, "<text class=\"name\" x=\"16\" y=\"%.1f\">", y);
    ep_drawing_escape(drawing, name_of(of, pairs[i].truth), LONG);
    ep_drawing_print(drawing, " → ");
    ep_drawing_escape(drawing, name_of(of, pairs[i].guess), LONG);
    ep_drawing_print(drawing, "</text>\n");
    if (of->normalized)
      snprintf(number, sizeof number, "%.1f %%", 100 * pairs[i].value);
    else
      snprintf(number, sizeof number, "%.0f, %.1f %%", pairs[i].value, 100 * pairs[i].share);
    ep_drawing_text(drawing, "name", EDGE, y, "end", number, 40);
  }
}

ep_status ep_confusion_draw(ep_drawing *drawing, const json_t *numbers, ep_error *error) {
  (void)error;
  layout of = layout_find(numbers);
  double side = (double)of.classes * of.width, high = (double)of.classes * of.height;
  bool crowded = of.classes > CROWDED;
  if (crowded)
    ep_drawing_print(drawing,
                     "<rect class=\"cell\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%.2f\" "
                     "fill-opacity=\"0.06\"/>",
                     of.left, drawing->top, side, high);
  for (size_t i = 0; i < of.classes; i++) {
    double sum = row_sum(&of, i);
    for (size_t j = 0; j < of.classes; j++) {
      double value = cell_of(of.matrix, i, j);
      if (crowded && value == 0) continue;
      cell_draw(drawing, &of, value, sum > 0 ? value / sum : 0, of.left + (double)j * of.width,
                drawing->top + (double)i * of.height);
    }
  }
  names_draw(drawing, &of);
  double y = drawing->top + high + names_height(&of) + LINE - 4;
  ep_drawing_text(drawing, "quiet", of.left + side / 2, y, "middle", "predicted", 16);
  ep_drawing_print(drawing,
                   "<text class=\"quiet\" transform=\"rotate(-90 22 %.1f)\" x=\"22\" y=\"%.1f\" "
                   "text-anchor=\"middle\">true</text>\n",
                   drawing->top + high / 2, drawing->top + high / 2);
  pairs_draw(drawing, &of, y + LINE + 8);
  ep_plot_note(drawing, "accuracy %.4f%s", ep_plot_member(numbers, "accuracy"),
               !of.normalized  ? ""
               : of.width < 44 ? "; percent of each true class"
                               : "; shares of each true class");
  return EP_OK;
}
