/* memory.c: what lies where in shared memory and in the exchange, for cuda/persistent. */
#include "kernels/cuda/executors/persistent/plan.h"
#include "kernels/operators/operator.h"
#include "kernels/random.h"

enum {
  FRAGMENT = 16,   /* lines of a matrix, or words of a line, that are read at a time */
  STATE_SHARE = 60 /* percent of the registers that may hold parameters and their state */
};

static int power_above(int count) {
  int power = 1;
  while (power < count) power *= 2;
  return power;
}

static int most(int a, int b) {
  return a > b ? a : b;
}

/* --- shared memory --------------------------------------------------------------------------- */

static int take(ep_persistent_plan *plan, int64_t words) {
  const int at = plan->memory_words;
  const int64_t end = at + (words + 3) / 4 * 4;
  plan->memory_words = end < INT32_MAX / 2 ? (int)end : INT32_MAX / 2;
  return at;
}

/* [features, rows] of a value. */
static int take_value(ep_persistent_plan *plan, int features) {
  const int64_t numbers =
      (int64_t)ep_persistent_up(features, ep_persistent_terms(plan)) * plan->row_line;
  return take(plan, plan->half ? numbers / 2 : numbers);
}

/* [rows, line] of a gradient that is read by feature; returns the line. */
static int take_by_rows(ep_persistent_plan *plan, int features, int *at) {
  int line = features;
  while (line % 16 != 4) line++; /* so that the lanes that store a product meet other banks */
  *at = take(plan, (int64_t)plan->rows * line);
  return line;
}

static bool is_norm(const ep_persistent_plan *plan, int i) {
  return i < plan->stages_count && ep_persistent_is_norm(&plan->stages[i]);
}

static void segment_place(ep_persistent_plan *plan, int i) {
  ep_persistent_stage *stage = &plan->stages[i];
  const bool linear = ep_persistent_is_linear(stage);
  const bool has_bias = is_norm(plan, i) || stage->core->bias >= 0;
  const int biases = has_bias ? ep_persistent_up(stage->slice, 4) : 0;
  stage->segment = plan->memory_words;
  /* Lines behind the last are multiplied by zeros. */
  const int64_t weights = linear ? (int64_t)ep_persistent_up(stage->inputs, 8) * stage->line
                                 : ep_persistent_weight_words(plan, stage);
  if (weights > INT32_MAX / 64) { /* it does not fit, whatever else there is */
    plan->memory_words = INT32_MAX / 2;
    return;
  }
  stage->bias_word = ep_persistent_up((int)weights, 4);
  stage->segment_words = stage->bias_word + biases;
  take(plan, stage->segment_words);
  stage->state = plan->state_words;
  plan->state_words += ep_persistent_parts(stage->segment_words / 4, plan->warps * EP_GPU_WARP) * 4;
}

/* Whether the derivative of a stage's tail follows from its value, which is a product's operand:
 * the gradient can take its place once that product's weights have theirs. */
static bool fits_in_place(const ep_persistent_plan *plan, int i) {
  const ep_persistent_stage *stage = &plan->stages[i];
  if (plan->thrift == EP_PERSISTENT_SPENDS || stage->tails != 1 || stage->dropouts > 0 ||
      i + 1 == plan->stages_count || !ep_persistent_is_linear(stage) || is_norm(plan, i + 1))
    return false;
  const ep_reads reads = ep_operator_of(stage->tail[0]->type)->reads;
  return reads == EP_READS_OUTPUT || /* which is not rounded, then */
         (reads == EP_READS_SIGN && !(stage->tail[0]->negative_slope < 0));
}

/* gathered: where all whole values lie, one after the other; -1: each has a place. */
static void values_place(const ep_program *program, ep_persistent_plan *plan, int i, int gathered) {
  ep_persistent_stage *stage = &plan->stages[i];
  const bool last = i + 1 == plan->stages_count;
  const bool norm = is_norm(plan, i);
  stage->normal = norm ? plan->stages[i - 1].value : -1;
  stage->value = last && stage->tails == 0 ? stage->normal : take_value(plan, stage->slice);
  stage->full_value = !ep_persistent_gathers_value(plan, i) ? stage->value
                      : gathered >= 0                       ? gathered
                                                            : take_value(plan, stage->out);
  /* What a norm gives back is what a core before it without a tail gets. */
  const bool shares = norm && plan->stages[i - 1].tails == 0 && ep_persistent_is_linear(stage - 1);
  stage->in_place = fits_in_place(plan, i);
  if (ep_persistent_is_embedding(stage)) {
    /* Shards get it: it is the tail's derivative alone. */
    const bool is_given = ep_persistent_is_sharded(plan, i) && stage->tails == 0;
    stage->grad_line = is_given ? 0 : take_by_rows(plan, stage->slice, &stage->grad);
  } else {
    stage->grad = shares            ? plan->stages[i - 1].grad
                  : stage->in_place ? stage->value
                                    : take_value(plan, stage->slice);
  }
  stage->scores = stage->grad;
  if (last && plan->half && ep_loss_takes_classes(program->loss))
    stage->scores = take(plan, (int64_t)stage->slice * plan->row_line);
  if (norm) {
    const bool by_row = stage->core->type == EP_LAYER_LAYER_NORM;
    stage->inverse = take(plan, by_row ? plan->rows : stage->slice);
    stage->running = by_row ? -1 : take(plan, 2 * (int64_t)stage->slice);
  }
  stage->masks =
      stage->dropouts > 0
          ? take(plan, ((int64_t)stage->dropouts * 2 * stage->slice * plan->rows + 3) / 4)
          : -1;
}

