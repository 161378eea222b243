/* command_example.c: example. */
#include <stdio.h>
#include <string.h>

#include "clients/epochctl/commands.h"
#include "clients/epochctl/examples.h"
#include "clients/epochctl/table.h"

static const struct {
  const char *name, *text, *summary, *needs;
} EXAMPLES[] = {
#define EXAMPLE(file, name, summary, needs) {file, (const char *)ep_example_##name, summary, needs},
    EP_EXAMPLE_TABLE(EXAMPLE)
#undef EXAMPLE
};
enum { COUNT = sizeof EXAMPLES / sizeof EXAMPLES[0] };

static void list(const ep_session *session, bool quiet) {
  ep_table table = {0};
  ep_table_column(&table, "example", false, false);
  ep_table_column(&table, "what it is", false, true);
  ep_table_column(&table, "data set that it needs", false, true);
  for (int i = 0; i < COUNT; i++) {
    if (quiet) {
      puts(EXAMPLES[i].name);
      continue;
    }
    ep_table_cell(&table, EXAMPLES[i].name, EP_COLOUR_BOLD);
    ep_table_cell(&table, EXAMPLES[i].summary, EP_COLOUR_PLAIN);
    ep_table_cell(&table, EXAMPLES[i].needs, EP_COLOUR_DIM);
  }
  if (!quiet) ep_table_print(&table, &session->terminal, true);
  ep_table_deinit(&table);
}

ep_status ep_command_example(ep_session *session, const ep_arguments *arguments, ep_error *error) {
  if (ep_arguments_has(arguments, "list") || arguments->words_count == 0) {
    list(session, ep_arguments_has(arguments, "quiet"));
    return EP_OK;
  }
  for (int i = 0; i < COUNT; i++) {
    if (strcmp(arguments->words[0], EXAMPLES[i].name) != 0) continue;
    fputs(EXAMPLES[i].text, stdout);
    return EP_OK;
  }
  return ep_fail(error, EP_INVALID, "there is no example \"%.64s\"; epochctl example --list",
                 arguments->words[0]);
}
