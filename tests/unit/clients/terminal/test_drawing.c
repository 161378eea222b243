/* The progress line at every width, plots, and tables. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clients/epochctl/terminal/plot.h"
#include "clients/epochctl/terminal/progress_bar.h"
#include "clients/epochctl/terminal/text.h"
#include "clients/epochctl/terminal/text_table.h"
#include "tests/suite.h"

static const ep_terminal PLAIN = {0}, UNICODE = {.unicode = true};

START_TEST(a_progress_line_fits_every_width) {
  for (int with = 0; with < 2; with++) {
    ep_progress_bar bar = {.terminal = with ? &UNICODE : &PLAIN, .name = "a name of a job"};
    bar.last = (ep_event){.seq = 3,
                          .epochs = 40000,
                          .eta_seconds = 12.5,
                          .progress = {.epoch = 12000,
                                       .loss = 0.311793,
                                       .error = NAN,
                                       .validation_loss = 0.5,
                                       .elapsed_seconds = 0.01}};
    int before = 0;
    for (int width = 10; width < 200; width++) {
      char text[2048];
      ep_progress_bar_line(&bar, width, text, sizeof text);
      int taken = ep_text_width(text);
      ck_assert_int_le(taken, width);
      if (width > 40) ck_assert_int_ge(taken + 24, before); /* a field more, or a longer bar */
      before = taken;
      if (width >= 60) ck_assert_ptr_nonnull(strstr(text, "loss 0.31179"));
      if (width >= 120) {
        ck_assert_ptr_nonnull(strstr(text, "30 %"));
        ck_assert_ptr_nonnull(strstr(text, "epoch 12,000/40,000"));
        ck_assert_ptr_nonnull(strstr(text, "validation 0.5"));
        ck_assert_ptr_nonnull(strstr(text, "1.20 M epochs/s"));
        ck_assert_ptr_nonnull(strstr(text, "12 s left"));
      }
    }
  }
}
END_TEST

START_TEST(a_sweep_shows_its_best_trial) {
  ep_progress_bar bar = {.terminal = &UNICODE, .name = "", .best = "", .values = ""};
  bar.last = (ep_event){.type = EP_EVENT_TRIAL,
                        .seq = 3,
                        .epochs = 1000,
                        .eta_seconds = NAN,
                        .progress = {.epoch = 120}};
  char text[2048];
  ep_progress_bar_line(&bar, 120, text, sizeof text);
  ck_assert_ptr_null(strstr(text, "best"));
  bar.best = "0.0125", bar.values = "lr 0.01, out_features 16";
  for (int width = 20; width < 200; width++) {
    ep_progress_bar_line(&bar, width, text, sizeof text);
    ck_assert_int_le(ep_text_width(text), width);
    if (width >= 40) ck_assert_ptr_nonnull(strstr(text, "best 0.0125"));
  }
  ck_assert_ptr_nonnull(strstr(text, "120/1,000 trainings  best 0.0125  lr 0.01, out_features 16"));
  ck_assert_ptr_null(strstr(text, "loss"));
}
END_TEST

/* What `draw` prints to standard output, the caller's (free). */
static char *printed(void (*draw)(void)) {
  char name[] = "/tmp/epochctl-drawing.XXXXXX";
  int descriptor = mkstemp(name), kept = dup(STDOUT_FILENO);
  ck_assert_int_ge(descriptor, 0);
  unlink(name);
  fflush(stdout);
  dup2(descriptor, STDOUT_FILENO);
  draw();
  fflush(stdout);
  dup2(kept, STDOUT_FILENO);
  close(kept);
  char *text = calloc(1, 65536);
  ck_assert_ptr_nonnull(text);
  ck_assert_int_gt(pread(descriptor, text, 65535, 0), 0);
  close(descriptor);
  return text;
}

static const double X[] = {0, 1, 2, 3}, RISING[] = {0, 1, 2, 3}, FLAT[] = {2, 2, 2, 2};
static const double BROKEN[] = {NAN, INFINITY, -1, 0};

static void draw_rising(void) {
  ep_series series = {"rising", X, RISING, 4};
  ep_plot_options options = {.width = 42, .height = 13};
  ck_assert_int_eq(ep_plot_print(&series, 1, &options, &PLAIN, NULL), EP_OK);
}