/* Of a reduction of `words` words: as exchange.cuh says. */
static int reduction_words(const ep_persistent_plan *plan, int words) {
  const int threads = plan->warps * EP_GPU_WARP;
  const int vectors = power_above(ep_persistent_parts(words, 4));
  if (vectors > threads) return 0;
  return (vectors < EP_GPU_WARP ? plan->warps : threads / vectors) * vectors * 4;
}

static int product_words(const ep_persistent_plan *plan, ep_persistent_tiling of, int outputs) {
  return of.splits > 1 ? of.splits * outputs * plan->row_line : 0;
}

static int stage_scratch(const ep_persistent_plan *plan, int i) {
  const ep_persistent_stage *stage = &plan->stages[i];
  if (!ep_persistent_is_linear(stage)) return 2 * plan->warps * EP_GPU_WARP;
  const bool takes_own = stage->mode == EP_PERSISTENT_WHOLE && stage->sliced_in;
  int words = product_words(plan, stage->forward, stage->outputs);
  if (i > 0)
    words = most(
        words, product_words(plan, stage->backward, takes_own ? stage->share_back : stage->inputs));
  if (ep_persistent_takes_slice(stage))
    words = most(
        words,
        reduction_words(plan, (stage->mode == EP_PERSISTENT_ROW_ALL ? stage->out : stage->share) *
                                  plan->rows));
  if (ep_persistent_sums_back(plan, i))
    words = most(words, reduction_words(plan, (stage->back_by_all ? stage->in : stage->share_back) *
                                                  plan->rows));
  return words;
}

/* The end of what the backward pass reads of a stage's weights: whole fragments, in which lines
 * behind the last are read and dropped. */
static int64_t weights_end(const ep_persistent_plan *plan, int i) {
  const ep_persistent_stage *stage = &plan->stages[i];
  if (!ep_persistent_is_linear(stage) || i == 0) return 0;
  const bool takes_own = stage->mode == EP_PERSISTENT_WHOLE && stage->sliced_in;
  const int first = takes_own ? (plan->slices - 1) * stage->share_back : 0;
  const int inputs = takes_own ? stage->share_back : stage->inputs;
  return stage->segment + (int64_t)(first + ep_persistent_up(inputs, FRAGMENT)) * stage->line +
         FRAGMENT;
}

/* --- the exchange ---------------------------------------------------------------------------- */

/* half: the number of its words so far. */
static int give(int64_t *half, bool given, int64_t words) {
  const int64_t at = *half;
  if (!given) return -1;
  *half += (words + 31) / 32 * 32;
  return (int)at;
}

static void vectors_place(ep_persistent_plan *plan, int64_t *half) {
  const ep_persistent_stage *stage = &plan->stages[0];
  if (!ep_persistent_is_sharded(plan, 0)) return;
  const int64_t words = ep_op_columns(stage->core) * ep_persistent_pieces(stage) *
                        EP_PERSISTENT_PIECE * plan->groups * plan->rows;
  plan->shards.given_vectors = give(half, true, words);
  plan->shards.given_vector_grads = give(half, true, words);
}

