/* handing_over.h: a relay that cannot reach epochd hands its job over to the relay of the job's
 * next attempt, by the shared folder (engine/handovers) and epochd's gateway. */
#ifndef EP_ENGINE_WORKER_RELAY_HANDING_OVER_H
#define EP_ENGINE_WORKER_RELAY_HANDING_OVER_H

#include "api/wire/frame.h"
#include "engine/worker/relay/folder.h"

/* Leaves the files of the folder's job, and the reports that are held. epochs_logged: as epochd
 * said when the attempt began. */
ep_status ep_relay_hand_over(const ep_relay_folder *folder, const ep_held *held, int attempt,
                             int64_t epochs_logged, ep_error *error);

/* Holds what an attempt before reported, as the worker's own, where the gateway has sent it: the
 * command's log has it then. *changed: so it was. The folder has begun the command's job. */
ep_status ep_relay_take_over(const ep_relay_folder *folder, ep_held *held, ep_command *train,
                             bool *changed, ep_error *error);

#endif
