/* command_help.c: help. */
#include <stdio.h>

#include "clients/epochctl/pages.h"

ep_status ep_command_help(ep_session *session, const ep_arguments *arguments, ep_error *error) {
  int words;
  (void)session;
  if (ep_arguments_has(arguments, "man")) {
    ep_page_man(stdout);
    return EP_OK;
  }
  if (ep_arguments_has(arguments, "markdown")) {
    ep_page_markdown(stdout);
    return EP_OK;
  }
  if (arguments->words_count == 0) {
    ep_page_overview(stdout);
    return EP_OK;
  }
  char *argv[2] = {(char *)arguments->words[0], (char *)arguments->words[1]};
  const ep_command *command = ep_command_find(arguments->words_count, argv, 0, &words);
  if (!command || words != arguments->words_count)
    return ep_fail(error, EP_INVALID,
                   "there is no command \"%.64s%s%.64s\"; epochctl help lists them",
                   arguments->words[0], arguments->words_count > 1 ? " " : "",
                   arguments->words_count > 1 ? arguments->words[1] : "");
  ep_page_command(stdout, command);
  return EP_OK;
}
