#include "api/tokens/tokens.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/hash/sha256.h"
#include "api/json/json.h"
#include "api/json/writer.h"
#include "api/limits.h"

enum { LINE_BYTES = 4096 }; /* of JSON; the longest has some 400 */

static const char *const SCOPES[] = {
#define SCOPE_NAME(code, name) name,
    EP_SCOPE_TABLE(SCOPE_NAME)
#undef SCOPE_NAME
};

void ep_token_list_deinit(ep_token_list *list) {
  free(list->tokens);
  *list = (ep_token_list){0};
}

bool ep_token_name_valid(const char *name) {
  static const char ALLOWED[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.@-";
  size_t bytes = strlen(name);
  return bytes > 0 && bytes < EP_OWNER_BYTES && strspn(name, ALLOWED) == bytes;
}

static ep_status scope_add(const char *word, size_t bytes, unsigned *scopes, ep_error *error) {
  for (int i = 0; i < EP_SCOPE_COUNT; i++) {
    if (strlen(SCOPES[i]) != bytes || strncmp(SCOPES[i], word, bytes) != 0) continue;
    *scopes |= 1U << i;
    if (*scopes & EP_SCOPE_ADMIN) *scopes = EP_SCOPE_ALL;
    return EP_OK;
  }
  char all[EP_SCOPES_BYTES];
  ep_scopes_format(EP_SCOPE_ALL, all);
  return ep_fail(error, EP_INVALID, "unknown scope \"%.*s\": the scopes are %s",
                 (int)(bytes < EP_SCOPES_BYTES ? bytes : EP_SCOPES_BYTES), word, all);
}

ep_status ep_scopes_parse(const char *text, unsigned *scopes, ep_error *error) {
  ep_status status = EP_OK;
  *scopes = 0;
  for (const char *at = text; status == EP_OK; at++) {
    size_t bytes = strcspn(at, ",");
    status = scope_add(at, bytes, scopes, error);
    at += bytes;
    if (*at == 0) break;
  }
  return status;
}

void ep_scopes_format(unsigned scopes, char text[EP_SCOPES_BYTES]) {
  text[0] = 0;
  for (int i = 0; i < EP_SCOPE_COUNT; i++) {
    size_t used = strlen(text);
    if (scopes & 1U << i)
      snprintf(text + used, EP_SCOPES_BYTES - used, "%s%s", used ? "," : "", SCOPES[i]);
  }
}

/* "2027-01-31T12:00:00Z", with a fraction or an offset such as +01:00 instead of the Z (RFC 3339).
 */
static bool time_parse(const char *text, int64_t *time_us) {
  struct tm tm = {0};
  int sign = 0, hours = 0, minutes = 0, used = 0;
  const char *at = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
  if (!at) return false;
  if (*at == '.') at += 1 + strspn(at + 1, "0123456789");
  if (*at == '+' || *at == '-') {
    sign = *at == '+' ? 1 : -1;
    if (sscanf(at + 1, "%2d:%2d%n", &hours, &minutes, &used) != 2 || used != 5) return false;
    at += 6;
  } else if (*at == 'Z' || *at == 'z') {
    at++;
  } else {
    return false;
  }
  int64_t seconds = (int64_t)timegm(&tm) - (int64_t)sign * (hours * 3600 + minutes * 60);
  *time_us = seconds * 1000000;
  return *at == 0 && seconds > 0;
}

static ep_status scopes_read(const json_t *list, unsigned *scopes, ep_error *error) {
  const json_t *item;
  size_t index;
  ep_status status = EP_OK;
  *scopes = 0;
  if (json_array_size(list) == 0)
    return ep_fail(error, EP_INVALID, "\"scopes\" must be a list of scopes");
  json_array_foreach(list, index, item) {
    const char *word = json_string_value(item);
    if (status == EP_OK)
      status = scope_add(word ? word : "", word ? strlen(word) : 0, scopes, error);
  }
  return status;
}

static ep_status object_read(const json_t *object, ep_token *token, ep_error *error) {
  static const char *const KEYS[] = {"name", "owner", "scopes", "expires", "hash"};
  const json_t *expires = json_object_get(object, "expires");
  for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++)
    if (!json_object_get(object, KEYS[i]))
      return ep_fail(error, EP_INVALID, "\"%s\" is missing", KEYS[i]);
  if (json_object_size(object) != sizeof KEYS / sizeof *KEYS)
    return ep_fail(error, EP_INVALID, "only name, owner, scopes, expires and hash are allowed");
  if (!ep_json_get_text(object, "name", token->name, sizeof token->name) ||
      !ep_token_name_valid(token->name))
    return ep_fail(error, EP_INVALID, "\"name\" must be 1 to %d letters, digits or _ . @ -",
                   EP_OWNER_BYTES - 1);
  if (!ep_json_get_text(object, "owner", token->owner, sizeof token->owner) ||
      (token->owner[0] && !ep_token_name_valid(token->owner)))
    return ep_fail(error, EP_INVALID,
                   "\"owner\" must be \"\" or 1 to %d letters, digits or _ . @ -",
                   EP_OWNER_BYTES - 1);
  if (!ep_json_get_text(object, "hash", token->hash, sizeof token->hash) ||
      strspn(token->hash, "0123456789abcdef") != EP_SHA256_HEX_BYTES - 1)
    return ep_fail(error, EP_INVALID, "\"hash\" must be the token's SHA-256, 64 digits 0 to f");
  if (!json_is_null(expires) &&
      !(json_is_string(expires) && time_parse(json_string_value(expires), &token->expires_us)))
    return ep_fail(error, EP_INVALID,
                   "\"expires\" must be null or a time such as 2027-01-31T00:00:00Z");
  return scopes_read(json_object_get(object, "scopes"), &token->scopes, error);
}

