/* space.c: "space" and "zip": the axes of a sweep, and the check of every value on them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"
#include "api/spec/spec.h"
#include "api/spec/spec_tree.h"
#include "api/spec/tables.h"
#include "api/sweep/sweep_json.h"

/* Fields that all trials share, and why. */
static const struct {
  const char *pointer, *why;
} shared[] = {
    {"/data/dataset", "all trials train on the same data: make a sweep for each"},
    {"/data/path", "all trials train on the same data: make a sweep for each"},
    {"/data/inline", "all trials train on the same data: make a sweep for each"},
    {"/data/sha256", "all trials train on the same data: make a sweep for each"},
    {"/data/generator", "all trials train on the same data: make a sweep for each"},
    {"/model/init", "the trials of a sweep start from random weights"},
    {"/checkpoint", "trials have no checkpoints: the sweep continues with the next trial"},
    {"/name", "trials have numbers; the sweep has a name"},
    {"/tags", "the sweep has tags"},
    {"/notes", "the sweep has notes"},
    {"/priority", "the sweep has a priority"},
    {"/pinned", "pin the sweep"},
    {"/visibility", "set it on the sweep"},
    {"/ttl_seconds", "it belongs to the sweep"},
    {"/webhooks", "they belong to the sweep"},
    {"/find", "a sweep trains: find the rate by a job"},
    {"/report_every", "trials report only their results"},
    {"/report_batches", "trials report only their results"},
    {"/report", "trials report only their results"},
};

static const char *shared_reason(const char *pointer) {
  for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
    if (ep_pointers_overlap(pointer, shared[i].pointer)) return shared[i].why;
  return NULL;
}

static bool pointer_is_good(ep_field_reader *reader, const char *pointer) {
  bool plain = *pointer == '/' && strlen(pointer) < EP_POINTER_BYTES;
  for (const char *at = pointer; plain && *at; at++)
    plain = *at > 0x20 && *at < 0x7f && *at != '"' && *at != '\\' &&
            (*at != '~' || at[1] == '0' || at[1] == '1');
  const char *why = plain ? shared_reason(pointer) : NULL;
  if (!plain)
    ep_field_reader_fail(reader, "is not a JSON pointer to a field of the job, like /optimizer/lr");
  if (why) ep_field_reader_fail(reader, "cannot vary: %s", why);
  return plain && !why;
}

static void list_read(ep_field_reader *reader, const json_t *value, ep_sweep_axis *axis) {
  if (!json_is_array(value) || json_array_size(value) == 0)
    ep_field_reader_fail(reader, "must be an array of at least one value");
  else if (json_array_size(value) > EP_LIMIT_AXIS_VALUES)
    ep_field_reader_fail(reader, "must have at most %d values, not %zu", EP_LIMIT_AXIS_VALUES,
                         json_array_size(value));
  axis->lists[0] = value;
  axis->count = (int64_t)json_array_size(value);
}

static bool kind_is_int(ep_axis_kind kind) {
  return kind == EP_AXIS_INT_UNIFORM || kind == EP_AXIS_INT_LOG_UNIFORM;
}

static bool kind_is_log(ep_axis_kind kind) {
  return kind == EP_AXIS_LOG_UNIFORM || kind == EP_AXIS_INT_LOG_UNIFORM;
}

static void range_read(ep_field_reader *reader, const json_t *value, ep_sweep_axis *axis) {
  const ep_field number = {.kind = EP_FIELD_DOUBLE, .min = -EP_REAL_MAX, .max = EP_REAL_MAX};
  if (!json_is_array(value) || json_array_size(value) != 2) {
    ep_field_reader_fail(reader, "must be [low, high]");
    return;
  }
  if (!ep_field_number_read(reader, &number, json_array_get(value, 0), &axis->low) ||
      !ep_field_number_read(reader, &number, json_array_get(value, 1), &axis->high))
    return;
  bool whole = floor(axis->low) == axis->low && floor(axis->high) == axis->high &&
               fabs(axis->low) <= EP_SEED_MAX && fabs(axis->high) <= EP_SEED_MAX;
  if (axis->low > axis->high)
    ep_field_reader_fail(reader, "is reversed: the lower end comes first");
  else if (axis->low == axis->high && !kind_is_int(axis->kind))
    ep_field_reader_fail(reader, "is empty: both ends are the same");
  else if (kind_is_log(axis->kind) && axis->low <= 0)
    ep_field_reader_fail(reader, "must be above 0: the range is logarithmic");
  else if (kind_is_int(axis->kind) && !whole)
    ep_field_reader_fail(reader, "must have whole numbers as ends");
}

