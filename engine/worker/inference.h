/* inference.h: predictions of a trained job for new rows, from its weights file, on the CPU. */
#ifndef EP_ENGINE_WORKER_INFERENCE_H
#define EP_ENGINE_WORKER_INFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/status.h"

/* Holds the network that was asked last, up to EP_LIMIT_HELD_MODEL_BYTES of weights, so that one
 * that is asked again and again is read once. For one thread. */
typedef struct ep_predictor ep_predictor;

ep_status ep_predictor_create(ep_predictor **out, ep_error *error);
void ep_predictor_destroy(ep_predictor *predictor); /* NULL is allowed */

/* Reads the weights at `weights` unless they are held. *joins: how many rows of several requests
 * may be answered by one call, where each has the bits that it would have alone: as many as
 * EP_LIMIT_PREDICT_BYTES of output have; 0: none. checkpoint, sha256: as below. */
ep_status ep_predictor_hold(ep_predictor *predictor, const char *weights, bool checkpoint,
                            const char *sha256, int64_t *joins, ep_error *error);

/* x: [rows, columns] in the units of the data; of a table that was encoded: all its columns but the
 * target, a category's as the number of its word, a date's in seconds since 1970. windows:
 * 1, or, of a series, how many examples a row of x has, each a row of the table after the one
 * before: such a row has all cells of window.length + windows - 1 successive rows of the table, and
 * *output_columns is as many times that of one example; a target that is NaN is what was predicted
 * of it, where it was. *output: [rows, *output_columns], the network's output with the scaling of y
 * undone; owned by the caller. EP_TOO_LARGE: more numbers than EP_LIMIT_PREDICT_BYTES; EP_DAMAGED:
 * the weights' SHA-256 is not `sha256` ("": any is right). weights: the file's path; checkpoint: it
 * is one, which has its own hash. Weights that were replaced since are read anew. */
ep_status ep_predictor_answer(ep_predictor *predictor, const char *weights, bool checkpoint,
                              const char *sha256, const double *x, int64_t rows, int64_t columns,
                              int64_t windows, double **output, int64_t *output_columns,
                              ep_error *error);

#endif
