/* budget.h: bytes of memory that many share: each takes before it allocates, and gives back.
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
} ep_budget;

/* The budget of HTTP's bodies and responses: `limit_bytes`, or where that is 0 an eighth of the
 * memory that there is, from EP_LIMIT_HTTP_BYTES_MIN to EP_LIMIT_HTTP_BYTES. */
int64_t ep_budget_http_bytes(int64_t limit_bytes);

/* EP_BUSY while others have them; EP_TOO_LARGE where there will never be as many. */
ep_status ep_budget_take(ep_budget *budget, int64_t bytes, ep_error *error);
/* Takes them though they may be more than there are: of what cannot be refused any more. */
void ep_budget_force(ep_budget *budget, int64_t bytes);
void ep_budget_give(ep_budget *budget, int64_t bytes);

#endif
