#include "api/spec/spec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/executor_name.h"
#include "api/json/json.h"
#include "api/json/memory.h"
#include "api/spec/spec_tree.h"
#include "api/spec/tables.h"

/* A spec of the greatest size, written out with all defaults, stays below this. */
enum { SPEC_TEXT_LIMIT = 16 * EP_LIMIT_SPEC_BYTES };

static void fail_at(ep_field_reader *reader, const char *key, const char *detail) {
  size_t place = ep_field_reader_enter(reader, key);
  ep_field_reader_fail(reader, "%s", detail);
  ep_field_reader_leave(reader, place);
}

/* Defaults that stand elsewhere in the spec. */
static void schedule_finish(ep_job_spec *spec) {
  ep_schedule_spec *schedule = &spec->schedule;
  if (schedule->type == EP_SCHEDULE_COSINE && schedule->t_max == 0) schedule->t_max = spec->epochs;
  if (schedule->type == EP_SCHEDULE_ONE_CYCLE && schedule->max_lr == 0)
    schedule->max_lr = spec->optimizer.lr;
}

/* Folds keep the shares only where that is asked for: each then needs a row of each class. */
static void stratify_finish(ep_job_spec *spec, const json_t *root) {
  ep_data_spec *data = &spec->data;
  bool given = json_is_boolean(json_object_get(json_object_get(root, "data"), "stratify"));
  bool shares = (data->test > 0 || data->validation > 0) && data->folds == 0 &&
                spec->parts.folds == 0 && !data->time[0] && !data->group[0] &&
                data->window.length == 0;
  if (!given) data->stratify = shares && ep_loss_takes_classes(spec->loss);
}

static void task_check(ep_field_reader *reader, const ep_job_spec *spec) {
  bool classes = spec->data.task == EP_TASK_CLASSIFICATION;
  if (spec->data.task == EP_TASK_AUTO || classes == ep_loss_is_classifier(spec->loss) ||
      reader->status != EP_OK)
    return;
  size_t place = ep_field_reader_enter(reader, "data");
  size_t inner = ep_field_reader_enter(reader, "task");
  ep_field_reader_fail(reader, "is \"%s\", and the loss \"%s\" is for %s: use \"%s\" or \"auto\"",
                       ep_task_name((int)spec->data.task), ep_loss_type_name((int)spec->loss),
                       classes ? "numbers" : "classes", classes ? "cross_entropy" : "mse");
  ep_field_reader_leave(reader, inner);
  ep_field_reader_leave(reader, place);
}

/* root: the job as it was given. */
static void init_check(ep_field_reader *reader, const ep_job_spec *spec, const json_t *root) {
  bool asked = json_is_object(json_object_get(json_object_get(root, "model"), "init"));
  size_t place = ep_field_reader_enter(reader, "model");
  if (spec->init_job[0] && spec->init_weights[0])
    fail_at(reader, "init", "\"job\" and \"weights\" are both given: choose one of the two");
  else if (asked && !spec->init_job[0] && !spec->init_weights[0] && reader->status == EP_OK)
    fail_at(reader, "init", "needs one of \"job\", \"weights\"");
  else if (!spec->init_job[0] && (spec->init_checkpoint != 0 || spec->init_optimizer))
    fail_at(reader, "init", "\"checkpoint\" and \"optimizer\" require \"job\"");
  ep_field_reader_leave(reader, place);
}

static void parts_check(ep_field_reader *reader, const ep_job_spec *spec) {
  const char *key = spec->parts.folds > 0 ? "folds" : "repeats";
  if (spec->parts.stratify && spec->parts.folds == 0 && reader->status == EP_OK)
    fail_at(reader, "stratify", "requires \"folds\"");
  if (spec->parts.folds > 0 && spec->data.folds > 0)
    fail_at(reader, "folds", "\"data\" already names a fold: give one or the other");
  if (spec->parts.folds > 0 && spec->data.validation > 0)
    fail_at(reader, "folds",
            "each fold is a validation split: remove \"validation\" from \"data\"");
  if (ep_parts_count(&spec->parts) > EP_LIMIT_JOB_PARTS)
    fail_at(reader, key, "makes more than 1000 trainings, folds and repeats counted: use a sweep");
  if (spec->parts.repeats > 1 && !spec->parts.seeds &&
      (double)spec->seed + spec->parts.repeats - 1 > EP_SEED_MAX)
    fail_at(reader, key, "would exceed the largest seed: start with a smaller one");
  if (ep_parts_count(&spec->parts) > 1 && (spec->init_job[0] || spec->init_weights[0]))
    fail_at(reader, key, "each training starts from random weights: remove \"init\"");
}

