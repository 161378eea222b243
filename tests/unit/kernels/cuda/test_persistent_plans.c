/* The plans of kernels/cuda/executors/persistent for randomly generated networks and several GPUs:
 * that what lies in shared memory and in the exchange lies apart, that each parameter has one word
 * that brings it back, and that there is a source of each. EPOCHD_PLANS: how many networks. */
#include <stdio.h>
#include <string.h>

#include "kernels/cuda/executors/persistent/plan.h"
#include "kernels/random.h"
#include "tests/suite.h"
#include "tests/unit/kernels/random_nets.h"

enum { NETWORKS = 150, SHAPES = 3, REGIONS_MAX = 12 * EP_PERSISTENT_STAGES_MAX };

static const ep_gpu_traits gpus[] = {
    {90, 90, 132}, {90, 90, 114}, {80, 80, 108}, {86, 86, 28}, {120, 120, 170}};
enum { GPUS = sizeof gpus / sizeof *gpus };

/* --- regions --------------------------------------------------------------------------------- */

/* Two may share words where they have the same owner. */
typedef struct {
  int64_t at, words;
  int owner;
  const char *what;
} region;

typedef struct {
  region of[REGIONS_MAX];
  int count;
} regions;

static void add(regions *all, int owner, const char *what, int64_t at, int64_t words) {
  if (at < 0 || words == 0) return;
  if (all->count == REGIONS_MAX) ck_abort_msg("too many regions");
  all->of[all->count++] = (region){at, words, owner, what};
}

/* Not ck_assert, which writes a record of each call: there are millions here. */
#define check(condition, ...)                    \
  do {                                           \
    if (!(condition)) ck_abort_msg(__VA_ARGS__); \
  } while (0)

static void regions_check(const ep_case *test, const regions *all, int64_t end) {
  for (int i = 0; i < all->count; i++) {
    const region *a = &all->of[i];
    check(a->at + a->words <= end, "%s: %s ends at %lld of %lld", test->name, a->what,
          (long long)(a->at + a->words), (long long)end);
    for (int k = 0; k < i; k++) {
      const region *b = &all->of[k];
      check(a->owner == b->owner || a->at >= b->at + b->words || b->at >= a->at + a->words,
            "%s: %s, from %lld on, and %s, from %lld on, share words", test->name, a->what,
            (long long)a->at, b->what, (long long)b->at);
    }
  }
}

/* Owners: a number each, but where one place is of several by intent. */
enum { OF_GATHERED = 1000000, OF_FULL_GRAD };

static int64_t value_words(const ep_persistent_plan *plan, int features) {
  if (plan->half) return (int64_t)ep_persistent_up(features, 16) * plan->row_line / 2;
  return (int64_t)ep_persistent_up(features, 8) * plan->row_line;
}

static void stage_regions(const ep_persistent_plan *plan, int i, regions *all) {
  const ep_persistent_stage *stage = &plan->stages[i];
  const bool norm = ep_persistent_is_norm(stage), last = i + 1 == plan->stages_count;
  const bool by_row = stage->core->type == EP_LAYER_LAYER_NORM;
  const int owner = 10 * i;
  /* A norm normalizes in place, and hands its gradient on where it got it. */
  const bool is_normal = last && stage->tails == 0 && norm;
  const bool hands_on = norm && stage->grad == plan->stages[i - 1].grad;
  const int of_value = is_normal ? owner - 10 : owner;
  const int of_grad = stage->in_place ? owner : hands_on ? owner - 9 : owner + 1;
  add(all, owner + 2, "a segment", stage->segment, stage->segment_words);
  if (!(last && stage->tails == 0 && !norm))
    add(all, of_value, "a value", stage->value, value_words(plan, stage->slice));
  if (stage->full_value != stage->value)
    add(all, plan->thrift == EP_PERSISTENT_REGATHERS ? OF_GATHERED : owner + 3, "a whole value",
        stage->full_value, value_words(plan, stage->out));
  if (ep_persistent_is_embedding(stage))
    add(all, of_grad, "vectors' gradients", stage->grad,
        plan->shards.blocks > 0 && stage->tails == 0
            ? 0
            : (int64_t)(plan->rows - 1) * stage->grad_line + stage->out);
  else
    add(all, of_grad, "a gradient", stage->grad, value_words(plan, stage->slice));
  if (stage->scores != stage->grad)
    add(all, owner + 7, "scores", stage->scores, (int64_t)stage->slice * plan->row_line);
  if (ep_persistent_gathers_grad(plan, i))
    add(all, OF_FULL_GRAD, "a whole gradient", stage->full_grad, value_words(plan, stage->out));
  if (norm) {
    add(all, owner + 4, "deviations", stage->inverse, by_row ? plan->rows : stage->slice);
    add(all, owner + 5, "running statistics", stage->running, 2 * (int64_t)stage->slice);
  }
  add(all, owner + 6, "masks", stage->masks,
      ((int64_t)stage->dropouts * 2 * stage->slice * plan->rows + 3) / 4);
}

