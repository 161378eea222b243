/* cost.c: cycles that cuda/persistent is expected to take, and the tilings of its products, by
 * what they take on an H200 (docs/notes/0061-persistent.md). */
#include "kernels/cuda/executors/persistent/plan.h"

enum { LOAD = 36 };

/* Of an exchange's wait, what the blocks of a cluster save. */
#define NEAR 0.4
#define NEAR_NORM 0.6

/* Cycles of a word of the exchange, of those that the L2 cache has no room for, since all of them
 * are written and read in two steps: from 33 to 61 MB, 4 to 36 us more than expected. */
#define WORDS_CACHED 7e6
#define WORD_BEYOND 0.007

/* Of a product's cycles, what it takes in bfloat16. */
#define HALF_SHARE 0.35

static double most(double a, double b) {
  return a > b ? a : b;
}

/* --- products -------------------------------------------------------------------------------- */

/* rounds: of a warp, one after the other; loads: of a block, in all. */
static double product_cycles(double rounds, double round, double loads) {
  return most(rounds * round, loads);
}

static double tiling_cycles(const ep_persistent_plan *plan, int outputs, int inputs,
                            ep_persistent_tiling of) {
  const int tiles = ep_persistent_parts(outputs, 16) * (plan->rows / 8 / of.fragments);
  const int terms = ep_persistent_parts(inputs, 8), each = ep_persistent_parts(terms, of.splits);
  const int rounds = ep_persistent_parts(tiles, plan->warps / of.splits);
  const int loads = 4 + 2 * of.fragments;
  const double scratch =
      of.splits > 1 ? 90 + (double)of.splits * outputs * plan->rows / 16 + of.splits * 3 : 0;
  return product_cycles(rounds, each * most(LOAD, loads * 5) + 60, (double)tiles * terms * loads) +
         scratch;
}

ep_persistent_tiling ep_persistent_tile(const ep_persistent_plan *plan, int outputs, int inputs) {
  ep_persistent_tiling best = {1, 1};
  double fewest = (double)INFINITY;
  for (int fragments = 1; fragments <= 4; fragments *= 2) {
    if (plan->rows / 8 % fragments != 0) continue;
    for (int splits = 1; splits <= plan->warps; splits *= 2) {
      const ep_persistent_tiling of = {fragments, splits};
      if (splits > 1 && (splits > ep_persistent_parts(inputs, 8) ||
                         (double)splits * outputs * plan->row_line > EP_PERSISTENT_SCRATCH_WORDS))
        continue;
      const double cycles = tiling_cycles(plan, outputs, inputs, of);
      if (cycles < fewest) {
        fewest = cycles;
        best = of;
      }
    }
  }
  return best;
}

static double gradient_cycles(const ep_persistent_plan *plan, int inputs, int outputs, int across) {
  const int terms = plan->rows / 8, loads = 4 + 2 * across;
  const double jobs = (double)ep_persistent_parts(inputs, 16) *
                      ep_persistent_parts(ep_persistent_parts(outputs, 8), across);
  const double rounds = (double)ep_persistent_parts((int)jobs, plan->warps);
  return product_cycles(rounds, terms * most(LOAD, loads * 4) + across * 30 + 40,
                        jobs * terms * loads);
}

ep_persistent_tiling ep_persistent_tile_gradient(const ep_persistent_plan *plan, int inputs,
                                                 int outputs) {
  ep_persistent_tiling best = {1, 1};
  for (int across = 2; across <= 8; across++)
    if (gradient_cycles(plan, inputs, outputs, across) <
        gradient_cycles(plan, inputs, outputs, best.fragments))
      best.fragments = across;
  return best;
}

/* --- what a step consists of ----------------------------------------------------------------- */

/* Counts, each in the unit whose cycles `prices` has. */
typedef struct {
  double step, stage, products, precise, values, dropped, updated, gathers, gathered, reductions,
      reduced, layer_norms, layer_normed, batch_norms, batch_normed, normed_exchanges, accumulated,
      groups;
} step_work;

/* An H200's, fitted to 176 measured plans and raised by a twentieth: a plan that is the fastest of
 * many by its estimate takes longer than that. */
