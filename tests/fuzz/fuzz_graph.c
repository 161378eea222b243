/* Any bytes as a network of named layers: refused with the field's place, or trained, by
 * cpu/reference and by cpu/blocked, with the same numbers. Each layer takes a few bytes: its type,
 * what it reads, and a figure. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "api/spec/spec.h"
#include "engine/plan/plan.h"
#include "kernels/backend.h"
#include "kernels/cpu/check.h"
#include "kernels/random.h"
#include "tests/fuzz/fuzz.h"

enum {
  ROWS = 6,
  FEATURES = 12,
  LAYERS_MOST = 12,
  TEXT_BYTES = 8192,
  FLOATS_MOST = 1 << 14,
  STEPS = 2
};

/* %d: the layer's figure, from 1 to 6; %s: what it reads. */
static const char *const types[] = {
    "\"linear\",\"out_features\":%d",
    "\"tanh\"",
    "\"relu\"",
    "\"sin\"",
    "\"softmax\"",
    "\"flatten\"",
    "\"batch_norm\",\"affine\":false",
    "\"layer_norm\"",
    "\"dropout\",\"p\":0.3",
    "\"add\"",
    "\"mul\"",
    "\"concat\",\"dim\":%d",
    "\"slice\",\"start\":%d",
    "\"slice\",\"dim\":2,\"length\":%d",
    "\"reshape\",\"shape\":[%d,2,2]",
    "\"reshape\",\"shape\":[%d,3]",
    "\"reshape\",\"shape\":[3,%d]",
    "\"permute\",\"dims\":[2,1]",
    "\"permute\",\"dims\":[3,1,2]",
    "\"conv1d\",\"out_channels\":%d,\"kernel_size\":2,\"causal\":true",
    "\"conv1d\",\"out_channels\":2,\"kernel_size\":%d,\"padding\":2",
    "\"conv2d\",\"out_channels\":%d,\"kernel_size\":2,\"padding\":1",
    "\"max_pool2d\",\"kernel_size\":2",
    "\"avg_pool2d\",\"kernel_size\":2,\"stride\":1",
    "\"embedding\",\"num_embeddings\":4,\"embedding_dim\":%d",
    "\"gru\",\"hidden_size\":%d",
    "\"gru\",\"hidden_size\":2,\"input_size\":%d,\"bias\":false",
    "\"instance_norm\"",
    "\"unfold\",\"kernel_size\":2,\"padding\":%d",
    "\"residual\",\"layers\":[{\"type\":\"sin\"}]",
};
enum { TYPES = sizeof types / sizeof *types };

typedef struct {
  const uint8_t *at, *end;
  char text[TEXT_BYTES];
  size_t length;
} source;

static int byte_take(source *s) {
  return s->at < s->end ? *s->at++ : -1;
}

static void __attribute__((format(printf, 2, 3))) put(source *s, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  s->length += (size_t)vsnprintf(s->text + s->length, TEXT_BYTES - s->length, format, arguments);
  va_end(arguments);
  FUZZ_HOLDS(s->length < TEXT_BYTES);
}

/* "x", a layer's name, or the number of one; of one to come, too. */
static void input_put(source *s, int byte, int layer) {
  const int which = byte % (layer + 2);
  if (which == 0)
    put(s, "\"x\"");
  else
    put(s, byte & 64 ? "\"%d\"" : "\"l%d\"", which - 1);
}

#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void layer_put(source *s, int type, int layer) {
  char body[256];
  const int figure = byte_take(s), inputs = byte_take(s);
  snprintf(body, sizeof body, types[type % TYPES], 1 + (figure < 0 ? 0 : figure) % 6);
  put(s, "%s{\"type\":%s", layer ? "," : "", body);
  if (figure & 64) put(s, ",\"name\":\"l%d\"", layer);
  const int count = inputs < 0 ? 0 : inputs % 4;
  if (count > 0) put(s, ",\"input\":[");
  for (int k = 0; k < count; k++) {
    if (k) put(s, ",");
    input_put(s, byte_take(s) & 127, layer);
  }
  if (count > 0) put(s, "]");
  put(s, "}");
}