/* Of a reduction, as exchange.cuh has it. */
static int64_t reduction_words(const ep_persistent_plan *plan, int words) {
  const int threads = plan->warps * EP_GPU_WARP;
  int vectors = 1;
  while (vectors * 4 < words) vectors *= 2;
  if (vectors > threads) return 0;
  return (int64_t)(vectors < EP_GPU_WARP ? plan->warps : threads / vectors) * vectors * 4;
}

/* What the stage's products and sums need of the scratch. */
static int64_t scratch_words(const ep_persistent_plan *plan, int i) {
  const ep_persistent_stage *stage = &plan->stages[i];
  if (!ep_persistent_is_linear(stage)) return 0;
  const bool takes_own = stage->mode == EP_PERSISTENT_WHOLE && stage->sliced_in;
  const int64_t back = takes_own ? stage->share_back : stage->inputs;
  const int64_t needs[] = {
      stage->forward.splits > 1 ? (int64_t)stage->forward.splits * stage->outputs * plan->row_line
                                : 0,
      i > 0 && stage->backward.splits > 1 ? stage->backward.splits * back * plan->row_line : 0,
      ep_persistent_takes_slice(stage)
          ? reduction_words(plan,
                            plan->rows *
                                (stage->mode == EP_PERSISTENT_ROW_ALL ? stage->out : stage->share))
          : 0,
      ep_persistent_sums_back(plan, i)
          ? reduction_words(plan, plan->rows * (stage->back_by_all ? stage->in : stage->share_back))
          : 0};
  int64_t most = 0;
  for (size_t k = 0; k < sizeof needs / sizeof *needs; k++)
    if (needs[k] > most) most = needs[k];
  return most;
}

/* Gradients that a block keeps until it updates, or gives them on. */
static int64_t gradient_words(const ep_persistent_plan *plan) {
  int64_t most = 0;
  if (plan->micro_batches > 1) return plan->vector_words;
  for (int i = 0; i < plan->stages_count; i++)
    if ((plan->groups == 1 || ep_persistent_is_embedding(&plan->stages[i])) &&
        plan->stages[i].segment_words > most)
      most = plan->stages[i].segment_words;
  return most;
}

static void memory_check(const ep_case *test, const ep_persistent_plan *plan) {
  regions all = {.count = 0};
  int64_t scratch = plan->groups > 1 ? reduction_words(plan, plan->chunk) : 0, segments = 0;
  for (int i = 0; i < plan->stages_count; i++) {
    stage_regions(plan, i, &all);
    if (scratch_words(plan, i) > scratch) scratch = scratch_words(plan, i);
    ck_assert_int_eq(plan->stages[i].segment, segments); /* one behind the other */
    segments += plan->stages[i].segment_words;
  }
  ck_assert_int_eq(plan->vector_words, segments);
  ck_assert_int_ge((int64_t)plan->chunk * plan->groups, segments);
  const int own = 10 * EP_PERSISTENT_STAGES_MAX;
  add(&all, own + 7, "zeros behind the segments", plan->vector_words, 16);
  add(&all, own, "gradients of parameters", plan->gradient, gradient_words(plan));
  add(&all, own + 1, "the scratch", plan->scratch, scratch);
  add(&all, own + 2, "orders", plan->order, 2 * (int64_t)plan->rows);
  add(&all, own + 3, "the permutation", plan->permutation, sizeof(ep_permutation) / 4);
  add(&all, own + 4, "metrics", plan->metrics, (int64_t)4 * plan->warps * EP_GPU_WARP);
  add(&all, own + 5, "the input", plan->input,
      (int64_t)plan->input_buffers * plan->rows * plan->input_line);
  if (plan->clustered)
    add(&all, own + 6, "the exchange", plan->exchange, 2 * (plan->rows_half + plan->words_half));
  regions_check(test, &all, plan->memory_words);
  ck_assert_int_le(plan->memory_words, plan->memory_words_max);
}

