/* listener.h: the socket that workers of Slurm connect to. epochd has it, so it outlives gateways.
 */
#ifndef EP_SERVER_SLURM_CONTROL_LISTENER_H
#define EP_SERVER_SLURM_CONTROL_LISTENER_H

#include <stddef.h>

#include "api/status.h"

/* address: "10.0.0.1:8081", "[fd00::1]:8081", "head:8081"; port 0 takes a free one. reached:
 * [bytes], the address with the port that was taken. *listener is the caller's. */
ep_status ep_slurm_listen(const char *address, int *listener, char *reached, size_t bytes,
                          ep_error *error);

#endif
