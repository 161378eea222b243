#include "kernels/cuda/executors/crews/plan.h"

#include <string.h>

#include "kernels/cuda/executors/dense.h"

enum {
  RANKS = EP_CREWS_RANKS,
  ROWS = EP_CREWS_ROWS,
  CREWS_MAX = 8,   /* clusters of 16 blocks: an H200 has room for seven */
  FRONT_MAX = 64,  /* features of the layers that each block has whole */
  SLICE_MAX = 128, /* outputs of a block: a thread has four of a row's */
  OUTPUTS_MAX = 16,
  FEATURES = FRONT_MAX * ROWS, /* of a place for the front's */
  SHARED_FLOATS = (EP_GPU_LARGE_BLOCK_BYTES - 512) / 4
};

static int up(int count, int multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

static int most(int a, int b) {
  return a > b ? a : b;
}

/* --- layers ---------------------------------------------------------------------------------- */

static ep_crews_layer layer_of(const ep_program *program, const ep_cuda_dense_layer *dense) {
  const ep_op *op = dense->linear, activation = ep_cuda_dense_activation(dense);
  return (ep_crews_layer){.in = (int)op->in_features,
                          .out = (int)op->out_features,
                          .weight = (int)op->weight,
                          .bias = (int)op->bias,
                          .activation = (int)activation.type,
                          .negative_slope = activation.negative_slope,
                          .alpha = activation.alpha,
                          .beta = activation.beta,
                          .threshold = activation.threshold,
                          .weight_decay = ep_program_decay_at(program, op->weight),
                          .bias_decay = op->bias < 0 ? -1 : ep_program_decay_at(program, op->bias)};
}

static bool layers_take(const ep_program *program, ep_crews_plan *plan) {
  ep_cuda_dense_layer dense[EP_CREWS_LAYERS_MAX];
  plan->layers_count = ep_cuda_dense_layers(program, SLICE_MAX * RANKS, EP_CREWS_LAYERS_MAX, dense);
  for (int l = 0; l < plan->layers_count; l++) plan->layers[l] = layer_of(program, &dense[l]);
  return plan->layers_count > 0;
}

/* What a block has of each layer: a front that is narrow, or none, and at least one layer that is
 * shared out. */
static bool layers_cut(ep_crews_plan *plan) {
  int last = plan->layers_count - 1, before = up(plan->layers[0].in, 16);
  while (plan->front < last && plan->layers[plan->front].out <= FRONT_MAX) plan->front++;
  if (plan->front == last) return false;
  for (int l = 0; l <= last; l++) {
    ep_crews_layer *layer = &plan->layers[l];
    bool shared = l >= plan->front && l < last;
    layer->inputs = before;
    layer->outputs = up(shared ? up(layer->out, RANKS) / RANKS : layer->out,
                        l < plan->front || l == last - 1 ? 16 : 8);
    before = shared && l + 1 < last ? layer->outputs * RANKS : layer->outputs;
  }
  return true;
}

/* --- what lies where ------------------------------------------------------------------------- */

/* Of a block: weights and biases. */
static int piece_floats(const ep_crews_layer *layer) {
  return layer->outputs * layer->inputs + up(layer->outputs, 4);
}

/* Of a layer behind the front: its inputs, then the sums of its outputs, which may be more, then
 * the sums of gradients by its inputs. The last layer's sums of outputs land behind its inputs. */
static int place_floats(const ep_crews_plan *plan, int l) {
  const ep_crews_layer *layer = &plan->layers[l];
  if (l == plan->layers_count - 1) return layer->inputs * ROWS + RANKS * layer->outputs * ROWS;
  return most(up(layer->inputs, 4 * RANKS), layer->outputs) * ROWS;
}

/* The front's weights and features lie at the end of the second place, behind what lies there while
 * they are needed. */
static int places_make(ep_crews_plan *plan, int at) {
  int last = plan->layers_count - 1, floats[2] = {0, 0}, early = 0;
  int features = plan->front > 0 ? 2 * FEATURES : 0, front = up(plan->front_floats, 4) + features;
  plan->refetches = plan->front > 0 && last - plan->front >= 4;
  for (int l = plan->front; l <= last; l++) {
    int turn = (l - plan->front) % 2, of_layer = place_floats(plan, l);
    floats[turn] = most(floats[turn], of_layer);
    if (turn == 1 && (l == plan->front + 1 || !plan->refetches)) early = most(early, of_layer);
  }
  early = most(early, plan->layers[plan->front].inputs * ROWS);
  floats[1] = most(floats[1], early + front);
  plan->place[0] = at;
  plan->place[1] = at + floats[0];
  plan->features = plan->place[1] + floats[1] - features;
  plan->front_weights = plan->features - up(plan->front_floats, 4);
  return plan->place[1] + floats[1];
}

/* Tasks of a block in the front: 16 outputs by 16 inputs each, or the biases of 16 outputs. There
 * may be as many as the front has layers, whose barriers they wait at. */
static int front_turns(const ep_crews_plan *plan) {
  int tasks = 0, blocks = plan->crews * RANKS;
  for (int l = 0; l < plan->front; l++)
    tasks += plan->layers[l].outputs / 16 * (plan->layers[l].inputs / 16 + 1);
  return (tasks + blocks - 1) / blocks;
}

/* What a block takes of all crews' features and gradients for its share of the weights' gradients
 * lies where weights and features lay. Sums of eight outputs more than there are may be made, of
 * what lies behind. */
static int staged_floats(const ep_crews_plan *plan) {
  int floats = front_turns(plan) * plan->crews * 2 * 16 * ROWS;
  for (int l = plan->front; l < plan->layers_count; l++) {
    const ep_crews_layer *layer = &plan->layers[l];
    int tiles = (layer->inputs / 16 + plan->crews - 1) / plan->crews;
    floats += (tiles * 16 + layer->outputs) * plan->crews * ROWS;
  }
  return floats + 8 * plan->crews * ROWS;
}

static void shared_place(const ep_program *program, ep_crews_plan *plan) {
  int at = 0, grads = FEATURES, last = plan->layers_count - 1;
  plan->front_floats = 0;
  for (int l = plan->front; l <= last; l++) {
    ep_crews_layer *layer = &plan->layers[l];
    layer->weights = at;
    layer->biases = at + layer->outputs * layer->inputs;
    at += piece_floats(layer);
    grads = most(grads, layer->outputs * ROWS);
  }
  for (int l = 0; l < plan->front; l++) plan->front_floats += piece_floats(&plan->layers[l]);
  plan->grads = at;
  at = most(places_make(plan, plan->grads + grads), staged_floats(plan));
  for (int l = 0, of = plan->front_weights; l < plan->front; l++) {
    ep_crews_layer *layer = &plan->layers[l];
    layer->weights = of;
    layer->biases = of + layer->outputs * layer->inputs;
    of += piece_floats(layer);
  }
  plan->fetched = at;
  plan->targets = plan->fetched + 2 * ROWS * (int)program->in_features;
  plan->order = plan->targets + 2 * ROWS * (int)program->target_columns;
  plan->updates = plan->order + ROWS;
  plan->barriers = up(plan->updates + 16, 4);
  plan->shared_floats = plan->barriers + up(2 * (4 * plan->layers_count + 4), 4);
}

static void scratch_place(ep_crews_plan *plan) {
  int at = 0, last = plan->layers_count - 1;
  for (int l = 0; l <= last; l++) {
    ep_crews_layer *layer = &plan->layers[l];
    layer->image = at;
    at += piece_floats(layer) * (l < plan->front ? 1 : RANKS);
  }
  at = up(at, 32);
  for (int l = 0; l <= last; l++) {
    ep_crews_layer *layer = &plan->layers[l];
    layer->x = at;
    at += layer->inputs * (l == last ? RANKS : 1) * plan->crews * ROWS;
    layer->grad = at;
    at += layer->outputs * (l < plan->front || l == last ? 1 : RANKS) * plan->crews * ROWS;
  }
  plan->metrics = at;
  plan->tasks = up(at + 4 * plan->crews, 4);
  plan->scratch_floats =
      plan->tasks + (int64_t)plan->crews * RANKS * EP_CREWS_WARPS * 32 * EP_CREWS_TASK_FLOATS;
}

bool ep_crews_plan_make(const ep_program *program, ep_crews_plan *out) {
  memset(out, 0, sizeof *out);
  if (program->parameters <= 0 || program->parameters > INT32_MAX / 64 ||
      program->batch_size > CREWS_MAX * ROWS || program->out_features > OUTPUTS_MAX ||
      program->in_features > FRONT_MAX || program->train_rows > INT32_MAX / 2 ||
      !layers_take(program, out) || !layers_cut(out))
    return false;
  out->crews = ((int)program->batch_size + ROWS - 1) / ROWS;
  out->rows_each = ((int)program->batch_size + out->crews - 1) / out->crews;
  shared_place(program, out);
  scratch_place(out);
  return out->shared_floats <= SHARED_FLOATS && front_turns(out) <= out->front;
}

/* --- the profile ----------------------------------------------------------------------------- */

/* A multiprocessor's neighbours are not always 16: of 132 there is room for seven clusters. */
static bool plan_make(const ep_program *program, const ep_gpu_traits *gpu, ep_crews_plan *plan) {
  return ep_cuda_dense_suits(program) && ep_program_trains(program) &&
         ep_crews_plan_make(program, plan) && plan->crews < gpu->multiprocessors / RANKS;
}

static bool accepts(const ep_program *program, const ep_device_traits *device) {
  ep_crews_plan plan;
  return plan_make(program, &device->gpu, &plan);
}

/* Exchanges of a crew's blocks; weights, which each block fetches and has a share of to update: a
 * step of fewer rows takes as long. */
static void work(const ep_program *program, const ep_device_traits *device, int64_t rows,
                 double units[EP_LIMIT_COST_TERMS]) {
  (void)rows;
  ep_crews_plan plan;
  double weights = 0;
  if (!plan_make(program, &device->gpu, &plan)) return;
  for (int l = 0; l < plan.layers_count; l++)
    weights += (double)plan.layers[l].inputs * plan.layers[l].outputs;
  units[0] = 1;
  units[1] = plan.front;
  units[2] = plan.layers_count - 1 - plan.front;
  units[3] = weights;
  units[4] = weights * (double)ep_optimizer_slots(&program->optimizer);
  units[5] = program->precision == EP_PRECISION_FP32 ? weights : 0;
}

static double cycles(const ep_program *program, const ep_device_traits *device) {
  return ep_executor_usual_cycles(&ep_cuda_crews_profile, program, device);
}

static const ep_calibration_program programs[] = {
    {.in_features = 2, .width = 512, .hidden = 2, .rows = 100},
    {.in_features = 24, .width = 320, .hidden = 4, .rows = 64},
};

const ep_executor_profile ep_cuda_crews_profile = {
    .name = "cuda/crews",
    .capabilities = {EP_CAPABLE_DENSE_LAYERS, EP_CAPABLE_ELEMENT_LOSSES | EP_CAPABLE_CLASS_LOSSES,
                     EP_CAPABLE_OPTIMIZERS},
    .gpu_features = EP_GPU_LARGE_BLOCKS,
    .accepts = accepts,
    .cycles = cycles,
    .work = work,
    .terms = {{"step", 4.2e-6},
              {"layers of the front", 5e-7},
              {"shared layers", 2e-6},
              {"weights of a block", 3.4e-10},
              {"slots of state of a block", 1e-10},
              {"weights of a block in float32", 1.6e-10}},
    .start_seconds = 1.2,
    .again_seconds = 3e-3,
    EP_CALIBRATION_PROGRAMS(programs),
};