static const step_work prices = {.step = 1900,
                                 .stage = 200,
                                 .products = 2.7,
                                 .precise = 0.4,
                                 .values = 170,
                                 .dropped = 58,
                                 .updated = 41,
                                 .gathers = 1680,
                                 .gathered = 0.18,
                                 .reductions = 1870,
                                 .reduced = 0.29,
                                 .layer_norms = 3000,
                                 .layer_normed = 170,
                                 .batch_norms = 1340,
                                 .batch_normed = 340,
                                 .normed_exchanges = 4400,
                                 .accumulated = 95,
                                 .groups = 9};

static double cycles_of(const step_work *work) {
  const double *count = (const double *)work, *price = (const double *)&prices;
  double cycles = 0;
  for (size_t i = 0; i < sizeof prices / sizeof *price; i++) cycles += count[i] * price[i];
  return cycles;
}

/* A block reads so many words that others gave. */
static void gather_add(step_work *work, double words) {
  work->gathers++;
  work->gathered += words;
}

/* The same, and adds them up. */
static void reduction_add(step_work *work, double words) {
  work->reductions++;
  work->reduced += words;
}

static void exchanges_add(const ep_persistent_plan *plan, int i, step_work *work) {
  const ep_persistent_stage *stage = &plan->stages[i];
  const double rows = plan->rows, slices = plan->slices;
  if (plan->slices > 1 && ep_persistent_takes_slice(stage))
    reduction_add(work, slices * rows *
                            (stage->mode == EP_PERSISTENT_ROW_ALL ? stage->out : stage->share));
  if (stage->mode == EP_PERSISTENT_ROW_GATHERED) gather_add(work, stage->out * rows);
  if (ep_persistent_gathers_grad(plan, i)) gather_add(work, stage->out * rows);
  /* What it takes whole was gathered for it. */
  if (i > 0 && stage->sliced_in && ep_persistent_is_linear(stage) &&
      !ep_persistent_takes_slice(stage))
    gather_add(work, stage->in * rows);
  if (!ep_persistent_sums_back(plan, i)) return;
  reduction_add(work, slices * rows * (stage->back_by_all ? stage->in : stage->share_back));
  if (!stage->sliced_in && !stage->back_by_all && !ep_persistent_is_sharded(plan, i - 1))
    gather_add(work, stage->in * rows);
}

static void norm_add(const ep_persistent_plan *plan, int i, step_work *work) {
  const ep_persistent_stage *stage = &plan->stages[i];
  const int threads = plan->warps * EP_GPU_WARP;
  if (stage->core->type == EP_LAYER_LAYER_NORM) {
    work->layer_norms++;
    work->layer_normed += (double)stage->slice * plan->rows / threads;
    for (int way = 0; stage->sliced && way < 2; way++)
      gather_add(work, 2.0 * plan->slices * plan->rows);
    return;
  }
  work->batch_norms++;
  work->batch_normed += (double)ep_persistent_parts(stage->slice, plan->warps) *
                        ep_persistent_parts(plan->rows, EP_GPU_WARP);
  if (plan->groups > 1)
    work->normed_exchanges += ep_persistent_fits_cluster(plan) ? 1 - NEAR_NORM : 1;
}

/* The words that a thread updates count with their optimizer state. */
static double updated(const ep_program *program, const ep_persistent_plan *plan, double words) {
  return words / (plan->warps * EP_GPU_WARP) *
         (1 + (double)program->optimizer_floats / (double)program->parameters);
}

/* Vectors come from shards, and their gradients go there. */
static void shards_add(const ep_program *program, const ep_persistent_plan *plan,
                       const ep_persistent_stage *stage, step_work *work) {
  const double vectors = (double)stage->out * plan->rows, shards = plan->shards.blocks;
  gather_add(work, vectors);
  reduction_add(work, vectors * plan->groups / shards);
  work->values += (double)plan->shards.listed / EP_GPU_WARP;
  work->updated +=
      updated(program, plan, (double)plan->shards.words * (double)ep_op_dimension(stage->core));
}

