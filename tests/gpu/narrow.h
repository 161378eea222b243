/* narrow.h: dense networks of narrow layers on many rows, each in every precision: what cuda/fused
 * is for, at sizes that fit no piece. */
#ifndef EP_TESTS_GPU_NARROW_H
#define EP_TESTS_GPU_NARROW_H

#include "tests/unit/kernels/programs.h"

int ep_narrow_case_count(void);
ep_case *ep_narrow_case_create(int number); /* the caller destroys it */

#endif
