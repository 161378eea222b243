/* A leaky bucket an address: a time alone says how full it is. */
#include "server/http/access/throttle.h"

#include <arpa/inet.h>
#include <string.h>

#define FORGET_US INT64_C(1000000) /* one wrong token */

void ep_throttle_init(ep_throttle *throttle) {
  memset(throttle, 0, sizeof *throttle);
  pthread_mutex_init(&throttle->mutex, NULL);
}

void ep_throttle_deinit(ep_throttle *throttle) {
  pthread_mutex_destroy(&throttle->mutex);
}

/* FNV-1a, 64 bits (Fowler, Noll, Vo). */
static uint64_t hash_add(uint64_t hash, const void *bytes, size_t count) {
  const unsigned char *at = bytes;
  for (size_t i = 0; i < count; i++) hash = (hash ^ at[i]) * UINT64_C(1099511628211);
  return hash;
}

uint64_t ep_address_key(const char *address) {
  struct in6_addr six;
  const uint64_t start = UINT64_C(14695981039346656037);
  bool network = inet_pton(AF_INET6, address, &six) == 1 && !IN6_IS_ADDR_V4MAPPED(&six);
  return (network ? hash_add(start, &six, 8) : hash_add(start, address, strlen(address))) | 1;
}

static ep_throttled *slot_of(ep_throttle *throttle, uint64_t address) {
  return &throttle->addresses[(address >> 20) % EP_LIMIT_WATCHED_ADDRESSES];
}

bool ep_throttle_is_full(ep_throttle *throttle, uint64_t address, int64_t now_us) {
  pthread_mutex_lock(&throttle->mutex);
  const ep_throttled *slot = slot_of(throttle, address);
  bool full =
      slot->address == address && slot->whole_us - now_us > (EP_LIMIT_WRONG_TOKENS - 1) * FORGET_US;
  pthread_mutex_unlock(&throttle->mutex);
  return full;
}

void ep_throttle_add(ep_throttle *throttle, uint64_t address, int64_t now_us) {
  pthread_mutex_lock(&throttle->mutex);
  ep_throttled *slot = slot_of(throttle, address);
  if (slot->address != address || slot->whole_us < now_us)
    *slot = (ep_throttled){.address = address, .whole_us = now_us};
  slot->whole_us += FORGET_US;
  pthread_mutex_unlock(&throttle->mutex);
}
