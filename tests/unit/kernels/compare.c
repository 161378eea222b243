#include "tests/unit/kernels/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/formulas/losses.h"

/* [GUARD | count | GUARD] words of 4 bytes. */
enum { GUARD = 64 };
static const uint32_t SENTINEL = UINT32_C(0x5EA1ED00);
static const uint32_t POISON = UINT32_C(0x7FC0DEAD); /* a NaN */

void *ep_guarded_create(int64_t count) {
  uint32_t *words = malloc(((size_t)count + 2 * GUARD) * sizeof *words);
  if (!words) {
    fprintf(stderr, "a comparison found no memory\n");
    exit(2);
  }
  for (int64_t i = 0; i < count + 2 * GUARD; i++) {
    words[i] = i < GUARD || i >= count + GUARD ? SENTINEL : POISON;
  }
  return words + GUARD;
}

void ep_guarded_destroy(void *array) {
  if (array) free((uint32_t *)array - GUARD);
}

bool ep_guarded_intact(const void *array, int64_t count, const char *what, FILE *log) {
  const uint32_t *words = (const uint32_t *)array - GUARD;
  for (int64_t i = 0; i < count + 2 * GUARD; i++) {
    if (i == GUARD) i += count;
    if (words[i] != SENTINEL) {
      fprintf(log, "  wrote outside %s, at %lld of %lld\n", what, (long long)i - GUARD,
              (long long)count);
      return false;
    }
  }
  return true;
}

double ep_compare_floats(const float *actual, const float *expected, int64_t count, double scale) {
  double square = 0, worst = 0;
  for (int64_t i = 0; i < count; i++) {
    bool finite = isfinite(actual[i]) && isfinite(expected[i]);
    if (!finite && !(actual[i] == expected[i])) return INFINITY;
    if (finite) square += (double)expected[i] * expected[i];
  }
  double floor = count > 0 ? sqrt(square / (double)count) : 0;
  if (floor < scale) floor = scale;
  for (int64_t i = 0; i < count; i++) {
    if (!isfinite(expected[i])) continue; /* the same infinity in both */
    double unit = fabs((double)expected[i]) > floor ? fabs((double)expected[i]) : floor;
    double difference = fabs((double)actual[i] - (double)expected[i]) / unit;
    if (difference > worst) worst = difference;
  }
  return worst;
}

static void run_init(ep_run *run, const ep_case *test) {
  const ep_program *program = &test->program;
  *run = (ep_run){.steps = test->steps,
                  .parameters = ep_program_state_floats(program),
                  .optimizer_floats = program->optimizer_floats,
                  .outputs = test->rows[EP_SPLIT_TEST] * program->out_features};
  run->loss = ep_guarded_create(run->steps);
  run->errors = ep_guarded_create(run->steps);
  run->trained = ep_guarded_create(run->parameters);
  run->optimizer = ep_guarded_create(run->optimizer_floats);
  run->output = ep_guarded_create(run->outputs);
}

void ep_run_deinit(ep_run *run) {
  ep_guarded_destroy(run->loss);
  ep_guarded_destroy(run->errors);
  ep_guarded_destroy(run->trained);
  ep_guarded_destroy(run->optimizer);
  ep_guarded_destroy(run->output);
  *run = (ep_run){0};
}

static bool run_intact(const ep_run *run, FILE *log) {
  bool loss = ep_guarded_intact(run->loss, run->steps, "loss", log);
  bool errors = ep_guarded_intact(run->errors, run->steps, "errors", log);
  bool trained = ep_guarded_intact(run->trained, run->parameters, "parameters", log);
  bool optimizer = ep_guarded_intact(run->optimizer, run->optimizer_floats, "optimizer", log);
  bool output = ep_guarded_intact(run->output, run->outputs, "output", log);
  return loss && errors && trained && optimizer && output;
}

/* What one case on one subject works with. */
typedef struct {
  const ep_backend_ops *ops;
  ep_instance *instance;
  const ep_case *test;
  ep_run *run;
  ep_error *error;
} session;

