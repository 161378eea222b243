/* throttle.h: wrong tokens by the address that sent them. An address has EP_LIMIT_WRONG_TOKENS of
 * them; each second gives one back. A network of IPv6 (64 bits) counts as one address.
 *
 * Thread-safe, once initialized. */
#ifndef EP_SERVER_HTTP_ACCESS_THROTTLE_H
#define EP_SERVER_HTTP_ACCESS_THROTTLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/limits.h"

typedef struct {
  uint64_t address; /* 0 = free */
  int64_t whole_us; /* when all its wrong tokens are forgotten */
} ep_throttled;

typedef struct {
  pthread_mutex_t mutex;                              /* guards the rest */
  ep_throttled addresses[EP_LIMIT_WATCHED_ADDRESSES]; /* each in the place of its key alone */
} ep_throttle;

void ep_throttle_init(ep_throttle *throttle);
void ep_throttle_deinit(ep_throttle *throttle);

/* Never 0. */
uint64_t ep_address_key(const char *address);

/* Whether a wrong token more would be too many. now_us: the steady clock. */
bool ep_throttle_is_full(ep_throttle *throttle, uint64_t address, int64_t now_us);
/* Counts a wrong token. */
void ep_throttle_add(ep_throttle *throttle, uint64_t address, int64_t now_us);

#endif
