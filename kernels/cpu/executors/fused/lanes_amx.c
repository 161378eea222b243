/* lanes_amx.c: cpu/fused with 16 samples a vector, and large layers on the matrix unit. Only run
 * where ep_instruction_set allows it.
 */
#define EP_LANES 16
#define EP_TILES 1
#include "kernels/cpu/executors/fused/variant.h"

const ep_fused_variant ep_fused_amx = {.name = "amx", .tiles = true, VARIANT_OPS};
