/* completion.c: epochctl completion. */
#include <stdio.h>
#include <string.h>

#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/manual/completion.h"

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  const char *shell = arguments->words[0];
  if (strcmp(shell, "bash") == 0)
    ep_completion_bash(stdout, client->subcommands);
  else if (strcmp(shell, "zsh") == 0)
    ep_completion_zsh(stdout, client->subcommands);
  else if (strcmp(shell, "fish") == 0)
    ep_completion_fish(stdout, client->subcommands);
  else
    return ep_fail(error, EP_INVALID,
                   "no completions for \"%.64s\": the shells are bash, zsh and fish", shell);
  return EP_OK;
}

/* clang-format off */
const ep_subcommand ep_subcommand_completion = {
  .name = "completion", .words = "bash|zsh|fish", .kind = EP_WORD_CHOICE, .least = 1, .most = 1,
  .run = subcommand_run,
  .summary = "print completions for a shell",
  .details = "The script fetches the names of jobs, data sets and models from the server.",
  .examples = "source <(epochctl completion bash)\n"
              "epochctl completion fish >epochctl.fish # goes into ~/.config/fish/completions"};
/* clang-format on */
