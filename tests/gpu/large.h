/* large.h: programs that are too much for cpu/reference: cuda/general, which is held to it, says
 * what is right. */
#ifndef EP_TESTS_GPU_LARGE_H
#define EP_TESTS_GPU_LARGE_H

#include "tests/unit/kernels/programs.h"

/* The caller destroys what it gets. */
int ep_gpu_large_count(void);
ep_case *ep_gpu_large_create(int number);

/* Products whose operands cuda/general packs, and batch_norms that it sums by slices of the rows,
 * for cpu/reference. */
int ep_packed_case_count(void);
ep_case *ep_packed_case_create(int number); /* the caller destroys it */

#endif