static void axis_read(ep_field_reader *reader, const json_t *value, ep_sweep_axis *axis) {
  const char *key = json_object_iter_key(json_object_iter((json_t *)value));
  int kind = json_object_size(value) == 1 && key ? ep_axis_kind_from_name(key) : -1;
  if (kind < 0) {
    ep_field_reader_fail(reader, "must be {\"values\": […]}, or one of uniform, log_uniform, "
                                 "int_uniform, int_log_uniform with [low, high]");
    return;
  }
  axis->kind = (ep_axis_kind)kind;
  size_t place = ep_field_reader_enter(reader, key);
  const json_t *inner = json_object_get(value, key);
  if (axis->kind == EP_AXIS_VALUES)
    list_read(reader, inner, axis);
  else
    range_read(reader, inner, axis);
  ep_field_reader_leave(reader, place);
}

static void overlap_check(ep_field_reader *reader, const ep_sweep_spec *sweep,
                          const char *pointer) {
  for (int i = 0; i < sweep->axes_count; i++)
    if (ep_pointers_overlap(sweep->axes[i].pointers[0], pointer))
      ep_field_reader_fail(reader, "varies together with %s, which contains it or lies within it",
                           sweep->axes[i].pointers[0]);
}

void ep_space_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                   void *base) {
  (void)field;
  ep_sweep_spec *sweep = base;
  if (!json_is_object(value)) {
    ep_field_reader_fail(reader, "must be an object of JSON pointers into the job");
    return;
  }
  if (json_object_size(value) > EP_LIMIT_SWEEP_AXES) {
    ep_field_reader_fail(reader, "must have at most %d fields, not %zu", EP_LIMIT_SWEEP_AXES,
                         json_object_size(value));
    return;
  }
  sweep->space = json_incref((json_t *)value);
  const char *pointer;
  json_t *axis;
  json_object_foreach((json_t *)value, pointer, axis) {
    size_t place = ep_field_reader_enter(reader, pointer);
    ep_sweep_axis *into = &sweep->axes[sweep->axes_count];
    *into = (ep_sweep_axis){.pointers = {pointer}, .pointers_count = 1};
    if (pointer_is_good(reader, pointer)) {
      overlap_check(reader, sweep, pointer);
      axis_read(reader, axis, into);
    }
    sweep->axes_count++;
    ep_field_reader_leave(reader, place);
  }
}

void ep_zip_read(ep_field_reader *reader, const ep_field *field, const json_t *value, void *base) {
  (void)field;
  ep_sweep_spec *sweep = base;
  if (!value || json_is_null(value)) return;
  if (!json_is_array(value))
    ep_field_reader_fail(reader, "must be an array of arrays of pointers in \"space\"");
  else
    sweep->zip = json_incref((json_t *)value);
}

static ep_sweep_axis *axis_find(ep_sweep_spec *sweep, const char *pointer) {
  for (int i = 0; pointer && i < sweep->axes_count; i++)
    if (strcmp(sweep->axes[i].pointers[0], pointer) == 0) return &sweep->axes[i];
  return NULL;
}

/* Moves the axis of a pointer into that of the group's first. */
static void axis_join(ep_field_reader *reader, ep_sweep_spec *sweep, const char *first,
                      const json_t *item) {
  const char *pointer = json_string_value(item);
  ep_sweep_axis *into = axis_find(sweep, first), *axis = axis_find(sweep, pointer);
  if (!axis || !into || axis == into) {
    ep_field_reader_fail(reader, "must be a pointer in \"space\" that is in no other group");
  } else if (axis->kind != EP_AXIS_VALUES || into->kind != EP_AXIS_VALUES) {
    ep_field_reader_fail(reader, "only lists of values move together");
  } else if (axis->count != into->count) {
    ep_field_reader_fail(reader, "has %lld values, %s has %lld: they move together",
                         (long long)axis->count, first, (long long)into->count);
  } else if (axis->pointers_count == 1) {
    into->pointers[into->pointers_count] = pointer;
    into->lists[into->pointers_count++] = axis->lists[0];
    ep_sweep_axis *end = &sweep->axes[--sweep->axes_count];
    memmove(axis, axis + 1, (size_t)(end - axis) * sizeof *axis);
  } else {
    ep_field_reader_fail(reader, "is already in another group");
  }
}

