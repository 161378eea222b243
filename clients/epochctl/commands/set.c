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
  const char *notes = ep_arguments_value(arguments, "notes");
  if (good && notes)
    good = json_object_set_new(patch, "notes", *notes ? json_string(notes) : json_null()) == 0;
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

static void summary_print(const ep_client *client, const char *word, const json_t *changed) {
  if (ep_submission_is_sweep(word))
    ep_sweep_summary_print(client, changed);
  else
    ep_job_summary_print(client, changed, false);
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES];
  const char *word = arguments->words[0];
  int64_t priority = ep_arguments_integer(arguments, "priority", 0);
  json_t *job = NULL;
  if (!ep_arguments_has(arguments, "name") && !ep_arguments_has(arguments, "tag") &&
      !ep_arguments_has(arguments, "priority") && !ep_arguments_has(arguments, "pinned") &&
      !ep_arguments_has(arguments, "notes") && !ep_arguments_has(arguments, "visibility"))
    return ep_fail(
        error, EP_INVALID,
        "nothing to change: give --name, --tag, --notes, --priority, --pinned or --visibility");
  json_t *patch = patch_make(arguments, priority);
  char *body = patch ? json_dumps(patch, JSON_COMPACT) : NULL;
  json_decref(patch);
  if (!body) return ep_fail(error, EP_INVALID, "a name and tags must be UTF-8");
  ep_submission_path(path, word, "");
  ep_http_request request = {.method = "PATCH",
                             .path = path,
                             .body = body,
                             .body_bytes = strlen(body),
                             .content_type = "application/merge-patch+json"};
  ep_status status = ep_client_send(client, &request, &job, error);
  free(body);
  if (status == EP_OK && job) summary_print(client, word, job);
  json_decref(job);
  return status;
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "name", .letter = 'n', .kind = EP_OPTION_TEXT, .value = "NAME",
   .doc = "the new name; \"\" for none"},
  {.name = "tag", .letter = 't', .kind = EP_OPTION_TEXT, .value = "TAG",
   .doc = "the new tags; repeatable; a single \"\" for none"},
  {.name = "notes", .kind = EP_OPTION_TEXT, .value = "TEXT",
   .doc = "a remark for people; \"\" for none"},
  {.name = "priority", .letter = 'p', .kind = EP_OPTION_INTEGER, .value = "N",
   .min = -EP_LIMIT_PRIORITY, .max = EP_LIMIT_PRIORITY, .doc = "while queued: higher runs first"},
  {.name = "pinned", .kind = EP_OPTION_CHOICE, .value = "true|false",
   .doc = "true: never deleted by the daemon's retention"},
  {.name = "visibility", .kind = EP_OPTION_CHOICE, .value = EP_VISIBILITY_CHOICE,
   .doc = "private: visible only to its owner and admins"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_set = {
  .name = "set", .words = "JOB|SWEEP", .kind = EP_WORD_SUBMISSION, .least = 1, .most = 1,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "change the name, tags, notes or priority of a job or a sweep, pin it, or hide it",
  .examples = "epochctl set last --name best --tag paper --tag figure-3"};
/* clang-format on */