static void shard_check(const ep_case *test, const ep_persistent_plan *plan) {
  const ep_program *program = &test->program;
  const ep_persistent_shards *shards = &plan->shards;
  if (shards->blocks == 0) return;
  const ep_op *op = plan->stages[0].core;
  const int64_t words = shards->words * ep_op_dimension(op);
  const int64_t hits = 2 * (int64_t)plan->warps * shards->listed;
  regions all = {.count = 0};
  add(&all, 0, "the table", 0, words * (2 + ep_optimizer_slots(&program->optimizer)));
  add(&all, 1, "hits", shards->cells, hits);
  add(&all, 2, "their counts", shards->counts, 2 * (int64_t)plan->warps);
  add(&all, 3, "the order", shards->order, sizeof(ep_permutation) / 4);
  regions_check(test, &all, plan->memory_words);
  ck_assert_int_ge((int64_t)shards->words * shards->blocks, op->embeddings);
  ck_assert_int_lt(shards->words, 1 << 16);
  ck_assert_int_lt(program->batch_size * ep_op_columns(op), 1 << 16);
  ck_assert_int_eq(shards->listed % EP_GPU_WARP, 0);
  ck_assert_int_eq(plan->micro_batches, 1);
  ck_assert_int_ge(hits / 2, program->batch_size * ep_op_columns(op));
}

/* Behind the last piece of a row of the batch, as words.cuh places them. */
static int64_t pieces_end(const ep_program *program, const ep_persistent_plan *plan) {
  const ep_persistent_stage *stage = &plan->stages[0];
  const int64_t last = ep_op_columns(stage->core) * ep_persistent_pieces(stage) - 1;
  return (last * plan->groups * plan->rows + program->batch_size) * EP_PERSISTENT_PIECE;
}

static void exchange_check(const ep_case *test, const ep_persistent_plan *plan) {
  const int64_t groups = plan->groups, slices = plan->slices, rows = plan->rows;
  regions by_rows = {.count = 0}, by_words = {.count = 0};
  for (int i = 0; i < plan->stages_count; i++) {
    const ep_persistent_stage *stage = &plan->stages[i];
    const int owner = 10 * i;
    const int64_t whole = groups * rows * stage->out, norm = ep_persistent_norm_words(plan, stage);
    add(&by_rows, owner, "sums", stage->given_sums,
        groups * rows * slices *
            (stage->mode == EP_PERSISTENT_ROW_ALL ? stage->out : slices * stage->share));
    add(&by_rows, owner + 1, "all sums", stage->given_all, whole);
    add(&by_rows, owner + 2, "a value", stage->given_value, whole);
    add(&by_rows, owner + 3, "a gradient", stage->given_grad, whole);
    add(&by_rows, owner + 4, "sums back", stage->given_back,
        groups * rows * slices * (stage->back_by_all ? stage->in : slices * stage->share_back));
    add(&by_rows, owner + 5, "all sums back", stage->given_back_all, groups * rows * stage->in);
    add(&by_rows, owner + 6, "statistics", stage->given_statistics, norm > 0 ? 2 * norm : 0);
  }
  if (plan->shards.blocks > 0) {
    const int64_t words = pieces_end(&test->program, plan);
    add(&by_rows, 7, "vectors", plan->shards.given_vectors, words);
    add(&by_rows, 8, "vectors' gradients", plan->shards.given_vector_grads, words);
  }
  add(&by_words, 0, "gradients", plan->given_gradients,
      groups * (plan->clustered ? plan->chunk : slices * plan->vector_words));
  add(&by_words, 1, "words", plan->given_words, slices * plan->vector_words);
  regions_check(test, &by_rows, plan->rows_half);
  regions_check(test, &by_words, plan->words_half);
  regions all = {.count = 0};
  const int64_t halves = plan->clustered ? 0 : 2 * (plan->rows_half + plan->words_half);
  add(&all, 0, "both halves", 0, halves);
  add(&all, 1, "metrics", halves, 8 * 2 * (int64_t)plan->reporters);
  if (plan->shards.blocks > 0) add(&all, 2, "the counter", plan->shards.ends_counter, 1);
  regions_check(test, &all, plan->exchange_words);
}