/* Mean of y is asked of a last linear layer of one output. */
static void job_put(source *s) {
  put(s, "{\"data\":{\"dataset\":\"d\"},\"loss\":\"mse\",\"epochs\":1,\"batch_size\":4,\"model\":{"
         "\"layers\":[");
  int layer = 0;
  for (int type; layer < LAYERS_MOST && (type = byte_take(s)) >= 0; layer++)
    layer_put(s, type, layer);
  put(s, "%s{\"type\":\"flatten\"},{\"type\":\"linear\",\"out_features\":1}]}}", layer ? "," : "");
}

static const ep_data_shape shape = {
    .train_rows = ROWS, .features = FEATURES, .target_columns = 1, .x_max = 3, .x_integer = true};

/* Two numbers may be told apart where a unit has a kink, or noise is scaled up to one. */
static bool is_smooth(const ep_program *program) {
  for (int i = 0; i < program->ops_count; i++) {
    const ep_layer_type type = program->ops[i].type;
    if (type == EP_LAYER_RELU || type == EP_LAYER_MAX_POOL2D || type == EP_LAYER_BATCH_NORM ||
        type == EP_LAYER_LAYER_NORM)
      return false;
  }
  return true;
}

static void train(ep_backend *backend, const ep_program *program, const char *executor,
                  float *state, float *loss) {
  const ep_backend_ops *ops = ep_backend_cpu();
  float x[ROWS * FEATURES], y[ROWS], lr = 0.01f;
  int32_t errors[STEPS];
  ep_instance *instance;
  ep_segment segment = {.steps = STEPS, .lr = &lr, .lr_count = 1, .loss = loss, .errors = errors};
  for (int i = 0; i < ROWS * FEATURES; i++)
    x[i] = (float)(ep_random(5, EP_RANDOM_GENERATOR, 1, (uint64_t)i).word[0] % 4);
  for (int i = 0; i < ROWS; i++) y[i] = (float)(i % 3);
  ep_error error = {0};
  FUZZ_HOLDS(ops->compile(backend, program, executor, &instance, &error) == EP_OK);
  FUZZ_HOLDS(ops->import_state(instance, state, NULL, NULL) == EP_OK);
  FUZZ_HOLDS(ops->load_data(instance, EP_SPLIT_TRAIN, x, y, ROWS, NULL) == EP_OK);
  FUZZ_HOLDS(ops->train_segment(instance, &segment, NULL) == EP_OK);
  FUZZ_HOLDS(ops->export_state(instance, state, NULL, NULL) == EP_OK);
  ops->release(instance);
}

static bool near(const float *a, const float *b, int64_t count) {
  double apart = 0, size = 1e-3;
  for (int64_t i = 0; i < count; i++) {
    if (!isfinite(a[i]) || fabsf(a[i]) > 1e3f)
      return true; /* it grew beyond what can be compared */
    apart += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
    size += (double)a[i] * a[i];
  }
  return apart <= 1e-6 * size;
}

static void program_train(const ep_plan *plan, const ep_job_spec *spec) {
  static ep_backend *backend;
  static float state[2][FLOATS_MOST];
  float loss[2][STEPS];
  const ep_program *program = &plan->program;
  const int64_t floats = ep_program_state_floats(program);
  if (!backend) FUZZ_HOLDS(ep_backend_cpu()->open(0, &backend, NULL) == EP_OK);
  if (floats > FLOATS_MOST) return;
  ep_plan_initialize(plan, spec, state[0]);
  memcpy(state[1], state[0], (size_t)floats * sizeof *state[1]);
  train(backend, program, "cpu/reference", state[0], loss[0]);
  train(backend, program, "cpu/blocked", state[1], loss[1]);
  if (!is_smooth(program)) return;
  FUZZ_HOLDS(near(loss[0], loss[1], STEPS));
  FUZZ_HOLDS(near(state[0], state[1], floats));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  source s = {.at = bytes, .end = bytes + count};
  ep_problem problem = {0};
  ep_job_spec *spec;
  ep_plan *plan = NULL;
  job_put(&s);
  ep_status status = ep_job_spec_parse(s.text, s.length, &spec, &problem);
  if (status == EP_OK) status = ep_plan_create(spec, &shape, &plan, &problem);
  if (status == EP_OK) {
    FUZZ_HOLDS(ep_check_program(&plan->program, NULL) == EP_OK);
    program_train(plan, spec);
  } else {
    FUZZ_HOLDS(problem.errors_count > 0 && problem.errors[0].pointer[0] == '/');
  }
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
  return 0;
}
