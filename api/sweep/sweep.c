/* sweep.c: a sweep's request, field by field. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"
#include "api/spec/spec.h"
#include "api/spec/tables.h"
#include "api/sweep/sweep_json.h"

enum { SWEEP_TEXT_LIMIT = 16 * EP_LIMIT_SPEC_BYTES };

#define AT(member) offsetof(ep_sweep_spec, member)

static const ep_field_words search_words = {.noun = "search",
                                            .count = EP_SEARCH_COUNT,
                                            .name = ep_search_type_name,
                                            .from_name = ep_search_type_from_name};

static void job_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                     void *base) {
  (void)field;
  ep_sweep_spec *sweep = base;
  if (json_is_object(value))
    sweep->job = json_incref((json_t *)value);
  else
    ep_field_reader_fail(reader, "must be a job, not %s", ep_json_type_name(value));
}

static void job_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  ep_tree_write(writer, ((const ep_sweep_spec *)base)->job);
}

static void space_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  ep_tree_write(writer, ((const ep_sweep_spec *)base)->space);
}

static void zip_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  ep_tree_write(writer, ((const ep_sweep_spec *)base)->zip);
}

static void metric_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  ep_writer_string(writer, ((const ep_sweep_spec *)base)->metric);
}

static void mode_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                      void *base) {
  (void)field;
  ep_sweep_spec *sweep = base;
  const char *word = json_string_value(value);
  if (!value || json_is_null(value))
    sweep->maximize = sweep->metric[0] && ep_sweep_metric_maximized(sweep);
  else if (word && (strcmp(word, "min") == 0 || strcmp(word, "max") == 0))
    sweep->maximize = strcmp(word, "max") == 0;
  else
    ep_field_reader_fail(reader, "must be \"min\" or \"max\"");
}

static void mode_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  ep_writer_string(writer, ((const ep_sweep_spec *)base)->maximize ? "max" : "min");
}

static const ep_field asha_rows[] = {
    {.key = "min_epochs",
     .kind = EP_FIELD_INT64,
     .offset = AT(asha_min_epochs),
     .nullable = true,
     .min = 1,
     .max = (double)EP_LIMIT_EPOCHS,
     .doc = "epochs of the first rung; 1 / factor^3 of all by default"},
    {.key = "factor",
     .kind = EP_FIELD_INT,
     .offset = AT(asha_factor),
     .min = 2,
     .max = 100,
     .fallback = 3,
     .doc = "one in this many trials is promoted to the next rung, which has this many times the "
            "epochs"},
    {.key = "brackets",
     .kind = EP_FIELD_INT,
     .offset = AT(asha_brackets),
     .min = 1,
     .max = 16,
     .fallback = 1,
     .doc = "brackets: trials start at this many different rungs in turn"},
};
static const ep_field_table asha_table = EP_FIELD_TABLE(asha_rows, NULL);

static const ep_field sweep_rows[] = {
    {.key = "job",
     .kind = EP_FIELD_CUSTOM,
     .required = true,
     .read = job_read,
     .write = job_write,
     .form = "a job",
     .schema = EP_JSON({"type" : "object"}),
     .doc = "the job that all trials share"},
    {.key = "space",
     .kind = EP_FIELD_CUSTOM,
     .required = true,
     .read = ep_space_read,
     .write = space_write,
     .form = "an object of JSON pointers into the job, or \"auto\"",
     .schema = EP_JSON({
       "oneOf" : [
         {"const" : "auto"}, {
           "type" : "object",
           "propertyNames" : {"pattern" : "^/"},
           "additionalProperties" : {
             "type" : "object",
             "minProperties" : 1,
             "maxProperties" : 1,
             "properties" : {
               "values" : {"type" : "array", "minItems" : 1},
               "uniform" : {"$ref" : "#/components/schemas/Range"},
               "log_uniform" : {"$ref" : "#/components/schemas/Range"},
               "int_uniform" : {"$ref" : "#/components/schemas/Range"},
               "int_log_uniform" : {"$ref" : "#/components/schemas/Range"}
             }
           }
         }
       ]
     }),
     .doc = "the fields that vary: {pointer: {\"values\": […]}}, or uniform, log_uniform, "
            "int_uniform, int_log_uniform with [low, high]; auto: the learning rate and the weight "
            "decay, from a tenth to ten times of the job's, the width of the first dense layer but "
            "the last, from a quarter to four times of its own, and the first dropout, from 0 to "
            "twice of its own"},
    {.key = "zip",
     .kind = EP_FIELD_CUSTOM,
     .nullable = true,
     .read = ep_zip_read,
     .write = zip_write,
     .form = "an array of arrays of pointers",
     .schema = EP_JSON({
       "type" : "array",
       "items" : {"type" : "array", "items" : {"type" : "string"}, "minItems" : 2}
     }),
     .text_fallback = "null",
     .doc = "fields of the space that vary together: lists of the same length"},
    {.key = "search",
     .kind = EP_FIELD_WORD,
     .offset = AT(search),
     .words = &search_words,
     .fallback = EP_SEARCH_RANDOM,
     .doc = "how the trials are chosen; grid by default where all fields have values"},
    {.key = "seed",
     .kind = EP_FIELD_UINT64,
     .offset = AT(seed),
     .max = EP_SEED_MAX,
     .fallback = 1,
     .doc = "of the search"},
    {.key = "metric",
     .kind = EP_FIELD_CUSTOM,
     .read = ep_sweep_metric_read,
     .write = metric_write,
     .form = "a split and one of its metrics, or a time",
     .schema = EP_JSON({"type" : "string"}),
     .text_fallback = "\"validation.loss\"",
     .doc = "the metric to compare the trials by"},
    {.key = "mode",
     .kind = EP_FIELD_CUSTOM,
     .nullable = true,
     .read = mode_read,
     .write = mode_write,
     .form = "\"min\" or \"max\"",
     .schema = EP_JSON({"enum" : [ "min", "max" ]}),
     .text_fallback = "null",
     .doc = "whether lower or higher is better; determined by the metric by default"},
    {.key = "allow_test_metric",
     .kind = EP_FIELD_BOOL,
     .offset = AT(allow_test_metric),
     .doc = "allows a metric of the test split: nothing is then left to judge the choice by"},
    {.key = "max_trials",
     .kind = EP_FIELD_INT64,
     .offset = AT(max_trials),
     .nullable = true,
     .min = 1,
     .max = EP_LIMIT_TRIALS,
     .doc = "points of the space; 100 by default, all points of a grid"},
    {.key = "max_parallel",
     .kind = EP_FIELD_INT64,
     .offset = AT(max_parallel),
     .nullable = true,
     .min = 1,
     .max = EP_LIMIT_TRIALS,
     .doc = "trainings that run at once; as many as the device allows by default"},
    {.key = "workers",
     .kind = EP_FIELD_INT,
     .offset = AT(workers),
     .nullable = true,
     .min = 1,
     .max = EP_LIMIT_SWEEP_WORKERS,
     .doc = "GPUs, or workers of a partition, that train it at once; by default as many as no "
            "other job waits for"},
    {.key = "exclusive",
     .kind = EP_FIELD_BOOL,
     .offset = AT(exclusive),
     .doc = "one training at a time, with no other job on any device: for times that are to be "
            "compared"},
    {.key = "warm_up",
     .kind = EP_FIELD_INT64,
     .offset = AT(warm_up),
     .min = 0,
     .max = 100,
     .doc = "warm-up trainings before each measured one, whose times are discarded"},
    {.key = "max_seconds",
     .kind = EP_FIELD_DOUBLE,
     .offset = AT(max_seconds),
     .nullable = true,
     .min = 0,
     .open_min = true,
     .max = 1e9,
     .doc = "time after which the sweep ends with the trials it has"},
    EP_PARTS_ROWS(ep_sweep_spec, parts, "each trial trains"),
    {.key = "asha",
     .kind = EP_FIELD_OBJECT,
     .table = &asha_table,
     .doc = "settings settings of the search asha"},
    {.key = "ttl_seconds",
     .kind = EP_FIELD_INT64,
     .offset = AT(labels.ttl_seconds),
     .nullable = true,
     .min = 1,
     .max = (double)EP_LIMIT_TTL_SECONDS,
     .rare = true,
     .doc = "the sweep is deleted this long after its end; kept by default"},
    EP_WEBHOOKS_ROW, /* of `labels`, the first member */
};
const ep_field_table ep_sweep_table = EP_FIELD_TABLE(sweep_rows, &ep_label_table);

