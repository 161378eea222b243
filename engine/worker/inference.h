/* inference.h: predictions of a trained job for new rows, from its weights file, on the CPU. */
#ifndef EP_ENGINE_WORKER_INFERENCE_H
#define EP_ENGINE_WORKER_INFERENCE_H

#include <stdint.h>

#include "api/status.h"

/* x: [rows, columns] in the units of the data. *output: [rows, *output_columns], the network's
 * output with the scaling of y undone; owned by the caller. EP_TOO_LARGE: more numbers than
 * EP_LIMIT_PREDICT_BYTES. */
ep_status ep_infer(const char *job_folder, const double *x, int64_t rows, int64_t columns,
                   double **output, int64_t *output_columns, ep_error *error);

#endif
