/* list.c: epochctl token list. */
#include <stdio.h>
#include <time.h>

#include "api/tokens/tokens.h"
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/terminal/text_table.h"

enum { TIME_BYTES = 32 };

static void row_add(ep_text_table *table, const ep_token *token) {
  char scopes[EP_SCOPES_BYTES], expires[TIME_BYTES] = "never";
  struct tm tm;
  time_t seconds = (time_t)(token->expires_us / 1000000);
  bool over = token->expires_us && seconds <= time(NULL);
  ep_scopes_format(token->scopes, scopes);
  if (token->expires_us && gmtime_r(&seconds, &tm))
    strftime(expires, sizeof expires, "%Y-%m-%d %H:%M UTC", &tm);
  ep_text_table_cell(table, token->name, EP_COLOUR_BOLD);
  ep_text_table_cell(table, token->owner, EP_COLOUR_PLAIN);
  ep_text_table_cell(table, scopes, EP_COLOUR_PLAIN);
  ep_text_table_cell(table, expires, over ? EP_COLOUR_RED : EP_COLOUR_DIM);
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  static const ep_text_column COLUMNS[] = {{"token", false, false},
                                           {"owner", false, true},
                                           {"scopes", false, true},
                                           {"expires", false, true}};
  ep_token_list list;
  ep_text_table table = {0};
  const char *path = ep_arguments_value(arguments, "file");
  if (!path) return ep_fail(error, EP_INVALID, "--file FILE is required: epochd's --token-file");
  ep_status status = ep_tokens_read(path, &list, NULL, error);
  if (status != EP_OK) return status;
  ep_text_table_columns(&table, COLUMNS, sizeof COLUMNS / sizeof *COLUMNS);
  for (int i = 0; i < list.count; i++) row_add(&table, &list.tokens[i]);
  if (list.count > 0)
    ep_text_table_print(&table, &client->terminal, true);
  else
    puts("no tokens; epochctl token add NAME creates one");
  ep_text_table_deinit(&table);
  ep_token_list_deinit(&list);
  return EP_OK;
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "file", .kind = EP_OPTION_FILE, .value = "FILE", .doc = "the token file of epochd"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_token_list = {
  .name = "token list", .words = "", .kind = EP_WORD_TEXT, .least = 0, .most = 0,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "list the tokens of a token file: names, owners, scopes, expiry",
  .details = "A token without a name is listed as \"token N\", N being its line. No request is sent."};
/* clang-format on */
