/* pins.h: what must not be removed. A pinned content stays. A content that is being removed can be
 * neither pinned nor claimed: both wait until it is gone, and their callers then look again whether
 * it is there.
 *
 * Thread-safe. */
#ifndef EP_SERVER_DATASETS_PINS_H
#define EP_SERVER_DATASETS_PINS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/names.h"

enum { EP_PIN_BYTES = EP_SHA256_HEX_BYTES }; /* of a key: a SHA-256 or an id */

typedef struct {
  char key[EP_PIN_BYTES];
  int64_t count; /* -1: claimed for removal */
} ep_pin;

typedef struct {
  pthread_mutex_t mutex; /* guards everything below */
  pthread_cond_t released;
  ep_pin *pins; /* [capacity], owned; those in use come first */
  int64_t used, capacity;
} ep_pins;

void ep_pins_init(ep_pins *pins);
void ep_pins_deinit(ep_pins *pins);

bool ep_pins_add(ep_pins *pins, const char *key); /* false: memory is short */
void ep_pins_remove(ep_pins *pins, const char *key);

/* Claims a key without pins, so that what it stands for can be removed; false: it is pinned. */
bool ep_pins_claim(ep_pins *pins, const char *key);
void ep_pins_unclaim(ep_pins *pins, const char *key);

#endif
