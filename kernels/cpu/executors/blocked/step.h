/* step.h: a batch's way through the network of net.h, by a crew. */
#ifndef EP_KERNELS_CPU_EXECUTORS_BLOCKED_STEP_H
#define EP_KERNELS_CPU_EXECUTORS_BLOCKED_STEP_H

#include "kernels/cpu/executors/blocked/net.h"
#include "kernels/cpu/runtime/crew.h"

/* Rows of a split, as load_data takes them. */
typedef struct {
  const void *x, *y;
  int64_t rows;
} ep_blocked_data;

/* One step of training; `step` is counted from 0, since the start of training. */
void ep_blocked_train_step(ep_blocked_net *net, ep_crew *crew, const ep_blocked_data *data,
                           int64_t step, float lr, float *loss, int32_t *errors);

/* The network's output for all rows: to `output`, [rows, out_features], unless that is NULL; with
 * data->y the mean loss and the misclassified targets. EP_NO_MEMORY. */
ep_status ep_blocked_evaluate(ep_blocked_net *net, ep_crew *crew, const ep_blocked_data *data,
                              float *output, double *loss, int64_t *errors, ep_error *error);

#endif