/* A micro-batch through a stage. */
static void stage_add(const ep_program *program, const ep_persistent_plan *plan, int i,
                      step_work *work) {
  const ep_persistent_stage *stage = &plan->stages[i];
  const int threads = plan->warps * EP_GPU_WARP;
  const double values = (double)stage->slice * plan->rows / threads;
  work->values += values * (1 + stage->tails);
  work->dropped += values * stage->dropouts;
  if (ep_persistent_is_embedding(stage)) {
    work->stage++;
    work->values += 2 * values; /* looked up, and their gradients added to the table's */
    if (plan->shards.blocks > 0) shards_add(program, plan, stage, work);
    return;
  }
  if (ep_persistent_is_norm(stage)) {
    norm_add(plan, i, work);
    return;
  }
  const bool takes_own = stage->mode == EP_PERSISTENT_WHOLE && stage->sliced_in;
  double products = tiling_cycles(plan, stage->outputs, stage->inputs, stage->forward) +
                    gradient_cycles(plan, stage->inputs, stage->outputs, stage->gradient.fragments);
  if (i > 0)
    products += tiling_cycles(plan, takes_own ? stage->share_back : stage->inputs, stage->outputs,
                              stage->backward);
  work->stage++;
  work->products += plan->half ? products * HALF_SHARE : products;
  if (program->precision == EP_PRECISION_FP32) work->precise += products;
  if (plan->micro_batches > 1)
    work->accumulated += (double)stage->inputs * stage->outputs / threads;
  exchanges_add(plan, i, work);
}

/* What belongs to no stage. */
static void step_add(const ep_program *program, const ep_persistent_plan *plan, step_work *work) {
  double words = 0;
  for (int i = 0; i < plan->stages_count; i++) {
    const ep_persistent_stage *stage = &plan->stages[i];
    words += ep_persistent_is_norm(stage) ? 0 : (double)ep_persistent_weight_words(plan, stage);
    words += ep_persistent_is_embedding(stage) ? 0 : 2.0 * stage->slice;
  }
  work->step++;
  work->groups += plan->groups;
  if (plan->groups > 1) {
    reduction_add(work, words);
    gather_add(work, words);
    if (ep_persistent_fits_cluster(plan)) { /* each gives its words to all */
      work->reductions -= NEAR;
      work->gathers -= NEAR;
      work->gathered += words;
    }
    work->updated += updated(program, plan, words / plan->groups);
  }
}

double ep_persistent_stage_cycles(const ep_program *program, const ep_persistent_plan *plan,
                                  int i) {
  const ep_persistent_stage *stage = &plan->stages[i];
  step_work step = {0}, micro_batch = {0};
  stage_add(program, plan, i, &micro_batch);
  if (plan->groups == 1 && !ep_persistent_is_norm(stage))
    step.updated = updated(program, plan, (double)ep_persistent_weight_words(plan, stage));
  return plan->micro_batches * cycles_of(&micro_batch) + cycles_of(&step);
}

double ep_persistent_step_cycles(const ep_program *program, const ep_persistent_plan *plan) {
  step_work work = {0};
  step_add(program, plan, &work);
  return cycles_of(&work);
}

double ep_persistent_thrift_cycles(const ep_program *program, const ep_persistent_plan *plan) {
  const bool is_apart = ep_persistent_fits_cluster(plan) && !plan->clustered;
  step_work gathers = {0}, fetches = {0}, apart = {0};
  for (int i = 0; i < plan->stages_count; i++) {
    if (i > 0 && ep_persistent_regathers(plan, i))
      gather_add(&gathers, (double)plan->stages[i].in * plan->rows);
    if (is_apart && plan->stages[i].core->type == EP_LAYER_BATCH_NORM)
      apart.normed_exchanges += NEAR_NORM;
  }
  if (is_apart) apart.reductions = apart.gathers = NEAR; /* a cluster's memory is too small */
  /* The next rows are waited for, but behind the groups' exchange. */
  if (plan->input_buffers == 1 && !ep_persistent_rows_stay(program, plan))
    gather_add(&fetches, (double)plan->rows * plan->row_words);
  const double beyond = most(0, (double)plan->exchange_words - WORDS_CACHED);
  return plan->micro_batches * cycles_of(&gathers) / 2 /* nobody is waited for */ +
         (plan->micro_batches - (plan->groups > 1)) * cycles_of(&fetches) + cycles_of(&apart) +
         beyond * WORD_BEYOND;
}
