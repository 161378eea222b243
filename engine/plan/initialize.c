/* initialize.c: first weights. One draw a parameter, keyed by its place, so that any part of them
 * can be made on any device in any order. */
#include <math.h>

#include "engine/parallel.h"
#include "engine/plan/parts.h"
#include "kernels/operators/operator.h"
#include "kernels/random.h"

#define NORMAL_DEVIATION 0.01
enum { DRAWS_LEAST = 1 << 15 }; /* for a thread: half a millisecond of them */

/* U(-bound, bound). */
static float uniform_draw(uint64_t seed, int layer, int64_t index, double bound) {
  ep_random4 words = ep_random(seed, EP_RANDOM_INIT, (uint64_t)layer, (uint64_t)index);
  return bound > 0 ? (float)((2.0 * (double)ep_random_float(words.word[0]) - 1.0) * bound) : 0;
}

/* N(0, 1): G. Box and M. Muller, "A Note on the Generation of Random Normal Deviates", 1958. */
static double normal_draw(uint64_t seed, int layer, int64_t index) {
  ep_random4 words = ep_random(seed, EP_RANDOM_INIT, (uint64_t)layer, (uint64_t)index);
  double radius = 1.0 - ep_random_double(words.word[0], words.word[1]); /* (0, 1] */
  double angle = ep_random_double(words.word[2], words.word[3]);
  return sqrt(-2.0 * log(radius)) * cos(2.0 * 3.14159265358979323846 * angle);
}

/* How many values a weight's output is a sum of, and its input goes into (torch.nn.init's fan_in
 * and fan_out: of a weight [out, in, …], whatever it is used for). */
typedef struct {
  double in, out;
} fans;

static fans fans_of(ep_parameter_shape shape) {
  double window = 1;
  for (int i = 2; i < shape.dimensions; i++) window *= (double)shape.size[i];
  return (fans){(double)shape.size[1] * window, (double)shape.size[0] * window};
}

/* Half the width of the uniform distribution; 0 where there is none. */
static double uniform_bound(ep_init_type init, fans fan) {
  switch (init) {
  case EP_INIT_DEFAULT: return 1.0 / sqrt(fan.in);
  case EP_INIT_XAVIER: return sqrt(6.0 / (fan.in + fan.out));
  case EP_INIT_KAIMING: return sqrt(6.0 / fan.in);
  default: return 0.0;
  }
}

/* The deviation of the normal distribution; 0 where there is none. */
static double normal_deviation(ep_init_type init, ep_layer_type type) {
  if (init == EP_INIT_NORMAL) return NORMAL_DEVIATION;
  return init == EP_INIT_DEFAULT && type == EP_LAYER_EMBEDDING ? 1.0 : 0.0;
}

/* The draws of one weight, for the threads that share them. */
typedef struct {
  uint64_t seed;
  int layer;
  int64_t first;           /* the number of the first draw among the layer's */
  double bound, deviation; /* of the normal distribution, or 0 */
  float *values;
} drawing;

static void values_draw(void *context, int64_t first, int64_t count) {
  const drawing *draw = context;
  for (int64_t i = first; i < first + count; i++) {
    const int64_t number = draw->first + i;
    draw->values[i] = draw->deviation > 0
                          ? (float)(draw->deviation * normal_draw(draw->seed, draw->layer, number))
                          : uniform_draw(draw->seed, draw->layer, number, draw->bound);
  }
}

/* A parameter's values; `first` draws of the layer went before them. bound: torch's default. */
static void drawn_parameter(const ep_op *op, int k, ep_init_type init, double bound, uint64_t seed,
                            int64_t first, float *state) {
  const ep_parameter_shape shape = ep_op_parameter(op, k)->shape(op);
  drawing draw = {.seed = seed, .layer = op->layer, .first = first, .bound = bound};
  draw.values = state + op->parameter[k];
  if (ep_op_parameter_is_bias(op, k)) {
    draw.bound = init == EP_INIT_DEFAULT ? bound : 0;
  } else if (init != EP_INIT_DEFAULT || op->type == EP_LAYER_EMBEDDING) {
    draw.bound = uniform_bound(init, fans_of(shape));
    draw.deviation = normal_deviation(init, op->type);
  }
  ep_parallel_run(ep_op_own_count(op, k), DRAWS_LEAST, values_draw, &draw);
}

static void drawn_initialize(const ep_op *op, ep_init_type init, uint64_t seed, float *state) {
  const ep_parameter_shape first = ep_op_parameter(op, 0)->shape(op);
  const bool by_state = ep_operator_of(op->type)->start == EP_START_STATE;
  const double bound = by_state ? 1.0 / sqrt((double)op->out.channels)
                                : uniform_bound(EP_INIT_DEFAULT, fans_of(first));
  int64_t drawn = 0;
  for (int k = 0; ep_op_parameter(op, k); drawn += ep_op_own_count(op, k++))
    if (ep_op_own_count(op, k) > 0) drawn_parameter(op, k, init, bound, seed, drawn, state);
}

/* running: the running statistics of a batch_norm, NULL for others. */
static void ones_initialize(const ep_op *op, float *state, float *running) {
  for (int64_t i = 0; i < ep_op_own_weights(op); i++) state[op->weight + i] = 1;
  for (int64_t i = 0; i < ep_op_own_biases(op); i++) state[op->bias + i] = 0;
  for (int64_t i = 0; running && i < op->in.channels; i++) {
    running[i] = 0;
    running[op->in.channels + i] = 1;
  }
}

/* Goes through layers and ops side by side: a block's ops come before its residual's own, and some
 * layers have ops without parameters before their own. Returns the op after the last. */
static const ep_op *list_initialize(const ep_plan *plan, const ep_op *op,
                                    const ep_layer_spec *layers, int count, uint64_t seed,
                                    float *state) {
  for (int i = 0; i < count; i++) {
    const ep_layer_spec *layer = &layers[i];
    if (layer->type == EP_LAYER_RESIDUAL)
      op = list_initialize(plan, op, layer->layers, layer->layers_count, seed, state);
    while (op->type != ep_layer_operator(layer->type)) op++;
    if (ep_operator_of(op->type)->start == EP_START_ONES)
      ones_initialize(op, state, op->running < 0 ? NULL : state + plan->parameters + op->running);
    else if (op->weight >= 0)
      drawn_initialize(op, layer->init, seed, state);
    op++;
  }
  return op;
}

void ep_plan_initialize(const ep_plan *plan, const ep_job_spec *spec, float *parameters) {
  const ep_op *op = plan->ops;
  /* near 0: a word that comes late, or never, says nothing yet */
  if (plan->shape.embedded_columns > 0)
    drawn_initialize(op++, EP_INIT_NORMAL, spec->seed, parameters);
  list_initialize(plan, op, spec->layers, spec->layers_count, spec->seed, parameters);
}
