#include "api/wire/explosion.h"

#include <stdio.h>

void ep_explosion_format(const ep_progress_record *record, char out[EP_MESSAGE_BYTES]) {
  snprintf(out, EP_MESSAGE_BYTES,
           "the loss rose from %.3g to %.3g by epoch %lld and keeps rising: try a learning rate of "
           "%.3g, or \"clip\": {\"norm\": 1}",
           record->lowest_loss, record->loss, (long long)record->epoch, record->lr / 10);
}
