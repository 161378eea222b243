/* remove.c: epochctl token remove. */
#include <stdlib.h>
#include <string.h>

#include "api/tokens/tokens.h"
#include "clients/epochctl/commands/table.h"

/* Takes the line of that number, from 1, out of the text. */
static void line_cut(char *text, int number) {
  char *line = text;
  for (int i = 1; i < number; i++) line = strchr(line, '\n') + 1;
  const char *end = strchr(line, '\n');
  if (end)
    memmove(line, end + 1, strlen(end + 1) + 1);
  else
    *line = 0;
}

static ep_status token_remove(const char *path, const char *name, ep_error *error) {
  char *text = NULL;
  ep_token_list list;
  ep_status status = ep_tokens_read(path, &list, &text, error);
  if (status != EP_OK) return status;
  int found = 0;
  while (found < list.count && strcmp(list.tokens[found].name, name) != 0) found++;
  if (found == list.count) {
    status = ep_fail(error, EP_NOT_FOUND, "%.300s has no token \"%.100s\"", path, name);
  } else {
    line_cut(text, list.tokens[found].line);
    status = ep_tokens_write(path, text, strlen(text), error);
  }
  ep_token_list_deinit(&list);
  free(text);
  return status;
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  int lock;
  const char *path = ep_arguments_value(arguments, "file");
  (void)client;
  if (!path) return ep_fail(error, EP_INVALID, "--file FILE is required: epochd's --token-file");
  ep_status status = ep_tokens_lock(path, &lock, error);
  if (status != EP_OK) return status;
  status = token_remove(path, arguments->words[0], error);
  ep_tokens_unlock(lock);
  return status;
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "file", .kind = EP_OPTION_FILE, .value = "FILE", .doc = "the token file of epochd"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_token_remove = {
  .name = "token remove", .words = "NAME", .kind = EP_WORD_TEXT, .least = 1, .most = 1,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "remove a token from a token file",
  .details = "epochd accepts it until it re-reads the file (SIGHUP). No request is sent.",
  .examples = "epochctl token remove ci --file tokens"};
/* clang-format on */
