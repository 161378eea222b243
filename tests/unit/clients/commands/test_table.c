/* The table of subcommands. */
#include <stdio.h>
#include <string.h>

#include "clients/epochctl/client/dialect.h"
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

/* A text of the server names an option as a query parameter; epochctl has flags. */
START_TEST(options_are_named_as_flags) {
  static const ep_option OWN[] = {{.name = "layer"}, {.name = NULL}};
  static const struct {
    const char *text, *words;
  } cases[] = {
      {"line 1: ?header=false makes it a row", "line 1: --header false makes it a row"},
      {"choose ?delimiter=semicolon or ?row_names=true",
       "choose --delimiter semicolon or --row-names true"},
      {"?delimiter=semicolon&decimal=, makes one", "--delimiter semicolon --decimal , makes one"},
      {"(?comment=none), ?comment=# skips it", "(--comment none), --comment '#' skips it"},
      {"?quote=' and ?quote=\" too", "--quote \"'\" and --quote '\"' too"},
      {"choose with ?decimal= and ?thousands=", "choose with --decimal and --thousands"},
      {"?broken=skip skips it", "--broken skip skips it"},
      {"?layer=1 is not one, ?unknown=2&layers=3", "--layer 1 is not one, ?unknown=2&layers=3"},
      {"what? ?=& \x1b", "what? ?=& \\x1b"},
  };
  char words[256];
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    ep_dialect_words(words, sizeof words, cases[i].text, OWN);
    ck_assert_str_eq(words, cases[i].words);
  }
}
END_TEST

EP_SUITE("clients/table") {
  TCase *tests = ep_suite_case(suite, "all");
  tcase_add_test(tests, the_table_is_sound);
  tcase_add_test(tests, options_are_named_as_flags);
}