/* --- places ---------------------------------------------------------------------------------- */

/* Stays from plan to plan. */
typedef struct {
  void *of;
  int64_t bytes;
} buffer;

/* Zeros. */
static void *buffer_take(buffer *self, int64_t bytes) {
  if (bytes > self->bytes) {
    free(self->of);
    self->bytes = 2 * bytes;
    self->of = malloc((size_t)self->bytes);
  }
  ck_assert_ptr_nonnull(self->of);
  return memset(self->of, 0, (size_t)bytes);
}

/* Each parameter that trains is there, and one word of one slice brings it back; shards do it for
 * an embedding's. */
static void places_check(const ep_case *test, const ep_persistent_plan *plan) {
  const ep_program *program = &test->program;
  const int64_t count = (int64_t)plan->slices * plan->vector_words;
  static buffer of_places, of_stored, of_seen;
  int32_t *places = buffer_take(&of_places, (count + 1) * (int64_t)sizeof *places);
  unsigned char *stored = buffer_take(&of_stored, program->parameters + 1);
  unsigned char *seen = buffer_take(&of_seen, program->parameters + 1);
  ep_persistent_places(program, plan, places);
  for (int64_t i = 0; i < count; i++) {
    if (places[i] < 0) {
      check(places[i] >= EP_PERSISTENT_PLACE_OF_ONE, "%s: word %lld is nothing", test->name,
            (long long)i);
      continue;
    }
    const int64_t at = places[i] / EP_PERSISTENT_PLACE;
    check(at < program->parameters && ((places[i] & EP_PERSISTENT_PLACE_TRAINS) != 0) ==
                                          (ep_program_decay_at(program, at) >= 0),
          "%s: word %lld is not parameter %lld", test->name, (long long)i, (long long)at);
    seen[at] = 1;
    stored[at] = (unsigned char)(stored[at] + ((places[i] & EP_PERSISTENT_PLACE_STORES) != 0));
  }
  const ep_op *sharded = plan->shards.blocks > 0 ? plan->stages[0].core : NULL;
  for (int64_t at = 0; at < program->parameters; at++) {
    if (sharded && at >= sharded->weight &&
        at < sharded->weight + sharded->embeddings * ep_op_dimension(sharded))
      continue;
    const bool trains = ep_program_decay_at(program, at) >= 0;
    check(seen[at] == 1 && stored[at] == trains, "%s: parameter %lld is stored %d times",
          test->name, (long long)at, stored[at]);
  }
}

/* --- the suite ------------------------------------------------------------------------------- */

static void plan_check(const ep_case *test, const ep_persistent_plan *plan) {
  memory_check(test, plan);
  shard_check(test, plan);
  exchange_check(test, plan);
  places_check(test, plan);
  char *source = ep_persistent_codegen(&test->program, plan);
  ck_assert_ptr_nonnull(source);
  ck_assert(!strstr(source, "nan") && !strstr(source, "inf"));
  free(source);
}

