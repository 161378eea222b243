#define EP_LANES 16
#include "kernels/cpu/executors/blocked/variant.h"

const ep_blocked_variant ep_blocked_avx512 = {VARIANT_OPS};
