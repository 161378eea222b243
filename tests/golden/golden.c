#include "tests/golden/golden.h"

#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/formulas/optimizers.h"
#include "kernels/operators/operator.h"

/* --- reading ------------------------------------------------------------------------------- */

static void golden_deinit(ep_golden *golden) {
  free(golden->class_weights);
  free(golden->groups);
  free(golden->errors);
  free(golden->output);
  free(golden->trained);
  free(golden->loss);
  ep_case_destroy(golden->test);
  memset(golden, 0, sizeof *golden);
}

/* The `count` numbers of an array, as float32; NULL when it is not that. The caller frees them. */
static float *read_floats(const json_t *root, const char *key, int64_t count) {
  const json_t *array = json_object_get(root, key);
  if (!json_is_array(array) || (int64_t)json_array_size(array) != count) return NULL;
  float *numbers = calloc((size_t)count + 1, sizeof *numbers);
  for (int64_t i = 0; numbers && i < count; i++) {
    const json_t *number = json_array_get(array, (size_t)i);
    numbers[i] = json_is_number(number) ? (float)json_number_value(number) : NAN;
  }
  return numbers;
}

static int64_t *read_integers(const json_t *root, const char *key, int64_t count) {
  const json_t *array = json_object_get(root, key);
  if (!json_is_array(array) || (int64_t)json_array_size(array) != count) return NULL;
  int64_t *numbers = calloc((size_t)count + 1, sizeof *numbers);
  for (int64_t i = 0; numbers && i < count; i++)
    numbers[i] = json_integer_value(json_array_get(array, (size_t)i));
  return numbers;
}

