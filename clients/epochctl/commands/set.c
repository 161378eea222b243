/* set.c: epochctl set. */
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "api/visibility.h"
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/jobs/job_id.h"
#include "clients/epochctl/jobs/summary.h"
#include "clients/epochctl/jobs/sweep_summary.h"

/* The merge patch (RFC 7396) of the options; the caller's. NULL when memory is short, or for a text
 * that is no UTF-8. */
static json_t *patch_make(const ep_arguments *arguments, int64_t priority) {
  json_t *patch = json_object(), *tags = json_array();
  const char *name = ep_arguments_value(arguments, "name");
  bool good = patch && tags;
  if (good && name)
    good = json_object_set_new(patch, "name", *name ? json_string(name) : json_null()) == 0;
  if (good && ep_arguments_has(arguments, "priority"))
    good = json_object_set_new(patch, "priority", json_integer(priority)) == 0;
  const char *pinned = ep_arguments_value(arguments, "pinned");
  if (good && pinned)
    good = json_object_set_new(patch, "pinned", json_boolean(strcmp(pinned, "true") == 0)) == 0;
  const char *visibility = ep_arguments_value(arguments, "visibility");
  if (good && visibility)
    good = json_object_set_new(patch, "visibility", json_string(visibility)) == 0;
  for (int i = 0; i < arguments->given_count && good; i++) {
    const char *value = arguments->given[i].value;
    if (strcmp(arguments->given[i].option->name, "tag") == 0 && *value)
      good = json_array_append_new(tags, json_string(value)) == 0;
  }
  if (good && ep_arguments_has(arguments, "tag")) good = json_object_set(patch, "tags", tags) == 0;
  json_decref(tags);
  if (good) return patch;
  json_decref(patch);
  return NULL;
}

static void summary_print(const ep_client *client, const char *id, const json_t *changed) {
  if (ep_submission_is_sweep(id))
    ep_sweep_summary_print(client, changed);
  else
    ep_job_summary_print(client, changed, false);
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  char id[EP_JOB_ID_BYTES], path[EP_REQUEST_PATH_BYTES];
  int64_t priority = ep_arguments_integer(arguments, "priority", 0);
  json_t *job = NULL;
  if (!ep_arguments_has(arguments, "name") && !ep_arguments_has(arguments, "tag") &&
      !ep_arguments_has(arguments, "priority") && !ep_arguments_has(arguments, "pinned") &&
      !ep_arguments_has(arguments, "visibility"))
    return ep_fail(error, EP_INVALID,
                   "say what to set: --name, --tag, --priority, --pinned or --visibility");
  ep_status status = ep_submission_id_find(&client->session, arguments->words[0], id, error);
  if (status != EP_OK) return status;
  json_t *patch = patch_make(arguments, priority);
  char *body = patch ? json_dumps(patch, JSON_COMPACT) : NULL;
  json_decref(patch);
  if (!body) return ep_fail(error, EP_INVALID, "a name and tags must be UTF-8");
  ep_submission_path(path, id, "");
  ep_http_request request = {.method = "PATCH",
                             .path = path,
                             .body = body,
                             .body_bytes = strlen(body),
                             .content_type = "application/merge-patch+json"};
  status = ep_client_send(client, &request, &job, error);
  free(body);
  if (status == EP_OK && job) summary_print(client, id, job);
  json_decref(job);
  return status;
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "name", .letter = 'n', .kind = EP_OPTION_TEXT, .value = "NAME",
   .doc = "the new name; \"\" for none"},
  {.name = "tag", .letter = 't', .kind = EP_OPTION_TEXT, .value = "TAG",
   .doc = "the new tags; may be given again; \"\" alone for none"},
  {.name = "priority", .letter = 'p', .kind = EP_OPTION_INTEGER, .value = "N",
   .min = -EP_LIMIT_PRIORITY, .max = EP_LIMIT_PRIORITY, .doc = "while queued: higher runs first"},
  {.name = "pinned", .kind = EP_OPTION_CHOICE, .value = "true|false",
   .doc = "true: the daemon's retention never deletes it"},
  {.name = "visibility", .kind = EP_OPTION_CHOICE, .value = EP_VISIBILITY_CHOICE,
   .doc = "private: its owner alone sees it, and admins"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_set = {
  .name = "set", .words = "JOB|SWEEP", .kind = EP_WORD_SUBMISSION, .least = 1, .most = 1,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "change the name, tags or priority of a job or a sweep, pin it, or hide it",
  .examples = "epochctl set last --name best --tag paper --tag figure-3"};
/* clang-format on */