static void fail_at(ep_field_reader *reader, const char *key, const char *detail) {
  size_t place = ep_field_reader_enter(reader, key);
  ep_field_reader_fail(reader, "%s", detail);
  ep_field_reader_leave(reader, place);
}

static bool all_listed(const ep_sweep_spec *sweep) {
  for (int i = 0; i < sweep->axes_count; i++)
    if (sweep->axes[i].kind != EP_AXIS_VALUES) return false;
  return true;
}

/* Defaults that follow from other fields. root: the request. */
static void defaults_fill(ep_sweep_spec *sweep, const json_t *root) {
  const json_t *search = json_object_get(root, "search");
  if ((!search || json_is_null(search)) && all_listed(sweep)) sweep->search = EP_SEARCH_GRID;
  if (sweep->axes_count == 0)
    sweep->max_trials = 1; /* there is one point */
  else if (sweep->max_trials == 0)
    sweep->max_trials = sweep->search == EP_SEARCH_GRID ? EP_LIMIT_TRIALS : 100;
  if (sweep->asha_min_epochs == 0) {
    int64_t cube = (int64_t)sweep->asha_factor * sweep->asha_factor * sweep->asha_factor;
    sweep->asha_min_epochs = sweep->base->epochs / cube > 0 ? sweep->base->epochs / cube : 1;
  }
}

