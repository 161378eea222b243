#include "engine/training/checkpointing.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/json/writer.h"
#include "engine/checkpoints/list.h"
#include "engine/training/report.h"

enum {
  SLOTS = 2,      /* that take turns: one is whole while the other is written */
  KEPT_AT_END = 1 /* the last, from which another job can go on */
};

static int64_t utc_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

/* Where the same steps have the same bits: the executor, the device, the program's version. */
static ep_status identity_fill(const ep_trainer *t, ep_checkpoint *checkpoint, ep_error *error) {
  ep_backend_info device;
  ep_instance_info instance;
  ep_status status = t->job->backend_ops->info(t->job->backend, &device, error);
  if (status != EP_OK) return status;
  t->job->backend_ops->instance_info(t->instance, &instance);
  snprintf(checkpoint->executor, sizeof checkpoint->executor, "%s", instance.executor);
  snprintf(checkpoint->machine, sizeof checkpoint->machine, "%s, %s", device.name,
           device.instruction_set);
  snprintf(checkpoint->version, sizeof checkpoint->version, "%s", EP_VERSION);
  return EP_OK;
}

static void numbers_take(const ep_trainer *t, ep_checkpoint *out) {
  out->step = t->step;
  out->epoch = t->step / t->steps_per_epoch;
  out->steps_per_epoch = t->steps_per_epoch;
  out->epochs = t->job->spec->epochs;
  out->created_us = utc_us();
  out->train_seconds = t->seconds;
  out->loss = out->epoch > 0 ? t->last_epoch_loss : NAN;
  out->epoch_loss = t->epoch_loss;
  out->epoch_errors = t->epoch_errors;
  out->best = t->early_stopping.best;
  out->best_epoch = t->early_stopping.best_epoch;
  out->stops = t->early_stopping.stops;
  out->lowest_epoch = t->early_stopping.lowest_epoch;
  out->kept_epoch = t->early_stopping.kept_epoch;
  out->kept = t->early_stopping.kept;
  out->plateau_lr = t->schedule.plateau_lr;
  out->plateau_best = t->schedule.best;
  out->plateau_best_epoch = t->schedule.best_epoch;
}

static void numbers_give(ep_trainer *t, const ep_checkpoint *from) {
  t->step = from->step;
  t->seconds = from->train_seconds;
  t->last_epoch_loss = from->loss;
  t->epoch_loss = from->epoch_loss;
  t->epoch_errors = from->epoch_errors;
  t->early_stopping.best = from->best;
  t->early_stopping.best_epoch = from->best_epoch;
  t->early_stopping.stops = from->stops != 0;
  bool told = from->kept_epoch > 0; /* not by an older version */
  t->early_stopping.lowest_epoch = told ? from->lowest_epoch : from->best_epoch;
  t->early_stopping.kept_epoch = told ? from->kept_epoch : from->best_epoch;
  t->early_stopping.kept = told ? from->kept : from->best;
  t->schedule.plateau_lr = from->plateau_lr;
  t->schedule.best = from->plateau_best;
  t->schedule.best_epoch = from->plateau_best_epoch;
}

/* The first reason stays: it is of the newest checkpoint. */
__attribute__((format(printf, 2, 3))) static void resumed_note(ep_trainer *t, const char *format,
                                                               ...) {
  va_list values;
  if (t->resumed.note[0] != 0) return;
  va_start(values, format);
  vsnprintf(t->resumed.note, sizeof t->resumed.note, format, values);
  va_end(values);
}

/* Whether a checkpoint is of this executor, device and version; else the steps before it and those
 * after it would not be of one training. */
static bool identity_same(ep_trainer *t, const ep_checkpoint *checkpoint,
                          const ep_checkpoint *here) {
  if (strcmp(checkpoint->executor, here->executor) != 0)
    resumed_note(t, "its checkpoint was written by executor %s", checkpoint->executor);
  else if (strcmp(checkpoint->machine, here->machine) != 0)
    resumed_note(t, "its checkpoint was written on another device (%.150s)", checkpoint->machine);
  else if (strcmp(checkpoint->version, here->version) != 0)
    resumed_note(t, "its checkpoint was written by epochd %s", checkpoint->version);
  else
    return true;
  return false;
}

static ep_status checkpoint_load(ep_trainer *t, const char *path, ep_checkpoint *out,
                                 ep_error *error) {
  bool has_best = false;
  ep_status status = ep_checkpoint_load(path, t->plan, out, t->state, t->optimizer,
                                        t->early_stopping.state, &has_best, error);
  if (status == EP_OK && !has_best && t->early_stopping.state && out->best_epoch > 0)
    status = ep_fail(error, EP_DATA, "it has no best weights");
  return status;
}