static ep_status train(const session *s, int64_t first, int64_t steps, bool one_lr) {
  ep_segment segment = {.first_step = first,
                        .steps = steps,
                        .lr = s->test->lr + first,
                        .lr_count = one_lr ? 1 : steps,
                        .loss = s->run->loss + first,
                        .errors = s->run->errors + first};
  return s->ops->train_segment(s->instance, &segment, s->error);
}

static ep_status export_state(const session *s) {
  float *optimizer = s->run->optimizer_floats > 0 ? s->run->optimizer : NULL;
  return s->ops->export_state(s->instance, s->run->trained, optimizer, s->error);
}

static ep_status import_state(const session *s, const float *parameters, const float *optimizer) {
  return s->ops->import_state(s->instance, parameters, optimizer, s->error);
}

/* Steps first … end-1 in segments of 1, 2, 3, …, the state out and in between them. */
static ep_status train_in_pieces(const session *s, int64_t first, int64_t end) {
  ep_status status = EP_OK;
  for (int64_t piece = 1; first < end && status == EP_OK; piece++) {
    if (piece > end - first) piece = end - first;
    status = train(s, first, piece, false);
    if (status == EP_OK) status = export_state(s);
    const float *optimizer = s->run->optimizer_floats > 0 ? s->run->optimizer : NULL;
    if (status == EP_OK) status = import_state(s, s->run->trained, optimizer);
    first += piece;
  }
  return status;
}

static ep_status train_cut(const session *s) {
  int64_t half = s->test->steps / 2;
  ep_status status = train_in_pieces(s, 0, half);
  if (status == EP_OK) status = s->ops->snapshot(s->instance, s->error);
  if (status == EP_OK) status = train(s, half, s->test->steps - half, false);
  if (status == EP_OK) status = s->ops->rollback(s->instance, s->error);
  if (status == EP_OK) status = train_in_pieces(s, half, s->test->steps);
  return status;
}

static ep_status import_first_state(const session *s) {
  if (s->run->optimizer_floats == 0) return import_state(s, s->test->parameters, NULL);
  float *zeros = calloc((size_t)s->run->optimizer_floats, sizeof *zeros);
  ep_status status = zeros ? import_state(s, s->test->parameters, zeros) : EP_NO_MEMORY;
  free(zeros);
  return status;
}

/* The test rows, where they were loaded from; or as a copy, which the backend has not seen. */
static ep_status predict(const session *s, bool copied) {
  const ep_case *test = s->test;
  const ep_program *program = &test->program;
  size_t values = (size_t)(test->rows[EP_SPLIT_TEST] * ep_shape_count(program->stored));
  size_t bytes = values * (program->x_type == EP_X_UINT8 ? 1 : sizeof(float));
  void *copy = copied ? malloc(bytes + 1) : NULL;
  if (copied && !copy) return EP_NO_MEMORY;
  if (copied) memcpy(copy, test->x[EP_SPLIT_TEST], bytes);
  ep_status status = s->ops->predict(s->instance, copied ? copy : test->x[EP_SPLIT_TEST],
                                     test->rows[EP_SPLIT_TEST], s->run->output, s->error);
  free(copy);
  return status;
}

static ep_status run_instance(const session *s, ep_run_mode mode) {
  const ep_case *test = s->test;
  ep_status status = import_first_state(s);
  for (int split = 0; split < EP_SPLIT_COUNT && status == EP_OK; split++) {
    status = s->ops->load_data(s->instance, (ep_split)split, test->x[split], test->y[split],
                               test->rows[split], s->error);
  }
  if (status == EP_OK) {
    status = mode == EP_RUN_CUT ? train_cut(s) : train(s, 0, test->steps, test->lr_constant);
  }
  for (int split = 0; split < EP_SPLIT_COUNT && status == EP_OK; split++) {
    status = s->ops->evaluate(s->instance, (ep_split)split, &s->run->split_loss[split],
                              &s->run->split_errors[split], s->error);
  }
  if (status == EP_OK) status = predict(s, mode == EP_RUN_CUT);
  if (status == EP_OK) status = export_state(s);
  return status;
}

