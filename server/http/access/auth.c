#include "server/http/access/auth.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/hash/sha256.h"
#include "server/metrics/metrics.h"
#include "server/process/clock.h"
#include "server/process/log.h"

void ep_auth_init(ep_auth *auth) {
  *auth = (ep_auth){0};
  pthread_rwlock_init(&auth->lock, NULL);
  ep_throttle_init(&auth->throttle);
}

void ep_auth_deinit(ep_auth *auth) {
  ep_token_list_deinit(&auth->list);
  free(auth->origins);
  ep_throttle_deinit(&auth->throttle);
  pthread_rwlock_destroy(&auth->lock);
}

/* The tokens that stay go on where they were used. The lock is held. */
static void origins_keep(const ep_auth *auth, const ep_token_list *list, atomic_ullong *origins) {
  for (int i = 0; i < list->count; i++)
    for (int j = 0; j < auth->list.count; j++)
      if (strcmp(list->tokens[i].hash, auth->list.tokens[j].hash) == 0)
        atomic_init(&origins[i], atomic_load(&auth->origins[j]));
}

ep_status ep_auth_read(ep_auth *auth, const char *path, ep_error *error) {
  ep_token_list list;
  ep_status status = ep_tokens_read(path, &list, NULL, error);
  if (status == EP_OK && list.count == 0)
    status = ep_fail(error, EP_INVALID, "the token file %.300s has no token", path);
  atomic_ullong *origins = calloc((size_t)list.count + 1, sizeof *origins);
  if (status == EP_OK && !origins) status = ep_fail_memory(error);
  if (status == EP_OK) {
    ep_token_list before = auth->list;
    pthread_rwlock_wrlock(&auth->lock);
    atomic_ullong *origins_before = auth->origins;
    origins_keep(auth, &list, origins);
    if (!auth->path) auth->path = path; /* before the first request: it is read without the lock */
    auth->list = list;
    auth->origins = origins;
    pthread_rwlock_unlock(&auth->lock);
    list = before;
    origins = origins_before;
  }
  ep_token_list_deinit(&list);
  free(origins);
  return status;
}

/* The index of the token, or -1. The lock is held. */
static int token_find(const ep_auth *auth, const char *hash) {
  int found = -1;
  for (int i = 0; i < auth->list.count; i++) /* all of them, also after a match */
    if (sodium_memcmp(hash, auth->list.tokens[i].hash, EP_SHA256_HEX_BYTES) == 0) found = i;
  return found;
}

static ep_status slow_down(ep_error *error) {
  return ep_fail(error, EP_BUSY,
                 "too many wrong tokens came from this address, try again in some seconds");
}

/* A token that is in the file. The lock is held. */
static ep_status token_take(ep_auth *auth, int found, uint64_t address, bool full, ep_caller *out,
                            ep_error *error) {
  const ep_token *token = &auth->list.tokens[found];
  if (full && atomic_load(&auth->origins[found]) != address) return slow_down(error);
  if (token->expires_us && token->expires_us <= ep_clock_utc_us())
    return ep_fail(error, EP_UNAUTHORIZED,
                   "the token %s has expired: create a new one (epochctl token add)", token->name);
  atomic_store(&auth->origins[found], address);
  *out = (ep_caller){.scopes = token->scopes};
  memcpy(out->token, token->name, sizeof out->token);
  memcpy(out->owner, token->owner, sizeof out->owner);
  return EP_OK;
}

/* No token of the file, or none at all. */
static ep_status stranger_refuse(ep_auth *auth, const char *authorization, const char *address,
                                 uint64_t key, bool full, ep_error *error) {
  if (!authorization)
    return ep_fail(error, EP_UNAUTHORIZED,
                   "a token is required: Authorization: Bearer …, from the daemon's token file");
  ep_metrics_add(EP_COUNTER_WRONG_TOKENS, 1);
  if (full) return slow_down(error);
  ep_throttle_add(&auth->throttle, key, ep_clock_steady_us());
  ep_log(EP_LOG_WARNING, "a wrong token from %s", address);
  return ep_fail(error, EP_UNAUTHORIZED, "the token is not in the daemon's token file");
}

ep_status ep_auth_check(ep_auth *auth, const char *authorization, const char *address,
                        ep_caller *out, ep_error *error) {
  char hash[EP_SHA256_HEX_BYTES] = "";
  *out = (ep_caller){.scopes = EP_SCOPE_ALL};
  if (!auth->path) return EP_OK;
  out->scopes = 0;
  uint64_t key = ep_address_key(address);
  bool full = ep_throttle_is_full(&auth->throttle, key, ep_clock_steady_us());
  if (authorization && strncasecmp(authorization, "Bearer ", 7) == 0) {
    const char *token = authorization + 7 + strspn(authorization + 7, " ");
    ep_status status = ep_sha256_of(token, strlen(token), hash, error);
    if (status != EP_OK) return status;
  }
  pthread_rwlock_rdlock(&auth->lock);
  int found = token_find(auth, hash);
  ep_status status = found >= 0 ? token_take(auth, found, key, full, out, error)
                                : stranger_refuse(auth, authorization, address, key, full, error);
  pthread_rwlock_unlock(&auth->lock);
  return status;
}
