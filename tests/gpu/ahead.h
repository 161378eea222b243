/* ahead.h: compiles the kernels of all cases beforehand, on all cores. The cases then run one after
 * the other and find their kernels in the cache on disk (kernels/cache/cache.h). */
#ifndef EP_TESTS_GPU_AHEAD_H
#define EP_TESTS_GPU_AHEAD_H

#include "tests/unit/kernels/compare.h"

/* cases: [count]. A case that does not compile is skipped. */
void ep_gpu_compile_ahead(const ep_subject *cuda, ep_case *const *cases, int count);

#endif
