#include "server/jobs/files/events.h"
#include "server/jobs/live/live.h"
#include "server/process/id.h"

ep_status ep_jobs_retain_log(ep_jobs *jobs, const char *id, ep_event_log **out, ep_error *error) {
  ep_job_row row;
  *out = NULL;
  if (!ep_id_valid(id))
    return ep_fail(error, EP_NOT_FOUND, "%s %.60s not found", ep_id_noun(id), id);
  if (ep_live_is(jobs, id)) return ep_open_logs_retain(&jobs->logs, id, out, error);
  ep_status status = ep_store_job_get(jobs->store, id, &row, error);
  if (status != EP_OK) return status;
  status = ep_open_logs_retain(&jobs->logs, id, out, error);
  if (status == EP_OK && ep_state_has_ended(row.state)) {
    status = ep_job_end_append(&row, *out, error);
    if (status != EP_OK) {
      ep_open_logs_release(&jobs->logs, *out);
      *out = NULL;
    }
  }
  ep_job_row_deinit(&row);
  return status;
}

void ep_jobs_release_log(ep_jobs *jobs, ep_event_log *log) {
  ep_open_logs_release(&jobs->logs, log);
}

int64_t ep_jobs_open_logs(ep_jobs *jobs) {
  return ep_open_logs_count(&jobs->logs);
}
