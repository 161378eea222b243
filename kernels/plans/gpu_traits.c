#include "kernels/plans/gpu_traits.h"

unsigned ep_gpu_features(int capability) {
  unsigned features = 0;
  if (capability >= 80) features |= EP_GPU_AMPERE;
  if (capability >= 90) features |= EP_GPU_CLUSTERS;
  if (capability >= 90 && capability < 120) features |= EP_GPU_LARGE_BLOCKS;
  if (capability == 90) features |= EP_GPU_WGMMA;
  return features;
}

int64_t ep_gpu_shared_bytes(int capability) {
  const int64_t declared = 1024;
  if (ep_gpu_features(capability) & EP_GPU_LARGE_BLOCKS) return EP_GPU_LARGE_BLOCK_BYTES - declared;
  if (capability < 80) return (capability < 75 ? 98304 : 65536) - declared;
  return (capability == 80 || capability == 87 ? 166912 : 101376) - declared;
}

ep_gpu_traits ep_gpu_traits_of(const char *instruction_set, int multiprocessors) {
  const int usual_capability = 90, usual_multiprocessors = 132;
  int number = 0;
  for (const char *at = instruction_set; *at; at++)
    if (*at >= '0' && *at <= '9') number = number * 10 + (*at - '0');
  const int capability = number > 0 ? number : usual_capability;
  return (ep_gpu_traits){.capability = capability,
                         .generation = capability,
                         .multiprocessors =
                             multiprocessors > 0 ? multiprocessors : usual_multiprocessors};
}
