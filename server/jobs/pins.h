/* pins.h: which contents of the data folder somebody needs. A pinned content is not removed; one
 * that is being removed cannot be pinned: ep_pins_add waits until that is over, and its caller then
 * looks again whether the content is there.
 *
 * Thread-safe. */
#ifndef EP_SERVER_JOBS_PINS_H
#define EP_SERVER_JOBS_PINS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { EP_PIN_BYTES = 65 }; /* SHA-256 in hex, and 0 */

typedef struct {
  char sha256[EP_PIN_BYTES];
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

bool ep_pins_add(ep_pins *pins, const char *sha256); /* false: memory is short */
void ep_pins_remove(ep_pins *pins, const char *sha256);

/* Claims a content that nobody pinned, so that it can be removed; false when somebody did. */
bool ep_pins_claim(ep_pins *pins, const char *sha256);
void ep_pins_unclaim(ep_pins *pins, const char *sha256);

#endif
