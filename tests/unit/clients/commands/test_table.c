/* The table of subcommands. */
#include <stdio.h>
#include <string.h>

#include "clients/epochctl/commands/table.h"
#include "tests/suite.h"

static void options_differ(const ep_option *option, const ep_option *table, const ep_option *end) {
  for (const ep_option *other = table; other != end && other->name; other++)
    ck_assert(strcmp(option->name, other->name) != 0 &&
              (!option->letter || option->letter != other->letter));
}

/* Each subcommand is found by its own name, its options have different names, and it is explained.
 */
START_TEST(the_table_is_sound) {
  int count = 0;
  for (const ep_subcommand *const *row = EP_SUBCOMMANDS.rows; *row; row++, count++) {
    const char *space = strchr((*row)->name, ' ');
    char first[32];
    const char *argv[2] = {first, space ? space + 1 : "x"};
    int words = 0;
    snprintf(first, sizeof first, "%.*s", (int)strcspn((*row)->name, " "), (*row)->name);
    ck_assert_ptr_eq(ep_subcommand_find(&EP_SUBCOMMANDS, 2, argv, 0, &words), *row);
    ck_assert_int_eq(words, space ? 2 : 1);
    ck_assert_ptr_nonnull((*row)->run);
    ck_assert_int_gt((int)strlen((*row)->summary), 5);
    for (const ep_option *option = (*row)->options; option && option->name; option++) {
      options_differ(option, (*row)->options, option);
      options_differ(option, EP_SUBCOMMANDS.options, NULL);
    }
  }
  ck_assert_int_gt(count, 20);
}
END_TEST

EP_SUITE("clients/table") {
  TCase *tests = ep_suite_case(suite, "all");
  tcase_add_test(tests, the_table_is_sound);
}
