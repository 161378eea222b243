#define EP_LANES 4
#include "kernels/cpu/executors/blocked/variant.h"

const ep_blocked_variant ep_blocked_baseline = {VARIANT_OPS};