static bool varies(const ep_sweep_spec *sweep, const char *pointer) {
  return json_object_get(sweep->space, pointer) != NULL;
}

/* What one field alone cannot say. */
static void whole_check(ep_field_reader *reader, ep_sweep_spec *sweep) {
  if (sweep->metric_of == EP_OF_TEST && !sweep->allow_test_metric)
    fail_at(reader, "metric",
            "the test split judges the choice, and cannot make it: choose by \"validation.…\", or "
            "set \"allow_test_metric\": true");
  if ((sweep->parts.repeats > 1 || sweep->parts.seeds) && varies(sweep, "/seed"))
    fail_at(reader, "repeats", "the seed varies in \"space\" already");
  if (sweep->parts.repeats > 1 && !sweep->parts.seeds &&
      (double)sweep->base->seed + sweep->parts.repeats - 1 > EP_SEED_MAX)
    fail_at(reader, "repeats", "would exceed the largest seed: start with a smaller one");
  if (sweep->parts.stratify && sweep->parts.folds == 0)
    fail_at(reader, "stratify", "requires \"folds\"");
  if (sweep->parts.folds > 0 && sweep->base->data.validation > 0)
    fail_at(reader, "folds",
            "each fold is a validation split: remove \"validation\" from the job's data");
  if (sweep->base->find[0])
    ep_problem_add(reader->problem, EP_INVALID, "/job/find",
                   "a sweep trains: find the rate by a job"),
        reader->status = EP_INVALID;
  if (sweep->base->init_job[0] || sweep->base->init_weights[0])
    ep_problem_add(reader->problem, EP_INVALID, "/job/model/init",
                   "the trials of a sweep start from random weights"),
        reader->status = EP_INVALID;
  if (ep_parts_count(&sweep->base->parts) > 1)
    ep_problem_add(reader->problem, EP_INVALID,
                   sweep->base->parts.folds > 0 ? "/job/folds" : "/job/repeats",
                   "belongs to the sweep: move it next to \"job\""),
        reader->status = EP_INVALID;
  if (ep_webhooks_have(&sweep->labels, EP_WEBHOOK_BEST))
    fail_at(reader, "webhooks", "a sweep sends end and failed: \"best\" is for jobs");
  if (sweep->base->webhooks_count > 0)
    ep_problem_add(reader->problem, EP_INVALID, "/job/webhooks",
                   "belongs to the sweep: move it next to \"job\""),
        reader->status = EP_INVALID;
  if (sweep->device_axis >= 0 && sweep->search != EP_SEARCH_GRID)
    fail_at(reader, "search", "where /device varies it is grid: one device after the other");
  if (sweep->search == EP_SEARCH_ASHA && (varies(sweep, "/epochs") || sweep->parts.folds > 0))
    fail_at(reader, "search", "asha chooses the epochs itself, and takes no folds");
}

