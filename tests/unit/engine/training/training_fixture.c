#include "tests/unit/engine/training/training_fixture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void on_started(void *context, const ep_train_start *start) {
  fixture *f = context;
  ck_assert_ptr_nonnull(start->plan);
  ck_assert_ptr_nonnull(start->executor);
  f->started++;
  f->first_epoch = start->epoch;
  f->steps_per_epoch = ep_program_steps_per_epoch(&start->plan->program);
  snprintf(f->note, sizeof f->note, "%s", start->note);
}

static void on_report(void *context, const ep_progress_record *record, int count) {
  fixture *f = context;
  ck_assert_int_lt(f->records_count, FIXTURE_RECORDS);
  ck_assert_int_ge(count, 1);
  f->records[f->records_count++] = *record;
  if (f->cancel_at_epoch && record->epoch >= f->cancel_at_epoch) atomic_store(&f->cancel, true);
  if (f->pause_at_epoch && record->epoch >= f->pause_at_epoch) atomic_store(&f->pause, true);
}

static void on_alive(void *context) {
  ((fixture *)context)->alive++;
}

static void on_segment(void *context) {
  fixture *f = context;
  f->records_sent = f->records_count;
}

static void on_waiting(void *context, const ep_error *why) {
  fixture *f = context;
  ck_assert_str_ne(why->message, "");
  f->waits++;
  if (f->cancel_waiting)
    atomic_store(&f->cancel, true);
  else
    ck_assert_int_eq(rmdir(f->obstacle), 0);
}

void fixture_open(fixture *f, const char *spec, const ep_backend_ops *ops, ep_backend *backend) {
  static ep_problem problem;
  memset(f, 0, sizeof *f);
  problem = (ep_problem){0};
  ck_assert_msg(ep_job_spec_parse(spec, strlen(spec), &f->spec, &problem) == EP_OK, "%s: %s",
                problem.errors[0].pointer, problem.detail);
  snprintf(f->folder, sizeof f->folder, "/tmp/epochd-test-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(f->folder));
  f->training = (ep_training){
      .backend_ops = ops,
      .backend = backend,
      .device = "cpu",
      .spec = f->spec,
      .spec_text = spec,
      .job_folder = f->folder,
      .epochs_logged = -1,
      .checkpoint_after_seconds = 1e9,
      .cancel = &f->cancel,
      .sink = {f, on_started, on_report, on_alive, on_segment, .waiting = on_waiting}};
}

ep_job_result fixture_train(fixture *f) {
  ep_job_result result;
  ep_error error = {0};
  ck_assert_msg(ep_train(&f->training, &result, &error) == EP_OK, "%s", error.message);
  if (result.status == EP_OK) ck_assert_int_eq(f->records_sent, f->records_count);
  return result;
}

char *fixture_read(const fixture *f, const char *name) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", f->folder, name);
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  char *text = calloc(1, 1 << 22);
  ck_assert_ptr_nonnull(text);
  size_t got = fread(text, 1, (1 << 22) - 1, file);
  ck_assert(got < (1 << 22) - 1);
  fclose(file);
  return text;
}

void fixture_close(fixture *f) {
  static const char *const names[] = {"weights.safetensors", "predictions.json", "predictions.csv"};
  char path[128];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    snprintf(path, sizeof path, "%s/%s", f->folder, names[i]);
    unlink(path);
  }
  ck_assert_int_eq(rmdir(f->folder), 0); /* nothing else may lie there */
  ep_job_spec_destroy(f->spec);
}
