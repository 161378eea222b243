#define EP_LANES 8
#include "kernels/cpu/executors/blocked/variant.h"

const ep_blocked_variant ep_blocked_avx2 = {VARIANT_OPS};