ep_status ep_run_case(const ep_subject *subject, const ep_case *test, ep_run_mode mode, ep_run *out,
                      FILE *log) {
  ep_error error = {.message = ""};
  session s = {.ops = subject->ops, .test = test, .run = out, .error = &error};
  run_init(out, test);
  ep_status status =
      s.ops->compile(subject->backend, &test->program, subject->executor, &s.instance, &error);
  if (status == EP_UNSUPPORTED) return status;
  if (status == EP_OK) {
    status = run_instance(&s, mode);
    s.ops->release(s.instance);
  }
  if (status != EP_OK) {
    fprintf(log, "%s: %s: %s\n", test->name, ep_status_name(status), error.message);
  } else if (!run_intact(out, log)) {
    fprintf(log, "%s: a sentinel was overwritten\n", test->name);
    status = EP_INTERNAL;
  }
  return status;
}

/* The update is compared, not the weight: a small one would hide behind a large weight. */
static double compare_updates(const ep_case *test, const ep_run *actual, const ep_run *expected) {
  float *moved[2] = {ep_guarded_create(actual->parameters), ep_guarded_create(actual->parameters)};
  for (int64_t i = 0; i < actual->parameters; i++) {
    moved[0][i] = actual->trained[i] - test->parameters[i];
    moved[1][i] = expected->trained[i] - test->parameters[i];
  }
  double worst = ep_compare_floats(moved[0], moved[1], actual->parameters, 1e-2);
  ep_guarded_destroy(moved[0]);
  ep_guarded_destroy(moved[1]);
  return worst;
}

/* Notes a difference: false and a line when it is not within tolerance (a NaN is not). */
static bool within(const char *what, double difference, double tolerance, double *worst,
                   FILE *log) {
  if (difference > *worst) *worst = difference;
  if (difference <= tolerance) return true;
  fprintf(log, "  %s differs by %.3g, %.3g is allowed\n", what, difference, tolerance);
  return false;
}

/* Targets that may be misclassified in one run and not in the other: none, unless the products are
 * so coarse that a target may fall on either side. */
static int64_t errors_spared(int64_t targets, double tolerance) {
  return tolerance > EP_COMPARE_TOLERANCE ? (int64_t)(tolerance * (double)targets) + 1 : 0;
}

static bool errors_agree(const ep_case *test, const ep_run *actual, const ep_run *expected,
                         double tolerance, FILE *log) {
  int64_t columns = test->program.target_columns;
  int64_t spared = errors_spared(test->program.batch_size * columns, tolerance);
  for (int64_t i = 0; i < actual->steps; i++) {
    if (llabs((long long)actual->errors[i] - expected->errors[i]) <= spared) continue;
    fprintf(log, "  step %lld: %d misclassified, expected %d\n", (long long)i, actual->errors[i],
            expected->errors[i]);
    return false;
  }
  for (int split = 0; split < EP_SPLIT_COUNT; split++) {
    spared = errors_spared(test->rows[split] * columns, tolerance);
    if (llabs(actual->split_errors[split] - expected->split_errors[split]) <= spared) continue;
    fprintf(log, "  split %d: %lld misclassified, expected %lld\n", split,
            (long long)actual->split_errors[split], (long long)expected->split_errors[split]);
    return false;
  }
  return true;
}