static int64_t integer_or(const json_t *root, const char *key, int64_t otherwise) {
  const json_t *value = json_object_get(root, key);
  return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

/* 0 when it is not there. */
static float number_of(const json_t *root, const char *key) {
  return (float)json_number_value(json_object_get(root, key));
}

static ep_shape read_shape(const json_t *root, const char *key) {
  const json_t *shape = json_object_get(root, key);
  return (ep_shape){json_integer_value(json_array_get(shape, 0)),
                    json_integer_value(json_array_get(shape, 1)),
                    json_integer_value(json_array_get(shape, 2))};
}

static void read_pair(const json_t *root, const char *key, int pair[2]) {
  const json_t *values = json_object_get(root, key);
  for (size_t i = 0; i < 2; i++) pair[i] = (int)json_integer_value(json_array_get(values, i));
}

/* Values that an op reads: the last one, and what "source" (an op, -1: the input) or "input" (all
 * of them) says. */
static void read_inputs(const json_t *row, int number, ep_op *op) {
  const json_t *inputs = json_object_get(row, "input"), *source = json_object_get(row, "source");
  if (op->type != EP_LAYER_ADD) source = NULL;
  op->inputs = inputs ? (int)json_array_size(inputs) : source ? 2 : 1;
  op->input[0] = number;
  if (source) op->input[1] = (int)json_integer_value(source) + 1;
  for (int k = 0; inputs && k < op->inputs && k < EP_OP_INPUTS; k++)
    op->input[k] = (int)json_integer_value(json_array_get(inputs, (size_t)k));
}

static bool read_op(const json_t *row, int number, ep_op *op) {
  const char *name = json_string_value(json_object_get(row, "type"));
  int type = name ? ep_layer_type_from_name(name) : -1;
  if (type < 0) return false;
  *op = (ep_op){.type = ep_layer_operator((ep_layer_type)type),
                .in = read_shape(row, "in"),
                .out = read_shape(row, "out"),
                .weight = integer_or(row, "weight", -1),
                .bias = integer_or(row, "bias", -1),
                .running = integer_or(row, "running", -1),
                .negative_slope = number_of(row, "negative_slope"),
                .alpha = number_of(row, "alpha"),
                .beta = number_of(row, "beta"),
                .threshold = number_of(row, "threshold"),
                .p = number_of(row, "p"),
                .eps = number_of(row, "eps"),
                .momentum = number_of(row, "momentum"),
                .groups = integer_or(row, "groups", 1),
                .embeddings = integer_or(row, "embeddings", 0),
                .is_1d = type == EP_LAYER_CONV1D,
                .causal = json_is_true(json_object_get(row, "causal")),
                .axis = (int)integer_or(row, "axis", 0),
                .start = integer_or(row, "start", 0),
                .layer = (int)integer_or(row, "layer", -1)};
  const json_t *parameters = json_object_get(row, "parameter");
  for (size_t i = 0; parameters && i < EP_OP_PARAMETERS; i++)
    op->parameter[i] =
        i < json_array_size(parameters) ? json_integer_value(json_array_get(parameters, i)) : -1;
  op->in_features = ep_shape_count(op->in);
  op->out_features = ep_shape_count(op->out);
  read_pair(row, "kernel", op->kernel);
  read_pair(row, "stride", op->stride);
  read_pair(row, "padding", op->padding);
  read_pair(row, "dilation", op->dilation);
  for (size_t i = 0; i < EP_SHAPE_SIDES; i++)
    op->order[i] = (int)json_integer_value(json_array_get(json_object_get(row, "order"), i));
  for (size_t i = 0; i < EP_OP_INPUTS; i++)
    op->length[i] = json_integer_value(json_array_get(json_object_get(row, "length"), i));
  read_inputs(row, number, op);
  return op->in_features > 0 && op->out_features > 0;
}

static bool read_ops(const json_t *root, ep_case *test) {
  const json_t *ops = json_object_get(root, "ops"), *row;
  ep_program *program = &test->program;
  size_t i, count = json_array_size(ops);
  if (count < 1 || count > EP_CASE_OPS) return false;
  json_array_foreach(ops, i, row) {
    if (!read_op(row, (int)i, &test->ops[i])) return false;
  }
  program->ops = test->ops;
  program->ops_count = (int)count;
  program->stored = program->in = read_shape(root, "in");
  program->in_features = ep_shape_count(program->in);
  program->out_features = test->ops[count - 1].out_features;
  program->parameters = integer_or(root, "parameters", 0);
  program->buffers = integer_or(root, "buffers", 0);
  return program->in_features == test->ops[0].in_features;
}

static bool read_optimizer(const json_t *root, ep_case *test) {
  const json_t *row = json_object_get(root, "optimizer");
  const char *type_name = json_string_value(json_object_get(row, "type"));
  int type = type_name ? ep_optimizer_type_from_name(type_name) : -1;
  if (type < 0) return false;
  ep_program *program = &test->program;
  program->optimizer = (ep_optimizer){.type = (ep_optimizer_type)type,
                                      .momentum = number_of(row, "momentum"),
                                      .nesterov = json_is_true(json_object_get(row, "nesterov")),
                                      .beta1 = number_of(row, "beta1"),
                                      .beta2 = number_of(row, "beta2"),
                                      .alpha = number_of(row, "alpha"),
                                      .eps = number_of(row, "eps"),
                                      .centered = json_is_true(json_object_get(row, "centered")),
                                      .decay = number_of(row, "decay"),
                                      .clip_norm = number_of(row, "clip_norm"),
                                      .clip_value = number_of(row, "clip_value")};
  program->optimizer_floats = ep_optimizer_slots(&program->optimizer) * program->parameters;
  test->lr = calloc((size_t)test->steps, sizeof *test->lr);
  for (int64_t i = 0; test->lr && i < test->steps; i++) test->lr[i] = number_of(row, "lr");
  test->lr_constant = true;
  return test->lr != NULL;
}

static bool read_groups(const json_t *root, ep_golden *golden) {
  const json_t *rows = json_object_get(root, "groups"), *row;
  ep_program *program = &golden->test->program;
  size_t i, count = json_array_size(rows);
  golden->groups = calloc(count + 1, sizeof *golden->groups);
  if (!golden->groups) return false;
  json_array_foreach(rows, i, row) {
    golden->groups[i] =
        (ep_parameter_group){.first = integer_or(row, "first", -1),
                             .count = integer_or(row, "count", -1),
                             .weight_decay = number_of(row, "weight_decay"),
                             .frozen = json_is_true(json_object_get(row, "frozen"))};
  }
  program->groups = golden->groups;
  program->groups_count = (int)count;
  return true;
}

static bool read_loss(const json_t *root, ep_golden *golden) {
  ep_program *program = &golden->test->program;
  const char *name = json_string_value(json_object_get(root, "loss"));
  int loss = name ? ep_loss_type_from_name(name) : -1;
  if (loss < 0) return false;
  program->loss = (ep_loss_type)loss;
  program->loss_parameter = number_of(root, "loss_parameter");
  program->label_smoothing = number_of(root, "label_smoothing");
  if (!json_object_get(root, "class_weights")) return true;
  golden->class_weights = read_floats(root, "class_weights", program->out_features);
  program->class_weights = golden->class_weights;
  return golden->class_weights != NULL;
}

/* Targets as the loss takes them: float32, or int32 classes. */
static void *read_targets(const json_t *root, const ep_case *test, int64_t rows) {
  const ep_program *program = &test->program;
  float *numbers = read_floats(root, "y", rows * program->target_columns);
  if (!numbers || !ep_loss_takes_classes(program->loss)) return numbers;
  for (int64_t i = 0; i < rows; i++) {
    int32_t class_index = (int32_t)numbers[i];
    memcpy(&numbers[i], &class_index, sizeof class_index);
  }
  return numbers;
}

/* Every split is the training set: its outputs after training are in the file. */
static bool read_data(const json_t *root, ep_case *test) {
  ep_program *program = &test->program;
  int64_t rows = json_integer_value(json_object_get(root, "rows"));
  program->target_columns = ep_loss_takes_classes(program->loss) ? 1 : program->out_features;
  program->train_rows = rows;
  program->batch_size = json_integer_value(json_object_get(root, "batch_size"));
  bool complete = rows > 0 && program->batch_size > 0 && program->batch_size <= rows;
  for (int split = 0; complete && split < EP_SPLIT_COUNT; split++) {
    test->rows[split] = rows;
    test->x[split] = read_floats(root, "x", rows * program->in_features);
    test->y[split] = read_targets(root, test, rows);
    complete = test->x[split] && test->y[split];
  }
  return complete;
}

static bool golden_read(const json_t *root, ep_golden *golden) {
  const char *name = json_string_value(json_object_get(root, "name"));
  ep_case *test = golden->test = calloc(1, sizeof *test);
  if (!name || !test) return false;
  snprintf(test->name, sizeof test->name, "%s", name);
  ep_program *program = &test->program;
  program->precision = EP_PRECISION_FP32;
  program->max_predict_rows = 16;
  program->seed = (uint64_t)integer_or(root, "seed", 0);
  golden->tolerance = json_number_value(json_object_get(root, "tolerance"));
  test->steps = (int64_t)json_array_size(json_object_get(root, "losses"));
  if (test->steps == 0 || !(golden->tolerance > 0) || !read_ops(root, test) ||
      !read_loss(root, golden) || !read_data(root, test) || !read_optimizer(root, test) ||
      !read_groups(root, golden))
    return false;
  int64_t floats = ep_program_state_floats(program);
  test->parameters = read_floats(root, "initial", floats);
  golden->loss = read_floats(root, "losses", test->steps);
  golden->errors = read_integers(root, "errors", test->steps);
  golden->trained = read_floats(root, "trained", floats);
  golden->output = read_floats(root, "output", program->train_rows * program->out_features);
  return test->parameters && golden->loss && golden->errors && golden->trained && golden->output;
}

static bool golden_load(const char *folder, const char *file, ep_golden *golden, FILE *log) {
  char path[4096];
  json_error_t error = {.text = "not a golden"};
  memset(golden, 0, sizeof *golden);
  snprintf(path, sizeof path, "%s/%s", folder, file);
  json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
  bool read = root && golden_read(root, golden);
  json_decref(root);
  if (!read) {
    fprintf(log, "%s: %s\n", path, error.text);
    golden_deinit(golden);
  }
  return read;
}

static int is_json(const struct dirent *entry) {
  size_t length = strlen(entry->d_name);
  bool is_training = strncmp(entry->d_name, "schedule_", 9) != 0;
  return is_training && length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0;
}

bool ep_goldens_load(const char *folder, ep_goldens *out, FILE *log) {
  struct dirent **files = NULL;
  memset(out, 0, sizeof *out);
  int count = scandir(folder, &files, is_json, alphasort);
  bool loaded = count > 0;
  if (!loaded) fprintf(log, "%s: there are no goldens\n", folder);
  if (loaded) out->rows = calloc((size_t)count, sizeof *out->rows);
  loaded = out->rows != NULL;
  for (int i = 0; i < count; i++) {
    if (loaded) loaded = golden_load(folder, files[i]->d_name, &out->rows[out->count], log);
    if (loaded) out->count++;
    free(files[i]);
  }
  free(files);
  return loaded;
}

void ep_goldens_deinit(ep_goldens *goldens) {
  for (int i = 0; i < goldens->count; i++) golden_deinit(&goldens->rows[i]);
  free(goldens->rows);
  memset(goldens, 0, sizeof *goldens);
}

/* --- what is covered ----------------------------------------------------------------------- */

enum { FULL, MINI, KINDS };
static const char *const kind_names[KINDS] = {"the full batch", "mini-batches"};

enum {
  MOMENTUM,
  NESTEROV,
  WEIGHT_DECAY,
  CENTERED,
  LR_DECAY,
  CLIP_NORM,
  CLIP_VALUE,
  FROZEN,
  TWO_DECAYS,
  LABEL_SMOOTHING,
  CLASS_WEIGHTS,
  OPTIONS
};
static const char *const option_names[OPTIONS] = {
    "momentum",   "nesterov", "weight_decay",     "centered",        "lr_decay",     "clip.norm",
    "clip.value", "frozen",   "decay_all: false", "label_smoothing", "class_weights"};

typedef struct {
  bool layers[EP_LAYER_COUNT], losses[EP_LOSS_COUNT], optimizers[EP_OPTIMIZER_COUNT];
  bool options[OPTIONS];
} coverage;

static void options_add(bool options[OPTIONS], const ep_program *program) {
  const ep_optimizer *optimizer = &program->optimizer;
  options[MOMENTUM] |= optimizer->momentum != 0 && !optimizer->nesterov;
  options[NESTEROV] |= optimizer->nesterov;
  options[CENTERED] |= optimizer->centered;
  options[LR_DECAY] |= optimizer->decay != 0;
  options[CLIP_NORM] |= optimizer->clip_norm > 0;
  options[CLIP_VALUE] |= optimizer->clip_value > 0;
  options[LABEL_SMOOTHING] |= program->label_smoothing > 0;
  options[CLASS_WEIGHTS] |= program->class_weights != NULL;
  for (int i = 0; i < program->groups_count; i++) {
    options[WEIGHT_DECAY] |= program->groups[i].weight_decay != 0;
    options[FROZEN] |= program->groups[i].frozen;
    options[TWO_DECAYS] |= program->groups[i].weight_decay != program->groups[0].weight_decay;
  }
}

static void coverage_add(coverage *covered, const ep_program *program) {
  for (int i = 0; i < program->ops_count; i++) covered->layers[program->ops[i].type] = true;
  covered->losses[program->loss] = true;
  covered->optimizers[program->optimizer.type] = true;
  options_add(covered->options, program);
}

static bool has_golden(bool covered, const char *what, const char *name, const char *kind,
                       FILE *log) {
  if (!covered) fprintf(log, "%s %s has no golden on %s\n", what, name, kind);
  return covered;
}

bool ep_goldens_cover(const ep_goldens *goldens, FILE *log) {
  coverage covered[KINDS] = {0};
  bool all = true;
  for (int i = 0; i < goldens->count; i++) {
    const ep_program *program = &goldens->rows[i].test->program;
    coverage_add(&covered[program->batch_size < program->train_rows ? MINI : FULL], program);
  }
  for (int kind = 0; kind < KINDS; kind++) {
    const coverage *of = &covered[kind];
    const char *on = kind_names[kind];
    for (int i = 0; i < EP_LAYER_COUNT; i++)
      all &= has_golden(of->layers[ep_layer_operator(i)], "layer", ep_layer_type_name(i), on, log);
    for (int i = 0; i < EP_LOSS_COUNT; i++)
      all &= has_golden(of->losses[i], "loss", ep_loss_type_name(i), on, log);
    for (int i = 0; i < EP_OPTIMIZER_COUNT; i++)
      all &= has_golden(of->optimizers[i], "optimizer", ep_optimizer_type_name(i), on, log);
    for (int i = 0; i < OPTIONS; i++)
      all &= has_golden(of->options[i], "option", option_names[i], on, log);
  }
  return all;
}

bool ep_golden_schedules_cover(const char *folder, FILE *log) {
  bool all = true;
  for (int i = 0; i < EP_SCHEDULE_COUNT; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/schedule_%s.json", folder, ep_schedule_type_name(i));
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    const char *type = json_string_value(json_object_get(root, "type"));
    int64_t steps = integer_or(root, "epochs", 0) * integer_or(root, "steps_per_epoch", 0);
    float *lr = steps > 0 ? read_floats(root, "lr", steps) : NULL;
    bool covered = type && lr && strcmp(type, ep_schedule_type_name(i)) == 0;
    for (int64_t step = 0; covered && step < steps; step++) covered = isfinite(lr[step]);
    if (!covered) fprintf(log, "%s: no golden of that schedule\n", path);
    all &= covered;
    free(lr);
    json_decref(root);
  }
  return all;
}

/* --- replaying ----------------------------------------------------------------------------- */

static bool near(const char *what, const float *actual, const float *expected, int64_t count,
                 double tolerance, double *worst, FILE *log) {
  double difference = ep_compare_floats(actual, expected, count, 0);
  if (difference > *worst) *worst = difference;
  if (difference <= tolerance) return true;
  fprintf(log, "  %s differs from PyTorch's by %.3g, %.3g is allowed\n", what, difference,
          tolerance);
  return false;
}

static bool run_repeats(const ep_run *run, const ep_golden *golden, double *worst, FILE *log) {
  double largest = 0, tolerance = golden->tolerance;
  bool repeats = near("loss", run->loss, golden->loss, run->steps, tolerance, &largest, log);
  /* Parameters and running statistics apart: the one's size must not excuse the other. */
  int64_t parameters = golden->test->program.parameters, buffers = golden->test->program.buffers;
  repeats &= near("trained parameters", run->trained, golden->trained, parameters, tolerance,
                  &largest, log);
  repeats &= near("running statistics", run->trained + parameters, golden->trained + parameters,
                  buffers, tolerance, &largest, log);
  repeats &= near("output", run->output, golden->output, run->outputs, tolerance, &largest, log);
  for (int64_t i = 0; i < run->steps; i++) {
    if (run->errors[i] == golden->errors[i]) continue;
    fprintf(log, "  step %lld: %d misclassified, PyTorch had %lld\n", (long long)i, run->errors[i],
            (long long)golden->errors[i]);
    repeats = false;
    break;
  }
  if (worst) *worst = largest;
  if (!repeats) fprintf(log, "%s: not as PyTorch\n", golden->test->name);
  return repeats;
}

ep_status ep_golden_replay(const ep_subject *subject, const ep_golden *golden, double *worst,
                           FILE *log) {
  ep_run run = {0};
  ep_status status = ep_run_case(subject, golden->test, EP_RUN_WHOLE, &run, log);
  if (status == EP_OK && !run_repeats(&run, golden, worst, log)) status = EP_INTERNAL;
  ep_run_deinit(&run);
  return status;
}

bool ep_golden_canary(const ep_subject *subject, ep_golden *golden, FILE *log) {
  FILE *quiet = fopen("/dev/null", "w");
  if (!quiet) return false;
  float *places[] = {golden->loss, golden->trained, golden->output};
  bool noticed = ep_golden_replay(subject, golden, NULL, log) == EP_OK;
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    float kept = *places[i], wrong[] = {NAN, kept + 1e-3f * fmaxf(fabsf(kept), 1)};
    for (size_t j = 0; j < sizeof wrong / sizeof *wrong; j++) {
      *places[i] = wrong[j];
      noticed &= ep_golden_replay(subject, golden, NULL, quiet) == EP_INTERNAL;
    }
    *places[i] = kept;
  }
  golden->errors[0]++;
  noticed &= ep_golden_replay(subject, golden, NULL, quiet) == EP_INTERNAL;
  golden->errors[0]--;
  golden->test->lr[0] *= 1.001f;
  noticed &= ep_golden_replay(subject, golden, NULL, quiet) == EP_INTERNAL;
  golden->test->lr[0] /= 1.001f;
  fclose(quiet);
  if (!noticed) fprintf(log, "%s: a wrong answer was not noticed\n", golden->test->name);
  return noticed;
}
