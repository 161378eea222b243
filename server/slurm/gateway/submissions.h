/* submissions.h: the gateway's dealings with Slurm: as many workers as epochd says, submitted,
 * looked after and cancelled. A thread of its own: Slurm's commands take seconds. */
#ifndef EP_SERVER_SLURM_GATEWAY_SUBMISSIONS_H
#define EP_SERVER_SLURM_GATEWAY_SUBMISSIONS_H

#include <stdbool.h>

#include "server/slurm/gateway/session.h"

typedef struct ep_submissions ep_submissions;

/* pin: of the certificate. Starts the thread, which ends with the gateway. */
ep_status ep_submissions_start(ep_gateway *gateway, const char *pin, ep_submissions **out,
                               ep_error *error);
/* There should be so many workers of the device, those that are there included; new ones with this.
 */
void ep_submissions_want(ep_submissions *submissions, const char *device, int count,
                         const ep_slurm_request *request);
/* Looks again: a ticket has changed. */
void ep_submissions_wake(ep_submissions *submissions);

#endif