static void exchange_place(ep_persistent_plan *plan) {
  const int64_t groups = plan->groups, slices = plan->slices, rows = plan->rows;
  int64_t *half = &plan->rows_half;
  plan->rows_half = plan->words_half = 0;
  for (int i = 0; i < plan->stages_count; i++) {
    ep_persistent_stage *stage = &plan->stages[i];
    const bool linear = ep_persistent_is_linear(stage), sums = ep_persistent_takes_slice(stage);
    const bool by_all = stage->mode == EP_PERSISTENT_ROW_ALL;
    const bool back = ep_persistent_sums_back(plan, i);
    const int64_t norm = ep_persistent_norm_words(plan, stage);
    stage->given_sums =
        give(half, sums, groups * slices * rows * (by_all ? stage->out : slices * stage->share));
    stage->given_all =
        give(half, stage->mode == EP_PERSISTENT_ROW_GATHERED && linear, groups * stage->out * rows);
    stage->given_value =
        give(half, ep_persistent_gathers_value(plan, i), groups * stage->out * rows);
    stage->given_grad = give(half, ep_persistent_gathers_grad(plan, i), groups * stage->out * rows);
    stage->given_back = give(half, back,
                             groups * slices * rows *
                                 (stage->back_by_all ? stage->in : slices * stage->share_back));
    stage->given_back_all = give(half,
                                 back && !stage->back_by_all && !stage->sliced_in &&
                                     !ep_persistent_is_sharded(plan, i - 1),
                                 groups * stage->in * rows);
    stage->given_statistics = give(half, norm > 0, norm);
    if (norm > 0) give(half, true, norm); /* and of the sums backward */
  }
  vectors_place(plan, half);
  half = &plan->words_half;
  plan->given_gradients = give(
      half, groups > 1, groups * (plan->clustered ? plan->chunk : slices * plan->vector_words));
  plan->given_words = give(half, groups > 1, slices * plan->vector_words);
  const bool sliced = plan->stages[plan->stages_count - 1].sliced;
  plan->reporters = plan->groups * (sliced ? plan->slices : 1);
  const int64_t words = 2 * (plan->rows_half + plan->words_half);
  plan->exchange_words = (plan->clustered ? 0 : words) + 8 * 2 * (int64_t)plan->reporters + 32;
  if (plan->shards.blocks > 0) {
    plan->shards.ends_counter = (int)plan->exchange_words;
    plan->exchange_words += 32;
  }
  if (plan->clustered) plan->exchange = take(plan, words);
}

/* A byte whose words have not the tag of a micro-batch, or step, of this number (context.cuh). */
static int missing(int64_t number) {
  return number / 2 % 2 == 0 ? 0 : 0xff;
}

void ep_persistent_fills(const ep_persistent_plan *plan, int64_t first_step,
                         ep_persistent_fill out[EP_PERSISTENT_FILLS]) {
  const int64_t rows_half = plan->clustered ? 0 : plan->rows_half;
  const int64_t words_half = plan->clustered ? 0 : plan->words_half;
  const int64_t metrics = 2 * (rows_half + words_half);
  for (int i = 0; i < 2; i++) {
    const int64_t micro_batch = first_step * plan->micro_batches + i, step = first_step + i;
    out[i] = (ep_persistent_fill){micro_batch % 2 * rows_half, rows_half, missing(micro_batch)};
    out[2 + i] =
        (ep_persistent_fill){2 * rows_half + step % 2 * words_half, words_half, missing(step)};
  }
  out[4] = (ep_persistent_fill){metrics, plan->exchange_words - metrics, 0};
}

/* --- a block's memory ------------------------------------------------------------------------ */

/* A shard's memory, from its beginning; returns its words. */
static int64_t shard_place(const ep_program *program, ep_persistent_plan *plan) {
  const ep_op *core = plan->stages[0].core;
  ep_persistent_shards *shards = &plan->shards;
  if (!ep_persistent_is_sharded(plan, 0)) return 0;
  const int64_t sets = 2 + ep_optimizer_slots(&program->optimizer);
  int64_t at = sets * shards->words * ep_op_dimension(core);
  if (at > plan->memory_words_max) return at;
  shards->cells = (int)at;
  at += 2 * (int64_t)plan->warps * shards->listed;
  shards->counts = (int)at;
  at += 2 * plan->warps;
  shards->order = (int)at;
  return at + (int64_t)(sizeof(ep_permutation) / 4);
}

