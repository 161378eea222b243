#include "kernels/plans/cpu_traits.h"

#include <string.h>

ep_cpu_traits ep_cpu_traits_of(const char *instruction_set, int threads) {
  ep_cpu_traits traits = {.threads = threads, .lanes = 16};
  if (strcmp(instruction_set, "baseline") == 0) traits.lanes = 4;
  if (strcmp(instruction_set, "avx2") == 0) traits.lanes = 8;
  traits.tiles = strcmp(instruction_set, "amx") == 0;
  return traits;
}