/* Whether all reports before the checkpoint are in the job's log. A worker may have died, or
 * epochd, before they were. */
static bool reports_logged(const ep_trainer *t, const ep_checkpoint *checkpoint) {
  const ep_training *job = t->job;
  int64_t every; /* what overflows is more than all epochs */
  if (__builtin_mul_overflow(job->spec->report_every, INT64_C(1) << job->thinning, &every))
    every = INT64_MAX;
  int64_t last = checkpoint->epoch / every * every;
  if (last == 0 && checkpoint->epoch > 0) last = 1; /* the first is always reported */
  if (checkpoint->epoch == job->spec->epochs) last = checkpoint->epoch;
  return job->epochs_logged < 0 || last <= job->epochs_logged;
}

/* Goes on from the newest checkpoint of the job that can be read. */
static ep_status own_resume(ep_trainer *t, ep_error *error) {
  int64_t *steps = NULL, count = 0;
  char path[EP_PATH_BYTES];
  ep_checkpoint here = {0}, found = {0};
  ep_status status = identity_fill(t, &here, error);
  if (status == EP_OK) status = ep_checkpoints_list(t->job->job_folder, &steps, &count, error);
  for (int64_t i = 0; status == EP_OK && i < count && t->resumed.step < 0; i++) {
    ep_error why = {0};
    status = ep_checkpoint_path(t->job->job_folder, steps[i], path, error);
    if (status != EP_OK) break;
    ep_status loaded = ep_checkpoint_read(path, &found, &why);
    if (loaded == EP_OK && !identity_same(t, &found, &here)) break;
    if (loaded == EP_OK && !reports_logged(t, &found)) continue;
    if (loaded == EP_OK) loaded = checkpoint_load(t, path, &found, &why);
    if (loaded == EP_NO_MEMORY) status = ep_fail_memory(error);
    if (loaded == EP_OK)
      t->resumed.step = t->checkpointing.last_step = found.step;
    else
      resumed_note(t, "a checkpoint cannot be used: %.400s", why.message);
  }
  free(steps);
  if (status == EP_OK && t->resumed.step >= 0) numbers_give(t, &found);
  /* What the disk keeps has the bits that come again, or is passed over again. */
  if (status == EP_OK) (void)ep_checkpoints_remove_after(t->job->job_folder, t->resumed.step, NULL);
  return status;
}

/* Where the training of another job ended: its steps count in epochs of this one. */
static ep_status other_continue(ep_trainer *t, ep_error *error) {
  ep_checkpoint found = {0};
  ep_status status = checkpoint_load(t, t->job->init_weights, &found, error);
  if (status != EP_OK) return status;
  numbers_give(t, &found);
  t->seconds = 0;
  if (found.steps_per_epoch != t->steps_per_epoch) { /* other batches: whole epochs count */
    t->step = found.epoch * t->steps_per_epoch;
    t->epoch_loss = 0;
    t->epoch_errors = 0;
  }
  if (t->early_stopping.stops) { /* patience begins anew */
    t->early_stopping.stops = false;
    t->early_stopping.best_epoch = found.epoch;
  }
  if (t->step >= t->steps_total)
    return ep_fail_at(error, EP_INVALID, "/epochs",
                      "%" PRId64 " epochs are already done: epochs is the total, so increase it",
                      found.epoch);
  t->resumed.step = t->step;
  return EP_OK;
}

ep_status ep_checkpoint_resume(ep_trainer *t, ep_error *error) {
  t->resumed.step = -1;
  ep_status status = t->job->job_folder ? own_resume(t, error) : EP_OK;
  if (status == EP_OK && t->resumed.step < 0 && t->job->spec->init_optimizer)
    status = other_continue(t, error);
  if (status == EP_OK) ep_epoch_weigh(t);
  return status;
}

