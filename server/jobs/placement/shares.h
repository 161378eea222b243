/* shares.h: what each owner has of the daemon: jobs that have not ended, and cores. For quotas.
 *
 * Not thread-safe: ep_jobs.mutex guards it. */
#ifndef EP_SERVER_JOBS_PLACEMENT_SHARES_H
#define EP_SERVER_JOBS_PLACEMENT_SHARES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  uint64_t owner; /* a hash of the name */
  int64_t jobs;   /* live ones, and those that are being submitted; 0: the place is free */
  int64_t cores;  /* of those that run, when they were last counted */
} ep_share;

typedef struct {
  ep_share *shares; /* [count]; owned */
  int64_t count;
} ep_shares; /* starts as {0} */

void ep_shares_deinit(ep_shares *shares);

/* NULL: the owner has no job. */
ep_share *ep_shares_find(const ep_shares *shares, uint64_t owner);
/* A job more. False: memory is short. */
bool ep_shares_add(ep_shares *shares, uint64_t owner);
/* A job less, of one that was added. */
void ep_shares_remove(ep_shares *shares, uint64_t owner);

#endif
