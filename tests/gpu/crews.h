/* crews.h: programs that are hard for cuda/crews. */
#ifndef EP_TESTS_GPU_CREWS_H
#define EP_TESTS_GPU_CREWS_H

#include "tests/unit/kernels/programs.h"

int ep_crews_case_count(void);
/* The caller destroys what it gets. */
ep_case *ep_crews_case_create(int number);

#endif
