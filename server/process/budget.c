#include "server/process/budget.h"

#include "api/limits.h"
#include "engine/host/memory.h"

enum { SHARE = 8 }; /* of the memory that there is: workers need most of it */

int64_t ep_budget_http_bytes(int64_t limit_bytes) {
  if (limit_bytes > 0) return limit_bytes;
  const int64_t share = ep_memory_read().total_bytes / SHARE;
  if (share < EP_LIMIT_HTTP_BYTES_MIN) return EP_LIMIT_HTTP_BYTES_MIN;
  return share < EP_LIMIT_HTTP_BYTES ? share : EP_LIMIT_HTTP_BYTES;
}

ep_status ep_budget_take(ep_budget *budget, int64_t bytes, ep_error *error) {
  if (bytes > budget->limit_bytes)
    return ep_fail(error, EP_TOO_LARGE,
                   "it would take %lld bytes of memory, and all requests together have %lld: send "
                   "less at once, or raise --http-bytes-max",
                   (long long)bytes, (long long)budget->limit_bytes);
  if (atomic_fetch_add(&budget->used_bytes, bytes) + bytes <= budget->limit_bytes) return EP_OK;
  ep_budget_give(budget, bytes);
  return ep_fail(error, EP_BUSY,
                 "requests and responses hold all of the %lld bytes of memory that there are for "
                 "them: try again later",
                 (long long)budget->limit_bytes);
}

void ep_budget_force(ep_budget *budget, int64_t bytes) {
  atomic_fetch_add(&budget->used_bytes, bytes);
}

void ep_budget_give(ep_budget *budget, int64_t bytes) {
  atomic_fetch_sub(&budget->used_bytes, bytes);
}
