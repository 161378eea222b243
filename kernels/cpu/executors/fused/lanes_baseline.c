/* lanes_baseline.c: cpu/fused with 4 samples a vector. Only run where ep_instruction_set allows it.
 */
#define EP_LANES 4
#include "kernels/cpu/executors/fused/variant.h"

const ep_fused_variant ep_fused_baseline = {.name = "baseline", VARIANT_OPS};
