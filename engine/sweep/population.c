/* population.c: trials that differ in numbers alone, trained together where the device does that.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/metrics/mean_loss.h"
#include "engine/metrics/metrics.h"
#include "engine/parallel.h"
#include "engine/plan/plan.h"
#include "engine/sweep/runner.h"
#include "engine/training/rules/schedule.h"
#include "engine/training/trainer.h"
#include "kernels/plans/agreement.h"
#include "kernels/population.h"

#define CALL_SECONDS 0.05 /* of one launch, after which the sweep may stop */
enum { FIRST_STEPS = 1024, LEAST_FOR_A_CORE = 64 };
#define OUTPUT_BYTES_MOST (256LL << 20) /* of one launch, so many members */

/* A trial on its way. */
typedef struct {
  ep_trial_record *record; /* lent */
  ep_job_spec *spec;       /* owned, as all below; NULL = it has its result */
  ep_plan *plan;
  float *state, *optimizer; /* the second behind the first */
  ep_schedule schedule;
  int64_t steps, steps_total;
  bool fits;    /* a population may take it; else it is trained alone */
  bool grouped; /* it is in a group that was trained */
} trial;

/* What went wrong first, of what several threads do. */
typedef struct {
  pthread_mutex_t mutex;
  ep_status status;
  ep_error error;
} failure;

static void failure_keep(failure *kept, ep_status status, const ep_error *error) {
  if (status == EP_OK) return;
  pthread_mutex_lock(&kept->mutex);
  if (kept->status == EP_OK) kept->error = *error;
  if (kept->status == EP_OK) kept->status = status;
  pthread_mutex_unlock(&kept->mutex);
}

static ep_status failure_of(const failure *kept, ep_error *error) {
  if (kept->status != EP_OK && error) *error = kept->error;
  return kept->status;
}

/* Trials of one shape and the same rows. */
typedef struct {
  ep_sweep_runner *runner;
  failure *failure;
  const ep_prepared *data;
  trial **trials;     /* [count] */
  ep_member *members; /* [count] */
  float *lr;          /* [count, steps of a launch] */
  float *outputs[EP_SPLIT_COUNT];
  int64_t count;
  double seconds; /* of all launches */
} group;

/* Trainings that are taken together. */
typedef struct {
  ep_sweep_runner *runner;
  ep_trial_record *records; /* [count], lent */
  trial *trials;            /* [count] */
  int64_t count;
  failure failure;
} batch;

static void trial_deinit(trial *t) {
  ep_job_spec_destroy(t->spec);
  ep_plan_destroy(t->plan);
  free(t->state);
}

bool ep_sweep_population_takes(const ep_job_spec *spec) {
  return spec->early_stopping_patience == 0 && !spec->keep_best && spec->max_seconds == 0 &&
         spec->schedule.type != EP_SCHEDULE_PLATEAU && !spec->executor[0] &&
         spec->parallel.data <= 1 && spec->parallel.model <= 1;
}

static const ep_prepared *data_of(const ep_sweep_runner *runner, const ep_trial_record *record) {
  return &runner->prepared[record->part % runner->prepared_count];
}

/* The trial's plan and first weights. */
static ep_status trial_init(const ep_sweep_runner *runner, ep_trial_record *record, trial *t,
                            ep_error *error) {
  const ep_sweep_run *run = runner->run;
  *t = (trial){.record = record};
  ep_problem *problem = calloc(1, sizeof *problem);
  if (!problem) return ep_fail_memory(error);
  ep_status status =
      ep_sweep_trial_make(run->sweep, record->point, record->part, &t->spec, problem);
  if (status == EP_OK && ep_sweep_population_takes(t->spec))
    status = ep_plan_create(t->spec, &runner->shapes[record->part % runner->prepared_count],
                            &t->plan, problem);
  free(problem);
  if (status == EP_NO_MEMORY) return ep_fail_memory(error);
  if (status != EP_OK || !t->plan) return EP_OK;
  const ep_prepared *data = data_of(runner, record);
  status = ep_plan_balance(t->plan, t->spec, data->classes[EP_SPLIT_TRAIN],
                           data->rows[EP_SPLIT_TRAIN], error);
  if (status != EP_OK) return status;
  const ep_program *program = &t->plan->program;
  t->fits = run->shared.backend_ops->population_size(run->shared.backend, program) > 0;
  if (!t->fits) return EP_OK;
  size_t floats = (size_t)ep_program_state_floats(program);
  t->state = calloc(floats + (size_t)program->optimizer_floats, sizeof *t->state);
  if (!t->state) return ep_fail_memory(error);
  if (program->optimizer_floats > 0) t->optimizer = t->state + floats;
  ep_plan_initialize(t->plan, t->spec, t->state);
  int64_t steps = ep_program_steps_per_epoch(program);
  ep_schedule_init(&t->schedule, t->spec, steps);
  int64_t most = ep_sweep_epochs_most(run->sweep, record);
  t->steps_total = steps * (most > 0 && most < t->spec->epochs ? most : t->spec->epochs);
  return EP_OK;
}

