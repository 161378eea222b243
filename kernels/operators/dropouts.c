#include "kernels/operators/operator.h"

EP_OPERATOR(DROPOUT, ep_fits_same_shape, EP_NO_PARAMETERS, EP_WORK(false, ep_operations_each, 1),
            EP_MEMORY(NOTHING, EACH, MASK));

EP_OPERATOR(DROPOUT2D, ep_fits_same_shape, EP_NO_PARAMETERS, EP_WORK(false, ep_operations_each, 1),
            EP_MEMORY(NOTHING, EACH, CHANNEL_MASK));
