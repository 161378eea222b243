#include "kernels/formulas/activations.h"
#include "kernels/operators/operator.h"

#define ACTIVATION(code, value, derivative, reads, cost)  \
  EP_OPERATOR(code, ep_fits_same_shape, EP_NO_PARAMETERS, \
              EP_WORK(false, ep_operations_each, cost), EP_MEMORY(reads, EACH, NOTHING));
EP_ACTIVATIONS(ACTIVATION)

EP_OPERATOR(SOFTMAX, ep_fits_same_shape, EP_NO_PARAMETERS, EP_WORK(false, ep_operations_each, 4),
            EP_MEMORY(OUTPUT, ROWS, NOTHING));
EP_OPERATOR(LOG_SOFTMAX, ep_fits_same_shape, EP_NO_PARAMETERS,
            EP_WORK(false, ep_operations_each, 4), EP_MEMORY(OUTPUT, ROWS, NOTHING));
