#include "server/process/budget.h"

#include "api/limits.h"

static int64_t clamp(int64_t bytes, int64_t least, int64_t most) {
  return bytes < least ? least : bytes > most ? most : bytes;
}

ep_memory_shares ep_memory_shares_find(int64_t total_bytes, int64_t requests_bytes,
                                       int64_t ingest_bytes) {
  const int64_t total = total_bytes;
  ep_memory_shares shares = {
      .total_bytes = total,
      .requests_bytes = clamp(total / 8, EP_LIMIT_HTTP_BYTES_MIN, EP_LIMIT_HTTP_BYTES),
      .curves_bytes = clamp(total / 16, 0, EP_LIMIT_CURVES_BYTES),
      .metas_bytes = clamp(total / 16, EP_LIMIT_CACHED_META_BYTES_MIN, EP_LIMIT_CACHED_META_BYTES),
      .ingest_bytes =
          clamp(total / 4, EP_LIMIT_INGEST_MEMORY_BYTES_MIN, EP_LIMIT_INGEST_MEMORY_BYTES),
      .cpu_jobs = (int)clamp(total / EP_LIMIT_WORKER_BYTES, 1, EP_LIMIT_CPU_JOBS),
      .readers = total < INT64_C(2) << 30 ? 1 : 2};
  if (requests_bytes > 0) shares.requests_bytes = requests_bytes;
  if (ingest_bytes > 0) shares.ingest_bytes = ingest_bytes;
  const int64_t others = shares.requests_bytes + shares.curves_bytes + shares.metas_bytes +
                         shares.readers * shares.ingest_bytes + EP_LIMIT_DAEMON_BYTES;
  shares.jobs_bytes = clamp(total - others, total / 4, total);
  shares.job_bytes =
      clamp(total - shares.requests_bytes - EP_LIMIT_DAEMON_BYTES, shares.jobs_bytes, total);
  return shares;
}

static int64_t used_bytes(ep_budget *budget, int64_t taken_bytes) {
  return taken_bytes + (budget->counted_bytes ? budget->counted_bytes() : 0);
}

ep_status ep_budget_take(ep_budget *budget, int64_t bytes, ep_error *error) {
  if (bytes > budget->limit_bytes)
    return ep_fail(error, EP_TOO_LARGE,
                   "it would take %lld bytes of memory, and all requests together may take %lld: "
                   "use a smaller request, or raise --memory or --http-bytes-max",
                   (long long)bytes, (long long)budget->limit_bytes);
  const int64_t taken = atomic_fetch_add(&budget->used_bytes, bytes) + bytes;
  if (used_bytes(budget, taken) <= budget->limit_bytes) return EP_OK;
  ep_budget_give(budget, bytes);
  return ep_fail(error, EP_BUSY,
                 "requests and responses use all of the %lld bytes of memory available to them: "
                 "try again later",
                 (long long)budget->limit_bytes);
}

void ep_budget_force(ep_budget *budget, int64_t bytes) {
  atomic_fetch_add(&budget->used_bytes, bytes);
}

void ep_budget_give(ep_budget *budget, int64_t bytes) {
  atomic_fetch_sub(&budget->used_bytes, bytes);
}
