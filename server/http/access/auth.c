#include "server/http/access/auth.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static void token_hash(unsigned char out[EP_AUTH_HASH_BYTES], const char *token, size_t bytes) {
  crypto_generichash(out, EP_AUTH_HASH_BYTES, (const unsigned char *)token, bytes, NULL, 0);
}

static ep_status token_add(ep_auth *auth, const char *token, const char *path, int line,
                           ep_error *error) {
  size_t bytes = strlen(token);
  if (bytes < EP_AUTH_TOKEN_LEAST_BYTES || strpbrk(token, " \t"))
    return ep_fail(error, EP_INVALID,
                   "%.300s, line %d: a token has at least %d characters and no "
                   "space",
                   path, line, EP_AUTH_TOKEN_LEAST_BYTES);
  if (auth->count == EP_AUTH_TOKENS)
    return ep_fail(error, EP_INVALID, "%.300s has more than %d tokens", path, EP_AUTH_TOKENS);
  token_hash(auth->hashes[auth->count++], token, bytes);
  return EP_OK;
}

ep_status ep_auth_read(ep_auth *auth, const char *path, ep_error *error) {
  *auth = (ep_auth){0};
  if (sodium_init() < 0) return ep_fail(error, EP_INTERNAL, "libsodium does not start");
  FILE *file = fopen(path, "re");
  if (!file)
    return ep_fail(error, EP_IO, "the token file %.300s cannot be read: %s", path, strerror(errno));
  char line[1024];
  ep_status status = EP_OK;
  for (int number = 1; status == EP_OK && fgets(line, sizeof line, file); number++) {
    line[strcspn(line, "\r\n")] = 0;
    if (line[0] && line[0] != '#') status = token_add(auth, line, path, number, error);
  }
  fclose(file);
  sodium_memzero(line, sizeof line);
  if (status == EP_OK && auth->count == 0)
    status = ep_fail(error, EP_INVALID, "the token file %.300s has no token", path);
  return status;
}

bool ep_auth_accepts(const ep_auth *auth, const char *authorization) {
  if (auth->count == 0) return true;
  if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0) return false;
  const char *token = authorization + 7 + strspn(authorization + 7, " ");
  unsigned char given[EP_AUTH_HASH_BYTES];
  token_hash(given, token, strlen(token));
  int found = 0;
  for (int i = 0; i < auth->count; i++) /* all of them, also after a match */
    found |= sodium_memcmp(given, auth->hashes[i], EP_AUTH_HASH_BYTES) == 0;
  return found != 0;
}
