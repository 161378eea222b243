/* checkpoints.h: GET /v1/jobs/{id}/checkpoints. */
#ifndef EP_API_RESPONSES_CHECKPOINTS_H
#define EP_API_RESPONSES_CHECKPOINTS_H

#include <stdint.h>

#include "api/names.h"

typedef struct {
  int64_t step, epoch, epochs; /* optimizer steps and whole epochs done; epochs of the job */
  double train_seconds;
  double loss; /* of the last whole epoch; NaN = none */
  int64_t created_us, bytes;
  char executor[EP_EXECUTOR_BYTES];
  char weights_sha256[EP_SHA256_HEX_BYTES];
  int64_t weights_bytes;
} ep_checkpoint_view;

/* {"object":"list","data":[…]}. The caller owns the text (free); NULL when memory is short. */
char *ep_checkpoints_format(const char *job, const ep_checkpoint_view *rows, int64_t count);

#endif
