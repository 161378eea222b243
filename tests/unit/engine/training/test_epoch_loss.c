/* The loss of an epoch is the mean over its rows, whatever the batches, the executor and the ranks:
 * at a learning rate of 0 it is the loss of the training split. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/checkpoints/list.h"
#include "kernels/cpu/executors/list.h"
#include "tests/suite.h"
#include "tests/unit/engine/training/training_fixture.h"

enum { FEATURES = 3, CLASSES = 3, ROWS_MOST = 67, TEXT_BYTES = 16384 };

static ep_backend *backend;

static void backend_open(void) {
  ck_assert_int_eq(ep_backend_cpu()->open(0, &backend, NULL), EP_OK);
}

static void backend_close(void) {
  ep_backend_cpu()->close(backend);
}

typedef struct {
  const char *loss, *outputs; /* as the job has them: the loss, and layers behind the hidden one */
} loss_case;

#define LINEAR(n) "{\"type\":\"linear\",\"out_features\":" #n "}"
#define WEIGHTS "\"class_weights\":[1,9,0.5]"

/* Every loss, and what weighs its rows. */
static const loss_case losses[] = {
    {"\"mse\"", LINEAR(1)},
    {"\"mae\"", LINEAR(1)},
    {"\"huber\"", LINEAR(1)},
    {"{\"type\":\"quantile\",\"q\":0.9}", LINEAR(1)},
    {"\"bce\"", LINEAR(1) ",{\"type\":\"sigmoid\"}"},
    {"{\"type\":\"bce\",\"pos_weight\":7}", LINEAR(1) ",{\"type\":\"sigmoid\"}"},
    {"\"bce_with_logits\"", LINEAR(1)},
    {"{\"type\":\"bce_with_logits\",\"pos_weight\":7}", LINEAR(1)},
    {"\"cross_entropy\"", LINEAR(3)},
    {"{\"type\":\"cross_entropy\",\"label_smoothing\":0.2}", LINEAR(3)},
    {"{\"type\":\"cross_entropy\"," WEIGHTS "}", LINEAR(3)},
    {"{\"type\":\"cross_entropy\",\"class_weights\":\"balanced\"}", LINEAR(3)},
    {"{\"type\":\"cross_entropy\",\"label_smoothing\":0.2," WEIGHTS "}", LINEAR(3)},
    {"\"nll\"", LINEAR(3) ",{\"type\":\"log_softmax\"}"},
    {"{\"type\":\"nll\"," WEIGHTS "}", LINEAR(3) ",{\"type\":\"log_softmax\"}"},
    {"\"focal\"", LINEAR(3)},
    {"{\"type\":\"focal\",\"gamma\":3," WEIGHTS "}", LINEAR(3)}};
enum { LOSSES = sizeof losses / sizeof *losses };

typedef struct {
  int rows, batch_size;
} size_case;

