/* cpu/blocked: every program at a speed one can use: matrix products by a library, the rows of a
 * batch on all processors; blocked.h says how. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/executors/blocked/plan.h"
#include "kernels/cpu/executors/blocked/product.h"
#include "kernels/cpu/executors/blocked/step.h"
#include "kernels/cpu/executors/executor.h"

typedef struct {
  ep_blocked_net net;
  ep_crew *crew;
  ep_blocked_data data[EP_SPLIT_COUNT]; /* lent */
} blocked;

static const ep_blocked_variant *variant_find(ep_instruction_set instruction_set) {
#ifdef EP_BLOCKED_X86
  if (instruction_set >= EP_CPU_AVX512) return &ep_blocked_avx512;
  if (instruction_set >= EP_CPU_AVX2) return &ep_blocked_avx2;
#else
  (void)instruction_set;
#endif
  return &ep_blocked_baseline;
}

static void blocked_destroy(void *self) {
  blocked *executor = self;
  if (!executor) return;
  ep_crew_destroy(executor->crew);
  ep_blocked_net_deinit(&executor->net);
  free(executor);
}

static ep_status blocked_create(ep_backend *backend, const ep_program *program, void **out,
                                ep_error *error) {
  int members = backend->threads < EP_CREW_MOST ? backend->threads : EP_CREW_MOST;
  blocked *self = calloc(1, sizeof *self);
  if (!self) return ep_fail(error, EP_NO_MEMORY, "no memory for an executor");
  ep_product_prepare();
  ep_status status = ep_blocked_net_init(&self->net, program,
                                         variant_find(backend->instruction_set), members, error);
  if (status == EP_OK) status = ep_crew_create(members, &self->crew, error);
  if (status != EP_OK) {
    blocked_destroy(self);
    return status;
  }
  *out = self;
  return EP_OK;
}

static int64_t blocked_bytes(const void *self) {
  const blocked *executor = self;
  return (int64_t)sizeof *executor + executor->net.bytes;
}

static ep_status blocked_load_data(void *self, ep_split split, const void *x, const void *y,
                                   int64_t rows, ep_error *error) {
  (void)error;
  ((blocked *)self)->data[split] = (ep_blocked_data){x, y, rows};
  return EP_OK;
}

static ep_status blocked_train_segment(void *self, const ep_segment *segment, ep_error *error) {
  (void)error;
  blocked *executor = self;
  for (int64_t i = 0; i < segment->steps; i++)
    ep_blocked_train_step(&executor->net, executor->crew, &executor->data[EP_SPLIT_TRAIN],
                          segment->first_step + i, segment->lr[segment->lr_count == 1 ? 0 : i],
                          &segment->loss[i], &segment->errors[i]);
  return EP_OK;
}

static ep_status blocked_evaluate(void *self, ep_split split, double *loss, int64_t *errors,
                                  ep_error *error) {
  blocked *executor = self;
  return ep_blocked_evaluate(&executor->net, executor->crew, &executor->data[split], NULL, loss,
                             errors, error);
}

static ep_status blocked_predict(void *self, const void *x, int64_t rows, float *output,
                                 ep_error *error) {
  blocked *executor = self;
  const ep_blocked_data data = {.x = x, .rows = rows};
  return ep_blocked_evaluate(&executor->net, executor->crew, &data, output, NULL, NULL, error);
}

static ep_status blocked_export_state(void *self, float *parameters, float *optimizer,
                                      ep_error *error) {
  (void)error;
  const ep_blocked_net *net = &((blocked *)self)->net;
  const int64_t floats = ep_program_state_floats(net->program);
  memcpy(parameters, net->state, (size_t)floats * sizeof *parameters);
  if (optimizer)
    memcpy(optimizer, net->state + floats,
           (size_t)net->program->optimizer_floats * sizeof *optimizer);
  return EP_OK;
}

/* Without an optimizer's state it starts from zero. */
static ep_status blocked_import_state(void *self, const float *parameters, const float *optimizer,
                                      ep_error *error) {
  (void)error;
  const ep_blocked_net *net = &((blocked *)self)->net;
  const int64_t floats = ep_program_state_floats(net->program);
  const size_t bytes = (size_t)net->program->optimizer_floats * sizeof *optimizer;
  memcpy(net->state, parameters, (size_t)floats * sizeof *parameters);
  if (optimizer)
    memcpy(net->state + floats, optimizer, bytes);
  else
    memset(net->state + floats, 0, bytes);
  return EP_OK;
}

static ep_status blocked_snapshot(void *self, ep_error *error) {
  ep_blocked_net *net = &((blocked *)self)->net;
  const size_t bytes = (size_t)net->state_floats * sizeof *net->state;
  if (!net->kept_state) {
    net->kept_state = malloc(bytes > 0 ? bytes : 1);
    if (!net->kept_state)
      return ep_fail(error, EP_NO_MEMORY, "no memory for a snapshot of the state");
    net->bytes += (int64_t)bytes;
  }
  memcpy(net->kept_state, net->state, bytes);
  return EP_OK;
}

static ep_status blocked_rollback(void *self, ep_error *error) {
  const ep_blocked_net *net = &((blocked *)self)->net;
  if (!net->kept_state) return ep_fail(error, EP_CONFLICT, "no snapshot to restore");
  memcpy(net->state, net->kept_state, (size_t)net->state_floats * sizeof *net->state);
  return EP_OK;
}

const ep_executor ep_cpu_blocked = {.profile = &ep_cpu_blocked_profile,
                                    .create = blocked_create,
                                    .destroy = blocked_destroy,
                                    .bytes = blocked_bytes,
                                    .load_data = blocked_load_data,
                                    .train_segment = blocked_train_segment,
                                    .evaluate = blocked_evaluate,
                                    .predict = blocked_predict,
                                    .export_state = blocked_export_state,
                                    .import_state = blocked_import_state,
                                    .snapshot = blocked_snapshot,
                                    .rollback = blocked_rollback};
