/* help.c: epochctl help. */
#include <stdio.h>
#include <string.h>

#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/manual/manual.h"

/* The commands of a group such as "data", a line each; whether there is one. */
static bool group_print(const ep_subcommand_table *table, const char *word) {
  size_t bytes = strlen(word);
  bool found = false;
  for (const ep_subcommand *const *row = table->rows; *row; row++) {
    if (strncmp((*row)->name, word, bytes) != 0 || (*row)->name[bytes] != ' ') continue;
    printf("epochctl %s%s%s: %s\n", (*row)->name, *(*row)->words ? " " : "", (*row)->words,
           (*row)->summary);
    found = true;
  }
  return found;
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  int words;
  if (ep_arguments_has(arguments, "man")) {
    ep_manual_man(stdout, client->subcommands);
    return EP_OK;
  }
  if (ep_arguments_has(arguments, "markdown")) {
    ep_manual_markdown(stdout, client->subcommands);
    return EP_OK;
  }
  if (arguments->words_count == 0) {
    ep_manual_overview(stdout, client->subcommands);
    return EP_OK;
  }
  const ep_subcommand *subcommand =
      ep_subcommand_find(client->subcommands, arguments->words_count, arguments->words, 0, &words);
  if (!subcommand && arguments->words_count == 1 &&
      group_print(client->subcommands, arguments->words[0]))
    return EP_OK;
  if (!subcommand || words != arguments->words_count)
    return ep_fail(error, EP_INVALID, "unknown command \"%.64s%s%.64s\"; see epochctl help",
                   arguments->words[0], arguments->words_count > 1 ? " " : "",
                   arguments->words_count > 1 ? arguments->words[1] : "");
  ep_manual_subcommand(stdout, subcommand);
  return EP_OK;
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "man", .kind = EP_OPTION_SWITCH, .doc = "the manual page's source"},
  {.name = "markdown", .kind = EP_OPTION_SWITCH, .doc = "the reference as Markdown"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_help = {
  .name = "help", .words = "[COMMAND]", .kind = EP_WORD_SUBCOMMAND, .least = 0, .most = 2,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "print the list of commands, or the help of one"};
/* clang-format on */
