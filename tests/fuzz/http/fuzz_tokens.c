/* The text of a token file: what is read is written as a line that reads the same. */
#include <string.h>

#include "api/tokens/tokens.h"
#include "tests/fuzz/fuzz.h"

static void token_check(const ep_token *token) {
  ep_token_list again = {0};
  char *line = ep_token_format(token);
  FUZZ_HOLDS(line != NULL);
  FUZZ_HOLDS(ep_tokens_parse(line, strlen(line), "again", &again, NULL) == EP_OK);
  FUZZ_HOLDS(again.count == 1);
  const ep_token *read = &again.tokens[0];
  FUZZ_HOLDS(strcmp(read->name, token->name) == 0 && strcmp(read->owner, token->owner) == 0);
  FUZZ_HOLDS(strcmp(read->hash, token->hash) == 0 && read->scopes == token->scopes);
  FUZZ_HOLDS(read->expires_us / 1000000 == token->expires_us / 1000000);
  ep_token_list_deinit(&again);
  free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  ep_token_list list = {0};
  if (ep_tokens_parse((const char *)bytes, count, "tokens", &list, NULL) == EP_OK)
    for (int i = 0; i < list.count; i++)
      if (ep_token_name_valid(list.tokens[i].name)) /* a bare token is "token 1" */
        token_check(&list.tokens[i]);
  ep_token_list_deinit(&list);
  return 0;
}
