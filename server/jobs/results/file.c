#include <stdio.h>
#include <string.h>

#include "server/jobs/live/live.h"
#include "server/process/data_dir.h"
#include "server/process/id.h"
#include "server/process/log.h"

/* What messages call it. */
static const char *file_word(const char *file) {
  return strcmp(file, EP_WEIGHTS_FILE) == 0 ? "weights" : file;
}

ep_status ep_jobs_file(ep_jobs *jobs, const char *id, const char *file, char *path,
                       size_t path_bytes, ep_error *error) {
  char found[EP_PATH_BYTES];
  if (!ep_id_valid(id))
    return ep_fail(error, EP_NOT_FOUND, "there is no %s %.60s", ep_id_noun(id), id);
  if (ep_live_is(jobs, id))
    return ep_fail(error, EP_CONFLICT, "job %s has not ended, so it has no %s yet%s", id,
                   file_word(file),
                   strcmp(file, EP_WEIGHTS_FILE) == 0 ? ": ask for a checkpoint of it" : "");
  if (!ep_store_job_exists(jobs->store, id))
    return ep_fail(error, EP_NOT_FOUND, "there is no %s %s", ep_id_noun(id), id);
  ep_status status = ep_path_join(found, error, jobs->data_dir, "jobs", id, file, NULL);
  if (status != EP_OK) return status;
  if (!ep_data_dir_exists(found))
    return ep_fail(error, EP_NOT_FOUND, "job %s ended without %s", id, file_word(file));
  if (snprintf(path, path_bytes, "%s", found) >= (int)path_bytes)
    return ep_fail(error, EP_TOO_LARGE, "the path of %s is too long", file);
  return EP_OK;
}

void ep_jobs_note_file(ep_jobs *jobs, const char *id) {
  ep_error error = {0};
  if (jobs->retention.keep_bytes > 0 && ep_store_measure(jobs->store, id, -1, &error) != EP_OK)
    ep_log(EP_LOG_WARNING, "job %s: %s", id, error.message);
}