/* Devices are the slowest axis of a grid, so that a device is changed as seldom as can be. */
static void device_first(ep_sweep_spec *sweep) {
  sweep->device_axis = -1;
  for (int i = 0; i < sweep->axes_count; i++)
    for (int p = 0; p < sweep->axes[i].pointers_count; p++)
      if (strcmp(sweep->axes[i].pointers[p], "/device") == 0) sweep->device_axis = i;
  if (sweep->device_axis <= 0) return;
  ep_sweep_axis axis = sweep->axes[sweep->device_axis];
  memmove(sweep->axes + 1, sweep->axes, (size_t)sweep->device_axis * sizeof axis);
  sweep->axes[0] = axis;
  sweep->device_axis = 0;
}

void ep_axes_make(ep_field_reader *reader, ep_sweep_spec *sweep) {
  size_t zip = ep_field_reader_enter(reader, "zip"), g, i;
  json_t *group, *item;
  json_array_foreach(sweep->zip, g, group) {
    size_t place = ep_field_reader_enter_index(reader, g);
    const char *first = json_string_value(json_array_get(group, 0));
    if (json_array_size(group) < 2 || !axis_find(sweep, first))
      ep_field_reader_fail(reader, "must be an array of at least two pointers in \"space\"");
    else
      json_array_foreach(group, i, item) {
        size_t inner = ep_field_reader_enter_index(reader, i);
        if (i > 0) axis_join(reader, sweep, first, item);
        ep_field_reader_leave(reader, inner);
      }
    ep_field_reader_leave(reader, place);
  }
  ep_field_reader_leave(reader, zip);
  device_first(sweep);
}

/* Where in the sweep a fault of the job stands: at an axis of it, or in the job. */
static void fault_add(ep_field_reader *reader, const ep_sweep_spec *sweep, const char *pointer,
                      const char *detail) {
  size_t place = reader->length;
  for (int i = 0; i < sweep->axes_count; i++)
    for (int p = 0; p < sweep->axes[i].pointers_count; p++)
      if (ep_pointers_overlap(sweep->axes[i].pointers[p], pointer)) {
        ep_field_reader_enter(reader, "space");
        ep_field_reader_enter(reader, sweep->axes[i].pointers[p]);
        ep_field_reader_fail(reader, "%s", detail);
        ep_field_reader_leave(reader, place);
        return;
      }
  char whole[EP_POINTER_BYTES];
  snprintf(whole, sizeof whole, "/job%.*s", EP_POINTER_BYTES - 5, pointer);
  ep_problem_add(reader->problem, EP_INVALID, whole, "%s", detail);
  if (reader->status == EP_OK) reader->status = EP_INVALID;
}

/* The job at the first point: its faults are the sweep's. */
static void base_make(ep_field_reader *reader, ep_sweep_spec *sweep, const double *point,
                      ep_problem *problem) {
  const char *at;
  *problem = (ep_problem){0};
  ep_field_reader inner = {.problem = problem, .stored = sweep->stored};
  json_t *tree = ep_sweep_job_tree(sweep, point, -1, &at);
  if (!tree && at) fault_add(reader, sweep, at, "the job has no such field");
  if (!tree && !at) ep_field_reader_fail_memory(reader);
  if (!tree) return;
  ep_status status = ep_job_spec_read(&inner, tree, &sweep->base);
  json_decref(tree);
  if (status == EP_NO_MEMORY) ep_field_reader_fail_memory(reader);
  for (int i = 0; status == EP_INVALID && i < problem->errors_count; i++)
    fault_add(reader, sweep, problem->errors[i].pointer, problem->errors[i].detail);
}

