/* The messages of webhooks: their bodies, and what came of them. */
#include "api/webhooks/message.h"

#include <stdlib.h>

#include "server/jobs/live/live.h"
#include "server/jobs/views/view.h"
#include "server/jobs/webhooks.h"
#include "server/process/id.h"
#include "server/store/deliveries.h"

/* The job or the sweep as in a list: without its spec, which may be long. */
static ep_status subject_format(ep_jobs *jobs, const char *id, char **text, ep_error *error) {
  ep_job_copy *copy = NULL;
  *text = NULL;
  ep_status status = ep_jobs_copy(jobs, id, &copy, error);
  if (status != EP_OK) return status;
  if (ep_id_is_sweep(id))
    status = ep_sweep_summary(jobs, copy, text, error);
  else if (!(*text = ep_job_summary_format(ep_job_copy_view(copy))))
    status = ep_fail_memory(error);
  ep_job_copy_destroy(copy);
  return status;
}

ep_status ep_webhook_body(void *context, const ep_delivery *delivery, char **text,
                          ep_error *error) {
  char *subject;
  *text = NULL;
  ep_status status = subject_format(context, delivery->job, &subject, error);
  if (status != EP_OK) return status;
  *text = ep_webhook_message_format(
      &(ep_webhook_message){.event = delivery->event,
                            .sweep = ep_id_is_sweep(delivery->job),
                            .time_us = delivery->created_us,
                            .subject = subject,
                            .best = delivery->details[0] ? delivery->details : NULL});
  free(subject);
  return *text ? EP_OK : ep_fail_memory(error);
}

ep_status ep_jobs_webhooks(ep_jobs *jobs, const char *id, char **text, ep_error *error) {
  enum { MOST = EP_LIMIT_WEBHOOKS * EP_WEBHOOK_COUNT };
  ep_webhook_view rows[MOST];
  int count = 0;
  *text = NULL;
  if (!ep_live_is(jobs, id) && !ep_store_job_exists(jobs->store, id))
    return ep_fail(error, EP_NOT_FOUND, "%s %.60s not found", ep_id_noun(id), id);
  ep_delivery *found = calloc(MOST, sizeof *found);
  if (!found) return ep_fail_memory(error);
  ep_status status = ep_store_deliveries_of(jobs->store, id, found, &count, error);
  for (int i = 0; i < count; i++)
    rows[i] = (ep_webhook_view){.id = found[i].id,
                                .url = found[i].url,
                                .event = found[i].event,
                                .delivered = found[i].delivered,
                                .attempts = found[i].attempts,
                                .status = found[i].status,
                                .fault = found[i].fault,
                                .created_us = found[i].created_us,
                                .due_us = found[i].due_us};
  if (status == EP_OK && !(*text = ep_webhooks_format(rows, count))) status = ep_fail_memory(error);
  free(found);
  return status;
}
