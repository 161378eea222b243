/* initialize.c: first weights. One draw a parameter, keyed by its place, so that any part of them
 * can be made on any device in any order. */
#include <math.h>

#include "engine/plan.h"
#include "kernels/random.h"

#define NORMAL_DEVIATION 0.01

/* U(-bound, bound). */
static float uniform_draw(uint64_t seed, int layer, int64_t index, double bound) {
  ep_random4 words = ep_random(seed, EP_RANDOM_INIT, (uint64_t)layer, (uint64_t)index);
  return (float)((2.0 * (double)ep_random_float(words.word[0]) - 1.0) * bound);
}

/* N(0, 1): G. Box and M. Muller, "A Note on the Generation of Random Normal Deviates", 1958. */
static double normal_draw(uint64_t seed, int layer, int64_t index) {
  ep_random4 words = ep_random(seed, EP_RANDOM_INIT, (uint64_t)layer, (uint64_t)index);
  double radius = 1.0 - ep_random_double(words.word[0], words.word[1]); /* (0, 1] */
  double angle = ep_random_double(words.word[2], words.word[3]);
  return sqrt(-2.0 * log(radius)) * cos(2.0 * 3.14159265358979323846 * angle);
}

/* Half the width of the uniform distribution; 0 where there is none. */
static double uniform_bound(ep_init_type init, const ep_op *op) {
  double in = (double)op->in_features, out = (double)op->out_features;
  switch (init) {
  case EP_INIT_DEFAULT: return 1.0 / sqrt(in);
  case EP_INIT_XAVIER: return sqrt(6.0 / (in + out));
  case EP_INIT_KAIMING: return sqrt(6.0 / in);
  default: return 0.0;
  }
}

static void layer_initialize(const ep_op *op, ep_init_type init, uint64_t seed, int layer,
                             float *parameters) {
  int64_t weights = op->in_features * op->out_features;
  int64_t biases = op->bias < 0 ? 0 : op->out_features;
  double bound = uniform_bound(init, op);
  for (int64_t i = 0; i < weights; i++) {
    float *weight = &parameters[op->weight + i];
    if (init == EP_INIT_ZEROS)
      *weight = 0;
    else if (init == EP_INIT_NORMAL)
      *weight = (float)(NORMAL_DEVIATION * normal_draw(seed, layer, i));
    else
      *weight = uniform_draw(seed, layer, i, bound);
  }
  for (int64_t i = 0; i < biases; i++)
    parameters[op->bias + i] =
        init == EP_INIT_DEFAULT ? uniform_draw(seed, layer, weights + i, bound) : 0;
}

void ep_plan_initialize(const ep_plan *plan, const ep_job_spec *spec, float *parameters) {
  for (int i = 0; i < plan->program.ops_count; i++)
    if (plan->ops[i].type == EP_LAYER_LINEAR)
      layer_initialize(&plan->ops[i], spec->layers[i].init, spec->seed, i, parameters);
}
