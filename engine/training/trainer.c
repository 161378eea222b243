#include "engine/training/trainer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "engine/parallel.h"

enum { SEARCHED_LEAST = 1 << 18 }; /* values that are worth a thread */

double ep_seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double ep_nanoseconds_round(double seconds) {
  return round(seconds * 1e9) / 1e9;
}

void ep_trainer_alive(const ep_trainer *t) {
  if (t->job->sink.alive) t->job->sink.alive(t->job->sink.context);
}

/* Values that several threads search for one that is not finite. */
typedef struct {
  const float *values;
  atomic_bool found;
} finite_search;

static void values_search(void *context, int64_t first, int64_t count) {
  enum { BLOCK = 4096 }; /* without a branch: what a compiler makes vectors of */
  finite_search *search = context;
  const uint32_t infinite = UINT32_C(0x7f800000);
  bool found = false;
  for (int64_t block = first; block < first + count && !found; block += BLOCK) {
    int64_t end = block + BLOCK < first + count ? block + BLOCK : first + count;
    for (int64_t i = block; i < end; i++) {
      uint32_t bits;
      memcpy(&bits, &search->values[i], sizeof bits);
      found |= (bits & infinite) == infinite;
    }
  }
  if (found) atomic_store(&search->found, true);
}

bool ep_values_finite(const float *values, int64_t count) {
  finite_search search = {.values = values};
  ep_parallel_run(count, SEARCHED_LEAST, values_search, &search);
  return !search.found;
}

ep_status ep_trainer_export(ep_trainer *t, ep_error *error) {
  int64_t count = ep_program_state_floats(&t->plan->program);
  if (t->exported) return EP_OK;
  ep_status status = t->job->backend_ops->export_state(t->instance, t->state, t->optimizer, error);
  t->exported = status == EP_OK;
  t->finite = t->exported && ep_values_finite(t->state, count);
  return status;
}

ep_device_info ep_trainer_device(const ep_trainer *t, const ep_backend_info *backend) {
  ep_device_info device = {.threads = backend->threads};
  snprintf(device.id, sizeof device.id, "%s", t->job->device);
  snprintf(device.instruction_set, sizeof device.instruction_set, "%s", backend->instruction_set);
  return device;
}

ep_cache_key ep_trainer_cache_key(const ep_trainer *t, const ep_backend_info *backend,
                                  const char *what) {
  ep_cache_key key = ep_cache_key_start();
  ep_cache_key_add(&key, what);
  ep_cache_key_add(&key, EP_VERSION);
  ep_cache_key_add(&key, backend->name);
  ep_cache_key_add(&key, backend->instruction_set);
  ep_cache_key_add(&key, backend->driver);
  ep_cache_key_add_number(&key, backend->threads);
  ep_cache_key_add_number(&key, (int64_t)ep_plan_signature(t->plan));
  return key;
}