ep_status ep_sweep_spec_read(ep_field_reader *reader, const json_t *root, bool stored,
                             ep_sweep_spec **out) {
  ep_sweep_spec *sweep = calloc(1, sizeof *sweep);
  *out = NULL;
  if (!sweep) {
    ep_field_reader_fail_memory(reader);
  } else if (!json_is_object(root)) {
    ep_field_reader_fail(reader, "a sweep is a JSON object, not %s", ep_json_type_name(root));
  } else {
    sweep->stored = stored;
    ep_fields_read(reader, &ep_sweep_table, NULL, root, sweep);
    if (reader->status == EP_OK) ep_axes_make(reader, sweep);
    if (reader->status == EP_OK) ep_sweep_jobs_check(reader, sweep, stored);
    if (reader->status == EP_OK) defaults_fill(sweep, root);
    if (reader->status == EP_OK) whole_check(reader, sweep);
  }
  if (reader->status != EP_OK) {
    ep_sweep_spec_destroy(sweep);
    return reader->status;
  }
  *out = sweep;
  return EP_OK;
}

ep_status ep_sweep_request_read(const json_t *request, ep_sweep_spec **out, ep_problem *problem) {
  ep_field_reader reader = {.problem = problem};
  return ep_sweep_spec_read(&reader, request, false, out);
}

static ep_status text_parse(const char *text, size_t bytes, bool stored, ep_sweep_spec **out,
                            ep_problem *problem) {
  json_t *root;
  ep_error error;
  *out = NULL;
  size_t most = stored ? SWEEP_TEXT_LIMIT : EP_LIMIT_SPEC_BYTES;
  if (ep_json_load(text, bytes, most, &root, &error) != EP_OK)
    return ep_problem_set(problem, error.status, "%s", error.message);
  ep_field_reader reader = {.problem = problem, .stored = stored};
  ep_status status = ep_sweep_spec_read(&reader, root, stored, out);
  json_decref(root);
  return status;
}

ep_status ep_sweep_spec_parse(const char *text, size_t bytes, ep_sweep_spec **out,
                              ep_problem *problem) {
  assert(problem);
  return text_parse(text, bytes, false, out, problem);
}

ep_status ep_sweep_spec_load(const char *text, ep_sweep_spec **out, ep_error *error) {
  *out = NULL;
  ep_problem *problem = calloc(1, sizeof *problem);
  if (!problem) return ep_fail_memory(error);
  ep_status status = text_parse(text, strlen(text), true, out, problem);
  if (status != EP_OK) ep_fail(error, status, "the stored spec: %s", problem->detail);
  free(problem);
  return status;
}

char *ep_sweep_spec_format(const ep_sweep_spec *sweep) {
  ep_writer writer;
  ep_writer_init(&writer, SWEEP_TEXT_LIMIT);
  ep_writer_open(&writer, '{');
  ep_fields_write(&writer, &ep_sweep_table, sweep);
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}

void ep_sweep_spec_destroy(ep_sweep_spec *sweep) {
  if (!sweep) return;
  for (int i = 0; i < sweep->labels.tags_count; i++) free(sweep->labels.tags[i]);
  free(sweep->labels.webhooks);
  ep_job_spec_destroy(sweep->base);
  json_decref(sweep->job);
  json_decref(sweep->space);
  json_decref(sweep->zip);
  ep_parts_deinit(&sweep->parts);
  free(sweep);
}
