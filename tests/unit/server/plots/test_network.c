/* The drawing of a network: where its boxes and arrows are. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "server/plots/plots.h"
#include "tests/suite.h"

typedef struct {
  double x, y, width, height;
} box;

typedef struct {
  ep_layer_view layers[EP_LIMIT_LAYERS];
  int count;
  char *picture;
  box boxes[EP_LIMIT_LAYERS + 1]; /* x first, then the layers */
} drawn;

static void layer_add(drawn *of, const char *name, const char *type, const char *const *inputs) {
  ep_layer_view *layer = &of->layers[of->count];
  *layer = (ep_layer_view){.type = type, .parameters = 3, .in = {1, {2}}, .out = {2, {2, 5}}};
  snprintf(layer->name, sizeof layer->name, "%d", of->count++);
  if (name) snprintf(layer->name, sizeof layer->name, "%s", name);
  for (; inputs[layer->inputs]; layer->inputs++)
    snprintf(layer->input[layer->inputs], sizeof layer->input[0], "%s", inputs[layer->inputs]);
}

#define ADD(of, name, type, ...) layer_add(of, name, type, (const char *const[]){__VA_ARGS__, NULL})

static bool apart(double a, double a_length, double b, double b_length) {
  return a + a_length < b || b + b_length < a;
}

static char *picture_make(const drawn *of) {
  ep_error error = {0};
  char *picture = NULL;
  ck_assert_msg(ep_plot_network_svg("<net>", of->layers, of->count, &picture, &error) == EP_OK,
                "%s", error.message);
  return picture;
}

/* The part of an arrow that passes rows, straight down at x, meets no box. */
static void lane_check(const drawn *of, double x, double from, double to) {
  for (int i = 0; i <= of->count; i++) {
    const box *at = &of->boxes[i];
    ck_assert_msg(apart(at->x, at->width, x, 0) || apart(at->y, at->height, from, to - from),
                  "an arrow crosses box %d", i);
  }
}

/* Draws, and checks what holds of every drawing; returns how many arrows pass rows. */
static int network_draw(drawn *of) {
  int count = 0, arrows = 0, lanes = 0, inputs = 0;
  double width, height;
  of->picture = picture_make(of);
  char *again = picture_make(of);
  ck_assert_str_eq(of->picture, again);
  free(again);
  ck_assert_ptr_nonnull(strstr(of->picture, "<title>&lt;net&gt;</title>"));
  ck_assert_int_eq(
      sscanf(strstr(of->picture, "viewBox="), "viewBox=\"0 0 %lf %lf", &width, &height), 2);
  for (const char *at = of->picture; (at = strstr(at, "<rect class=\"box\"")) != NULL; at++) {
    box *b = &of->boxes[count];
    ck_assert_int_le(count++, of->count);
    ck_assert_int_eq(sscanf(at,
                            "<rect class=\"box\" x=\"%lf\" y=\"%lf\" width=\"%lf\" height=\"%lf",
                            &b->x, &b->y, &b->width, &b->height),
                     4);
    ck_assert(b->x > 0 && b->y > 0 && b->x + b->width < width && b->y + b->height < height);
    for (int i = 0; i + 1 < count; i++)
      ck_assert_msg(apart(b->x, b->width, of->boxes[i].x, of->boxes[i].width) ||
                        apart(b->y, b->height, of->boxes[i].y, of->boxes[i].height),
                    "boxes %d and %d overlap", i, count - 1);
  }
  ck_assert_int_eq(count, of->count + 1);
  for (const char *at = of->picture; (at = strstr(at, "<path class=\"arrow\"")) != NULL; at++) {
    double x, y, to;
    const char *path = strstr(at, " d="), *end = strchr(at, '/'), *down = strchr(at, 'V');
    arrows += strchr(path, 'h') > end; /* a residual's is drawn with h */
    if (!down || down > end) continue;
    const char *point = down;
    while (*point != ' ') point--; /* the end of the curve before it: "X Y" */
    y = strtod(point, NULL);
    for (point--; *point != ' ';) point--;
    x = strtod(point, NULL);
    to = strtod(down + 1, NULL);
    lanes++;
    lane_check(of, x, y, to);
  }
  for (int i = 0; i < of->count; i++) inputs += of->layers[i].inputs;
  ck_assert_int_eq(arrows, inputs);
  return lanes;
}

START_TEST(a_list_is_one_column) {
  drawn of = {0};
  ADD(&of, NULL, "linear", "x");
  ADD(&of, "middle", "relu", "0");
  ADD(&of, NULL, "residual", "middle");
  ADD(&of, NULL, "linear", "2");
  ck_assert_int_eq(network_draw(&of), 0);
  for (int i = 1; i <= of.count; i++) {
    ck_assert(of.boxes[i].x == of.boxes[0].x);
    ck_assert(of.boxes[i].y > of.boxes[i - 1].y);
  }
  ck_assert_ptr_nonnull(strstr(of.picture, ">relu <tspan class=\"quiet\">middle</tspan>"));
  ck_assert_ptr_nonnull(strstr(of.picture, ">2 × 5<"));
  ck_assert_ptr_null(strstr(of.picture, "<tspan class=\"quiet\">2<")); /* a number is no name */
  ck_assert_ptr_nonnull(strstr(of.picture, "4 layers"));
  free(of.picture);
}
END_TEST

START_TEST(branches_stand_side_by_side) {
  drawn of = {0};
  ADD(&of, "a", "linear", "x");
  ADD(&of, "b", "linear", "x");
  ADD(&of, "a2", "relu", "a");
  ADD(&of, NULL, "concat", "a2", "b", "x");
  ck_assert_int_eq(network_draw(&of), 2); /* from b and from x */
  ck_assert(of.boxes[1].y == of.boxes[2].y && of.boxes[1].x != of.boxes[2].x);
  ck_assert(of.boxes[4].y > of.boxes[3].y && of.boxes[4].x == of.boxes[3].x);
  free(of.picture);
}
END_TEST

START_TEST(names_are_escaped) {
  drawn of = {0};
  ADD(&of, "<b>&\"", "add", "x", "x");
  network_draw(&of);
  ck_assert_ptr_nonnull(strstr(of.picture, ">&lt;b&gt;&amp;&quot;<"));
  ck_assert_ptr_null(strstr(of.picture, "<b>"));
  free(of.picture);
}
END_TEST

/* As many layers, and of as many inputs each, as there can be. */
START_TEST(the_largest_networks) {
  for (int kind = 0; kind < 3; kind++) {
    drawn *of = calloc(1, sizeof *of);
    ck_assert_ptr_nonnull(of);
    ADD(of, NULL, "linear", "x");
    for (int i = 1; i < EP_LIMIT_LAYERS; i++) {
      const int from[] = {kind == 1 ? 0 : i - 1, i / 2, i / 3, kind == 2 ? i * 7 % i : i / 5};
      char names[EP_LIMIT_LAYER_INPUTS][EP_LIMIT_LAYER_NAME_BYTES + 1];
      for (int k = 0; k < EP_LIMIT_LAYER_INPUTS; k++)
        snprintf(names[k], sizeof names[k], "%d", from[k]);
      ADD(of, NULL, "add", names[0], names[1], names[2], names[3]);
    }
    ck_assert_int_gt(network_draw(of), 200);
    free(of->picture);
    free(of);
  }
}
END_TEST

EP_SUITE("network") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_test(all, a_list_is_one_column);
  tcase_add_test(all, branches_stand_side_by_side);
  tcase_add_test(all, names_are_escaped);
  tcase_add_test(all, the_largest_networks);
}
