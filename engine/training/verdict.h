/* verdict.h: whether a training that ended without a fault came to anything. */
#ifndef EP_ENGINE_TRAINING_VERDICT_H
#define EP_ENGINE_TRAINING_VERDICT_H

#include "api/wire/result.h"
#include "engine/data/datasets/dataset.h"
#include "kernels/program.h"

/* What a network that gives all rows one answer may need, behind "try ". */
#define EP_CONSTANT_REMEDY                                                                  \
  "another learning rate, standardized columns, fewer layers, batch_norm between them, or " \
  "leaky_relu instead of relu or sigmoid"

/* The split by which a training is judged: test, else validation, else train. */
typedef struct {
  const ep_split_metrics *metrics; /* lent; NULL: the split has too few rows to say anything */
  const char *name;                /* "test", "validation", "training" */
} ep_judged_split;

ep_judged_split ep_result_judged(const ep_job_result *result);

/* What the simplest answer scores on the rows of these metrics, which are there. classes: their
 * words; NULL: they are numbers. */
ep_baseline ep_result_baseline(const ep_split_metrics *metrics, const ep_words *classes);

/* A sentence that says what to change, or "": the network is no better than the mean of the targets
 * or the commonest class, says one class of all rows, or has a greater loss than the shares of the
 * classes as its answer. Of the program its loss and that one's fields. */
void ep_result_verdict(const ep_job_result *result, const ep_program *program,
                       char out[EP_MESSAGE_BYTES]);

#endif
