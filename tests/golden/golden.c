#include "tests/golden/golden.h"

#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- reading ------------------------------------------------------------------------------- */

static void golden_deinit(ep_golden *golden) {
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

static bool read_layers(const json_t *root, ep_case *test) {
  const json_t *layers = json_object_get(root, "layers"), *layer;
  size_t i;
  json_array_foreach(layers, i, layer) {
    const char *type_name = json_string_value(json_object_get(layer, "type"));
    int type = type_name ? ep_layer_type_from_name(type_name) : -1;
    if (type < 0) return false;
    if (type == EP_LAYER_LINEAR)
      ep_case_add_linear(test, json_integer_value(json_object_get(layer, "out_features")),
                         json_is_true(json_object_get(layer, "bias")));
    else
      ep_case_add(test, (ep_layer_type)type);
    const json_t *slope = json_object_get(layer, "negative_slope");
    if (slope) test->ops[i].negative_slope = (float)json_number_value(slope);
  }
  return test->program.ops_count > 0;
}

static bool read_optimizer(const json_t *root, ep_case *test) {
  const json_t *optimizer = json_object_get(root, "optimizer");
  const char *type_name = json_string_value(json_object_get(optimizer, "type"));
  int type = type_name ? ep_optimizer_type_from_name(type_name) : -1;
  if (type < 0) return false;
  ep_program *program = &test->program;
  program->optimizer = (ep_optimizer){
      .type = (ep_optimizer_type)type,
      .momentum = (float)json_number_value(json_object_get(optimizer, "momentum")),
      .weight_decay = (float)json_number_value(json_object_get(optimizer, "weight_decay")),
      .nesterov = json_is_true(json_object_get(optimizer, "nesterov"))};
  program->optimizer_floats = program->optimizer.momentum != 0 ? program->parameters : 0;
  test->lr = calloc((size_t)test->steps, sizeof *test->lr);
  for (int64_t i = 0; test->lr && i < test->steps; i++)
    test->lr[i] = (float)json_number_value(json_object_get(optimizer, "lr"));
  test->lr_constant = true;
  return test->lr != NULL;
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
  program->huber_delta = (float)json_number_value(json_object_get(root, "huber_delta"));
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
  const char *loss_name = json_string_value(json_object_get(root, "loss"));
  int loss = loss_name ? ep_loss_type_from_name(loss_name) : -1;
  if (!name || loss < 0) return false;
  int64_t in_features = json_integer_value(json_object_get(root, "in_features"));
  ep_case *test = ep_case_create(name, in_features, (ep_loss_type)loss);
  golden->test = test;
  test->steps = (int64_t)json_array_size(json_object_get(root, "losses"));
  if (test->steps == 0 || !read_layers(root, test) || !read_data(root, test) ||
      !read_optimizer(root, test))
    return false;
  test->parameters = read_floats(root, "initial", test->program.parameters);
  golden->loss = read_floats(root, "losses", test->steps);
  golden->errors = read_integers(root, "errors", test->steps);
  golden->trained = read_floats(root, "trained", test->program.parameters);
  golden->output =
      read_floats(root, "output", test->program.train_rows * test->program.out_features);
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
  return length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0;
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

typedef struct {
  bool layers[EP_LAYER_COUNT], losses[EP_LOSS_COUNT], optimizers[EP_OPTIMIZER_COUNT];
  bool momentum, nesterov, weight_decay;
} coverage;

static void coverage_add(coverage *covered, const ep_program *program) {
  for (int i = 0; i < program->ops_count; i++) covered->layers[program->ops[i].type] = true;
  covered->losses[program->loss] = true;
  covered->optimizers[program->optimizer.type] = true;
  covered->momentum |= program->optimizer.momentum != 0 && !program->optimizer.nesterov;
  covered->nesterov |= program->optimizer.nesterov;
  covered->weight_decay |= program->optimizer.weight_decay != 0;
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
      all &= has_golden(of->layers[i], "layer", ep_layer_type_name(i), on, log);
    for (int i = 0; i < EP_LOSS_COUNT; i++)
      all &= has_golden(of->losses[i], "loss", ep_loss_type_name(i), on, log);
    for (int i = 0; i < EP_OPTIMIZER_COUNT; i++)
      all &= has_golden(of->optimizers[i], "optimizer", ep_optimizer_type_name(i), on, log);
    all &= has_golden(of->momentum, "optimizer option", "momentum", on, log);
    all &= has_golden(of->nesterov, "optimizer option", "nesterov", on, log);
    all &= has_golden(of->weight_decay, "optimizer option", "weight_decay", on, log);
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

static bool run_repeats(const ep_run *run, const ep_golden *golden, double tolerance, double *worst,
                        FILE *log) {
  double largest = 0;
  bool repeats = near("loss", run->loss, golden->loss, run->steps, tolerance, &largest, log);
  repeats &= near("trained parameters", run->trained, golden->trained, run->parameters, tolerance,
                  &largest, log);
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

ep_status ep_golden_replay(const ep_subject *subject, const ep_golden *golden, double tolerance,
                           double *worst, FILE *log) {
  ep_run run = {0};
  ep_status status = ep_run_case(subject, golden->test, EP_RUN_WHOLE, &run, log);
  if (status == EP_OK && !run_repeats(&run, golden, tolerance, worst, log)) status = EP_INTERNAL;
  ep_run_deinit(&run);
  return status;
}

bool ep_golden_canary(const ep_subject *subject, ep_golden *golden, FILE *log) {
  FILE *quiet = fopen("/dev/null", "w");
  if (!quiet) return false;
  float *places[] = {golden->loss, golden->trained, golden->output};
  double tolerance = EP_GOLDEN_TOLERANCE;
  bool noticed = ep_golden_replay(subject, golden, tolerance, NULL, log) == EP_OK;
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    float kept = *places[i], wrong[] = {NAN, kept + 1e-3f * fmaxf(fabsf(kept), 1)};
    for (size_t j = 0; j < sizeof wrong / sizeof *wrong; j++) {
      *places[i] = wrong[j];
      noticed &= ep_golden_replay(subject, golden, tolerance, NULL, quiet) == EP_INTERNAL;
    }
    *places[i] = kept;
  }
  golden->errors[0]++;
  noticed &= ep_golden_replay(subject, golden, tolerance, NULL, quiet) == EP_INTERNAL;
  golden->errors[0]--;
  golden->test->lr[0] *= 1.001f;
  noticed &= ep_golden_replay(subject, golden, tolerance, NULL, quiet) == EP_INTERNAL;
  golden->test->lr[0] /= 1.001f;
  fclose(quiet);
  if (!noticed) fprintf(log, "%s: a wrong answer was not noticed\n", golden->test->name);
  return noticed;
}
