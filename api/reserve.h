/* reserve.h: memory that a thread is about to take for a piece of work, where somebody counts it:
 * of a request, say, whose daemon has so many bytes for all. */
#ifndef EP_API_RESERVE_H
#define EP_API_RESERVE_H

#include <stdint.h>

#include "api/status.h"

/* Takes `bytes`, until the work ends; a negative number gives some back. error: NULL for text,
 * which grows as it is written. */
typedef ep_status ep_reserve_call(void *context, int64_t bytes, ep_error *error);

/* Whom this thread tells from now on; NULL: nobody. */
void ep_reserve_begin(ep_reserve_call *call, void *context);

/* Before an allocation of more than EP_LIMIT_UNRESERVED_BYTES. EP_OK where nobody counts; else
 * EP_BUSY or EP_TOO_LARGE, and then the memory is not to be allocated. */
ep_status ep_reserve(int64_t bytes, ep_error *error);

#endif