/* What one field alone cannot say. */
static void spec_finish(ep_field_reader *reader, ep_job_spec *spec, const json_t *root) {
  if (spec->report_every == 0) {
    spec->report_every = spec->epochs / 1000;
    if (spec->report_every < 1) spec->report_every = 1;
  }
  if (spec->epochs / spec->report_every > EP_LIMIT_REPORTED_EPOCHS)
    fail_at(reader, "report_every", "would report more than 10000000 epochs: report less often");
  if (spec->timelapse_every > 0 && spec->epochs / spec->timelapse_every > EP_LIMIT_MOMENTS)
    fail_at(reader, "timelapse_every", "would store more than 240 networks: store them less often");
  schedule_finish(spec);
  stratify_finish(spec, root);
  task_check(reader, spec);
  init_check(reader, spec, root);
  ep_parallel_finish(reader, spec);
  parts_check(reader, spec);
  if (spec->find[0] && ep_parts_count(&spec->parts) > 1)
    fail_at(reader, "find", "is a single short training: remove folds and repeats");
  ep_executor_name_update(spec->executor, sizeof spec->executor);
  const char *slash = strchr(spec->executor, '/');
  size_t kind = slash ? (size_t)(slash - spec->executor) : 0;
  if (kind && strcmp(spec->device, "auto") != 0 && strncmp(spec->device, spec->executor, kind) != 0)
    fail_at(reader, "executor", "belongs to a different kind of device than \"device\"");
}

ep_status ep_job_spec_read(ep_field_reader *reader, const json_t *root, ep_job_spec **out) {
  ep_job_spec *spec = calloc(1, sizeof *spec);
  *out = NULL;
  if (!spec) {
    ep_field_reader_fail_memory(reader);
  } else if (!json_is_object(root)) {
    ep_field_reader_fail(reader, "a job is a JSON object, not %s", ep_json_type_name(root));
  } else {
    ep_fields_read(reader, &ep_spec_table, NULL, root, spec);
    spec_finish(reader, spec, root);
  }
  if (reader->status != EP_OK) {
    ep_job_spec_destroy(spec);
    return reader->status;
  }
  *out = spec;
  return EP_OK;
}

ep_status ep_spec_request_parse(const char *text, size_t bytes, json_t **out, ep_problem *problem) {
  ep_error error;
  if (ep_json_load(text, bytes, EP_LIMIT_SPEC_BYTES, out, &error) == EP_OK) return EP_OK;
  return ep_problem_set(problem, error.status, "%s", error.message);
}

bool ep_spec_request_names_files(const json_t *request) {
  const json_t *job = json_object_get(request, "job"); /* of a sweep */
  return json_object_get(json_object_get(job ? job : request, "data"), "path") != NULL;
}

ep_status ep_job_request_read(const json_t *request, bool stored, ep_job_spec **out,
                              ep_problem *problem) {
  ep_field_reader reader = {.problem = problem, .stored = stored};
  return ep_job_spec_read(&reader, request, out);
}

static ep_status text_parse(const char *text, size_t bytes, bool stored, ep_job_spec **out,
                            ep_problem *problem) {
  assert(problem);
  *out = NULL;
  json_t *root;
  if (ep_spec_request_parse(text, bytes, &root, problem) != EP_OK) return problem->status;
  ep_status status = ep_job_request_read(root, stored, out, problem);
  json_decref(root);
  return status;
}

ep_status ep_job_spec_parse(const char *text, size_t bytes, ep_job_spec **out,
                            ep_problem *problem) {
  return text_parse(text, bytes, false, out, problem);
}

ep_status ep_job_spec_load(const char *text, size_t bytes, ep_job_spec **out, ep_error *error) {
  *out = NULL;
  ep_problem *problem = calloc(1, sizeof *problem);
  if (!problem) return ep_fail_memory(error);
  ep_status status = text_parse(text, bytes, true, out, problem);
  if (status != EP_OK) ep_fail(error, status, "the stored spec: %s", problem->detail);
  free(problem);
  return status;
}

char *ep_job_spec_format(const ep_job_spec *spec) {
  ep_writer writer;
  ep_writer_init(&writer, SPEC_TEXT_LIMIT);
  ep_writer_open(&writer, '{');
  ep_fields_write(&writer, &ep_spec_table, spec);
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}

/* layers: [count] or NULL, with their blocks. */
static void layers_destroy(ep_layer_spec *layers, int count) {
  for (int i = 0; i < count; i++) {
    layers_destroy(layers[i].layers, layers[i].layers_count);
    free(layers[i].columns.name);
    free(layers[i].places);
  }
  free(layers);
}

void ep_job_spec_destroy(ep_job_spec *spec) {
  if (!spec) return;
  for (int i = 0; i < spec->tags_count; i++) free(spec->tags[i]);
  free(spec->data.inline_x);
  free(spec->data.inline_y);
  free(spec->data.columns);
  free(spec->data.features.name);
  free(spec->data.exclude.name);
  free(spec->data.normalize_mean);
  free(spec->data.normalize_std);
  layers_destroy(spec->layers, spec->layers_count);
  free(spec->freeze);
  free(spec->class_weights);
  ep_parts_deinit(&spec->parts);
  free(spec->schedule.milestones);
  free(spec->webhooks);
  free(spec);
}

void ep_json_seed(void) {
  ep_json_memory_watch();
  json_object_seed(0);
}