static const size_case sizes[] = {{1, 1}, {5, 4}, {31, 8}, {33, 32}, {64, 16}, {67, 13}, {33, 33}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static bool is_of_numbers(const char *loss) {
  return strstr(loss, "mse") || strstr(loss, "mae") || strstr(loss, "huber") ||
         strstr(loss, "quantile");
}

static bool is_of_classes(const char *loss) {
  return strstr(loss, "cross_entropy") || strstr(loss, "nll") || strstr(loss, "focal");
}

/* The last row is far off, and most rows of a class lie together: a mean of means shows. */
static double target_of(const char *loss, int row, int rows) {
  if (is_of_numbers(loss)) return row == rows - 1 ? 40 : row % 5;
  if (is_of_classes(loss)) return row * 2 < rows ? row % 7 == 6 : CLASSES - 1;
  return row * 3 >= rows * 2;
}

/* rest: more fields of the job. */
static void spec_make(const loss_case *of, const size_case *size, const char *rest,
                      char text[TEXT_BYTES]) {
  size_t used = (size_t)snprintf(text, TEXT_BYTES, "{\"data\":{\"inline\":{\"x\":[");
  for (int i = 0; i < size->rows; i++) {
    used += (size_t)snprintf(text + used, TEXT_BYTES - used, "%s[", i ? "," : "");
    for (int j = 0; j < FEATURES; j++)
      used += (size_t)snprintf(text + used, TEXT_BYTES - used, "%s%.3f", j ? "," : "",
                               sin(i * 1.7 + j * 2.3) + 0.02 * i);
    used += (size_t)snprintf(text + used, TEXT_BYTES - used, "]");
  }
  used += (size_t)snprintf(text + used, TEXT_BYTES - used, "],\"y\":[");
  for (int i = 0; i < size->rows; i++)
    used += (size_t)snprintf(text + used, TEXT_BYTES - used, "%s%g", i ? "," : "",
                             target_of(of->loss, i, size->rows));
  used += (size_t)snprintf(text + used, TEXT_BYTES - used,
                           "]}},\"model\":{\"layers\":[{\"type\":\"linear\",\"out_features\":5},"
                           "{\"type\":\"tanh\"},%s]},\"loss\":%s,\"batch_size\":%d,"
                           "\"optimizer\":{\"lr\":0},\"epochs\":2%s}",
                           of->outputs, of->loss, size->batch_size, rest);
  ck_assert_uint_lt(used, TEXT_BYTES);
}

/* Whether the training could be done that way; then each of its epochs has that loss. */
static bool losses_agree(const loss_case *of, const size_case *size, const char *rest) {
  static char text[TEXT_BYTES];
  static fixture f;
  spec_make(of, size, rest, text);
  fixture_open(&f, text, ep_backend_cpu(), backend);
  ep_job_result result = fixture_train(&f);
  bool done = result.status == EP_OK;
  if (!done) ck_assert_msg(result.status == EP_UNSUPPORTED, "%s: %s", rest, result.message);
  if (done) ck_assert_int_eq(f.records_count, 2);
  for (int i = 0; i < f.records_count; i++) {
    double actual = f.records[i].loss, expected = result.train.loss;
    ck_assert_msg(isfinite(actual) && fabs(actual - expected) <= 2e-6 * fabs(expected),
                  "%s, %d rows by %d%s: %.9g, not %.9g", of->loss, size->rows, size->batch_size,
                  rest, actual, expected);
  }
  ep_job_result_deinit(&result);
  fixture_close(&f);
  return done;
}

START_TEST(it_is_the_mean_over_rows_on_every_executor) {
  int count, trained = 0;
  const ep_executor *const *executors = ep_cpu_executors(&count);
  for (int e = 0; e < count; e++) {
    if (strcmp(executors[e]->profile->name, "cpu/ranks") == 0) continue;
    for (int s = 0; s < SIZES; s++)
      for (int shuffle = 0; shuffle < 2; shuffle++) {
        char rest[128];
        snprintf(rest, sizeof rest, ",\"executor\":\"%s\",\"shuffle\":%s",
                 executors[e]->profile->name, shuffle ? "true" : "false");
        trained += losses_agree(&losses[_i], &sizes[s], rest);
      }
  }
  ck_assert_int_ge(trained, 2 * 2 * SIZES); /* blocked and reference take every loss */
}
END_TEST

START_TEST(it_is_the_same_on_several_ranks) {
  static const char *const cut[] = {",\"parallel\":{\"data\":2}", ",\"parallel\":{\"data\":3}",
                                    ",\"parallel\":{\"model\":2,\"micro_batches\":3}",
                                    ",\"parallel\":{\"data\":2,\"model\":2,\"micro_batches\":2}"};
  static const size_case uneven[] = {{31, 8}, {67, 13}};
  for (int c = 0; c < 4; c++)
    for (int s = 0; s < 2; s++) ck_assert(losses_agree(&losses[_i], &uneven[s], cut[c]));
}
END_TEST

/* Paused behind the first batch, whose weight is of few of the epoch's rows. */
START_TEST(an_epoch_that_was_paused_has_it_too) {
  static const size_case size = {31, 8};
  static char text[TEXT_BYTES];
  static fixture f;
  spec_make(&losses[_i], &size, ",\"report_batches\":1", text);
  fixture_open(&f, text, ep_backend_cpu(), backend);
  f.training.pause = &f.pause;
  f.training.segment_steps_most = 1;
  f.pause_at_epoch = 1;
  ep_job_result result = fixture_train(&f);
  ck_assert_int_eq(result.status, EP_PAUSED);
  ck_assert_int_eq(f.records_count, 1);
  ep_job_result_deinit(&result);
  f.pause_at_epoch = 0;
  atomic_store(&f.pause, false);
  result = fixture_train(&f);
  ck_assert_int_eq(result.status, EP_OK);
  for (int i = 0; i < f.records_count; i++)
    if (f.records[i].kind == EP_PROGRESS_EPOCH || f.records[i].batch == f.records[i].batches)
      ck_assert_double_eq_tol(f.records[i].loss, result.train.loss, 2e-6 * result.train.loss);
  ck_assert_int_eq(f.records[f.records_count - 1].kind, EP_PROGRESS_EPOCH);
  ep_job_result_deinit(&result);
  ck_assert_int_eq(ep_checkpoints_remove_after(f.folder, -1, NULL), EP_OK);
  fixture_close(&f);
}
END_TEST

EP_SUITE("epoch_loss") {
  TCase *tests = ep_suite_case(suite, "epoch_loss");
  tcase_add_checked_fixture(tests, backend_open, backend_close);
  tcase_set_timeout(tests, 60);
  tcase_add_loop_test(tests, it_is_the_mean_over_rows_on_every_executor, 0, LOSSES);
  tcase_add_loop_test(tests, it_is_the_same_on_several_ranks, 0, LOSSES);
  tcase_add_loop_test(tests, an_epoch_that_was_paused_has_it_too, 0, LOSSES);
}