bool ep_runs_agree(const ep_case *test, const ep_run *actual, const ep_run *expected,
                   double tolerance, double *worst, FILE *log) {
  double largest = 0;
  bool agree = true;
  agree &= within("loss", ep_compare_floats(actual->loss, expected->loss, actual->steps, 1e-2),
                  tolerance, &largest, log);
  agree &= within("update", compare_updates(test, actual, expected), tolerance, &largest, log);
  agree &= within(
      "optimizer state",
      ep_compare_floats(actual->optimizer, expected->optimizer, actual->optimizer_floats, 1e-2),
      tolerance, &largest, log);
  agree &=
      within("output", ep_compare_floats(actual->output, expected->output, actual->outputs, 1e-2),
             tolerance, &largest, log);
  for (int split = 0; split < EP_SPLIT_COUNT; split++) {
    float is = (float)actual->split_loss[split], should = (float)expected->split_loss[split];
    agree &= within("a split's loss", ep_compare_floats(&is, &should, 1, 1e-2), tolerance, &largest,
                    log);
  }
  agree &= errors_agree(test, actual, expected, tolerance, log);
  if (!agree) fprintf(log, "%s: disagrees\n", test->name);
  if (worst) *worst = largest;
  return agree;
}

double ep_case_tolerance(const ep_subject *reference, const ep_case *test, float rounding,
                         double factor, double least, FILE *log) {
  ep_run expected = {0}, off = {0};
  ep_case moved = *test;
  double worst = (double)INFINITY;
  const int64_t count = ep_program_state_floats(&test->program);
  moved.parameters = calloc((size_t)count, sizeof *moved.parameters);
  for (int64_t i = 0; moved.parameters && i < count; i++)
    moved.parameters[i] = test->parameters[i] * (1 + (i % 2 ? rounding : -rounding));
  if (moved.parameters && ep_run_case(reference, test, EP_RUN_WHOLE, &expected, log) == EP_OK &&
      ep_run_case(reference, &moved, EP_RUN_WHOLE, &off, log) == EP_OK)
    ep_runs_agree(test, &off, &expected, 1e9, &worst, log);
  ep_run_deinit(&off);
  ep_run_deinit(&expected);
  free(moved.parameters);
  return factor * worst > least ? factor * worst : least;
}

static bool same(const char *what, const void *actual, const void *expected, int64_t count,
                 size_t size, FILE *log) {
  if (memcmp(actual, expected, (size_t)count * size) == 0) return true;
  fprintf(log, "  %s is not the same to the last bit\n", what);
  return false;
}

bool ep_runs_same(const ep_case *test, const ep_run *actual, const ep_run *expected, FILE *log) {
  bool equal = true;
  equal &= same("loss", actual->loss, expected->loss, actual->steps, 4, log);
  equal &= same("errors", actual->errors, expected->errors, actual->steps, 4, log);
  equal &= same("parameters", actual->trained, expected->trained, actual->parameters, 4, log);
  equal &= same("optimizer state", actual->optimizer, expected->optimizer, actual->optimizer_floats,
                4, log);
  equal &= same("output", actual->output, expected->output, actual->outputs, 4, log);
  equal &= same("the splits' loss", actual->split_loss, expected->split_loss, EP_SPLIT_COUNT,
                sizeof actual->split_loss[0], log);
  equal &= same("the splits' errors", actual->split_errors, expected->split_errors, EP_SPLIT_COUNT,
                sizeof actual->split_errors[0], log);
  if (!equal) fprintf(log, "%s: cutting training changed its bits\n", test->name);
  return equal;
}

void ep_compare_case(const ep_subject *subject, const ep_subject *reference, const ep_case *test,
                     double tolerance, ep_comparison *out, FILE *log) {
  ep_run expected = {0}, whole = {0}, cut = {0};
  double worst = 0;
  ep_status status = ep_run_case(subject, test, EP_RUN_WHOLE, &whole, log);
  if (status == EP_OK) status = ep_run_case(subject, test, EP_RUN_CUT, &cut, log);
  if (status == EP_OK) { /* the slowest, so last, and only for what the subject takes */
    status = ep_run_case(reference, test, EP_RUN_WHOLE, &expected, log);
    if (status == EP_UNSUPPORTED) status = EP_INTERNAL; /* the reference takes everything */
  }
  if (status == EP_UNSUPPORTED) {
    out->unsupported++;
  } else if (status == EP_OK && ep_runs_agree(test, &whole, &expected, tolerance, &worst, log) &&
             ep_runs_same(test, &cut, &whole, log)) {
    out->agreed++;
    if (worst >= out->worst) {
      out->worst = worst;
      snprintf(out->worst_name, sizeof out->worst_name, "%s", test->name);
    }
  } else {
    out->failed++;
  }
  ep_run_deinit(&cut);
  ep_run_deinit(&whole);
  ep_run_deinit(&expected);
}

