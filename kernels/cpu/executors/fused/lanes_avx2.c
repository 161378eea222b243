/* lanes_avx2.c: cpu/fused with 8 samples a vector. Only run where ep_instruction_set allows it. */
#define EP_LANES 8
#include "kernels/cpu/executors/fused/variant.h"

const ep_fused_variant ep_fused_avx2 = {.name = "avx2", VARIANT_OPS};