static ep_status json_read(const char *line, size_t bytes, ep_token *token, ep_error *error) {
  json_t *object = NULL;
  ep_status status = ep_json_load(line, bytes, LINE_BYTES, &object, error);
  if (status == EP_OK) status = object_read(object, token, error);
  json_decref(object);
  return status;
}

static ep_status bare_read(const char *line, size_t bytes, int number, ep_token *token,
                           ep_error *error) {
  bool plain = bytes >= EP_TOKEN_LEAST_BYTES;
  for (size_t i = 0; i < bytes; i++)
    plain = plain && (unsigned char)line[i] > ' ' && line[i] != 127;
  if (!plain)
    return ep_fail(error, EP_INVALID, "a token has at least %d characters and no space",
                   EP_TOKEN_LEAST_BYTES);
  snprintf(token->name, sizeof token->name, "token %d", number);
  token->scopes = EP_SCOPE_ALL;
  return ep_sha256_of(line, bytes, token->hash, error);
}

static ep_status token_append(ep_token_list *list, const ep_token *token, ep_error *error) {
  if (list->count == EP_LIMIT_TOKENS)
    return ep_fail(error, EP_INVALID, "a file has at most %d tokens", EP_LIMIT_TOKENS);
  for (int i = 0; i < list->count; i++) {
    if (strcmp(list->tokens[i].name, token->name) == 0)
      return ep_fail(error, EP_INVALID, "another token is named %s", token->name);
    if (strcmp(list->tokens[i].hash, token->hash) == 0)
      return ep_fail(error, EP_INVALID, "it repeats the token %s", list->tokens[i].name);
  }
  ep_token *grown = realloc(list->tokens, ((size_t)list->count + 1) * sizeof *grown);
  if (!grown) return ep_fail_memory(error);
  list->tokens = grown;
  list->tokens[list->count++] = *token;
  return EP_OK;
}

static ep_status line_read(const char *line, size_t bytes, int number, ep_token_list *list,
                           ep_error *error) {
  ep_token token = {.line = number};
  if (bytes > 0 && line[bytes - 1] == '\r') bytes--;
  if (bytes == 0 || line[0] == '#') return EP_OK;
  if (memchr(line, 0, bytes)) return ep_fail(error, EP_INVALID, "it contains a zero byte");
  ep_status status = line[0] == '{' ? json_read(line, bytes, &token, error)
                                    : bare_read(line, bytes, number, &token, error);
  return status == EP_OK ? token_append(list, &token, error) : status;
}

ep_status ep_tokens_parse(const char *text, size_t bytes, const char *path, ep_token_list *out,
                          ep_error *error) {
  ep_error why = {0};
  ep_status status = EP_OK;
  int number = 0;
  *out = (ep_token_list){0};
  for (size_t at = 0; status == EP_OK && at < bytes;) {
    const char *end = memchr(text + at, '\n', bytes - at);
    size_t length = end ? (size_t)(end - (text + at)) : bytes - at;
    status = line_read(text + at, length, ++number, out, &why);
    at += length + 1;
  }
  if (status == EP_OK) return EP_OK;
  ep_token_list_deinit(out);
  if (status == EP_MALFORMED || status == EP_TOO_LARGE) status = EP_INVALID;
  return ep_fail(error, status, "%.300s, line %d: %.160s", path, number, why.message);
}

char *ep_token_format(const ep_token *token) {
  ep_writer writer;
  ep_writer_init(&writer, LINE_BYTES);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "name", token->name);
  ep_writer_member_string(&writer, "owner", token->owner);
  ep_writer_member_open(&writer, "scopes", '[');
  for (int i = 0; i < EP_SCOPE_COUNT; i++)
    if (token->scopes & 1U << i) ep_writer_string(&writer, SCOPES[i]);
  ep_writer_close(&writer, ']');
  ep_writer_key(&writer, "expires");
  if (token->expires_us)
    ep_writer_time(&writer, token->expires_us);
  else
    ep_writer_null(&writer);
  ep_writer_member_string(&writer, "hash", token->hash);
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}
