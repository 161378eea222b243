/* The learning rate of every step under every schedule, as torch.optim.lr_scheduler has it. */
#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/training/rules/schedule.h"
#include "tests/suite.h"

static double number(const json_t *golden, const char *key) {
  const json_t *value = json_object_get(golden, key);
  ck_assert_msg(json_is_number(value), "no number \"%s\"", key);
  return json_number_value(value);
}

/* A job with the golden's schedule; the caller destroys it. */
static ep_job_spec *job_make(const json_t *golden) {
  json_t *schedule = json_copy(json_object_get(golden, "options"));
  json_object_set(schedule, "type", json_object_get(golden, "type"));
  json_t *job = json_pack("{s:{s:s}, s:{s:[{s:s,s:i}]}, s:s, s:{s:f}, s:I, s:o}", "data",
                          "generator", "xor", "model", "layers", "type", "linear", "out_features",
                          1, "loss", "mse", "optimizer", "lr", number(golden, "lr_first"), "epochs",
                          (json_int_t)number(golden, "epochs"), "schedule", schedule);
  ck_assert_ptr_nonnull(job);
  char *text = json_dumps(job, 0);
  static ep_problem problem;
  problem = (ep_problem){0};
  ep_job_spec *spec = NULL;
  ck_assert_msg(ep_job_spec_parse(text, strlen(text), &spec, &problem) == EP_OK, "%s: %s",
                problem.errors[0].pointer, problem.detail);
  free(text);
  json_decref(job);
  return spec;
}

/* The greatest relative difference over all steps; infinite when one is not a number. */
static double worst_difference(const json_t *golden, double factor) {
  ep_job_spec *spec = job_make(golden);
  int64_t steps_per_epoch = (int64_t)number(golden, "steps_per_epoch");
  const json_t *rates = json_object_get(golden, "lr"),
               *metrics = json_object_get(golden, "metrics");
  ep_schedule schedule;
  ep_schedule_init(&schedule, spec, steps_per_epoch);
  ck_assert_uint_eq(json_array_size(rates), (size_t)(spec->epochs * steps_per_epoch));
  double worst = 0;
  for (int64_t step = 0; step < spec->epochs * steps_per_epoch; step++) {
    double expected = json_number_value(json_array_get(rates, (size_t)step)) * factor;
    double difference = fabs(ep_schedule_lr(&schedule, step) - expected) / (fabs(expected) + 1e-12);
    if (!(difference <= worst)) worst = isnan(difference) ? INFINITY : difference;
    if (metrics && (step + 1) % steps_per_epoch == 0) {
      int64_t epoch = (step + 1) / steps_per_epoch;
      const json_t *metric = json_array_get(metrics, (size_t)epoch - 1);
      ep_schedule_observe(&schedule, epoch, json_number_value(metric));
    }
  }
  ep_job_spec_destroy(spec);
  return worst;
}

/* Calls `visit` with each schedule's golden; returns how many there are. */
static int goldens_visit(void (*visit)(const char *name, const json_t *golden)) {
  DIR *folder = opendir(EP_GOLDEN_FOLDER);
  ck_assert_ptr_nonnull(folder);
  int count = 0;
  for (struct dirent *entry; (entry = readdir(folder));) {
    char path[4096];
    if (strncmp(entry->d_name, "schedule_", 9) != 0) continue;
    snprintf(path, sizeof path, "%s/%s", EP_GOLDEN_FOLDER, entry->d_name);
    json_t *golden = json_load_file(path, 0, NULL);
    ck_assert_msg(golden != NULL, "%s is no JSON", path);
    visit(entry->d_name, golden);
    json_decref(golden);
    count++;
  }
  closedir(folder);
  return count;
}

static void agrees(const char *name, const json_t *golden) {
  double worst = worst_difference(golden, 1);
  ck_assert_msg(worst <= 1e-9, "%s differs by %g", name, worst);
}

static void is_noticed(const char *name, const json_t *golden) {
  ck_assert_msg(worst_difference(golden, 1.0001) > 1e-9, "%s: a difference was not noticed", name);
}

START_TEST(every_schedule_is_torchs) {
  ck_assert_int_ge(goldens_visit(agrees), EP_SCHEDULE_COUNT);
}
END_TEST

START_TEST(the_comparison_can_fail) {
  ck_assert_int_ge(goldens_visit(is_noticed), EP_SCHEDULE_COUNT);
}
END_TEST

EP_SUITE("schedules") {
  TCase *tests = ep_suite_case(suite, "schedules");
  tcase_add_test(tests, every_schedule_is_torchs);
  tcase_add_test(tests, the_comparison_can_fail);
}
