/* random_nets.h: randomly generated dense networks: layers, norms, dropouts, losses, optimizers,
 * batches. The same number gives the same network on every machine. */
#ifndef EP_TESTS_KERNELS_RANDOM_NETS_H
#define EP_TESTS_KERNELS_RANDOM_NETS_H

#include "tests/unit/kernels/compare.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int widest;     /* features of a layer, of the input and of the output */
  int layers_max; /* linear ones */
  int batch_max;
  int steps;
  int words; /* of an embedding, with which half of them begin; 0: none does */
  bool only_planned;
} ep_random_net_limits;

/* What it may differ by from the reference, at its precision (ep_case_tolerance). */
double ep_random_net_tolerance(const ep_subject *reference, const ep_case *test, FILE *log);

/* The caller destroys it with ep_case_destroy. */
ep_case *ep_random_net_create(uint64_t number, const ep_random_net_limits *limits,
                              ep_precision precision);

#ifdef __cplusplus
}
#endif
#endif
