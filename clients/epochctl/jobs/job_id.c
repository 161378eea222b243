#include "clients/epochctl/jobs/job_id.h"

#include <stdio.h>
#include <string.h>

#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/http/request.h"

enum { SHOWN_IDS = 4 };

static const char LIST_PATH[] = "/v1/jobs?limit=1000&view=summary";

/* The ids that fit a word. */
typedef struct {
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
  return strncmp(id, word, bytes) == 0 || (length > 4 && strncmp(id + 4, word, bytes) == 0) ||
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

static ep_status last_find(ep_session *session, char id[EP_JOB_ID_BYTES], ep_error *error) {
  json_t *page = NULL;
  ep_status status = ep_http_get(session, "/v1/jobs?limit=1&view=summary", &page, error);
  if (status != EP_OK) return status;
  const char *newest = ep_json_text_at(json_array_get(ep_json_at(page, "data"), 0), "id");
  if (!*newest || !is_plain(newest) || strlen(newest) >= EP_JOB_ID_BYTES)
    status = ep_fail(error, EP_NOT_FOUND, "there is no job yet; epochctl run FILE submits one");
  else
    snprintf(id, EP_JOB_ID_BYTES, "%s", newest);
  json_decref(page);
  return status;
}

static ep_status pages_search(ep_session *session, search *found, ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES];
  bool more = true;
  snprintf(path, sizeof path, "%s", LIST_PATH);
  for (int i = 0; i < EP_LIMIT_CLIENT_PAGES && more; i++) {
    json_t *page = NULL;
    ep_status status = ep_http_get(session, path, &page, error);
    if (status != EP_OK) return status;
    page_search(found, page);
    more = json_is_true(ep_json_at(page, "has_more"));
    snprintf(path, sizeof path, "%s", LIST_PATH);
    ep_path_query(path, "after", ep_json_text_at(page, "next"));
    json_decref(page);
  }
  return EP_OK;
}

ep_status ep_job_id_find(ep_session *session, const char *word, char id[EP_JOB_ID_BYTES],
                         ep_error *error) {
  if (strcmp(word, "last") == 0) return last_find(session, id, error);
  if (!*word || !is_plain(word) || strlen(word) > EP_JOB_ID_CHARACTERS)
    return ep_fail(error, EP_INVALID,
                   "\"%.64s\" is no job: give an id, the start or the end of one, or last", word);
  if (strlen(word) == EP_JOB_ID_CHARACTERS && strncmp(word, "job_", 4) == 0) {
    snprintf(id, EP_JOB_ID_BYTES, "%s", word);
    return EP_OK;
  }
  search found = {.word = word};
  ep_status status = pages_search(session, &found, error);
  if (status != EP_OK) return status;
  if (found.count == 0)
    return ep_fail(error, EP_NOT_FOUND, "no job's id starts or ends with \"%s\"; see epochctl ls",
                   word);
  if (found.count > 1)
    return ep_fail(error, EP_INVALID, "\"%s\" is not clear, %d jobs have it: %s%s", word,
                   found.count, found.shown, found.count > SHOWN_IDS ? ", …" : "");
  snprintf(id, EP_JOB_ID_BYTES, "%s", found.id);
  return EP_OK;
}