ep_comparison ep_compare_all(const ep_subject *subject, const ep_subject *reference,
                             double tolerance, FILE *log) {
  ep_comparison out = {0};
  for (int i = 0; i < ep_case_count(); i++) {
    ep_case *test = ep_case_create_number(i);
    ep_compare_case(subject, reference, test, tolerance, &out, log);
    ep_case_destroy(test);
  }
  return out;
}

/* Changes one thing in `spoilt`, which is the same as `good`, asks whether it is noticed, and
 * changes it back. */
static bool notices_spoilt_runs(const ep_case *test, ep_run *spoilt, const ep_run *good, FILE *log,
                                FILE *quiet) {
  double tolerance = EP_COMPARE_TOLERANCE;
  bool noticed = ep_runs_agree(test, spoilt, good, tolerance, NULL, log); /* nothing changed yet */
  noticed &= ep_runs_same(test, spoilt, good, log);
  float *places[] = {spoilt->loss, spoilt->trained, spoilt->optimizer, spoilt->output};
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
    float kept = *places[i];
    *places[i] = NAN;
    noticed &= !ep_runs_agree(test, spoilt, good, tolerance, NULL, quiet);
    *places[i] = INFINITY;
    noticed &= !ep_runs_agree(test, spoilt, good, tolerance, NULL, quiet);
    *places[i] = kept + 10 * (float)tolerance * fmaxf(fabsf(kept), 1);
    noticed &= !ep_runs_agree(test, spoilt, good, tolerance, NULL, quiet);
    *places[i] = nextafterf(kept, 1e9f);
    noticed &= !ep_runs_same(test, spoilt, good, quiet);
    *places[i] = kept;
  }
  spoilt->errors[0]++;
  noticed &= !ep_runs_agree(test, spoilt, good, tolerance, NULL, quiet);
  spoilt->errors[0]--;
  spoilt->split_errors[1]++;
  noticed &= !ep_runs_agree(test, spoilt, good, tolerance, NULL, quiet);
  spoilt->split_errors[1]--;
  spoilt->split_loss[2] = NAN;
  noticed &= !ep_runs_agree(test, spoilt, good, tolerance, NULL, quiet);
  spoilt->split_loss[2] = good->split_loss[2];
  uint32_t *outside = (uint32_t *)spoilt->loss + spoilt->steps;
  noticed &= run_intact(spoilt, log);
  *outside = 0;
  noticed &= !run_intact(spoilt, quiet);
  *outside = SENTINEL;
  outside = (uint32_t *)spoilt->output - 1;
  *outside = 0;
  noticed &= !run_intact(spoilt, quiet);
  *outside = SENTINEL;
  return noticed;
}

