/* executor.h: for those who write a backend: one way of running programs, behind backend.h.
 *
 * A backend keeps a table of executors, the most special first, and takes the first whose
 * capabilities cover what the program needs and whose `accepts` agrees. The last one accepts
 * everything. */
#ifndef EP_KERNELS_EXECUTOR_H
#define EP_KERNELS_EXECUTOR_H

#include "kernels/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a program needs and an executor can do: one bit a layer type, loss and optimizer. */
typedef struct {
  uint64_t layers;     /* 1 << ep_layer_type */
  uint32_t losses;     /* 1 << ep_loss_type */
  uint32_t optimizers; /* 1 << ep_optimizer_type */
} ep_capabilities;

#define EP_CAPABLE_OF_ALL ((ep_capabilities){~UINT64_C(0), ~UINT32_C(0), ~UINT32_C(0)})

static inline ep_capabilities ep_program_needs(const ep_program *program) {
  ep_capabilities needs = {0, UINT32_C(1) << program->loss, UINT32_C(1) << program->optimizer.type};
  for (int i = 0; i < program->ops_count; i++) needs.layers |= UINT64_C(1) << program->ops[i].type;
  return needs;
}

static inline bool ep_capabilities_cover(ep_capabilities can, ep_capabilities needs) {
  return (needs.layers & ~can.layers) == 0 && (needs.losses & ~can.losses) == 0 &&
         (needs.optimizers & ~can.optimizers) == 0;
}

/* The same slots as in backend.h, on the executor's own state. */
typedef struct ep_executor {
  const char *name;
  ep_capabilities capabilities;
  bool (*accepts)(const ep_backend *backend, const ep_program *program); /* size, fit */
  ep_status (*create)(ep_backend *backend, const ep_program *program, void **out, ep_error *error);
  void (*destroy)(void *self);
  int64_t (*bytes)(const void *self);
  ep_status (*load_data)(void *self, ep_split split, const void *x, const void *y, int64_t rows,
                         ep_error *error);
  ep_status (*train_segment)(void *self, const ep_segment *segment, ep_error *error);
  ep_status (*evaluate)(void *self, ep_split split, double *loss, int64_t *errors, ep_error *error);
  ep_status (*predict)(void *self, const void *x, int64_t rows, float *output, ep_error *error);
  ep_status (*export_state)(void *self, float *parameters, float *optimizer, ep_error *error);
  ep_status (*import_state)(void *self, const float *parameters, const float *optimizer,
                            ep_error *error);
  ep_status (*snapshot)(void *self, ep_error *error);
  ep_status (*rollback)(void *self, ep_error *error);
} ep_executor;

#ifdef __cplusplus
}
#endif
#endif