/* 30 columns by 10 rows: from the lower left corner to the upper right one, and nowhere else. */
START_TEST(a_plot_is_where_its_points_are) {
  char *text = printed(draw_rising), *rest = NULL;
  int row = 0, column = -1;
  for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), row++) {
    if (row < 1 || row > 10) continue;
    ck_assert_int_eq((int)strlen(line), 42);
    char *first = strchr(line, '*'), *last = strrchr(line, '*');
    ck_assert_ptr_nonnull(first);
    if (row == 1) ck_assert_int_eq((int)(last - line), 41);
    if (row == 10) ck_assert_int_eq((int)(first - line), 12);
    if (column >= 0) ck_assert_int_lt((int)(last - line), column); /* further down, further left */
    column = (int)(first - line);
  }
  ck_assert_int_eq(row, 13);
  free(text);
}
END_TEST

static void draw_flat(void) {
  ep_series series[] = {{"a", X, FLAT, 4}, {"b", X, BROKEN, 4}};
  ep_plot_options options = {.width = 60, .height = 8, .braille = true, .seconds = true};
  ck_assert_int_eq(ep_plot_print(series, 2, &options, &UNICODE, NULL), EP_OK);
}

START_TEST(flat_and_broken_curves_are_drawn) {
  char *text = printed(draw_flat);
  ck_assert_ptr_nonnull(strstr(text, "seconds of training"));
  free(text);
  ep_series series = {"none", X, BROKEN, 4}, empty = {"empty", X, X, 0};
  ep_plot_options options = {.width = 60, .height = 8, .logarithmic = true};
  ck_assert_int_eq(ep_plot_print(&series, 1, &options, &PLAIN, NULL), EP_INVALID);
  ck_assert_int_eq(ep_plot_print(&empty, 1, &options, &PLAIN, NULL), EP_INVALID);
  options.width = EP_PLOT_WIDTH_MIN - 1;
  ck_assert_int_eq(ep_plot_print(&series, 1, &options, &PLAIN, NULL), EP_INVALID);
}
END_TEST

static ep_terminal drawn_on; /* by draw_table */

static void draw_table(void) {
  ep_text_table table = {0};
  ep_text_table_column(&table, "name", false, true);
  ep_text_table_column(&table, "figure", true, false);
  ep_text_table_column(&table, "more", false, false);
  ep_text_table_cell(&table, "a name that is far too long", EP_COLOUR_RED);
  ep_text_table_cell(&table, "7", EP_COLOUR_PLAIN);
  ep_text_table_cell(&table, "x\x1b", EP_COLOUR_PLAIN);
  ep_text_table_cell(&table, "\u4e2d\u6587", EP_COLOUR_PLAIN);
  ep_text_table_cell(&table, "12", EP_COLOUR_PLAIN); /* a row that is not whole */
  ck_assert(ep_text_table_print(&table, &drawn_on, true));
  ep_text_table_deinit(&table);
}

/* A terminal has a width; a pipe has whole lines, whatever COLUMNS is. */
START_TEST(tables_are_aligned_and_fit) {
  drawn_on = UNICODE;
  drawn_on.live = true;
  setenv("COLUMNS", "30", 1);
  char *text = printed(draw_table);
  ck_assert_str_eq(text, "name             figure  more\n"
                         "a name that is\u2026       7  x\\x1b\n"
                         "\u4e2d\u6587                 12  \n");
  free(text);
  setenv("COLUMNS", "15", 1); /* the last column does not fit at all */
  text = printed(draw_table);
  ck_assert_str_eq(text, "name     figure\n"
                         "a name\u2026       7\n"
                         "\u4e2d\u6587         12\n");
  free(text);
  drawn_on.live = false;
  text = printed(draw_table);
  unsetenv("COLUMNS");
  ck_assert_ptr_nonnull(strstr(text, "a name that is far too long       7  x\\x1b\n"));
  free(text);
}
END_TEST

EP_SUITE("clients/drawing") {
  TCase *tests = ep_suite_case(suite, "all");
  tcase_add_test(tests, a_progress_line_fits_every_width);
  tcase_add_test(tests, a_sweep_shows_its_best_trial);
  tcase_add_test(tests, a_plot_is_where_its_points_are);
  tcase_add_test(tests, flat_and_broken_curves_are_drawn);
  tcase_add_test(tests, tables_are_aligned_and_fit);
}