static void shared_place(const ep_program *program, ep_persistent_plan *plan) {
  const int threads = plan->warps * EP_GPU_WARP, features = (int)program->in_features;
  const int permutation_words = (int)(sizeof(ep_permutation) / 4);
  int gradient = 4, scratch = 4, gathered = 0;
  int64_t end = 0;
  plan->memory_words = plan->state_words = 0;
  for (int i = 0; i < plan->stages_count && plan->memory_words <= plan->memory_words_max; i++)
    segment_place(plan, i);
  if (plan->memory_words > plan->memory_words_max) return;
  plan->vector_words = plan->memory_words;
  plan->chunk = ep_persistent_up(ep_persistent_parts(plan->vector_words, plan->groups), 4);
  take(plan, FRAGMENT); /* zeros, which a product may read behind the last line */
  exchange_place(plan);
  int values = 0;
  for (int i = 0; i < plan->stages_count; i++)
    if (ep_persistent_gathers_value(plan, i)) values = most(values, plan->stages[i].out);
  const bool shares = plan->thrift == EP_PERSISTENT_REGATHERS;
  const int full_value = shares ? take_value(plan, values) : -1;
  for (int i = 0; i < plan->stages_count; i++) values_place(program, plan, i, full_value);
  for (int i = 0; i < plan->stages_count; i++)
    if (ep_persistent_gathers_grad(plan, i)) gathered = most(gathered, plan->stages[i].out);
  const int full_grad = take_value(plan, gathered); /* of one stage at a time */
  for (int i = 0; i < plan->stages_count; i++) {
    plan->stages[i].full_grad = full_grad;
    if (plan->groups == 1 || ep_persistent_is_embedding(&plan->stages[i]))
      gradient = most(gradient, plan->stages[i].segment_words);
    /* Each stage's sums. */
    if (plan->micro_batches > 1) gradient = plan->stages[i].segment + plan->stages[i].segment_words;
    scratch = most(scratch, stage_scratch(plan, i));
    if (weights_end(plan, i) > end) end = weights_end(plan, i);
  }
  if (plan->groups > 1) scratch = most(scratch, reduction_words(plan, plan->chunk));
  plan->gradient = take(plan, gradient);
  plan->scratch = take(plan, scratch);
  plan->order = take(plan, 2 * (int64_t)plan->rows);
  plan->permutation = take(plan, permutation_words);
  plan->metrics = take(plan, 4 * (int64_t)threads);
  plan->targets = ep_persistent_up(features, ep_persistent_terms(plan));
  plan->row_words = plan->targets + ep_persistent_up((int)program->target_columns, 4);
  plan->input_line = plan->row_words % 8 == 4 ? plan->row_words : plan->row_words + 4;
  const int64_t input = (int64_t)plan->rows * plan->input_line;
  plan->input_buffers = !ep_persistent_rows_stay(program, plan) &&
                                plan->memory_words + 2 * input + FRAGMENT <= plan->memory_words_max
                            ? 2
                            : 1;
  plan->input = take(plan, input * plan->input_buffers);
  take(plan, FRAGMENT);
  if (plan->memory_words < end) take(plan, end - plan->memory_words);
  const int64_t shard = shard_place(program, plan);
  if (plan->memory_words < shard) take(plan, shard - plan->memory_words);
}

/* The stage whose forward wait hides other work: the last that sums up slices, or that gathers. */
static int idle_stage(const ep_persistent_plan *plan) {
  int found = -1;
  for (int i = 0; i < plan->stages_count; i++)
    if (ep_persistent_gathers_value(plan, i)) found = i;
  for (int i = 0; i < plan->stages_count; i++)
    if (ep_persistent_takes_slice(&plan->stages[i])) found = i;
  return found;
}

/* Words of parameters and optimizer state that a thread keeps in registers. */
static int registers_words(const ep_program *program, const ep_persistent_plan *plan) {
  const int slots = (int)ep_optimizer_slots(&program->optimizer);
  const int threads = plan->warps * EP_GPU_WARP;
  if (plan->groups == 1) return plan->state_words * slots;
  return ep_persistent_parts(plan->chunk / 2, threads) * 2 * (slots + 2);
}

/* Whether parameters and state fit the registers of a block. A multiprocessor shares them out among
 * four parts, which each have a fourth of the warps. */
static bool registers_fit(const ep_program *program, const ep_persistent_plan *plan) {
  const int warps = ep_persistent_up(ep_persistent_warps(plan), 4);
  const int registers = EP_GPU_REGISTERS / (warps * EP_GPU_WARP) * STATE_SHARE / 100;
  return registers_words(program, plan) <= registers;
}

/* With the exchange in shared memory, or not. */
static bool placed(const ep_program *program, ep_persistent_plan *plan, bool clustered) {
  plan->clustered = clustered;
  shared_place(program, plan);
  if (plan->memory_words > plan->memory_words_max || plan->exchange_words >= INT32_MAX)
    return false;
  /* Slices wait for each other often enough to do its work meanwhile. */
  plan->helper = plan->slices == 1;
  if (!registers_fit(program, plan)) plan->helper = false; /* whose registers are the others' */
  return registers_fit(program, plan);
}

bool ep_persistent_memory_place(const ep_program *program, ep_persistent_plan *plan,
                                ep_persistent_thrift thrift) {
  plan->thrift = thrift;
  plan->idle_stage = idle_stage(plan);
  return (ep_persistent_fits_cluster(plan) && placed(program, plan, true)) ||
         placed(program, plan, false);
}
