/* example.c: epochctl example. */
#include <stdio.h>
#include <string.h>

#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/examples/examples.h"
#include "clients/epochctl/terminal/text_table.h"

static const struct {
  const char *name, *text, *summary, *needs;
} EXAMPLES[] = {
#define EXAMPLE(file, name, summary, needs) {file, (const char *)ep_example_##name, summary, needs},
    EP_EXAMPLE_TABLE(EXAMPLE)
#undef EXAMPLE
};
enum { COUNT = sizeof EXAMPLES / sizeof EXAMPLES[0] };

static void table_print(const ep_terminal *terminal) {
  static const ep_text_column COLUMNS[] = {
      {"example", false, false}, {"description", false, true}, {"required data set", false, true}};
  ep_text_table table = {0};
  ep_text_table_columns(&table, COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
  for (int i = 0; i < COUNT; i++) {
    ep_text_table_cell(&table, EXAMPLES[i].name, EP_COLOUR_BOLD);
    ep_text_table_cell(&table, EXAMPLES[i].summary, EP_COLOUR_PLAIN);
    ep_text_table_cell(&table, EXAMPLES[i].needs, EP_COLOUR_DIM);
  }
  ep_text_table_print(&table, terminal, true);
  ep_text_table_deinit(&table);
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  if (ep_arguments_has(arguments, "list") || arguments->words_count == 0) {
    if (!ep_arguments_has(arguments, "quiet")) table_print(&client->terminal);
    for (int i = 0; i < COUNT && ep_arguments_has(arguments, "quiet"); i++) puts(EXAMPLES[i].name);
    return EP_OK;
  }
  for (int i = 0; i < COUNT; i++) {
    if (strcmp(arguments->words[0], EXAMPLES[i].name) != 0) continue;
    fputs(EXAMPLES[i].text, stdout);
    return EP_OK;
  }
  return ep_fail(error, EP_INVALID, "unknown example \"%.64s\"; see epochctl example --list",
                 arguments->words[0]);
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "list", .kind = EP_OPTION_SWITCH, .doc = "list the examples and the data sets they require"},
  {.name = "quiet", .letter = 'q', .kind = EP_OPTION_SWITCH, .doc = "with --list: only names"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_example = {
  .name = "example", .words = "[NAME]", .kind = EP_WORD_EXAMPLE, .least = 0, .most = 1,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "print a ready-to-run job or study",
  .details = "Some require a data set first; --list names it. No request is sent.",
  .examples =
    "epochctl example --list\n"
    "epochctl example disc | epochctl run -\n"
    "epochctl example doubling >study.json"};
/* clang-format on */
