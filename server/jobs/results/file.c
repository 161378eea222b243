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

/* Why a result is not there: the job left none, or it was lost. */
static ep_status missing_explain(ep_jobs *jobs, const char *id, const char *file, ep_error *error) {
  ep_job_copy *copy = NULL;
  ep_status status = ep_jobs_copy(jobs, id, &copy, error);
  if (status != EP_OK) return status;
  const ep_job_result *result = ep_job_copy_view(copy)->result;
  const char *sha256 = "";
  if (result && strcmp(file, EP_WEIGHTS_FILE) == 0) sha256 = result->weights_sha256;
  if (result && strcmp(file, EP_PREDICTIONS_JSON_FILE) == 0)
    sha256 = result->predictions_json_sha256;
  if (result && strcmp(file, EP_PREDICTIONS_CSV_FILE) == 0) sha256 = result->predictions_csv_sha256;
  status = sha256[0] ? ep_fail(error, EP_DAMAGED,
                               "jobs/%s/%s is missing: submit the job's spec again, which computes "
                               "the same bytes",
                               id, file)
                     : ep_fail(error, EP_NOT_FOUND, "job %s ended without %s", id, file_word(file));
  ep_job_copy_destroy(copy);
  return status;
}

ep_status ep_jobs_file(ep_jobs *jobs, const char *id, const char *file, char *path,
                       size_t path_bytes, ep_error *error) {
  char found[EP_PATH_BYTES];
  if (!ep_id_valid(id))
    return ep_fail(error, EP_NOT_FOUND, "%s %.60s not found", ep_id_noun(id), id);
  if (ep_live_is(jobs, id))
    return ep_fail(error, EP_CONFLICT, "job %s has not ended, so it has no %s yet%s", id,
                   file_word(file),
                   strcmp(file, EP_WEIGHTS_FILE) == 0 ? ": use one of its checkpoints" : "");
  if (!ep_store_job_exists(jobs->store, id))
    return ep_fail(error, EP_NOT_FOUND, "%s %s not found", ep_id_noun(id), id);
  ep_status status = ep_path_join(found, error, jobs->data_dir, "jobs", id, file, NULL);
  if (status != EP_OK) return status;
  if (!ep_data_dir_exists(found)) return missing_explain(jobs, id, file, error);
  if (snprintf(path, path_bytes, "%s", found) >= (int)path_bytes)
    return ep_fail(error, EP_TOO_LARGE, "the path of %s is too long", file);
  return EP_OK;
}

void ep_jobs_note_file(ep_jobs *jobs, const char *id) {
  ep_error error = {0};
  if (jobs->retention.keep_bytes > 0 && ep_store_measure(jobs->store, id, -1, &error) != EP_OK)
    ep_log(EP_LOG_WARNING, "job %s: %s", id, error.message);
}
