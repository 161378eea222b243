/* add.c: epochctl token add. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/hash/sha256.h"
#include "api/secret.h"
#include "api/tokens/tokens.h"
#include "clients/epochctl/commands/table.h"

enum { DAYS_MOST = 36500 };

/* "30d": days, hours, minutes or weeks from now; "never". */
static ep_status expires_read(const char *text, int64_t *expires_us, ep_error *error) {
  static const struct {
    char unit;
    int64_t seconds;
  } UNITS[] = {{'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}};
  char *end;
  *expires_us = 0;
  if (!text || strcmp(text, "never") == 0) return EP_OK;
  errno = 0;
  long long count = strtoll(text, &end, 10);
  for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++) {
    if (*end != UNITS[i].unit || end[1] || errno || count < 1 ||
        count > DAYS_MOST * INT64_C(86400) / UNITS[i].seconds)
      continue;
    *expires_us = ((int64_t)time(NULL) + count * UNITS[i].seconds) * 1000000;
    return EP_OK;
  }
  return ep_fail(error, EP_INVALID,
                 "--expires must be never, or a time such as 90m, 12h, 30d or 8w, not \"%.40s\"",
                 text);
}

static ep_status arguments_read(const ep_arguments *arguments, ep_token *token, ep_error *error) {
  const char *name = arguments->words[0];
  const char *owner = ep_arguments_value(arguments, "owner");
  const char *scopes = ep_arguments_value(arguments, "scopes");
  if (!owner) owner = "";
  if (!ep_token_name_valid(name) || (*owner && !ep_token_name_valid(owner)))
    return ep_fail(error, EP_INVALID,
                   "a name or owner must have 1 to %d letters, digits or _ . @ -",
                   EP_OWNER_BYTES - 1);
  snprintf(token->name, sizeof token->name, "%s", name);
  snprintf(token->owner, sizeof token->owner, "%s", owner);
  ep_status status = ep_scopes_parse(scopes ? scopes : "read,submit", &token->scopes, error);
  if (status != EP_OK) return status;
  return expires_read(ep_arguments_value(arguments, "expires"), &token->expires_us, error);
}

/* The file's text with the line behind it, if that is a token file. *out: the caller's. */
static ep_status line_append(const char *path, const char *before, const char *line, char **out,
                             ep_error *error) {
  ep_token_list list;
  size_t bytes = strlen(before);
  bool ends = bytes == 0 || before[bytes - 1] == '\n';
  if (asprintf(out, "%s%s%s\n", before, ends ? "" : "\n", line) < 0) {
    *out = NULL;
    return ep_fail_memory(error);
  }
  ep_status status = ep_tokens_parse(*out, strlen(*out), path, &list, error);
  ep_token_list_deinit(&list);
  return status;
}

static ep_status file_extend(const char *path, const char *line, ep_error *error) {
  char *before = NULL, *text = NULL;
  ep_token_list list = {0};
  int lock;
  ep_status status = ep_tokens_lock(path, &lock, error);
  if (status != EP_OK) return status;
  status = ep_tokens_read(path, &list, &before, error);
  if (status == EP_NOT_FOUND) status = EP_OK;
  ep_token_list_deinit(&list);
  if (status == EP_OK) status = line_append(path, before ? before : "", line, &text, error);
  if (status == EP_OK) status = ep_tokens_write(path, text, strlen(text), error);
  ep_tokens_unlock(lock);
  free(before);
  free(text);
  return status;
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  ep_token token = {0};
  char text[EP_SECRET_TEXT_BYTES];
  const char *path = ep_arguments_value(arguments, "file");
  (void)client;
  if (!path) return ep_fail(error, EP_INVALID, "--file FILE is required: epochd's --token-file");
  ep_status status = arguments_read(arguments, &token, error);
  if (status == EP_OK) status = ep_secret_make(text, EP_SECRET_RANDOM_BYTES, error);
  if (status == EP_OK) status = ep_sha256_of(text, EP_SECRET_TEXT_BYTES - 1, token.hash, error);
  if (status != EP_OK) return status;
  char *line = ep_token_format(&token);
  status = line ? file_extend(path, line, error) : ep_fail_memory(error);
  free(line);
  if (status == EP_OK) puts(text);
  explicit_bzero(text, sizeof text);
  return status;
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "file", .kind = EP_OPTION_FILE, .value = "FILE", .doc = "the token file of epochd; created if missing"},
  {.name = "owner", .kind = EP_OPTION_TEXT, .value = "OWNER",
   .doc = "the owner of the jobs, data sets and models it creates (none)"},
  {.name = "scopes", .kind = EP_OPTION_TEXT, .value = "SCOPE,…",
   .doc = "what it permits: read, submit, publish, admin (read,submit)"},
  {.name = "expires", .kind = EP_OPTION_TEXT, .value = "TIME", .doc = "never, or after 90m, 12h, 30d, 8w (never)"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_token_add = {
  .name = "token add", .words = "NAME", .kind = EP_WORD_TEXT, .least = 1, .most = 1,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "create a token, add its hash to a token file, and print it once",
  .details =
    "The file stores only the hash: a lost token cannot be printed again. epochd reads the file at its "
    "start and at SIGHUP. No request is sent.",
  .examples =
    "epochctl token add ci --owner ann --scopes read,submit --expires 30d --file tokens"};
/* clang-format on */
