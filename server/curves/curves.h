/* curves.h: the curves of long logs that were asked for last, in memory: a curve that is asked for
 * again costs the lines that are new, and one of a job that ended costs no look at its log.
 *
 * Thread-safe. A curve has one user at a time, so two who ask for the same one at once read its log
 * once. */
#ifndef EP_SERVER_CURVES_CURVES_H
#define EP_SERVER_CURVES_CURVES_H

#include <pthread.h>

#include "server/curves/curve.h"
#include "server/process/id.h"

typedef struct ep_curves_entry {
  ep_curve curve; /* first; its user's while `users` is above 0 */
  struct ep_curves_entry *next;
  char id[EP_ID_BYTES];
  int users; /* the one who has it, and those who wait for it */
  bool taken;
  int64_t given_us; /* when it was given back last, steady clock */
} ep_curves_entry;

typedef struct ep_curves {
  pthread_mutex_t mutex; /* guards everything below, but the curves that are taken */
  pthread_cond_t given;
  ep_curves_entry *first; /* owned; what was given back last comes first */
  int64_t most_bytes;     /* set before the first use; EP_LIMIT_CURVES_BYTES unless it is less */
} ep_curves;

void ep_curves_init(ep_curves *curves);
void ep_curves_deinit(ep_curves *curves); /* none is taken */

/* Takes the job's curve as far as it was read, which may be not at all; waits while another has it.
 * The caller may read it on and gives it back. EP_CANCELLED: `stop` (NULL = none) returned true. */
ep_status ep_curves_take(ep_curves *curves, const char *id, ep_curve_stop *stop, void *context,
                         ep_curve **out, ep_error *error);
/* Forgets a curve whose log is soon read again, and the ones given back longest ago beyond
 * most_bytes. */
void ep_curves_give(ep_curves *curves, ep_curve *curve);

/* What those take that nobody has. */
int64_t ep_curves_bytes(ep_curves *curves);
/* Forgets those larger than EP_LIMIT_SMALL_CACHED_BYTES that nobody has had for so many seconds. */
void ep_curves_expire(ep_curves *curves, int64_t seconds);

#endif
