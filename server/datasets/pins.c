#include "server/datasets/pins.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ep_pins_init(ep_pins *pins) {
  *pins = (ep_pins){0};
  pthread_mutex_init(&pins->mutex, NULL);
  pthread_cond_init(&pins->released, NULL);
}

void ep_pins_deinit(ep_pins *pins) {
  free(pins->pins);
  pthread_cond_destroy(&pins->released);
  pthread_mutex_destroy(&pins->mutex);
}

/* The functions below are called with the mutex held. */

static ep_pin *pin_find(ep_pins *pins, const char *key) {
  for (int64_t i = 0; i < pins->used; i++)
    if (strcmp(pins->pins[i].key, key) == 0) return &pins->pins[i];
  return NULL;
}

static bool pin_append(ep_pins *pins, const char *key, int64_t count) {
  assert(strlen(key) < EP_PIN_BYTES);
  if (pins->used == pins->capacity) {
    int64_t capacity = pins->capacity == 0 ? 8 : pins->capacity * 2;
    ep_pin *grown = realloc(pins->pins, (size_t)capacity * sizeof *grown);
    if (!grown) return false;
    pins->pins = grown;
    pins->capacity = capacity;
  }
  ep_pin *pin = &pins->pins[pins->used++];
  snprintf(pin->key, sizeof pin->key, "%s", key);
  pin->count = count;
  return true;
}

static void pin_drop(ep_pins *pins, ep_pin *pin) {
  *pin = pins->pins[--pins->used];
  pthread_cond_broadcast(&pins->released);
}

/* What the key has once nobody has claimed it; NULL = no pins. */
static ep_pin *pin_await(ep_pins *pins, const char *key) {
  ep_pin *pin = pin_find(pins, key);
  while (pin && pin->count < 0) {
    pthread_cond_wait(&pins->released, &pins->mutex);
    pin = pin_find(pins, key);
  }
  return pin;
}

bool ep_pins_add(ep_pins *pins, const char *key) {
  bool added = true;
  pthread_mutex_lock(&pins->mutex);
  ep_pin *pin = pin_await(pins, key);
  if (pin) {
    pin->count++;
  } else {
    added = pin_append(pins, key, 1);
  }
  pthread_mutex_unlock(&pins->mutex);
  return added;
}

void ep_pins_remove(ep_pins *pins, const char *key) {
  pthread_mutex_lock(&pins->mutex);
  ep_pin *pin = pin_find(pins, key);
  assert(pin && pin->count > 0);
  if (--pin->count == 0) pin_drop(pins, pin);
  pthread_mutex_unlock(&pins->mutex);
}

bool ep_pins_claim(ep_pins *pins, const char *key) {
  pthread_mutex_lock(&pins->mutex);
  bool claimed = !pin_await(pins, key) && pin_append(pins, key, -1);
  pthread_mutex_unlock(&pins->mutex);
  return claimed;
}

void ep_pins_unclaim(ep_pins *pins, const char *key) {
  pthread_mutex_lock(&pins->mutex);
  ep_pin *pin = pin_find(pins, key);
  assert(pin && pin->count == -1);
  pin_drop(pins, pin);
  pthread_mutex_unlock(&pins->mutex);
}