/* 0 … count - 1, of a number and what is drawn for. */
static int drawn(uint64_t number, uint64_t what, int count) {
  return (int)(ep_random(number, EP_RANDOM_GENERATOR, 11, what).word[0] % (uint32_t)count);
}

START_TEST(everything_has_its_place) {
  const char *count = getenv("EPOCHD_PLANS");
  const uint64_t networks = count ? strtoull(count, NULL, 10) : NETWORKS;
  const ep_random_net_limits limits = {1500, 7, 1500, 1, 20000, true};
  int64_t plans = 0, sharded = 0, clustered = 0, sliced = 0, cut = 0;
  for (uint64_t number = 1; number <= networks; number++) {
    ep_case *test = ep_random_net_create(number, &limits, (ep_precision)(number % 3));
    const ep_gpu_traits *gpu = &gpus[number % GPUS];
    for (int s = 0; s <= SHAPES; s++) {
      ep_persistent_plan plan;
      const uint64_t key = 8 * (uint64_t)s;
      const ep_persistent_shape shape = {
          1 + drawn(number, key, gpu->multiprocessors / 2), 1 + drawn(number, key + 1, 3),
          1 + drawn(number, key + 2, gpu->multiprocessors / 4), 8 << drawn(number, key + 3, 2),
          drawn(number, key + 4, 2) * drawn(number, key + 5, gpu->multiprocessors / 2)};
      const bool made = s == 0
                            ? ep_persistent_plan_make(&test->program, gpu, &plan)
                            : ep_persistent_plan_shape(&test->program, gpu, &shape,
                                                       (unsigned)drawn(number, key + 6, 4), &plan);
      if (!made) continue;
      if (s == 0) ck_assert_int_le(ep_persistent_blocks(&plan), gpu->multiprocessors);
      plan_check(test, &plan);
      plans++;
      sharded += plan.shards.blocks > 0;
      clustered += plan.clustered;
      sliced += plan.slices > 1;
      cut += plan.micro_batches > 1;
    }
    ep_case_destroy(test);
  }
  printf("%lld plans: %lld of shards, %lld of clusters, %lld sliced, %lld of micro-batches\n",
         (long long)plans, (long long)sharded, (long long)clustered, (long long)sliced,
         (long long)cut);
  ck_assert(sharded > 0 && clustered > 0 && sliced > 0 && cut > 0);
}
END_TEST

static char *classifier_source(ep_loss_type loss, ep_layer_type last) {
  ep_case *test = ep_case_create("classifier", 7, loss);
  ep_case_add_linear(test, 20, true);
  ep_case_add(test, EP_LAYER_RELU);
  ep_case_add_linear(test, 5, true);
  if (last != EP_LAYER_LINEAR) ep_case_add(test, last);
  ep_case_finish(test, &(ep_case_training){.rows = 90, .batch_size = 30, .steps = 1, .lr = 0.1f});
  char *source = ep_cuda_persistent_source(&test->program, &gpus[0]);
  ep_case_destroy(test);
  return source;
}

/* PyTorch's two ways to write a classifier are one kernel; no other loss takes a log_softmax. */
START_TEST(log_softmax_and_nll_are_cross_entropy) {
  char *one = classifier_source(EP_LOSS_CROSS_ENTROPY, EP_LAYER_LINEAR);
  char *other = classifier_source(EP_LOSS_NLL, EP_LAYER_LOG_SOFTMAX);
  ck_assert(one && other);
  ck_assert_str_eq(one, other);
  free(other);
  free(one);
  ck_assert_ptr_null(classifier_source(EP_LOSS_CROSS_ENTROPY, EP_LAYER_LOG_SOFTMAX));
  ck_assert_ptr_null(classifier_source(EP_LOSS_NLL, EP_LAYER_SOFTMAX));
}
END_TEST

EP_SUITE("kernels/cuda/executors/persistent") {
  TCase *tests = ep_suite_case(suite, "plans");
  tcase_set_timeout(tests, 0); /* as many as asked for */
  tcase_add_test(tests, everything_has_its_place);
  tcase_add_test(tests, log_softmax_and_nll_are_cross_entropy);
}
