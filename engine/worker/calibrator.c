#include "engine/worker/calibrator.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/worker/calibrator_programs.h"
#include "kernels/random.h"

/* A measurement is the middle one of a few runs of at least so long: the shortest is what a machine
 * does that has nothing else to do, which jobs seldom meet. Processors that share their cores with
 * strangers are slower for seconds at a time, by half and more: the CPU's programs are timed in two
 * rounds, of which the faster counts, and what is left of a disturbance is left out. */
#define RUN_SECONDS 3e-3
enum { RUNS = 3, CPU_ROUNDS = 2, STEPS_MOST = 1 << 14, STEPS_GROWTH = 16 };

/* What a program needs while it is timed; all owned. */
typedef struct {
  ep_job job;
  ep_instance *instance;
  float *x, *y, *parameters, *loss;
  int32_t *errors;
} timing;

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void timing_deinit(const ep_backend_ops *ops, timing *t) {
  if (t->instance) ops->release(t->instance);
  free(t->errors);
  free(t->loss);
  free(t->parameters);
  free(t->y);
  free(t->x);
  ep_job_close(&t->job);
}

static void numbers_fill(float *values, int64_t count, uint64_t index) {
  for (int64_t i = 0; i < count; i++) {
    ep_random4 words = ep_random(1, EP_RANDOM_GENERATOR, index, (uint64_t)i);
    values[i] = ep_random_float(words.word[0]);
  }
}

static ep_status timing_init(timing *t, const ep_calibration_program *program, ep_error *error) {
  ep_status status = ep_calibration_open(program, &t->job, error);
  if (status != EP_OK) return status;
  /* The table's sizes: no product of them comes near a limit. */
  int64_t values = program->rows * t->job.plan->program.in_features;
  t->x = malloc((size_t)values * sizeof *t->x);
  t->y = malloc((size_t)program->rows * sizeof *t->y);
  t->parameters = malloc((size_t)ep_program_state_floats(&t->job.plan->program) * sizeof(float));
  t->loss = malloc(STEPS_MOST * sizeof *t->loss);
  t->errors = malloc(STEPS_MOST * sizeof *t->errors);
  if (!t->x || !t->y || !t->parameters || !t->loss || !t->errors)
    return ep_fail(error, EP_NO_MEMORY, "no memory to measure with");
  numbers_fill(t->x, values, 0);
  numbers_fill(t->y, program->rows, 1);
  ep_plan_initialize(t->job.plan, t->job.spec, t->parameters);
  return EP_OK;
}

/* Seconds of `steps` steps. */
static ep_status segment_time(const ep_backend_ops *ops, timing *t, int64_t steps, double *seconds,
                              ep_error *error) {
  const float lr = 1e-4f;
  ep_segment segment = {
      .steps = steps, .lr = &lr, .lr_count = 1, .loss = t->loss, .errors = t->errors};
  double start = seconds_now();
  ep_status status = ops->train_segment(t->instance, &segment, error);
  *seconds = seconds_now() - start;
  return status;
}

/* From nothing to the end of the first step. */
static ep_status start_time(const ep_device *device, const char *executor, timing *t,
                            double *seconds, ep_error *error) {
  const ep_backend_ops *ops = device->ops;
  const ep_program *program = &t->job.plan->program;
  double start = seconds_now(), step;
  ep_status status = ops->compile(device->backend, program, executor, &t->instance, error);
  if (status == EP_OK)
    status = ops->load_data(t->instance, EP_SPLIT_TRAIN, t->x, t->y, program->train_rows, error);
  if (status == EP_OK) status = ops->import_state(t->instance, t->parameters, NULL, error);
  if (status == EP_OK) status = segment_time(ops, t, 1, &step, error);
  *seconds = seconds_now() - start;
  return status;
}

/* Sorts them. */
static double usual_seconds(double seconds[RUNS]) {
  for (int i = 1; i < RUNS; i++)
    for (int at = i; at > 0 && seconds[at - 1] > seconds[at]; at--) {
      double more = seconds[at - 1];
      seconds[at - 1] = seconds[at];
      seconds[at] = more;
    }
  return seconds[RUNS / 2];
}

/* The number of steps that will take a run, from the time of fewer. */
static int64_t steps_wanted(int64_t steps, double taken) {
  double wanted = taken > 0 ? (double)steps * RUN_SECONDS * 1.2 / taken : STEPS_MOST;
  if (wanted > (double)(steps * STEPS_GROWTH)) wanted = (double)(steps * STEPS_GROWTH);
  return wanted < STEPS_MOST ? (int64_t)wanted + 1 : STEPS_MOST;
}

/* Seconds of a step; EP_BUSY when told to stop. */
static ep_status step_time(const ep_calibrator *calibrator, timing *t, double *seconds,
                           ep_error *error) {
  int64_t steps = 1;
  double runs[RUNS];
  for (int run = 0; run < RUNS;) {
    double taken = 0;
    if (atomic_load(&calibrator->stops)) return ep_fail(error, EP_BUSY, "a job is waiting");
    ep_status status = segment_time(calibrator->device->ops, t, steps, &taken, error);
    if (status != EP_OK) return status;
    if (taken >= RUN_SECONDS || steps == STEPS_MOST)
      runs[run++] = taken / (double)steps;
    else
      steps = steps_wanted(steps, taken);
  }
  *seconds = usual_seconds(runs);
  return EP_OK;
}

