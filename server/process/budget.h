/* budget.h: bytes of memory that many share: each takes before it allocates, and gives back. And
 * how the memory of the daemon and its workers is divided.
 *
 * Thread-safe. */
#ifndef EP_SERVER_PROCESS_BUDGET_H
#define EP_SERVER_PROCESS_BUDGET_H

#include <stdatomic.h>
#include <stdint.h>

#include "api/status.h"

typedef struct {
  int64_t limit_bytes;
  atomic_llong used_bytes;
  int64_t (*counted_bytes)(
      void); /* what is used beside that, and counted elsewhere; NULL: nothing */
} ep_budget;

/* EP_BUSY while others have them; EP_TOO_LARGE where there will never be as many. */
ep_status ep_budget_take(ep_budget *budget, int64_t bytes, ep_error *error);
/* Takes them though they may be more than there are: of what cannot be refused any more. */
void ep_budget_force(ep_budget *budget, int64_t bytes);
void ep_budget_give(ep_budget *budget, int64_t bytes);

/* All derive from one number, what epochd and its workers may take (ep_memory_read):
 *
 * - requests: an eighth, from EP_LIMIT_HTTP_BYTES_MIN to EP_LIMIT_HTTP_BYTES: bodies, their trees,
 * what is computed of them, responses
 *
 * - curves: a sixteenth, at most EP_LIMIT_CURVES_BYTES
 *
 * - metas: a sixteenth, from EP_LIMIT_CACHED_META_BYTES_MIN to EP_LIMIT_CACHED_META_BYTES
 *
 * - ingest: a quarter, from EP_LIMIT_INGEST_MEMORY_BYTES_MIN to EP_LIMIT_INGEST_MEMORY_BYTES: of a
 * process that reads a file; `readers` of them at a time, below 2 GiB one
 *
 * - cpu_jobs: one for each EP_LIMIT_WORKER_BYTES, at least one
 *
 * - jobs: the rest but EP_LIMIT_DAEMON_BYTES, at least a quarter: trainings on the CPU, together */
typedef struct {
  int64_t total_bytes, requests_bytes, curves_bytes, metas_bytes, ingest_bytes, jobs_bytes;
  int64_t job_bytes;     /* of one job on the CPU, which then runs alone */
  int readers, cpu_jobs; /* at most so many at once */
} ep_memory_shares;

/* requests_bytes, ingest_bytes: as options have them; 0: their shares. */
ep_memory_shares ep_memory_shares_find(int64_t total_bytes, int64_t requests_bytes,
                                       int64_t ingest_bytes);

#endif