/* The members of the next launch, of so many steps at most; false: all have trained. */
static bool launch_fill(group *g, int64_t steps_most) {
  bool any = false;
  for (int64_t i = 0; i < g->count; i++) {
    trial *t = g->trials[i];
    int64_t left = t->steps_total - t->steps, steps = left < steps_most ? left : steps_most;
    bool constant = ep_schedule_is_constant(&t->schedule);
    float *lr = g->lr + i * FIRST_STEPS;
    int64_t lr_count = constant ? 1 : steps;
    for (int64_t s = 0; s < lr_count; s++)
      lr[s] = (float)ep_schedule_lr(&t->schedule, t->steps + s);
    g->members[i] = (ep_member){.program = &t->plan->program,
                                .first_step = t->steps,
                                .steps = steps,
                                .lr = lr,
                                .lr_count = constant || steps == 0 ? 1 : steps,
                                .state = t->state,
                                .optimizer = t->optimizer};
    any = any || steps > 0;
  }
  return any;
}

static const void *targets_of(const ep_prepared *data, int split) {
  return ep_prepared_targets(data, (ep_split)split);
}

static ep_status launch(group *g, bool predict, ep_error *error) {
  const ep_training *shared = &g->runner->run->shared;
  const ep_prepared *data = g->data;
  ep_population population = {.members = g->members, .count = g->count};
  population.train = (ep_population_rows){data->x[EP_SPLIT_TRAIN], targets_of(data, EP_SPLIT_TRAIN),
                                          data->rows[EP_SPLIT_TRAIN]};
  for (int split = 0; predict && split < EP_SPLIT_COUNT; split++) {
    population.predict[split] =
        (ep_population_rows){data->x[split], targets_of(data, split), data->rows[split]};
    population.outputs[split] = g->outputs[split];
  }
  double start = ep_seconds_now();
  ep_status status = shared->backend_ops->train_population(shared->backend, &population, error);
  g->seconds += ep_seconds_now() - start;
  if (shared->sink.alive) shared->sink.alive(shared->sink.context);
  return status;
}

/* Launch after launch. A trial whose loss is not finite ends, with the steps before that launch:
 * how many of the launch were well, nobody knows. */
static ep_status group_train(group *g, ep_error *error) {
  int64_t steps = FIRST_STEPS;
  bool constant = true;
  for (int64_t i = 0; i < g->count; i++)
    constant = constant && ep_schedule_is_constant(&g->trials[i]->schedule);
  while (launch_fill(g, steps)) {
    double before = g->seconds;
    ep_status status = launch(g, false, error);
    if (status == EP_OK) status = ep_sweep_stop_check(g->runner->run, error);
    if (status != EP_OK) return status;
    for (int64_t i = 0; i < g->count; i++) {
      trial *t = g->trials[i];
      bool finite = g->members[i].steps == 0 || g->members[i].finite;
      if (finite) t->steps += g->members[i].steps;
      if (finite) continue;
      t->record->status = EP_DIVERGED;
      t->steps_total = t->steps; /* no further */
    }
    if (constant && g->seconds - before < CALL_SECONDS / 2) steps *= 2;
  }
  launch_fill(g, 0);
  return launch(g, true, error);
}

/* The figures of a trial that ended well, from its outputs. */
static ep_status trial_measure(const group *g, int64_t number, ep_error *error) {
  const trial *t = g->trials[number];
  const ep_program *program = &t->plan->program;
  ep_job_result result = {.status = EP_OK, .parameters = t->plan->parameters};
  ep_split_metrics *metrics[] = {&result.train, &result.validation, &result.test};
  ep_status status = EP_OK;
  for (int split = 0; split < EP_SPLIT_COUNT; split++) ep_split_metrics_clear(metrics[split]);
  for (int split = 0; status == EP_OK && split < EP_SPLIT_COUNT; split++) {
    int64_t rows = g->data->rows[split];
    if (!targets_of(g->data, split)) continue;
    const float *outputs = g->outputs[split] + number * rows * program->out_features;
    status = ep_metrics_compute(g->data, (ep_split)split, program->loss, outputs,
                                program->out_features, metrics[split], error);
    if (status == EP_OK)
      metrics[split]->loss = ep_mean_loss(program, outputs, targets_of(g->data, split), rows);
  }
  result.epochs_done = t->steps / ep_program_steps_per_epoch(program);
  result.train_seconds = t->record->seconds;
  if (status == EP_OK) ep_sweep_record_fill(g->runner->run->sweep, &result, t->record);
  ep_job_result_deinit(&result);
  return status;
}

/* Members first … first + count - 1. */
static void members_finish(void *context, int64_t first, int64_t count) {
  group *g = context;
  for (int64_t i = first; i < first + count; i++) {
    const trial *t = g->trials[i];
    ep_error error = {0};
    t->record->seconds = ep_nanoseconds_round(g->seconds / (double)g->count);
    t->record->epochs_done = t->steps / ep_program_steps_per_epoch(&t->plan->program);
    t->record->parameters = t->plan->parameters;
    if (t->record->status == EP_OK) failure_keep(g->failure, trial_measure(g, i, &error), &error);
  }
}

