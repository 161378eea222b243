/* ahead.h: what cases need compiled, by as many threads as there are cores, before they are tried
 * one after the other: they find it in the cache on disk (kernels/cuda/runtime/cache.h). */
#ifndef EP_TESTS_GPU_AHEAD_H
#define EP_TESTS_GPU_AHEAD_H

#include "tests/unit/kernels/compare.h"

/* cases: [count]. What cannot be compiled is passed over. */
void ep_gpu_compile_ahead(const ep_subject *cuda, ep_case *const *cases, int count);

#endif
