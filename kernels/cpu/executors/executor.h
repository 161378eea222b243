/* executor.h: one way of running programs on the CPU, behind backend.h. */
#ifndef EP_KERNELS_CPU_EXECUTORS_EXECUTOR_H
#define EP_KERNELS_CPU_EXECUTORS_EXECUTOR_H

#include "kernels/backend.h"
#include "kernels/plans/profile.h"

/* The same slots as in backend.h, on the executor's own state. */
typedef struct {
  const ep_executor_profile *profile; /* which programs it takes */
  bool rows_apart;                    /* of ep_instance_info */
  ep_status (*create)(ep_backend *backend, const ep_program *program, void **out, ep_error *error);
  void (*destroy)(void *self);
  int64_t (*bytes)(const void *self);
  void (*ranks)(const void *self, ep_instance_info *out); /* fills `ranks`; NULL: it has one */
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

#endif
