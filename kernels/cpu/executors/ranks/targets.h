/* targets.h: where a row's targets lie. */
#ifndef EP_KERNELS_CPU_EXECUTORS_RANKS_TARGETS_H
#define EP_KERNELS_CPU_EXECUTORS_RANKS_TARGETS_H

#include "kernels/cpu/executors/ranks/rank.h"

static inline const void *ep_target_at(const ep_program *program, const ep_ranks_data *data,
                                       int64_t row) {
  return (const char *)data->y + (size_t)row * (size_t)program->target_columns * sizeof(float);
}

#endif
