/* helpers.h: workers without a job that train points of a sweep which another worker has. The
 * supervisor lends them, hands on what the two send to each other, and takes them back: for a job
 * that waits at once. To all but this file a helper is an idle worker. From the supervisor's thread
 * alone. */
#ifndef EP_SERVER_WORKERS_HELPERS_H
#define EP_SERVER_WORKERS_HELPERS_H

#include "server/workers/state.h"

/* Lends idle workers to sweeps that want more, and tells the sweeps' workers what they have. */
void ep_helpers_lend(ep_supervisor *supervisor);

/* The worker of a sweep says how many helpers it has work for. */
void ep_helpers_want(ep_supervisor *supervisor, ep_supervised *leader, int wanted);
/* A helper says that it can help no more, or the worker of the sweep says that of a helper. */
void ep_helpers_refuse(ep_supervisor *supervisor, ep_supervised *from, const ep_reply *reply);

/* A frame of points or results. false: the other one has not read enough: offered again.
 * EP_MALFORMED where it is none. */
bool ep_helpers_take(ep_supervisor *supervisor, ep_supervised *worker, ep_frame_kind kind,
                     const uint8_t *payload, size_t bytes, ep_status *status, ep_error *error);

/* The worker helps nobody any more. tell: it is told so; else it has ended, or gets a job, which
 * tells it too. Nothing where it is no helper. */
void ep_helpers_end(ep_supervisor *supervisor, ep_supervised *helper, bool tell);
/* The worker's sweep has ended or left it: its helpers are free. */
void ep_helpers_free(ep_supervisor *supervisor, ep_supervised *leader);
/* The GPU is another job's. */
void ep_helpers_leave_gpu(ep_supervisor *supervisor, int gpu);

#endif
