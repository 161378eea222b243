/* Which devices of this process have kernels that overlap. */
#include "kernels/cuda/layers/kernels.h"

static volatile bool can, cannot; /* some device; another one */

void ep_cuda_overlap_learn(int capability, int generation) {
  const int least = 90, version = 12030;
  int driver = 0;
  if (capability >= least && generation >= least && CUDART_VERSION >= version &&
      cudaDriverGetVersion(&driver) == cudaSuccess && driver >= version)
    can = true;
  else
    cannot = true;
}

bool ep_cuda_kernels_overlap(void) {
  return can && !cannot;
}
