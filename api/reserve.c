#include "api/reserve.h"

#include <stddef.h>

static _Thread_local struct {
  ep_reserve_call *call; /* NULL: nobody counts */
  void *context;
} counter;

void ep_reserve_begin(ep_reserve_call *call, void *context) {
  counter.call = call;
  counter.context = context;
}

ep_status ep_reserve(int64_t bytes, ep_error *error) {
  return counter.call ? counter.call(counter.context, bytes, error) : EP_OK;
}
