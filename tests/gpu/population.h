/* population.h: populations held to cpu/reference, which trains each member alone. */
#ifndef EP_TESTS_GPU_POPULATION_H
#define EP_TESTS_GPU_POPULATION_H

#include "tests/unit/kernels/compare.h"

int ep_gpu_population_count(void);

typedef enum {
  EP_POPULATION_PASSED,
  EP_POPULATION_FAILED,
  EP_POPULATION_SKIPPED /* trained one by one */
} ep_population_outcome;

/* Trains population `number` in one call, in two, and with its members in another order, and
 * compares. name: [128], written. *worst: the largest difference from the reference. */
ep_population_outcome ep_gpu_population_try(const ep_subject *subject, const ep_subject *reference,
                                            int number, char *name, double *worst, FILE *log);

#endif
