/* shared.h: what the gateway puts into the folder that nodes see too, each by the SHA-256 of its
 * content, once, and for readers alone. */
#ifndef EP_SERVER_SLURM_GATEWAY_SHARED_H
#define EP_SERVER_SLURM_GATEWAY_SHARED_H

#include "engine/files/file_copy.h"
#include "server/slurm/control/control.h"

/* Puts the worker's program and its plug-in of this machine into SHARED/programs/<sha256>, and has
 * the setup name the copies. */
ep_status ep_shared_put_program(ep_gateway_setup *setup, ep_error *error);

/* Puts "datasets/<sha256>" of the data folder there, unless it is there already. moves: told while
 * it is copied. Any thread. */
ep_status ep_shared_put_dataset(const ep_gateway_setup *setup, const char *name,
                                const ep_file_moves *moves, ep_error *error);

/* Removes data sets that the data folder does not have any more, and handovers that nobody takes up
 * (engine/handovers). starts: also what a gateway before
 * this one had begun. */
void ep_shared_trim(const ep_gateway_setup *setup, bool starts);

#endif