/* The thread's. */
static void *checkpoint_write(void *context) {
  ep_trainer *t = context;
  ep_checkpointing *c = &t->checkpointing;
  const ep_program *program = &t->plan->program;
  int64_t floats = ep_program_state_floats(program), optimizer = program->optimizer_floats;
  const float *best = c->has_best ? c->values + floats + optimizer : NULL;
  ep_checkpoint_values values = {.plan = t->plan,
                                 .scaling = &t->data.scaling,
                                 .spec_text = t->job->spec_text,
                                 .state = c->values,
                                 .optimizer = optimizer ? c->values + floats : NULL,
                                 .best = best,
                                 .best_optimizer = best && optimizer ? best + floats : NULL};
  ep_error error = {0};
  c->status = ep_checkpoint_write(t->job->job_folder, &c->checkpoint, &values, &error);
  if (c->status == EP_OK) /* those beyond are of a run before, and would count as newer */
    ep_checkpoints_remove_after(t->job->job_folder, c->checkpoint.step, NULL);
  if (c->status == EP_OK)
    ep_checkpoints_prune(t->job->job_folder, SLOTS + t->job->spec->checkpoint_keep, NULL);
  if (t->job->sink.checkpoint) /* at once: a segment may take long */
    t->job->sink.checkpoint(t->job->sink.context, &c->checkpoint,
                            c->status == EP_OK ? NULL : &error);
  atomic_store(&c->written, true);
  return NULL;
}

void ep_checkpoint_finish(ep_trainer *t) {
  ep_checkpointing *c = &t->checkpointing;
  if (!c->writing) return;
  if (c->threaded) pthread_join(c->thread, NULL);
  c->threaded = c->writing = false;
  if (c->status == EP_OK) c->last_step = c->checkpoint.step;
}

static ep_status values_allocate(ep_trainer *t, ep_error *error) {
  ep_checkpointing *c = &t->checkpointing;
  const ep_program *program = &t->plan->program;
  size_t floats = (size_t)(ep_program_state_floats(program) + program->optimizer_floats);
  size_t copies = t->early_stopping.state ? 2 : 1;
  if (!c->values) c->values = malloc(floats * copies * sizeof *c->values);
  return c->values ? EP_OK : ep_fail_memory(error);
}

/* Copies what the device holds. A device that fails its probe afterwards may have failed before.
 * *finite: the weights are; others are no place to go on from. */
static ep_status values_copy(ep_trainer *t, bool *finite, ep_error *error) {
  ep_checkpointing *c = &t->checkpointing;
  const ep_program *program = &t->plan->program;
  int64_t floats = ep_program_state_floats(program), optimizer = program->optimizer_floats;
  ep_status status = t->job->backend_ops->export_state(
      t->instance, c->values, optimizer ? c->values + floats : NULL, error);
  if (status == EP_OK) status = t->job->backend_ops->probe(t->job->backend, error);
  if (status != EP_OK) return status;
  *finite = ep_values_finite(c->values, floats);
  c->has_best = t->early_stopping.state && t->early_stopping.best_epoch > 0;
  if (c->has_best)
    memcpy(c->values + floats + optimizer, t->early_stopping.state,
           (size_t)(floats + optimizer) * sizeof *c->values);
  return EP_OK;
}

/* Copies what goes into a checkpoint of this step, unless it was copied or cannot be any more. */
static ep_status checkpoint_take(ep_trainer *t, ep_error *error) {
  ep_checkpointing *c = &t->checkpointing;
  bool finite = false;
  if (c->taken_step == t->step || t->best_restored) return EP_OK;
  c->checkpoint = (ep_checkpoint){0};
  c->taken_step = 0;
  ep_status status = values_allocate(t, error);
  if (status == EP_OK) status = values_copy(t, &finite, error);
  if (status == EP_OK) status = identity_fill(t, &c->checkpoint, error);
  c->due_seconds = ep_seconds_now() + t->job->spec->checkpoint_every_seconds;
  if (status == EP_NO_MEMORY) return EP_OK; /* a training without checkpoints is better than none */
  if (status != EP_OK || !finite) return status;
  numbers_take(t, &c->checkpoint);
  c->taken_step = t->step;
  return EP_OK;
}

static void checkpoint_write_begin(ep_trainer *t) {
  ep_checkpointing *c = &t->checkpointing;
  atomic_store(&c->written, false);
  c->writing = true;
  c->threaded = pthread_create(&c->thread, NULL, checkpoint_write, t) == 0;
  if (!c->threaded) checkpoint_write(t);
}

ep_status ep_checkpoint_begin(ep_trainer *t, ep_error *error) {
  ep_checkpointing *c = &t->checkpointing;
  ep_checkpoint_finish(t);
  if (!t->job->job_folder || t->step == 0 || c->last_step == t->step) return EP_OK;
  ep_status status = checkpoint_take(t, error);
  if (status == EP_OK && c->taken_step == t->step) checkpoint_write_begin(t);
  return status;
}

