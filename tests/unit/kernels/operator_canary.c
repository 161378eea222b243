/* An operator that lacks one of its facts does not compile: LACKS says which, 0 none. */
#include "kernels/operators/operator.h"

#if LACKS == 0
EP_OPERATOR(CANARY, ep_fits_same_shape, EP_NO_PARAMETERS, EP_WORK(false, ep_operations_each, 1),
            EP_MEMORY(NOTHING, EACH, NOTHING));
#elif LACKS == 1 /* whether its shapes agree */
EP_OPERATOR(CANARY, EP_NO_PARAMETERS, EP_WORK(false, ep_operations_each, 1),
            EP_MEMORY(NOTHING, EACH, NOTHING));
#elif LACKS == 2 /* its parameters */
EP_OPERATOR(CANARY, ep_fits_same_shape, EP_WORK(false, ep_operations_each, 1),
            EP_MEMORY(NOTHING, EACH, NOTHING));
#elif LACKS == 3 /* its bias alone */
EP_OPERATOR(CANARY, ep_fits_same_shape, EP_PARAMETERS(ep_shape_none, ONES, false),
            EP_WORK(false, ep_operations_each, 1), EP_MEMORY(NOTHING, EACH, NOTHING));
#elif LACKS == 4 /* what it costs */
EP_OPERATOR(CANARY, ep_fits_same_shape, EP_NO_PARAMETERS, EP_WORK(false, ep_operations_each),
            EP_MEMORY(NOTHING, EACH, NOTHING));
#elif LACKS == 5 /* what the backward pass reads */
EP_OPERATOR(CANARY, ep_fits_same_shape, EP_NO_PARAMETERS, EP_WORK(false, ep_operations_each, 1),
            EP_MEMORY(EACH, NOTHING));
#elif LACKS == 6 /* what it does to memory */
EP_OPERATOR(CANARY, ep_fits_same_shape, EP_NO_PARAMETERS, EP_WORK(false, ep_operations_each, 1));
#endif
