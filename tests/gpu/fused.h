/* fused.h: programs for cuda/fused: dense networks of narrow layers on many rows, in every
 * precision, at sizes that are no multiple of its tiles. */
#ifndef EP_TESTS_GPU_FUSED_H
#define EP_TESTS_GPU_FUSED_H

#include "tests/unit/kernels/programs.h"

int ep_fused_case_count(void);
ep_case *ep_fused_case_create(int number); /* the caller destroys it */

#endif
