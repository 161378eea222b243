#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/responses/curve.h"
#include "server/curves/svg.h"
#include "server/drawing/axis.h"
#include "tests/suite.h"

#define NONE ((double)NAN)

static ep_curve_point point(int64_t epoch, double loss) {
  return (ep_curve_point){epoch, loss, NONE, NONE, NONE, 0, 0};
}

static int count_of(const char *text, const char *part) {
  int count = 0;
  for (; (text = strstr(text, part)); text += strlen(part)) count++;
  return count;
}

/* The places of the training line, as they stand in the picture. */
static char *train_of(const char *svg) {
  const char *line = strstr(svg, "<path class=\"line train\"");
  ck_assert_ptr_nonnull(line);
  const char *start = strstr(line, " d=\"") + 4;
  return strndup(start, strcspn(start, "\""));
}

START_TEST(names_are_escaped) {
  ep_curve_point points[] = {point(1, 1), point(2, 0.5)};
  char *svg = ep_curve_format_svg("a<b>&\"c\"\x01\xC3\xA9\xFF\xEF\xBF\xBF", "running",
                                  EP_THEME_AUTO, points, 2);
  ck_assert_ptr_nonnull(svg);
  const char *safe = "a&lt;b&gt;&amp;&quot;c&quot;\xEF\xBF\xBD\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD<";
  ck_assert_int_eq(count_of(svg, safe), 2);
  ck_assert_ptr_null(strstr(svg, "<b>"));
  ck_assert_ptr_null(strstr(svg, "<script"));
  ck_assert_ptr_nonnull(strstr(svg, "prefers-color-scheme:dark"));
  free(svg);
}
END_TEST

START_TEST(a_theme_that_is_given_is_the_only_one) {
  for (ep_theme theme = EP_THEME_LIGHT; theme <= EP_THEME_DARK; theme++) {
    char *svg = ep_curve_format_svg("x", "", theme, NULL, 0);
    bool dark = theme == EP_THEME_DARK;
    ck_assert_ptr_nonnull(svg);
    ck_assert_ptr_null(strstr(svg, "prefers-color-scheme"));
    ck_assert_ptr_nonnull(strstr(svg, dark ? "color-scheme:dark}" : "color-scheme:light}"));
    ck_assert_int_eq(count_of(svg, ".page{fill:#0d1117}"), dark);
    ck_assert_int_eq(count_of(svg, ".train{stroke:#6cb2ff}"), dark);
    free(svg);
  }
}
END_TEST

START_TEST(a_long_name_ends_in_an_ellipsis) {
  char name[129];
  memset(name, 'w', sizeof name - 1);
  name[128] = 0;
  char *svg = ep_curve_format_svg(name, "", EP_THEME_AUTO, NULL, 0);
  ck_assert_ptr_nonnull(svg);
  ck_assert_int_eq(count_of(svg, name), 1); /* whole in <title> alone */
  ck_assert_int_eq(count_of(svg, "w…<"), 1);
  free(svg);
}
END_TEST

START_TEST(an_empty_curve_says_so) {
  char *svg = ep_curve_format_svg("x", "queued", EP_THEME_AUTO, NULL, 0);
  ck_assert_ptr_nonnull(svg);
  ck_assert_ptr_nonnull(strstr(svg, "no epochs reported yet"));
  ck_assert_ptr_null(strstr(svg, "nan"));
  ck_assert_ptr_null(strstr(svg, "inf"));
  free(svg);
}
END_TEST

START_TEST(one_point_is_a_dot) {
  ep_curve_point points[] = {point(7, 0.25)};
  char *svg = ep_curve_format_svg("x", "running", EP_THEME_AUTO, points, 1), *line = train_of(svg);
  ck_assert_int_eq(count_of(line, "M"), 1);
  ck_assert_int_eq(count_of(line, "L"), 0);
  ck_assert_int_eq(count_of(line, "h0"), 1);
  free(line);
  free(svg);
}
END_TEST

/* What is not finite breaks the line and is counted; nothing of it reaches the text. */
START_TEST(gaps_break_the_line) {
  ep_curve_point points[] = {
      point(1, 1),     point(2, 0.9),   point(3, NONE), point(4, 0.8), point(5, (double)INFINITY),
      point(6, 1e308), point(7, -1e308)};
  char *svg = ep_curve_format_svg("x", "failed", EP_THEME_AUTO, points, 7), *line = train_of(svg);
  ck_assert_int_eq(count_of(line, "M"), 3);
  ck_assert_int_eq(count_of(line, "L"), 2);
  ck_assert_ptr_nonnull(strstr(svg, "2 points are not finite"));
  ck_assert_ptr_null(strstr(line, "n"));
  free(line);
  free(svg);
}
END_TEST

