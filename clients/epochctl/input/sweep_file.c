#include "clients/epochctl/input/sweep_file.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/epochctl/input/axis.h"
#include "clients/epochctl/input/json_edit.h"
#include "clients/epochctl/input/spec_file.h"

enum { EDIT_BYTES = 512, AUTOMATIC_TRIALS = 50 };

/* Options, and the fields of the request that they set. */
static const struct {
  const char *option, *field;
} FIELDS[] = {{"search", "search"},     {"metric", "metric"},       {"mode", "mode"},
              {"trials", "max_trials"}, {"seconds", "max_seconds"}, {"parallel", "max_parallel"},
              {"workers", "workers"},   {"repeats", "repeats"},     {"folds", "folds"}};

/* The request of a file's object, which it takes: the object itself, or a new one around it. */
static json_t *request_make(json_t *file) {
  json_t *request = json_object_get(file, "job") ? file : json_pack("{so}", "job", file);
  if (request && !json_object_get(request, "space"))
    json_object_set_new(request, "space", json_object());
  return request;
}

/* Sets the value of a pointer in the job, or its axis, NULL for none. */
static ep_status pointer_set(json_t *request, const char *pointer, const char *edit, json_t *axis,
                             ep_error *error) {
  json_t *job = json_object_get(request, "job"), *space = json_object_get(request, "space");
  if (!json_is_object(space) || !json_is_object(job))
    return ep_fail(error, EP_INVALID, "--set needs a \"job\" and a \"space\" that are objects");
  if (axis && json_object_set(space, pointer, axis) == 0) return EP_OK;
  if (axis) return ep_fail(error, EP_INVALID, "--set %.200s: not a JSON pointer", edit);
  json_object_del(space, pointer);
  return ep_json_edit(job, edit, error);
}

static ep_status edit_apply(json_t *request, const char *edit, ep_error *error) {
  json_t *axis = NULL;
  const char *equals = strchr(edit, '=');
  if (*edit != '/' || !equals)
    return ep_fail(error, EP_INVALID,
                   "--set takes /POINTER=VALUES, such as /batch_size=8,16, not \"%.200s\"", edit);
  ep_status status = ep_axis_read(equals + 1, &axis, error);
  if (status != EP_OK) return status;
  char *pointer = strndup(edit, (size_t)(equals - edit));
  status = pointer ? pointer_set(request, pointer, edit, axis, error) : ep_fail_memory(error);
  free(pointer);
  json_decref(axis);
  return status;
}

static ep_status field_set(json_t *request, const char *option, const char *value,
                           ep_error *error) {
  char edit[EDIT_BYTES];
  for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++) {
    if (strcmp(option, FIELDS[i].option) != 0) continue;
    snprintf(edit, sizeof edit, "/%s=%s", FIELDS[i].field, value);
    return ep_json_edit(request, edit, error);
  }
  return ep_spec_label(request, option, value, error);
}

static ep_status options_apply(json_t *request, const ep_arguments *arguments, ep_error *error) {
  ep_status status = EP_OK;
  for (int i = 0; i < arguments->given_count && status == EP_OK; i++) {
    const char *option = arguments->given[i].option->name, *value = arguments->given[i].value;
    status = strcmp(option, "set") == 0 ? edit_apply(request, value, error)
                                        : field_set(request, option, value, error);
  }
  return status;
}

static bool varies(const json_t *request) {
  const json_t *space = json_object_get(request, "space");
  return !json_is_object(space) || json_object_size(space) > 0;
}

/* Takes the request. */
static ep_status request_format(json_t *request, const ep_arguments *arguments, bool automatic,
                                char **out, size_t *out_bytes, ep_error *error) {
  *out = NULL;
  ep_status status = request ? options_apply(request, arguments, error) : ep_fail_memory(error);
  if (status == EP_OK && automatic && !varies(request))
    json_object_set_new(request, "space", json_string("auto"));
  if (status == EP_OK && !varies(request))
    status =
        ep_fail(error, EP_INVALID,
                "nothing varies: give values or a range, such as --set /optimizer/lr=log:0.001..1");
  if (status == EP_OK) status = ep_spec_format(request, out, out_bytes, error);
  json_decref(request);
  return status;
}

ep_status ep_sweep_file_read(const ep_arguments *arguments, char **out, size_t *out_bytes,
                             ep_error *error) {
  json_t *file;
  char *text;
  size_t bytes;
  *out = NULL;
  ep_status status = ep_spec_file_load(arguments->words[0], &file, &text, &bytes, error);
  if (status != EP_OK) return status;
  free(text);
  return request_format(request_make(file), arguments, false, out, out_bytes, error);
}

ep_status ep_sweep_job_format(const ep_arguments *arguments, json_t *job, char **out,
                              size_t *out_bytes, ep_error *error) {
  json_t *request = json_pack("{s:O, s:{}, s:s, s:i}", "job", job, "space", "search", "tpe",
                              "max_trials", AUTOMATIC_TRIALS);
  return request_format(request, arguments, true, out, out_bytes, error);
}