/* One value of an axis, all others at their first. hint: behind a fault. */
static void value_check(ep_field_reader *reader, const ep_sweep_spec *sweep, const double *point,
                        const char *hint, ep_problem *problem) {
  ep_job_spec *spec = NULL;
  *problem = (ep_problem){0};
  ep_status status = ep_sweep_trial_make(sweep, point, -1, &spec, problem);
  ep_job_spec_destroy(spec);
  if (status == EP_NO_MEMORY) ep_field_reader_fail_memory(reader);
  if (status == EP_INVALID)
    ep_field_reader_fail(reader, "%.200s: %.280s%s", problem->errors[0].pointer,
                         problem->errors[0].detail, hint);
}

/* What lies between the ends of a range of real numbers: a field of whole numbers takes the ends of
 * [1, 3], and nothing else that a trial would draw. */
static void between_check(ep_field_reader *reader, const ep_sweep_spec *sweep, int number,
                          double *point, ep_problem *problem) {
  const double golden_section = 0.3819660112501051;
  const ep_sweep_axis *axis = &sweep->axes[number];
  point[number] = axis->low + golden_section * (axis->high - axis->low);
  if (point[number] == floor(point[number])) return; /* so far out all numbers are whole */
  value_check(reader, sweep, point,
              kind_is_log(axis->kind) ? "; int_log_uniform draws whole numbers"
                                      : "; int_uniform draws whole numbers",
              problem);
}

static void axis_check(ep_field_reader *reader, const ep_sweep_spec *sweep, int number,
                       double *point, ep_problem *problem) {
  const ep_sweep_axis *axis = &sweep->axes[number];
  bool list = axis->kind == EP_AXIS_VALUES;
  size_t place = ep_field_reader_enter(reader, axis->pointers[0]);
  ep_field_reader_enter(reader, ep_axis_kind_name(axis->kind));
  double first = point[number];
  int64_t ends = list ? axis->count : 2;
  for (int64_t i = 1; i < ends && reader->problem->errors_count < EP_LIMIT_PROBLEM_ERRORS; i++) {
    size_t inner = ep_field_reader_enter_index(reader, (size_t)i);
    point[number] = list ? (double)i : axis->high;
    value_check(reader, sweep, point, "", problem);
    ep_field_reader_leave(reader, inner);
  }
  if (!list && !kind_is_int(axis->kind) && reader->status == EP_OK)
    between_check(reader, sweep, number, point, problem);
  point[number] = first;
  ep_field_reader_leave(reader, place);
}

/* Each value is checked as a whole job: many values of a job with many rows take minutes. */
static void work_check(ep_field_reader *reader, const ep_sweep_spec *sweep) {
  const ep_data_spec *data = &sweep->base->data;
  int64_t values = 0, rows = data->source == EP_DATA_INLINE ? data->inline_rows : 0;
  for (int i = 0; i < sweep->axes_count; i++) values += sweep->axes[i].count;
  if (values > EP_LIMIT_AXIS_VALUES)
    ep_field_reader_fail(reader, "has %lld values in all: the limit is %d", (long long)values,
                         EP_LIMIT_AXIS_VALUES);
  else if (rows > 0 && values > EP_LIMIT_INLINE_CHECKS / rows)
    ep_field_reader_fail(reader,
                         "has %lld values for a job with %lld rows in it: upload the rows "
                         "as a dataset, or give fewer values",
                         (long long)values, (long long)rows);
}

void ep_sweep_jobs_check(ep_field_reader *reader, ep_sweep_spec *sweep, bool stored) {
  double point[EP_LIMIT_SWEEP_AXES];
  ep_problem *problem = calloc(1, sizeof *problem);
  if (!problem) {
    ep_field_reader_fail_memory(reader);
    return;
  }
  ep_sweep_first_point(sweep, point);
  base_make(reader, sweep, point, problem);
  size_t place = ep_field_reader_enter(reader, "space");
  if (!stored && sweep->base) work_check(reader, sweep);
  for (int i = 0; !stored && reader->status == EP_OK && i < sweep->axes_count; i++)
    axis_check(reader, sweep, i, point, problem);
  ep_field_reader_leave(reader, place);
  free(problem);
}
