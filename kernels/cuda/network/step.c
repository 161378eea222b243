/* step.c: a batch, its loss, and the training step: forward, loss, backward, update. */
#include "kernels/cuda/network/ahead.h"

ep_cuda_batch ep_cuda_network_batch(const ep_cuda_network *network, const void *x, const void *y,
                                    const int32_t *indices, bool training) {
  const ep_program *program = network->program;
  return (ep_cuda_batch){.train_rows = network->share.train_rows,
                         .batch_size = network->share.batch_size,
                         .first = network->slice_first,
                         .y_columns = program->target_columns,
                         .stored = program->stored,
                         .in = program->in,
                         .x_type = program->x_type,
                         .x_scale = network->x_scale,
                         .x_shift = network->x_shift,
                         .augment = program->augment,
                         .shuffle = program->shuffle &&
                                    network->share.batch_size < network->share.train_rows,
                         .seed = program->seed,
                         .x = x,
                         .y = y,
                         .indices = indices,
                         .batch_x = network->input,
                         .batch_y = training ? network->batch_y : NULL};
}

ep_status ep_cuda_network_take(ep_cuda_network *network, const void *x, const void *y,
                               const int32_t *indices, int64_t rows, bool training,
                               ep_error *error) {
  ep_cuda_batch batch = ep_cuda_network_batch(network, x, y, indices, training);
  EP_CUDA_TRY(ep_cuda_batch_take(network->stream, &batch, rows, training ? network->clock : NULL),
              "a batch");
  return EP_OK;
}

ep_status ep_cuda_network_load(ep_cuda_network *network, const void *from, int64_t rows, float *x,
                               ep_error *error) {
  ep_cuda_batch batch = ep_cuda_network_batch(network, from, NULL, NULL, false);
  batch.batch_x = x;
  EP_CUDA_TRY(ep_cuda_batch_take(network->stream, &batch, rows, NULL), "making numbers of bytes");
  return EP_OK;
}

static ep_status loss_run(ep_cuda_network *network, const float *output, const void *y,
                          int64_t rows, bool training, ep_error *error) {
  const ep_program *program = network->program;
  const bool whole = training && network->batch_rows == 0;
  ep_cuda_loss loss = {.type = program->loss,
                       .loss_parameter = program->loss_parameter,
                       .label_smoothing = program->label_smoothing,
                       .class_weights = network->class_weights,
                       .class_weights_sum = network->class_weights_sum,
                       .rows = rows,
                       .columns = program->out_features,
                       .output = output,
                       .y = y,
                       .grad = training ? network->grad : NULL,
                       .partials = network->partials,
                       .mean_rows = training ? network->batch_rows : 0,
                       .clock = whole ? network->clock : NULL,
                       .optimizer = program->optimizer,
                       .tally = whole ? NULL : network->tally};
  EP_CUDA_TRY(ep_cuda_loss_run(network->stream, &loss), "a loss");
  return EP_OK;
}

ep_status ep_cuda_network_tally(ep_cuda_network *network, const float *x, const void *y,
                                int64_t rows, ep_error *error) {
  const float *output;
  ep_status status = ep_cuda_network_forward(network, x, rows, false, &output, error);
  if (status != EP_OK) return status;
  return loss_run(network, output, y, rows, false, error);
}

ep_status ep_cuda_network_loss(ep_cuda_network *network, const float *output, const void *y,
                               int64_t rows, ep_error *error) {
  return loss_run(network, output, y, rows, true, error);
}

ep_cuda_update ep_cuda_network_update_of(const ep_cuda_network *network) {
  const ep_program *program = network->program;
  return (ep_cuda_update){.optimizer = program->optimizer,
                          .gradients = network->gradients,
                          .gradients_count = network->gradients_count,
                          .blocks = network->update_blocks,
                          .clock = network->clock,
                          .squares = network->squares,
                          .parameters = network->parameters,
                          .state = network->state,
                          .state_stride = program->parameters};
}

ep_status ep_cuda_network_update(ep_cuda_network *network, ep_error *error) {
  const ep_cuda_update update = ep_cuda_network_update_of(network);
  EP_CUDA_TRY(ep_cuda_optimizer_run(network->stream, &update), "the optimizer's step");
  return EP_OK;
}

/* The rows of the step at hand, or, `next`, of the one after it. */
static ep_cuda_batch batch_of(const ep_cuda_network *network, bool next) {
  ep_cuda_batch batch =
      ep_cuda_network_batch(network, network->train_x, network->train_y, NULL, true);
  batch.batch_x = ep_cuda_ahead_input(network, network->input, next);
  return batch;
}

ep_status ep_cuda_network_gradients(ep_cuda_network *network, int64_t rows, ep_error *error) {
  const ep_cuda_batch batch = batch_of(network, false), after = batch_of(network, true);
  const float *x = network->gathers ? batch.batch_x : network->train_x, *output;
  const void *y = network->gathers ? network->batch_y : network->train_y;
  ep_status status = EP_OK;
  if (network->gathers && network->resident)
    status = ep_cuda_ahead_await(network, &batch, rows, error);
  if (status == EP_OK) status = ep_cuda_network_forward(network, x, rows, true, &output, error);
  if (status == EP_OK) status = loss_run(network, output, y, rows, true, error);
  if (status == EP_OK) status = ep_cuda_ahead_queue(network, &after, error);
  return status == EP_OK ? ep_cuda_network_backward(network, x, rows, error) : status;
}
