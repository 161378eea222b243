#include "clients/epochctl/jobs/job_id.h"

#include <stdio.h>
#include <string.h>

#include "api/names.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/http/request.h"

enum { SHOWN_IDS = 4 };

/* What has ids. */
typedef struct {
  const char *prefix, *noun;
  const char *newest, *all; /* paths of lists */
  const char *list, *how;   /* the commands that list them, and make one */
} kind;

static const kind JOBS = {EP_JOB_PREFIX,
                          "job",
                          "/v1/jobs?limit=1&view=summary",
                          "/v1/jobs?limit=1000&view=summary",
                          "ls",
                          "epochctl run FILE submits one"};
static const kind SWEEPS = {EP_SWEEP_PREFIX,      "sweep",
                            "/v1/sweeps?limit=1", "/v1/sweeps?limit=1000",
                            "sweeps ls",          "epochctl sweep FILE submits one"};

/* The ids that fit a word. */
typedef struct {
  const kind *of;
  const char *word;
  char id[EP_JOB_ID_BYTES];
  char shown[SHOWN_IDS * EP_JOB_ID_BYTES]; /* the first of them */
  int count;
} search;

static bool is_plain(const char *text) {
  for (; *text; text++)
    if (!((*text >= 'a' && *text <= 'z') || (*text >= '0' && *text <= '9') || *text == '_'))
      return false;
  return true;
}

static bool is_start_or_end(const char *id, const char *word) {
  size_t bytes = strlen(word), length = strlen(id);
  return strncmp(id, word, bytes) == 0 ||
         (length > EP_ID_PREFIX_BYTES && strncmp(id + EP_ID_PREFIX_BYTES, word, bytes) == 0) ||
         (length >= bytes && strcmp(id + length - bytes, word) == 0);
}

static void page_search(search *found, const json_t *page) {
  const json_t *item;
  size_t index;
  json_array_foreach(ep_json_at(page, "data"), index, item) {
    const char *id = ep_json_text_at(item, "id");
    if (strlen(id) >= EP_JOB_ID_BYTES || !is_plain(id) || !is_start_or_end(id, found->word))
      continue;
    size_t used = strlen(found->shown);
    if (found->count < SHOWN_IDS)
      snprintf(found->shown + used, sizeof found->shown - used, "%s%s", used ? ", " : "", id);
    snprintf(found->id, sizeof found->id, "%s", id);
    found->count++;
  }
}

static ep_status last_find(ep_session *session, const kind *of, char id[EP_JOB_ID_BYTES],
                           ep_error *error) {
  json_t *page = NULL;
  ep_status status = ep_http_get(session, of->newest, &page, error);
  if (status != EP_OK) return status;
  const char *newest = ep_json_text_at(json_array_get(ep_json_at(page, "data"), 0), "id");
  if (!*newest || !is_plain(newest) || strlen(newest) >= EP_JOB_ID_BYTES)
    status = ep_fail(error, EP_NOT_FOUND, "there is no %s yet; %s", of->noun, of->how);
  else
    snprintf(id, EP_JOB_ID_BYTES, "%s", newest);
  json_decref(page);
  return status;
}

static ep_status pages_search(ep_session *session, search *found, ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES];
  bool more = true;
  snprintf(path, sizeof path, "%s", found->of->all);
  for (int i = 0; i < EP_LIMIT_CLIENT_PAGES && more; i++) {
    json_t *page = NULL;
    ep_status status = ep_http_get(session, path, &page, error);
    if (status != EP_OK) return status;
    page_search(found, page);
    more = json_is_true(ep_json_at(page, "has_more"));
    snprintf(path, sizeof path, "%s", found->of->all);
    ep_path_query(path, "after", ep_json_text_at(page, "next"));
    json_decref(page);
  }
  return EP_OK;
}

static bool is_whole(const kind *of, const char *word) {
  return strlen(word) == EP_JOB_ID_CHARACTERS && strncmp(word, of->prefix, EP_ID_PREFIX_BYTES) == 0;
}

static ep_status id_find(ep_session *session, const kind *of, const char *word,
                         char id[EP_JOB_ID_BYTES], ep_error *error) {
  if (strcmp(word, "last") == 0) return last_find(session, of, id, error);
  if (!*word || !is_plain(word) || strlen(word) > EP_JOB_ID_CHARACTERS)
    return ep_fail(error, EP_INVALID,
                   "\"%.64s\" is no %s: give an id, the start or the end of one, or last", word,
                   of->noun);
  if (is_whole(of, word)) {
    snprintf(id, EP_JOB_ID_BYTES, "%s", word);
    return EP_OK;
  }
  search found = {.of = of, .word = word};
  ep_status status = pages_search(session, &found, error);
  if (status != EP_OK) return status;
  if (found.count == 0)
    return ep_fail(error, EP_NOT_FOUND, "no %s's id starts or ends with \"%s\"; see epochctl %s",
                   of->noun, word, of->list);
  if (found.count > 1)
    return ep_fail(error, EP_INVALID, "\"%s\" is not clear, %d %ss have it: %s%s", word,
                   found.count, of->noun, found.shown, found.count > SHOWN_IDS ? ", …" : "");
  snprintf(id, EP_JOB_ID_BYTES, "%s", found.id);
  return EP_OK;
}

bool ep_submission_is_sweep(const char *id) {
  return strncmp(id, SWEEPS.prefix, EP_ID_PREFIX_BYTES) == 0;
}

ep_status ep_job_id_find(ep_session *session, const char *word, char id[EP_JOB_ID_BYTES],
                         ep_error *error) {
  if (ep_submission_is_sweep(word))
    return ep_fail(error, EP_INVALID,
                   "\"%.64s\" is a sweep, and this takes a job: epochctl sweeps show prints a "
                   "sweep, epochctl sweeps promote makes a job of a trial",
                   word);
  return id_find(session, &JOBS, word, id, error);
}

ep_status ep_job_path_find(ep_session *session, const char *word, const char *after,
                           char path[EP_REQUEST_PATH_BYTES], ep_error *error) {
  char id[EP_JOB_ID_BYTES];
  ep_status status = ep_job_id_find(session, word, id, error);
  if (status == EP_OK) ep_path_make(path, "/v1/jobs/", id, after);
  return status;
}

ep_status ep_sweep_id_find(ep_session *session, const char *word, char id[EP_JOB_ID_BYTES],
                           ep_error *error) {
  if (strncmp(word, JOBS.prefix, EP_ID_PREFIX_BYTES) == 0)
    return ep_fail(error, EP_INVALID,
                   "\"%.64s\" is a job, and this takes a sweep: epochctl show prints a job, "
                   "epochctl sweeps ls lists sweeps",
                   word);
  return id_find(session, &SWEEPS, word, id, error);
}

ep_status ep_submission_id_find(ep_session *session, const char *word, char id[EP_JOB_ID_BYTES],
                                ep_error *error) {
  return id_find(session, ep_submission_is_sweep(word) ? &SWEEPS : &JOBS, word, id, error);
}

void ep_submission_path(char path[EP_REQUEST_PATH_BYTES], const char *id, const char *after) {
  ep_path_make(path, ep_submission_is_sweep(id) ? "/v1/sweeps/" : "/v1/jobs/", id, after);
}