START_TEST(a_validation_that_is_measured_seldom_is_one_line) {
  ep_curve_point points[] = {point(1, 3), point(2, 2), point(3, 1)};
  points[0].validation_loss = 3;
  points[2].validation_loss = 2;
  char *svg = ep_curve_format_svg("x", "", EP_THEME_AUTO, points, 3);
  ck_assert_ptr_nonnull(strstr(svg, "validation 2<"));
  const char *line = strstr(svg, "line validation");
  ck_assert_ptr_nonnull(line);
  char *places = strndup(line, strcspn(line, "/"));
  ck_assert_int_eq(count_of(places, "M"), 1);
  ck_assert_int_eq(count_of(places, "L"), 1);
  free(places);
  free(svg);
}
END_TEST

START_TEST(wide_positive_losses_are_on_a_log_scale) {
  const struct {
    double low, high;
    bool logarithmic;
  } cases[] = {
      {0.01, 1, true}, {0.1, 1, false}, {0, 1, false}, {-1, 1, false}, {1e-280, 1e280, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ep_curve_point points[] = {point(1, cases[i].high), point(2, cases[i].low)};
    char *svg = ep_curve_format_svg("x", "", EP_THEME_AUTO, points, 2);
    ck_assert_ptr_nonnull(svg);
    ck_assert_int_eq(strstr(svg, "log scale") != NULL, cases[i].logarithmic);
    free(svg);
  }
}
END_TEST

/* Ticks rise, lie within the axis, and there are neither few nor many, whatever the range. */
START_TEST(axes_have_ticks) {
  static const double FIGURES[] = {0,    5e-324, 1e-290, 3e-7, 0.1,   0.30000001, 1,
                                   1.01, 7,      99,     1e3,  12345, 1e9,        1e300};
  enum { COUNT = sizeof FIGURES / sizeof *FIGURES };
  for (int low = 0; low < COUNT; low++)
    for (int high = low; high < COUNT; high++)
      for (int kind = 0; kind < 4; kind++) {
        bool logarithmic = kind & 1, rounded = kind & 2;
        if (FIGURES[low] == 5e-324 || FIGURES[high] == 5e-324) continue; /* drawn as 0 */
        if (logarithmic && (FIGURES[low] <= 0 || FIGURES[high] / FIGURES[low] < 30)) continue;
        ep_chart_axis axis;
        ep_chart_axis_init(&axis, FIGURES[low], FIGURES[high], logarithmic, false, rounded);
        ck_assert_msg(axis.ticks_count >= 2 && axis.ticks_count <= EP_CHART_AXIS_TICKS,
                      "%g to %g: %d", FIGURES[low], FIGURES[high], axis.ticks_count);
        for (int i = 0; i < axis.ticks_count; i++) {
          double place = ep_chart_axis_position(&axis, axis.ticks[i]);
          ck_assert(place > -1e-6 && place < 1 + 1e-6);
          if (i > 0) ck_assert_double_gt(axis.ticks[i], axis.ticks[i - 1]);
        }
        ck_assert_double_ge(ep_chart_axis_position(&axis, FIGURES[low]), -1e-6);
        ck_assert_double_le(ep_chart_axis_position(&axis, FIGURES[high]), 1 + 1e-6);
      }
}
END_TEST

START_TEST(labels_are_short) {
  const struct {
    double value;
    const char *text;
  } cases[] = {{0, "0"},   {0.1 + 0.2, "0.3"}, {1e-6, "1e-6"},  {2e-12, "2e-12"}, {20000, "20000"},
               {-5, "-5"}, {1e6, "1M"},        {1.5e6, "1.5M"}, {2e9, "2G"},      {1e15, "1e+15"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[EP_CHART_AXIS_LABEL_BYTES];
    ep_chart_axis_label(cases[i].value, text);
    ck_assert_str_eq(text, cases[i].text);
  }
}
END_TEST

EP_SUITE("curve_svg") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_test(all, names_are_escaped);
  tcase_add_test(all, a_theme_that_is_given_is_the_only_one);
  tcase_add_test(all, a_long_name_ends_in_an_ellipsis);
  tcase_add_test(all, an_empty_curve_says_so);
  tcase_add_test(all, one_point_is_a_dot);
  tcase_add_test(all, gaps_break_the_line);
  tcase_add_test(all, a_validation_that_is_measured_seldom_is_one_line);
  tcase_add_test(all, wide_positive_losses_are_on_a_log_scale);
  tcase_add_test(all, axes_have_ticks);
  tcase_add_test(all, labels_are_short);
}
