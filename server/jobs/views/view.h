/* view.h: a job as it is shown: its row, and over it what memory knows of a live job. */
#ifndef EP_SERVER_JOBS_VIEWS_VIEW_H
#define EP_SERVER_JOBS_VIEWS_VIEW_H

#include "server/jobs/live/state.h"

/* Of a live job; for any other `live` is false. */
typedef struct {
  bool live, stranded;
  int crashes; /* of epochd, for which it is paused */
  ep_state state;
  uint64_t version;
  int64_t position, epoch, started_us;
  double eta_seconds;
  int attempt;
  int workers; /* that train it now */
  char device[EP_DEVICE_ID_BYTES], executor[EP_EXECUTOR_BYTES];
  char reason[EP_WAIT_REASON_BYTES]; /* of a partition's workers; "" = none */
} ep_live_view;

void ep_live_view_read(ep_jobs *jobs, const char *id, ep_live_view *view);

/* The job as JSON text, the caller's; NULL: memory is short. summary: without spec and long
 * metrics. */
char *ep_job_row_format(const char *data_dir, const ep_job_row *row, const ep_live_view *live,
                        bool summary);

/* webhooks.c: the body of a message (server/webhooks/webhooks.h). context: the ep_jobs. */
ep_webhooks_body ep_webhook_body;

/* sweep.c: a sweep as in a list, the caller's. */
ep_status ep_sweep_summary(ep_jobs *jobs, const ep_job_copy *copy, char **text, ep_error *error);

#endif
