#include "server/curves/curves.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "server/process/clock.h"

enum {
  LOOK_US = 100000,     /* how often those who wait look whether to stop */
  SHORT_BYTES = 1 << 20 /* of a log that is read in a few milliseconds */
};

void ep_curves_init(ep_curves *curves) {
  *curves = (ep_curves){.most_bytes = EP_LIMIT_CURVES_BYTES};
  pthread_mutex_init(&curves->mutex, NULL);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&curves->given, &attributes);
  pthread_condattr_destroy(&attributes);
}

static void entry_free(ep_curves_entry *entry) {
  ep_curve_deinit(&entry->curve);
  free(entry);
}

void ep_curves_deinit(ep_curves *curves) {
  for (ep_curves_entry *entry = curves->first, *next; entry; entry = next) {
    next = entry->next;
    entry_free(entry);
  }
  pthread_cond_destroy(&curves->given);
  pthread_mutex_destroy(&curves->mutex);
}

/* The mutex is held. */
static void entry_unlink(ep_curves *curves, const ep_curves_entry *entry) {
  ep_curves_entry **link = &curves->first;
  while (*link != entry) link = &(*link)->next;
  *link = entry->next;
}

static void entry_link(ep_curves *curves, ep_curves_entry *entry) {
  entry->next = curves->first;
  curves->first = entry;
}

/* As many as one curve alone may have of the ceiling: a power of two, at most those of curve.h. */
static int64_t points_most(int64_t bytes) {
  int64_t most = 1 << 20;
  while (most > EP_LIMIT_CURVE_POINTS && most * (int64_t)sizeof(ep_curve_point) > bytes) most /= 2;
  return most;
}

/* Finds or adds the entry of a job; NULL: memory is short. The mutex is held. */
static ep_curves_entry *entry_find(ep_curves *curves, const char *id) {
  ep_curves_entry *entry = curves->first;
  while (entry && strcmp(entry->id, id) != 0) entry = entry->next;
  if (entry) return entry;
  entry = calloc(1, sizeof *entry);
  if (!entry) return NULL;
  snprintf(entry->id, sizeof entry->id, "%s", id);
  entry->curve.most = points_most(curves->most_bytes);
  entry_link(curves, entry);
  return entry;
}

static int64_t entry_bytes(const ep_curves_entry *entry) {
  return entry->curve.capacity * (int64_t)sizeof *entry->curve.points;
}

/* Frees entries without a user: those of short logs, those given back before before_us, and beyond
 * the ceiling the last ones. The mutex is held. */
static void entries_forget(ep_curves *curves, int64_t before_us) {
  int64_t bytes = 0;
  for (ep_curves_entry **link = &curves->first; *link;) {
    ep_curves_entry *entry = *link;
    if (!entry->taken) bytes += entry_bytes(entry);
    bool forgotten =
        entry->curve.offset < SHORT_BYTES || bytes > curves->most_bytes ||
        (entry->given_us < before_us && entry_bytes(entry) > EP_LIMIT_SMALL_CACHED_BYTES);
    if (entry->users > 0 || !forgotten) {
      link = &entry->next;
      continue;
    }
    *link = entry->next;
    entry_free(entry);
  }
}

/* Waits until nobody has the entry. The mutex is held. */
static ep_status entry_await(ep_curves *curves, const ep_curves_entry *entry, ep_curve_stop *stop,
                             void *context, ep_error *error) {
  while (entry->taken) {
    if (stop && stop(context))
      return ep_fail(error, EP_CANCELLED, "the client disconnected before the curve was ready");
    int64_t until_us = ep_clock_steady_us() + LOOK_US;
    struct timespec until = {until_us / 1000000, until_us % 1000000 * 1000};
    pthread_cond_timedwait(&curves->given, &curves->mutex, &until);
  }
  return EP_OK;
}

ep_status ep_curves_take(ep_curves *curves, const char *id, ep_curve_stop *stop, void *context,
                         ep_curve **out, ep_error *error) {
  *out = NULL;
  pthread_mutex_lock(&curves->mutex);
  ep_curves_entry *entry = entry_find(curves, id);
  ep_status status = entry ? EP_OK : ep_fail_memory(error);
  if (entry) {
    entry->users++;
    status = entry_await(curves, entry, stop, context, error);
    entry->taken = entry->taken || status == EP_OK;
    if (status != EP_OK) entry->users--;
  }
  pthread_mutex_unlock(&curves->mutex);
  if (status == EP_OK) *out = &entry->curve;
  return status;
}

void ep_curves_give(ep_curves *curves, ep_curve *curve) {
  ep_curves_entry *entry = (ep_curves_entry *)curve;
  pthread_mutex_lock(&curves->mutex);
  entry->taken = false;
  entry->users--;
  entry->given_us = ep_clock_steady_us();
  entry_unlink(curves, entry);
  entry_link(curves, entry);
  entries_forget(curves, 0);
  pthread_cond_broadcast(&curves->given);
  pthread_mutex_unlock(&curves->mutex);
}

int64_t ep_curves_bytes(ep_curves *curves) {
  int64_t bytes = 0;
  pthread_mutex_lock(&curves->mutex);
  for (const ep_curves_entry *entry = curves->first; entry; entry = entry->next)
    if (!entry->taken) bytes += entry_bytes(entry);
  pthread_mutex_unlock(&curves->mutex);
  return bytes;
}

void ep_curves_expire(ep_curves *curves, int64_t seconds) {
  pthread_mutex_lock(&curves->mutex);
  entries_forget(curves, ep_clock_steady_us() - seconds * 1000000);
  pthread_mutex_unlock(&curves->mutex);
}