/* Of the next program; a faster round's stays. */
static void sample_take(ep_calibrator *calibrator, const ep_cost_sample *sample) {
  const int at = calibrator->next % ep_calibration_programs_count(calibrator->info.id);
  if (calibrator->timed[at] && calibrator->samples[at].seconds <= sample->seconds) return;
  calibrator->samples[at] = *sample;
  calibrator->timed[at] = true;
}

/* An executor that is not there, or has no room for the program, leaves no sample and is no fault.
 */
static ep_status program_time(ep_calibrator *calibrator, int at, ep_error *error) {
  ep_cost_sample sample = {0};
  timing t = {0};
  const ep_executor_profile *executor;
  const ep_calibration_program *program =
      ep_calibration_program_at(calibrator->info.id, at, &executor);
  ep_status status = timing_init(&t, program, error);
  if (status == EP_OK)
    status = start_time(calibrator->device, executor->name, &t, &sample.start_seconds, error);
  if (status == EP_OK) {
    calibrator->device->ops->release(t.instance);
    t.instance = NULL;
    status = start_time(calibrator->device, executor->name, &t, &sample.again_seconds, error);
  }
  if (status == EP_OK) status = step_time(calibrator, &t, &sample.seconds, error);
  if (status == EP_OK) {
    ep_cost_units(executor, t.job.plan, &calibrator->info, t.job.plan->program.batch_size,
                  sample.units);
    sample.start_seconds = fmax(0, sample.start_seconds - sample.seconds);
    sample.again_seconds = fmax(0, sample.again_seconds - sample.seconds);
    sample_take(calibrator, &sample);
  }
  timing_deinit(calibrator->device->ops, &t);
  return status == EP_BUSY || ep_status_class(status) == EP_CLASS_DEVICE ? status : EP_OK;
}

static bool is_cpu(const ep_calibrator *calibrator) {
  return strcmp(calibrator->info.id, "cpu") == 0;
}

/* Costs of each executor of which there are samples. */
static void costs_fit(const ep_calibrator *calibrator, ep_calibration *out) {
  int executors_count, first = 0;
  const ep_executor_profile *const *executors =
      ep_cost_executors(calibrator->info.id, &executors_count);
  out->count = 0;
  for (int e = 0; e < executors_count && out->count < EP_COST_EXECUTORS; e++) {
    ep_cost_sample samples[EP_CALIBRATOR_PROGRAMS];
    int count = 0;
    for (int i = first; i < first + executors[e]->programs_count; i++)
      if (calibrator->timed[i]) samples[count++] = calibrator->samples[i];
    first += executors[e]->programs_count;
    if (count == 0) continue;
    const ep_executor_cost usual = ep_cost_usual(executors[e]);
    ep_executor_cost *cost = &out->executors[out->count++];
    if (is_cpu(calibrator))
      ep_cost_fit_disturbed(&usual, samples, count, cost);
    else
      ep_cost_fit(&usual, samples, count, cost);
  }
}

static ep_status programs_time(ep_calibrator *calibrator, ep_error *error) {
  const int count = ep_calibration_programs_count(calibrator->info.id);
  const int rounds = is_cpu(calibrator) ? CPU_ROUNDS : 1;
  assert(count <= EP_CALIBRATOR_PROGRAMS);
  for (; calibrator->next < count * rounds; calibrator->next++) {
    if (atomic_load(&calibrator->stops)) return ep_fail(error, EP_BUSY, "a job is waiting");
    ep_status status = program_time(calibrator, calibrator->next % count, error);
    if (status != EP_OK) return status;
  }
  return EP_OK;
}

static void *calibrator_thread(void *context) {
  ep_calibrator *calibrator = context;
  ep_reply reply = {.kind = EP_REPLY_CALIBRATED, .request = calibrator->request};
  ep_status status = programs_time(calibrator, &reply.error);
  if (ep_status_class(status) == EP_CLASS_DEVICE)
    ep_device_give_up("while measuring", reply.error.message);
  if (status == EP_OK) {
    reply.error = (ep_error){0};
    costs_fit(calibrator, &reply.calibration);
  }
  atomic_store(&calibrator->running, false);
  ep_link_send_reply(calibrator->link, &reply, NULL);
  return NULL;
}

void ep_calibrator_init(ep_calibrator *calibrator, const ep_device *device,
                        const ep_device_info *info, ep_link *link) {
  memset(calibrator, 0, sizeof *calibrator);
  calibrator->device = device;
  calibrator->link = link;
  calibrator->info = *info;
}

static ep_status busy_answer(ep_calibrator *calibrator, uint64_t request, ep_error *error) {
  ep_reply reply = {.kind = EP_REPLY_CALIBRATED, .request = request};
  ep_fail(&reply.error, EP_BUSY, "other work is waiting");
  return ep_link_send_reply(calibrator->link, &reply, error);
}

ep_status ep_calibrator_start(ep_calibrator *calibrator, uint64_t request, ep_error *error) {
  pthread_t thread;
  if (atomic_exchange(&calibrator->running, true)) return busy_answer(calibrator, request, error);
  atomic_store(&calibrator->stops, false);
  calibrator->request = request;
  int failed = pthread_create(&thread, NULL, calibrator_thread, calibrator);
  if (failed == 0) {
    pthread_detach(thread); /* the process may end without its last word */
    return EP_OK;
  }
  atomic_store(&calibrator->running, false);
  return busy_answer(calibrator, request, error);
}

void ep_calibrator_stop(ep_calibrator *calibrator) {
  atomic_store(&calibrator->stops, true);
}
