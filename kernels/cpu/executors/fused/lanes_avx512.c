/* lanes_avx512.c: cpu/fused with 16 samples a vector. Only run where ep_instruction_set allows it.
 */
#define EP_LANES 16
#include "kernels/cpu/executors/fused/variant.h"

const ep_fused_variant ep_fused_avx512 = {.name = "avx512", VARIANT_OPS};