bool ep_compare_canary(const ep_subject *subject, FILE *log) {
  ep_case *test = ep_case_create("canary", 6, EP_LOSS_BCE_WITH_LOGITS);
  ep_case_add_linear(test, 5, true);
  ep_case_add(test, EP_LAYER_TANH);
  ep_case_add_linear(test, 1, true);
  ep_case_finish(test, &(ep_case_training){.rows = 45,
                                           .batch_size = 7,
                                           .shuffle = true,
                                           .steps = 20,
                                           .lr = 0.1f,
                                           .optimizer = {.momentum = 0.5f}});
  FILE *quiet = fopen("/dev/null", "w");
  ep_run good = {0}, again = {0}, slower = {0};
  bool noticed = quiet && ep_run_case(subject, test, EP_RUN_WHOLE, &good, log) == EP_OK &&
                 ep_run_case(subject, test, EP_RUN_WHOLE, &again, log) == EP_OK &&
                 notices_spoilt_runs(test, &again, &good, log, quiet);
  for (int64_t i = 0; i < test->steps; i++) test->lr[i] *= 0.99f;
  noticed = noticed && ep_run_case(subject, test, EP_RUN_WHOLE, &slower, log) == EP_OK &&
            !ep_runs_agree(test, &slower, &good, EP_COMPARE_TOLERANCE, NULL, quiet);
  if (!noticed) fprintf(log, "canary: a wrong answer was not noticed\n");
  if (quiet) fclose(quiet);
  ep_run_deinit(&slower);
  ep_run_deinit(&again);
  ep_run_deinit(&good);
  ep_case_destroy(test);
  return noticed;
}

/* --- argmax -------------------------------------------------------------------------------- */

/* Four outputs that are the same for every row: their biases, NaN in the columns of `nans`. */
static ep_case *argmax_case_create(ep_loss_type loss, unsigned nans) {
  enum { COLUMNS = 4, ROWS = 37 };
  ep_case *self = ep_case_create("argmax", 3, loss);
  ep_case_add_linear(self, COLUMNS, true);
  ep_case_finish(self, &(ep_case_training){.rows = ROWS, .batch_size = 20, .steps = 2, .lr = 0});
  memset(self->parameters, 0, (size_t)self->program.parameters * sizeof *self->parameters);
  for (int j = 0; j < COLUMNS; j++)
    if (nans >> j & 1) self->parameters[self->ops[0].bias + j] = NAN;
  return self;
}

static int32_t others_count(const ep_case *test, int64_t rows, int32_t first) {
  const int32_t *labels = test->y[EP_SPLIT_TRAIN];
  int32_t count = 0;
  for (int64_t i = 0; i < rows; i++) count += labels[i] != first;
  return count;
}

static ep_status argmax_compare(const ep_subject *subject, ep_loss_type loss, unsigned nans,
                                int32_t first, FILE *log) {
  ep_case *test = argmax_case_create(loss, nans);
  ep_run run = {0};
  ep_status status = ep_run_case(subject, test, EP_RUN_WHOLE, &run, log);
  if (status == EP_OK) {
    int64_t rows = test->program.batch_size;
    int32_t step = others_count(test, rows, first);
    /* A loss that normalizes has spread NaN to all columns by then. */
    int32_t then = ep_loss_normalizes(loss) ? 0 : first;
    int64_t all = others_count(test, test->rows[EP_SPLIT_TRAIN], then);
    if (run.errors[0] != step || run.split_errors[EP_SPLIT_TRAIN] != all) {
      fprintf(log, "%s, %s, NaN in columns %#x: %d errors of %d, %lld of %lld\n", subject->executor,
              ep_loss_type_name(loss), nans, run.errors[0], step,
              (long long)run.split_errors[EP_SPLIT_TRAIN], (long long)all);
      status = EP_INTERNAL;
    }
  }
  ep_run_deinit(&run);
  ep_case_destroy(test);
  return status;
}

ep_status ep_compare_argmax(const ep_subject *subject, FILE *log) {
  static const struct {
    unsigned nans;
    int32_t first;
  } rows[] = {{0, 0}, {1 << 2, 2}, {1 << 1 | 1 << 3, 1}, {1 << 3, 3}};
  ep_status found = EP_UNSUPPORTED;
  for (int loss = 0; loss < EP_LOSS_COUNT; loss++)
    for (size_t i = 0; ep_loss_takes_classes((ep_loss_type)loss) && i < sizeof rows / sizeof *rows;
         i++) {
      ep_status status =
          argmax_compare(subject, (ep_loss_type)loss, rows[i].nans, rows[i].first, log);
      if (status == EP_INTERNAL || found == EP_UNSUPPORTED) found = status;
    }
  return found;
}
