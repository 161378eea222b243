/* behind.h: programs whose linear layers have a norm, an activation and a dropout behind them, or
 * some of these. */
#ifndef EP_TESTS_GPU_BEHIND_H
#define EP_TESTS_GPU_BEHIND_H

#include "tests/unit/kernels/programs.h"

int ep_behind_case_count(void);
ep_case *ep_behind_case_create(int number); /* the caller destroys it */

#endif
