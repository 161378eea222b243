/* trainer_setup.c: a job becomes a plan, rows, an instance on a device and first weights. */
#include <stdlib.h>

#include "engine/data/dataset.h"
#include "engine/trainer.h"
#include "engine/weights.h"

/* The first segment is sized as if the device did this many operations a second: a low guess. */
static const double first_guess_operations_per_second = 1e9;
/* … and takes at most so many steps, because what a step costs beside its operations (10 us of
 * launches on a GPU) is not known before. */
enum { FIRST_SEGMENT_STEPS_MAX = 1024 };

/* The plan of the job, made again from what it stored: the same as at its submission. */
static ep_status plan_make(ep_trainer *t, ep_error *error) {
  ep_dataset_meta meta = {0};
  ep_data_shape shape;
  ep_problem *problem = calloc(1, sizeof *problem);
  const char *folder = t->job->dataset_folder;
  if (!problem) return ep_fail(error, EP_NO_MEMORY, "no memory for the plan");
  ep_status status = folder ? ep_dataset_meta_read(folder, &meta, error) : EP_OK;
  if (status == EP_OK) {
    status = ep_data_shape_find(&t->job->spec->data, folder ? &meta : NULL, &shape, problem);
    if (status == EP_OK) status = ep_plan_create(t->job->spec, &shape, &t->plan, problem);
    if (status != EP_OK)
      ep_fail_at(error, status, problem->errors[0].pointer, "%s", problem->detail);
  }
  ep_dataset_meta_deinit(&meta);
  free(problem);
  return status;
}

static ep_status buffers_create(ep_trainer *t, ep_error *error) {
  t->steps_per_epoch = ep_program_steps_per_epoch(&t->plan->program);
  t->steps_total = t->steps_per_epoch * t->job->spec->epochs;
  int64_t most = t->steps_total < EP_SEGMENT_STEPS_MAX ? t->steps_total : EP_SEGMENT_STEPS_MAX;
  double step_operations = (double)t->plan->operations / (double)t->steps_per_epoch;
  double guess = first_guess_operations_per_second * ep_segment_seconds / (step_operations + 1);
  if (guess > FIRST_SEGMENT_STEPS_MAX) guess = FIRST_SEGMENT_STEPS_MAX;
  t->segment_steps = guess < 1 ? 1 : (int64_t)guess;
  t->lr = malloc((size_t)most * sizeof *t->lr);
  t->loss = malloc((size_t)most * sizeof *t->loss);
  t->errors = malloc((size_t)most * sizeof *t->errors);
  if (!t->lr || !t->loss || !t->errors)
    return ep_fail(error, EP_NO_MEMORY, "no memory for the losses");
  ep_schedule_init(&t->schedule, t->job->spec, t->steps_per_epoch);
  const ep_program *program = &t->plan->program;
  return ep_selection_init(&t->selection, t->job->spec, ep_program_state_floats(program),
                           program->optimizer_floats, error);
}

/* Onto the device: the rows of every split that has some. */
static ep_status data_load(ep_trainer *t, ep_error *error) {
  ep_status status = EP_OK;
  for (int split = 0; status == EP_OK && split < EP_SPLIT_COUNT; split++) {
    const void *y =
        t->data.classes[split] ? (const void *)t->data.classes[split] : t->data.y[split];
    if (t->data.rows[split] > 0)
      status = t->job->backend_ops->load_data(t->instance, (ep_split)split, t->data.x[split], y,
                                              t->data.rows[split], error);
  }
  return status;
}

/* First weights: drawn, then those of the file that the job names. */
static ep_status weights_make(ep_trainer *t, float *parameters, ep_error *error) {
  ep_plan_initialize(t->plan, t->job->spec, parameters);
  return t->job->init_weights
             ? ep_weights_load_into(t->job->init_weights, t->plan, parameters, error)
             : EP_OK;
}

static ep_status instance_create(ep_trainer *t, ep_error *error) {
  const ep_backend_ops *ops = t->job->backend_ops;
  const ep_job_spec *spec = t->job->spec;
  const ep_program *program = &t->plan->program;
  size_t state_floats = (size_t)ep_program_state_floats(program);
  float *state = calloc(state_floats + (size_t)program->optimizer_floats, sizeof *state);
  if (!state) return ep_fail(error, EP_NO_MEMORY, "no memory for %zu parameters", state_floats);
  float *optimizer = program->optimizer_floats ? state + state_floats : NULL;
  const char *executor = spec->executor[0] ? spec->executor : NULL;
  ep_status status = weights_make(t, state, error);
  if (status == EP_OK)
    status = ops->compile(t->job->backend, program, executor, &t->instance, error);
  if (status == EP_OK) status = ops->import_state(t->instance, state, optimizer, error);
  free(state);
  return status == EP_OK ? data_load(t, error) : status;
}

ep_status ep_trainer_init(ep_trainer *t, ep_error *error) {
  const ep_job_spec *spec = t->job->spec;
  ep_status status = plan_make(t, error);
  if (status == EP_OK)
    status = ep_prepare(&spec->data, spec->loss, t->job->dataset_folder, &t->data, error);
  if (status == EP_OK) status = buffers_create(t, error);
  if (status == EP_OK) status = instance_create(t, error);
  return status;
}

void ep_trainer_deinit(ep_trainer *t) {
  if (t->instance) t->job->backend_ops->release(t->instance);
  ep_selection_deinit(&t->selection);
  free(t->errors);
  free(t->loss);
  free(t->lr);
  ep_plan_destroy(t->plan);
  ep_prepared_deinit(&t->data);
}
