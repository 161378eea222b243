#include <stdio.h>
#include <string.h>

#include "server/jobs/live/state.h"
#include "server/store/models.h"

enum { START_DIGITS = 4, SHOWN = 4 };

/* What is looked for. */
typedef struct {
  ep_jobs *jobs;
  const ep_viewer *viewer;
  const char *prefix; /* of the ids */
  const char *noun;
} search;

static bool begins_with(const char *text, const char *start) {
  return strncmp(text, start, strlen(start)) == 0;
}

static ep_status ids_find(const search *in, ep_id_match match, const char *word, int limit,
                          char (*ids)[EP_ID_BYTES], int *count, ep_error *error) {
  return ep_store_ids_find(in->jobs->store, match, in->viewer, in->prefix, word, ids, limit, count,
                           error);
}

/* The one id that begins or ends so. EP_NOT_FOUND, without a message. */
static ep_status part_find(const search *in, ep_id_match match, const char *word,
                           char id[EP_ID_BYTES], ep_error *error) {
  char ids[SHOWN + 1][EP_ID_BYTES], shown[SHOWN * (EP_ID_BYTES + 2)] = "";
  int count;
  ep_status status = ids_find(in, match, word, SHOWN + 1, ids, &count, error);
  if (status != EP_OK) return status;
  if (count == 0) return EP_NOT_FOUND;
  memcpy(id, ids[0], EP_ID_BYTES);
  if (count == 1) return EP_OK;
  for (int i = 0; i < count && i < SHOWN; i++) {
    size_t used = strlen(shown);
    snprintf(shown + used, sizeof shown - used, "%s%.*s", used > 0 ? ", " : "", EP_ID_BYTES - 1,
             ids[i]);
  }
  return ep_fail(error, EP_CONFLICT, "\"%.60s\" is ambiguous: it matches several %ss: %s%s", word,
                 in->noun, shown, count > SHOWN ? ", …" : "");
}

/* An id, or the beginning of one. */
static ep_status start_find(const search *in, const char *word, char id[EP_ID_BYTES],
                            ep_error *error) {
  if (ep_id_valid(word)) {
    snprintf(id, EP_ID_BYTES, "%s", word);
    return EP_OK;
  }
  if (strlen(word) < EP_ID_PREFIX_BYTES + START_DIGITS)
    return ep_fail(error, EP_NOT_FOUND,
                   "no %s named \"%.60s\": the start of an id needs at least %d characters after "
                   "%s",
                   in->noun, word, START_DIGITS, in->prefix);
  ep_status status = part_find(in, EP_ID_BY_START, word, id, error);
  return status == EP_NOT_FOUND ? ep_owned_missing(EP_OWNED_JOB, word, error) : status;
}

/* The newest of that name: the viewer's own, if there is one. EP_NOT_FOUND, without a message. */
static ep_status name_find(const search *in, const char *name, char id[EP_ID_BYTES],
                           ep_error *error) {
  int count = 0;
  char(*ids)[EP_ID_BYTES] = (char(*)[EP_ID_BYTES])id;
  ep_status status = EP_OK;
  if (in->viewer && in->viewer->owner && in->viewer->owner[0])
    status = ids_find(in, EP_ID_BY_OWN_NAME, name, 1, ids, &count, error);
  if (status == EP_OK && count == 0)
    status = ids_find(in, EP_ID_BY_NAME, name, 1, ids, &count, error);
  return status == EP_OK && count == 0 ? EP_NOT_FOUND : status;
}

static ep_status name_missing(const search *in, const char *name, ep_error *error) {
  bool job = strcmp(in->prefix, EP_JOB_PREFIX) == 0;
  search other = *in;
  char id[EP_ID_BYTES], nearest[EP_LIMIT_NAME_BYTES + 1];
  if (!error) return EP_NOT_FOUND; /* nobody reads what else there is */
  other.prefix = job ? EP_SWEEP_PREFIX : EP_JOB_PREFIX;
  ep_status status = name_find(&other, name, id, error);
  if (status == EP_OK)
    return ep_fail(error, EP_NOT_FOUND, "no %s named \"%.128s\": the %s %s has that name", in->noun,
                   name, ep_id_noun(id), id);
  if (status != EP_NOT_FOUND) return status;
  status = ep_store_name_nearest(in->jobs->store, in->viewer, in->prefix, name, nearest, error);
  if (status != EP_OK) return status;
  return ep_fail(error, EP_NOT_FOUND, "no %s named \"%.128s\"%s%s%s", in->noun, name,
                 nearest[0] ? ": did you mean \"" : "", nearest, nearest[0] ? "\"?" : "");
}

static ep_status newest_find(const search *in, char id[EP_ID_BYTES], ep_error *error) {
  int count;
  ep_status status =
      ids_find(in, EP_ID_BY_START, in->prefix, 1, (char(*)[EP_ID_BYTES])id, &count, error);
  if (status != EP_OK || count > 0) return status;
  return ep_fail(error, EP_NOT_FOUND, "no %ss yet", in->noun);
}

static ep_status model_find(const search *in, const char *name, ep_job_found *out,
                            ep_error *error) {
  ep_status status = ep_jobs_see(in->jobs, in->viewer, EP_OWNED_MODEL, name, error);
  if (status == EP_OK) status = ep_store_model_get(in->jobs->store, name, &out->model, error);
  if (status == EP_OK) memcpy(out->id, out->model.job, sizeof out->id);
  return status;
}

/* The id that ends so, of which a name cannot take the place. EP_NOT_FOUND, without a message. */
static ep_status end_find(const search *in, const char *word, char id[EP_ID_BYTES],
                          ep_error *error) {
  size_t bytes = strlen(word);
  if (bytes < EP_ID_END_BYTES || bytes >= EP_ID_BYTES) return EP_NOT_FOUND;
  return part_find(in, EP_ID_BY_END, word, id, error);
}

static ep_status named_find(const search *in, const char *name, char id[EP_ID_BYTES],
                            ep_error *error) {
  ep_status status = name_find(in, name, id, error);
  return status == EP_NOT_FOUND ? name_missing(in, name, error) : status;
}

ep_status ep_jobs_find(ep_jobs *jobs, const ep_viewer *viewer, const char *prefix, bool models,
                       const char *word, ep_job_found *out, ep_error *error) {
  const search in = {jobs, viewer, prefix, ep_id_noun(prefix)};
  bool job = strcmp(prefix, EP_JOB_PREFIX) == 0;
  size_t noun = strlen(in.noun);
  *out = (ep_job_found){0};
  if (begins_with(word, prefix)) return start_find(&in, word, out->id, error);
  if (begins_with(word, job ? EP_SWEEP_PREFIX : EP_JOB_PREFIX))
    return ep_fail(error, EP_NOT_FOUND, "\"%.60s\" is a %s: a %s is required", word,
                   ep_id_noun(word), in.noun);
  if (strcmp(word, EP_LAST_WORD) == 0) return newest_find(&in, out->id, error);
  if (job && begins_with(word, EP_MODEL_WORD))
    return model_find(&in, word + strlen(EP_MODEL_WORD), out, error);
  if (begins_with(word, in.noun) && word[noun] == ':')
    return named_find(&in, word + noun + 1, out->id, error);
  ep_status status = end_find(&in, word, out->id, error);
  if (status == EP_NOT_FOUND && models) status = model_find(&in, word, out, error);
  return status == EP_NOT_FOUND ? named_find(&in, word, out->id, error) : status;
}
