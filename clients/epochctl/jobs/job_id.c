#include "clients/epochctl/jobs/job_id.h"

#include <stdio.h>
#include <string.h>

#include "api/names.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/http/request.h"

#define JOBS "/v1/jobs/"
#define SWEEPS "/v1/sweeps/"

static bool is_plain(const char *text) {
  for (; *text; text++)
    if (!((*text >= 'a' && *text <= 'z') || (*text >= '0' && *text <= '9') || *text == '_'))
      return false;
  return true;
}

static ep_status id_find(ep_session *session, const char *list, const char *prefix,
                         const char *word, char id[EP_JOB_ID_BYTES], ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES];
  json_t *found = NULL;
  bool whole = strlen(word) == EP_JOB_ID_CHARACTERS && is_plain(word);
  if (whole && strncmp(word, prefix, EP_ID_PREFIX_BYTES) == 0) {
    snprintf(id, EP_JOB_ID_BYTES, "%s", word);
    return EP_OK;
  }
  ep_path_make(path, list, word, "");
  ep_status status = ep_http_get(session, path, &found, error);
  if (status != EP_OK) return status;
  const char *text = ep_json_text_at(found, "id");
  if (!*text || !is_plain(text) || strlen(text) >= EP_JOB_ID_BYTES)
    status = ep_fail(error, EP_INTERNAL, "the response to %s has no id", path);
  else
    snprintf(id, EP_JOB_ID_BYTES, "%s", text);
  json_decref(found);
  return status;
}

bool ep_submission_is_sweep(const char *word) {
  return strncmp(word, EP_SWEEP_PREFIX, EP_ID_PREFIX_BYTES) == 0 ||
         strncmp(word, EP_SWEEP_WORD, strlen(EP_SWEEP_WORD)) == 0;
}

ep_status ep_job_id_find(ep_session *session, const char *word, char id[EP_JOB_ID_BYTES],
                         ep_error *error) {
  return id_find(session, JOBS, EP_JOB_PREFIX, word, id, error);
}

ep_status ep_sweep_id_find(ep_session *session, const char *word, char id[EP_JOB_ID_BYTES],
                           ep_error *error) {
  return id_find(session, SWEEPS, EP_SWEEP_PREFIX, word, id, error);
}

ep_status ep_submission_id_find(ep_session *session, const char *word, char id[EP_JOB_ID_BYTES],
                                ep_error *error) {
  return ep_submission_is_sweep(word) ? ep_sweep_id_find(session, word, id, error)
                                      : ep_job_id_find(session, word, id, error);
}

void ep_submission_path(char path[EP_REQUEST_PATH_BYTES], const char *word, const char *after) {
  ep_path_make(path, ep_submission_is_sweep(word) ? SWEEPS : JOBS, word, after);
}
