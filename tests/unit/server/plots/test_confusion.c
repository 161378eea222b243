/* The picture of a confusion matrix of the most classes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "server/plots/plots.h"
#include "tests/suite.h"

/* Each class is right once. The caller frees it. */
static char *numbers_make(int classes) {
  char *text = NULL;
  size_t bytes;
  FILE *out = open_memstream(&text, &bytes);
  fprintf(out, "{\"plot\":\"confusion\",\"split\":\"test\",\"rows\":%d,\"accuracy\":1,", classes);
  fprintf(out, "\"normalized\":false,\"classes\":[");
  for (int i = 0; i < classes; i++) fprintf(out, "%s\"c%d\"", i ? "," : "", i);
  fprintf(out, "],\"matrix\":[");
  for (int i = 0; i < classes; i++) {
    fputs(i ? ",[" : "[", out);
    for (int j = 0; j < classes; j++) fprintf(out, "%s%d", j ? "," : "", i == j);
    fputs("]", out);
  }
  fputs("]}", out);
  fclose(out);
  return text;
}

/* A thousand classes in a thousand rows: nearly all cells are empty. */
START_TEST(many_classes_make_a_picture) {
  char *numbers = numbers_make(EP_LIMIT_CLASSES), *picture = NULL;
  ep_error error = {0};
  ck_assert_msg(ep_plot_format_svg("many", numbers, EP_THEME_AUTO, &picture, &error) == EP_OK, "%s",
                error.message);
  ck_assert_uint_lt(strlen(picture), 1 << 20);
  free(picture);
  free(numbers);
  numbers = numbers_make(3);
  ck_assert_int_eq(ep_plot_format_svg("few", numbers, EP_THEME_AUTO, &picture, &error), EP_OK);
  int cells = 0;
  for (const char *at = picture; (at = strstr(at, "class=\"cell\"")) != NULL; at++) cells++;
  ck_assert_int_eq(cells, 9);
  free(picture);
  free(numbers);
}
END_TEST

EP_SUITE("confusion") {
  tcase_add_test(ep_suite_case(suite, "all"), many_classes_make_a_picture);
}
