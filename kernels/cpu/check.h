/* check.h: whether a program, and the data for it, fit together: looked at once for all executors,
 * which would write outside their arrays otherwise. */
#ifndef EP_KERNELS_CPU_CHECK_H
#define EP_KERNELS_CPU_CHECK_H

#include "api/status.h"
#include "kernels/program.h"

/* EP_INVALID. The plan makes no such program. */
ep_status ep_check_program(const ep_program *program, ep_error *error);

/* EP_DATA: a class that is no output of the network. y: as the backend's load_data takes it. */
ep_status ep_check_targets(const ep_program *program, const void *y, int64_t rows, ep_error *error);

/* EP_DATA: a number that an embedding has no row for. x: as load_data and predict take it. */
ep_status ep_check_inputs(const ep_program *program, const void *x, int64_t rows, ep_error *error);

#endif