static bool is_young(const ep_trainer *t) {
  return t->seconds < t->job->checkpoint_after_seconds;
}

ep_status ep_checkpoint_last_begin(ep_trainer *t, ep_error *error) {
  ep_checkpointing *c = &t->checkpointing;
  if (!is_young(t) || ep_parts_count(&t->job->spec->parts) > 1)
    return ep_checkpoint_begin(t, error);
  bool replaced = t->early_stopping.state && t->early_stopping.best_epoch > 0;
  if (!t->job->job_folder || !t->job->pause || !replaced) return EP_OK;
  ep_checkpoint_finish(t);
  return c->last_step == t->step ? EP_OK : checkpoint_take(t, error);
}

ep_status ep_checkpoint_if_due(ep_trainer *t, ep_error *error) {
  ep_checkpointing *c = &t->checkpointing;
  if (c->writing && atomic_load(&c->written)) ep_checkpoint_finish(t);
  double now = ep_seconds_now();
  if (c->due_seconds == 0) c->due_seconds = now + t->job->spec->checkpoint_every_seconds;
  bool busy = c->writing && t->job->spec->checkpoint_every_seconds > 0; /* the next one waits */
  return busy || now < c->due_seconds || is_young(t) ? EP_OK : ep_checkpoint_begin(t, error);
}

static void numbers_write(ep_writer *writer, const char *key, int64_t *numbers, int64_t count) {
  ep_writer_member_open(writer, key, '[');
  for (int64_t i = 0; i < count; i++) ep_writer_integer(writer, numbers[i]);
  ep_writer_close(writer, ']');
  free(numbers);
}

void ep_checkpoints_settle(const ep_trainer *t, ep_job_result *result) {
  int64_t *steps, *epochs, steps_count, epochs_count;
  ep_writer writer;
  const char *folder = t->job->job_folder;
  if (!folder) return;
  ep_checkpoints_prune(folder, KEPT_AT_END + t->job->spec->checkpoint_keep, NULL);
  free(result->stored); /* of a try before */
  result->stored = NULL;
  if (ep_checkpoints_list(folder, &steps, &steps_count, NULL) != EP_OK) return;
  if (ep_moments_list(folder, &epochs, &epochs_count, NULL) != EP_OK) {
    free(steps);
    return;
  }
  ep_writer_init(&writer, EP_LIMIT_FRAME_BYTES);
  ep_writer_open(&writer, '{');
  numbers_write(&writer, "checkpoints", steps, steps_count);
  numbers_write(&writer, "snapshots", epochs, epochs_count);
  ep_writer_close(&writer, '}');
  result->stored = ep_writer_take(&writer);
}

void ep_checkpointing_deinit(ep_trainer *t) {
  ep_checkpointing *c = &t->checkpointing;
  if (c->threaded) pthread_join(c->thread, NULL);
  free(c->values);
}

bool ep_moments_wanted(const ep_trainer *t) {
  return t->job->spec->timelapse_every > 0 && t->job->job_folder;
}

static ep_status moment_store(ep_trainer *t, ep_error *error) {
  const ep_checkpoint_values values = {.plan = t->plan,
                                       .scaling = &t->data.scaling,
                                       .spec_text = t->job->spec_text,
                                       .state = t->state};
  ep_error refused = {0};
  ep_status status = ep_trainer_export(t, error);
  if (status == EP_OK && t->finite)
    ep_snapshot_write(t->job->job_folder, t->step / t->steps_per_epoch, &values, &refused);
  return status;
}

/* The same steps give the same weights: what a run before has stored up to here is kept. */
ep_status ep_moments_begin(ep_trainer *t, ep_error *error) {
  if (!ep_moments_wanted(t)) return EP_OK;
  int64_t epoch = t->resumed.step > 0 ? t->step / t->steps_per_epoch : -1;
  (void)ep_moments_remove_after(t->job->job_folder, epoch, NULL);
  return t->step == 0 ? moment_store(t, error) : EP_OK;
}

ep_status ep_moment_if_due(ep_trainer *t, ep_error *error) {
  if (!ep_moments_wanted(t)) return EP_OK;
  int64_t every = t->job->spec->timelapse_every * t->steps_per_epoch;
  return t->step % every == 0 ? moment_store(t, error) : EP_OK;
}

ep_status ep_moments_end(ep_trainer *t, ep_error *error) {
  if (!ep_moments_wanted(t) || t->step % t->steps_per_epoch != 0) return EP_OK;
  return moment_store(t, error);
}