static ep_status group_run(group *g, ep_error *error) {
  int64_t out = g->trials[0]->plan->program.out_features;
  bool whole = true;
  g->members = calloc((size_t)g->count, sizeof *g->members);
  g->lr = malloc((size_t)g->count * FIRST_STEPS * sizeof *g->lr);
  for (int split = 0; split < EP_SPLIT_COUNT; split++) {
    size_t floats = (size_t)(g->count * g->data->rows[split] * out);
    if (floats > 0) g->outputs[split] = malloc(floats * sizeof(float));
    whole = whole && (floats == 0 || g->outputs[split]);
  }
  ep_status status = g->members && g->lr && whole ? EP_OK : ep_fail_memory(error);
  if (status == EP_OK) status = group_train(g, error);
  if (status == EP_OK) {
    ep_parallel_run(g->count, LEAST_FOR_A_CORE, members_finish, g);
    status = failure_of(g->failure, error);
  }
  for (int split = 0; split < EP_SPLIT_COUNT; split++) free(g->outputs[split]);
  free(g->members);
  free(g->lr);
  return status;
}

/* How many of a shape go into one launch. */
static int64_t group_most(const ep_prepared *data, const ep_program *program) {
  int64_t rows = 0;
  for (int split = 0; split < EP_SPLIT_COUNT; split++) rows += data->rows[split];
  int64_t bytes =
      rows * program->out_features * (int64_t)sizeof(float) + FIRST_STEPS * (int64_t)sizeof(float) +
      (ep_program_state_floats(program) + program->optimizer_floats) * (int64_t)sizeof(float);
  return OUTPUT_BYTES_MOST / bytes + 1;
}

/* Trains those of trials[first …] that agree with the first. */
static ep_status group_of(batch *b, int64_t first, ep_error *error) {
  trial *trials = b->trials, *shape = &trials[first];
  ep_sweep_runner *runner = b->runner;
  group g = {.runner = runner, .failure = &b->failure, .data = data_of(runner, shape->record)};
  int64_t most = group_most(g.data, &shape->plan->program);
  g.trials = malloc((size_t)b->count * sizeof *g.trials);
  if (!g.trials) return ep_fail_memory(error);
  for (int64_t i = first; i < b->count && g.count < most; i++) {
    trial *t = &trials[i];
    if (t->grouped || !t->fits || data_of(runner, t->record) != g.data ||
        !ep_programs_agree(&t->plan->program, &shape->plan->program))
      continue;
    t->grouped = true;
    g.trials[g.count++] = t;
  }
  ep_status status = group_run(&g, error);
  pthread_mutex_lock(&runner->mutex);
  for (int64_t i = 0; status == EP_OK && i < g.count; i++)
    status = ep_sweep_result_put(runner, g.trials[i]->record, error);
  pthread_mutex_unlock(&runner->mutex);
  free(g.trials);
  return status == EP_OK ? ep_sweep_results_send(runner, false, error) : status;
}

/* A trial that is trained alone. */
static ep_status single_run(ep_sweep_runner *runner, ep_trial_record *record, ep_error *error) {
  ep_status status = ep_sweep_trial_train(runner, record, error);
  if (status != EP_OK) return status;
  pthread_mutex_lock(&runner->mutex);
  status = ep_sweep_result_put(runner, record, error);
  pthread_mutex_unlock(&runner->mutex);
  return status == EP_OK ? ep_sweep_results_send(runner, false, error) : status;
}

/* Trials first … first + count - 1. */
static void trials_init(void *context, int64_t first, int64_t count) {
  batch *b = context;
  for (int64_t i = first; i < first + count && !ep_sweep_stops(b->runner); i++) {
    ep_error error = {0};
    failure_keep(&b->failure, trial_init(b->runner, &b->records[i], &b->trials[i], &error), &error);
  }
}

ep_status ep_sweep_population_train(ep_sweep_runner *runner, ep_trial_record *records,
                                    int64_t count, ep_error *error) {
  batch b = {.runner = runner,
             .records = records,
             .trials = calloc((size_t)count, sizeof *b.trials),
             .count = count,
             .failure = {.mutex = PTHREAD_MUTEX_INITIALIZER}};
  if (!b.trials) return ep_fail_memory(error);
  ep_parallel_run(count, LEAST_FOR_A_CORE, trials_init, &b);
  ep_status status = failure_of(&b.failure, error);
  for (int64_t i = 0; status == EP_OK && i < count && !ep_sweep_stops(runner); i++)
    if (!b.trials[i].fits) status = single_run(runner, &records[i], error);
  for (int64_t i = 0; status == EP_OK && i < count && !ep_sweep_stops(runner); i++)
    if (b.trials[i].fits && !b.trials[i].grouped) status = group_of(&b, i, error);
  for (int64_t i = 0; i < count; i++) trial_deinit(&b.trials[i]);
  free(b.trials);
  return status;
}
