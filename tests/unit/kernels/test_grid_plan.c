/* How cuda/grid would run a program, told without a GPU: where a chained front lies, and
 * whether blocks that run through the phases of a step wait for what they read, for nothing else,
 * and not for ever. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/grid/places.h"
#include "kernels/cuda/grid/plan.h"
#include "tests/unit/kernels/programs.h"

enum { MULTIPROCESSORS = 132, FEW = 8, BLOCKS_MOST = 24, STEPS = 4 };

static ep_grid_plan plan;

/* Doubling widths: 2-4-… of `layers` layers, to two classes. */
static bool plan_make(int layers, int64_t batch_size, const ep_optimizer *optimizer,
                      int multiprocessors) {
  ep_case *self = ep_case_create("doubling", 2, EP_LOSS_CROSS_ENTROPY);
  for (int i = 1; i < layers; i++) {
    ep_case_add_linear(self, INT64_C(2) << i, true);
    ep_case_add(self, EP_LAYER_RELU);
  }
  ep_case_add_linear(self, 2, true);
  ep_case_finish(self, &(ep_case_training){.rows = 1000,
                                           .batch_size = batch_size,
                                           .shuffle = true,
                                           .steps = 1,
                                           .lr = 0.1f,
                                           .optimizer = *optimizer});
  self->program.precision = EP_PRECISION_TF32;
  bool made = ep_grid_plan_make(&self->program, multiprocessors, &plan);
  ep_case_destroy(self);
  return made;
}

static const ep_optimizer sgd = {.type = EP_OPTIMIZER_SGD};
static const ep_optimizer adam = {
    .type = EP_OPTIMIZER_ADAM, .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1e-8f};

/* The same without a front: the first layer is too wide for one. */
static void plan_make_wide(int64_t batch_size, const ep_optimizer *optimizer, int multiprocessors) {
  ep_case *self = ep_case_create("wide", 300, EP_LOSS_CROSS_ENTROPY);
  const int widths[] = {400, 500, 600};
  for (int i = 0; i < 3; i++) {
    ep_case_add_linear(self, widths[i], true);
    ep_case_add(self, EP_LAYER_RELU);
  }
  ep_case_add_linear(self, 2, true);
  ep_case_finish(
      self,
      &(ep_case_training){
          .rows = 1000, .batch_size = batch_size, .steps = 1, .lr = 0.1f, .optimizer = *optimizer});
  ck_assert(ep_grid_plan_make(&self->program, multiprocessors, &plan));
  ep_case_destroy(self);
  ck_assert_int_eq(plan.span.front, 0);
}

/* --- what lies where, and who has it ------------------------------------------------------- */

START_TEST(the_front_of_doubling_layers_is_one_blocks) {
  const ep_grid_span *span = &plan.span;
  ck_assert(plan_make(10, 100, &sgd, MULTIPROCESSORS));
  ck_assert(span->chained);
  ck_assert_int_eq(span->front, 5); /* up to 32 to 64 */
  ck_assert_int_eq(plan.blocks, MULTIPROCESSORS);
  ck_assert_int_eq(span->workers, MULTIPROCESSORS - 1);
  ck_assert_int_le(plan.shared_bytes, EP_GRID_SHARED_BYTES);
  ck_assert(plan_make(10, EP_GRID_CHAIN_ROWS, &sgd, MULTIPROCESSORS));
  ck_assert(span->chained);
  ck_assert(plan_make(10, EP_GRID_CHAIN_ROWS + 1, &sgd, MULTIPROCESSORS));
  ck_assert(!span->chained);
  ck_assert_int_eq(span->workers, plan.blocks);
}
END_TEST

/* Inputs, gradients, weights and biases of the layers follow one another, aligned as warps load
 * them, with what pads them. */
START_TEST(what_a_front_keeps_does_not_overlap) {
  const int rows[] = {1, 7, 8, 37, 100, 104, 128};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ck_assert(plan_make(10, rows[i], &sgd, MULTIPROCESSORS));
    const ep_grid_span *span = &plan.span;
    int all_rows = span->chain_room, at = EP_GRID_STATE + EP_GRID_CHAIN_TABLES;
    ck_assert_int_ge(span->chain_rows, rows[i]);
    ck_assert_int_eq(span->chain_rows % 16 + all_rows % 16, 0);
    /* Of a warp without rows, where there is one, as many rows again. */
    ck_assert_int_eq(all_rows, span->chain_rows + (span->chain_rows < EP_GRID_CHAIN_ROWS ? 16 : 0));
    for (int l = 0; l < span->front; l++) {
      const ep_grid_layer *layer = &span->layers[l];
      int inputs = (layer->in + 7) / 8 * 8, outputs = (layer->out + 7) / 8 * 8;
      at += (l == 0 ? 2 : 1) * inputs * all_rows;
      ck_assert_int_eq(layer->slopes, at);
      ck_assert_int_eq(layer->image, layer->slopes + outputs * all_rows);
      ck_assert_int_ge(layer->image_stride, inputs);
      ck_assert_int_eq(layer->image_stride % 16, 8); /* or loads would meet in a bank */
      ck_assert_int_eq(layer->image % 4 + layer->slopes % 4 + layer->image_stride % 4, 0);
      at =
          layer->image + outputs * (layer->image_stride + 1) + inputs * ep_grid_chain_line(outputs);
      ck_assert_int_eq(layer->mirror, -1);
    }
    ck_assert_int_eq(span->chain_end, at + EP_GRID_CHAIN_SPARE);
    ck_assert_int_le(span->chain_end * (int)sizeof(float), plan.shared_bytes);
  }
}
END_TEST

/* How each is cut: test_grid.c. */
START_TEST(every_product_is_there_once) {
  for (int layers = 9; layers <= 12; layers++) {
    ck_assert(plan_make(layers, 100, _i == 0 ? &sgd : &adam, MULTIPROCESSORS));
    const ep_grid_span *span = &plan.span;
    int forward[EP_GRID_LAYERS_MAX] = {0}, backward[EP_GRID_LAYERS_MAX] = {0},
        updates[EP_GRID_LAYERS_MAX] = {0}, heads = 0;
    ck_assert_int_le(span->phases_count, EP_GRID_PHASES_MAX);
    for (int p = 0; p < span->phases_count; p++) {
      const ep_grid_phase *phase = &span->phases[p];
      forward[phase->layer] += phase->work == EP_GRID_FORWARD;
      backward[phase->layer] += phase->work == EP_GRID_BACKWARD;
      heads += phase->work == EP_GRID_HEAD;
      for (int l = 0; l < EP_GRID_LAYERS_MAX; l++) updates[l] += phase->updates >> l & 1;
      ck_assert_int_lt(phase->update_from, span->workers);
      const ep_grid_layer *layer = &span->layers[phase->layer];
      if (phase->work == EP_GRID_FORWARD || phase->work == EP_GRID_BACKWARD) {
        int tasks = (int)ep_grid_cut_tasks(phase->work == EP_GRID_FORWARD ? &layer->forward
                                                                          : &layer->backward);
        int blocks =
            phase->work == EP_GRID_FORWARD ? layer->forward_blocks : layer->backward_blocks;
        ck_assert_int_eq(phase->tasks, tasks < blocks ? tasks : blocks);
      }
    }
    ck_assert_int_eq(heads, 1);
    for (int l = 0; l < layers; l++) {
      bool is_wide = l >= span->front, is_last = l == layers - 1;
      ck_assert_int_eq(updates[l], is_wide);
      ck_assert_int_eq(forward[l], is_wide && !is_last);
      ck_assert_int_eq(backward[l], is_wide && !is_last);
    }
  }
}
END_TEST

/* Before a widest layer that takes long to update, half of the blocks have the layers in the
 * middle, with their updates; the others update what is behind meanwhile. */
START_TEST(the_middle_layers_are_of_half_of_the_blocks) {
  const ep_grid_span *span = &plan.span;
  ck_assert(plan_make(10, 100, &sgd, MULTIPROCESSORS));
  ck_assert_int_eq(span->middle_blocks, 0);
  for (int layers = 11; layers <= 12; layers++) {
    ck_assert(plan_make(layers, 100, &sgd, MULTIPROCESSORS));
    ck_assert_int_eq(span->middle,
                     layers - 3); /* the one before the widest, which is before the last */
    ck_assert_int_eq(span->middle_blocks, 64); /* of 131, in whole sixteens */
    for (int l = span->front; l < layers - 1; l++) {
      const ep_grid_layer *layer = &span->layers[l];
      ck_assert_int_eq(layer->forward_blocks, l + 1 < span->middle ? 64 : span->workers);
      ck_assert_int_eq(layer->backward_blocks, l < span->middle ? 64 : span->workers);
    }
    for (int p = 0; p < span->phases_count; p++) {
      const ep_grid_phase *phase = &span->phases[p];
      if (phase->updates >> (span->middle + 1) != 0) {
        ck_assert_int_ge(phase->update_from, span->middle_blocks);
        ck_assert_int_eq(phase->update_to, span->workers);
        ck_assert_uint_eq(phase->updates & ((UINT32_C(2) << span->middle) - 1), 0);
      } else if (phase->updates != 0) {
        ck_assert_int_le(phase->update_to, span->middle_blocks);
      }
    }
  }
}
END_TEST

/* The head adds up what the layer before it leaves in parts, where one tile has all rows. */
START_TEST(the_head_adds_up_what_is_left_in_parts) {
  for (int layers = 8; layers <= 12; layers++)
    for (int64_t batch_size = 100; batch_size <= 108; batch_size += 4) {
      ck_assert(plan_make(layers, batch_size, &sgd, MULTIPROCESSORS));
      const ep_grid_span *span = &plan.span;
      for (int l = 0; l < layers; l++) {
        const ep_grid_cut *cut = &span->layers[l].forward;
        const bool is_left = l == layers - 2 && layers >= 11 && batch_size <= EP_GRID_LARGE_N;
        ck_assert_int_eq(cut->left_in_parts, is_left);
        if (!cut->left_in_parts) continue;
        ck_assert_int_eq(cut->across * EP_GRID_WIDE_M, span->layers[l].out);
        const int fours = span->layers[l].out / (4 * EP_GRID_THREADS);
        ck_assert_int_eq(cut->splits * fours % EP_GRID_PARTS, 0);
      }
    }
}
END_TEST

/* --- who waits for whom -------------------------------------------------------------------- */

/* What blocks do in some steps, as far as others see it. */
typedef enum { ARRIVE, AWAIT, READ, WRITE } act_kind;
typedef enum {
  WEIGHTS,
  AFTER,
  AFTER_TOO,
  TURNED,
  GRAD,
  INPUTS,
  LOSSES,
  PARTIALS,
  KINDS
} thing_kind;
enum {
  THINGS = KINDS * EP_GRID_LAYERS_MAX,
  MEETINGS = EP_GRID_PHASE + EP_GRID_PHASES_MAX,
  ACTS_MOST = 4096,
  ARRIVALS_MOST = 256,
  SIGHTS_MOST = 4096
};

typedef struct {
  act_kind kind;
  int what;      /* a meeting, or a thing */
  unsigned till; /* of an AWAIT: arrivals */
  int turn;      /* blocks that share out a product have different parts of it */
} act;

typedef struct {
  act acts[ACTS_MOST];
  int count, next;
  unsigned target;             /* of the barrier */
  unsigned clock[BLOCKS_MOST]; /* what it knows of each block's acts */
} actor;

typedef struct {
  int block, turn;
  bool writes;
  unsigned time;
} sight;

static struct {
  actor actors[BLOCKS_MOST];
  int blocks;
  unsigned arrived[MEETINGS];
  unsigned known[MEETINGS][ARRIVALS_MOST][BLOCKS_MOST]; /* with the n-th arrival */
  sight sights[THINGS][SIGHTS_MOST];
  int seen[THINGS];
} scene;

static int thing_of(thing_kind kind, int layer) {
  return (int)kind * EP_GRID_LAYERS_MAX + layer;
}

static void act_add(actor *self, act_kind kind, int what, unsigned till, int turn) {
  ck_assert_int_lt(self->count, ACTS_MOST);
  self->acts[self->count++] = (act){kind, what, till, turn};
}

static void await_add(actor *self, int meeting, unsigned step) {
  if (meeting == EP_GRID_NONE) return;
  int blocks = meeting >= EP_GRID_PHASE    ? plan.span.phases[meeting - EP_GRID_PHASE].tasks
               : meeting == EP_GRID_GIVEN  ? plan.span.given
               : meeting == EP_GRID_MIDDLE ? plan.span.middle_blocks
                                           : 1;
  unsigned till = (step + (meeting != EP_GRID_MIDDLE)) * (unsigned)blocks;
  if (meeting == EP_GRID_BARRIER) till = self->target;
  if (till > 0) act_add(self, AWAIT, meeting, till, 0);
}

static void barrier_arrive(actor *self) {
  act_add(self, ARRIVE, EP_GRID_BARRIER, 0, 0);
  self->target += (unsigned)plan.span.workers;
}

/* Outputs of layer l in a step: those of a chained front lie in two places by turns. */
static int after_of(int l, unsigned step) {
  const ep_grid_span *span = &plan.span;
  if (l < 0) return thing_of(INPUTS, 0);
  bool is_other = span->front_turn != 0 && l == span->front - 1 && step % 2 == 1;
  return thing_of(is_other ? AFTER_TOO : AFTER, l);
}

static void update_add(actor *self, int l, unsigned step, int turn) {
  act_add(self, READ, thing_of(GRAD, l), 0, turn);
  bool turned = plan.span.layers[l].turned >= 0;
  act_add(self, READ, turned ? thing_of(TURNED, l) : after_of(l - 1, step), 0, turn);
  act_add(self, WRITE, thing_of(WEIGHTS, l), 0, turn);
}

/* As panels_turn in panels.cuh. */
static void turned_add(actor *self, int block, unsigned step, int turn) {
  for (int l = 1; l < plan.span.layers_count; l++) {
    const ep_grid_layer *layer = &plan.span.layers[l];
    if (layer->turned < 0 || block < layer->turned_by) continue;
    if (block >= layer->turned_by + layer->panels.across) continue;
    act_add(self, READ, after_of(l - 1, step), 0, turn);
    act_add(self, WRITE, thing_of(TURNED, l), 0, turn);
  }
}

static void forward_add(actor *self, const ep_grid_phase *phase, bool has_task, unsigned step,
                        int turn) {
  int l = phase->layer;
  if (has_task) act_add(self, READ, thing_of(WEIGHTS, l), 0, turn);
  await_add(self, phase->awaits, step);
  if (!has_task) return;
  act_add(self, READ, after_of(l - 1, step), 0, turn);
  act_add(self, WRITE, thing_of(PARTIALS, 0), 0, turn);
  if (plan.span.layers[l].forward.left_in_parts) return;
  act_add(self, WRITE, after_of(l, step), 0, turn);
  act_add(self, WRITE, thing_of(GRAD, l), 0, turn);
}

static void head_add(actor *self, const ep_grid_phase *phase, bool has_task, unsigned step,
                     int turn) {
  int last = plan.span.layers_count - 1;
  if (has_task) act_add(self, READ, thing_of(WEIGHTS, last), 0, turn);
  await_add(self, phase->awaits, step);
  if (!has_task) return;
  if (plan.span.layers[last - 1].forward.left_in_parts) {
    act_add(self, READ, thing_of(PARTIALS, 0), 0, turn);
    act_add(self, WRITE, after_of(last - 1, step), 0, turn);
  } else {
    act_add(self, READ, after_of(last - 1, step), 0, turn);
  }
  act_add(self, WRITE, thing_of(GRAD, last), 0, turn);
  act_add(self, WRITE, thing_of(GRAD, last - 1), 0, turn);
  act_add(self, WRITE, thing_of(LOSSES, 0), 0, turn);
}

static void backward_add(actor *self, const ep_grid_phase *phase, bool has_task, unsigned step,
                         int turn) {
  int l = phase->layer;
  if (has_task) act_add(self, READ, thing_of(WEIGHTS, l), 0, turn);
  await_add(self, phase->awaits, step);
  if (!has_task) return;
  act_add(self, READ, thing_of(GRAD, l), 0, turn);
  act_add(self, WRITE, thing_of(PARTIALS, 0), 0, turn);
  act_add(self, WRITE, thing_of(GRAD, l - 1), 0, turn);
}

static bool has_product(const ep_grid_cut *cut, int blocks, int block) {
  return block < blocks && block < ep_grid_cut_tasks(cut);
}

/* As phase_run in steps.cu. */
static void phase_add(actor *self, int block, const ep_grid_phase *phase, unsigned step, int turn) {
  const ep_grid_layer *layer = &plan.span.layers[phase->layer];
  bool has_task = phase->work == EP_GRID_FORWARD
                      ? has_product(&layer->forward, layer->forward_blocks, block)
                  : phase->work == EP_GRID_BACKWARD
                      ? has_product(&layer->backward, layer->backward_blocks, block)
                      : block < plan.span.batch_rows;
  await_add(self, phase->begins, step);
  switch (phase->work) {
  case EP_GRID_FORWARD: forward_add(self, phase, has_task, step, turn); break;
  case EP_GRID_HEAD:
    turned_add(self, block, step, turn);
    head_add(self, phase, has_task, step, turn);
    break;
  case EP_GRID_BACKWARD: backward_add(self, phase, has_task, step, turn); break;
  default:
    await_add(self, phase->awaits, step);
    if (phase->work == EP_GRID_ROWS)
      act_add(self, WRITE, thing_of(INPUTS, 0), 0, turn);
    else
      act_add(self, READ, thing_of(LOSSES, 0), 0, turn);
  }
  bool is_last = phase->work == EP_GRID_UPDATES;
  if (!is_last && phase->arrives == EP_GRID_BARRIER) barrier_arrive(self);
  if (phase->arrives != EP_GRID_BARRIER && phase->arrives != EP_GRID_NONE && block < phase->tasks)
    act_add(self, ARRIVE, phase->arrives, 0, 0);
  if (block >= phase->update_from && block < phase->update_to)
    for (int l = plan.span.layers_count - 1; l >= 0; l--)
      if (phase->updates >> l & 1) update_add(self, l, step, turn + 1);
  if (is_last && block < plan.span.middle_blocks) act_add(self, ARRIVE, EP_GRID_MIDDLE, 0, 0);
  if (is_last) barrier_arrive(self);
}

static void scene_make(void) {
  const ep_grid_span *span = &plan.span;
  memset(&scene, 0, sizeof scene);
  scene.blocks = plan.blocks;
  ck_assert_int_le(plan.blocks, BLOCKS_MOST);
  for (int b = 0; b < span->workers; b++) {
    barrier_arrive(&scene.actors[b]);
    if (span->middle_blocks > 0) await_add(&scene.actors[b], EP_GRID_BARRIER, 0);
    for (unsigned step = 0; step < STEPS; step++)
      for (int p = 0; p < span->phases_count; p++)
        phase_add(&scene.actors[b], b, &span->phases[p], step,
                  2 * ((int)step * span->phases_count + p + 1));
  }
  if (!span->chained) return;
  actor *front = &scene.actors[span->workers];
  for (unsigned step = 0; step < STEPS; step++) {
    act_add(front, WRITE, after_of(span->front - 1, step), 0, 0);
    act_add(front, ARRIVE, EP_GRID_FRONT, 0, 0);
    await_add(front, EP_GRID_GIVEN, step);
    act_add(front, READ, thing_of(GRAD, span->front - 1), 0, 0);
  }
}

/* Whether what others did to a thing is known to be over, or is another part of the same work. */
static bool is_safe(int block, const act *a) {
  actor *self = &scene.actors[block];
  int *seen = &scene.seen[a->what];
  bool writes = a->kind == WRITE;
  for (int i = 0; i < *seen; i++) {
    const sight *s = &scene.sights[a->what][i];
    bool shares = a->turn > 0 && s->turn == a->turn;
    if (s->block != block && (writes || s->writes) && !shares && self->clock[s->block] < s->time)
      return false;
  }
  ck_assert_int_lt(*seen, SIGHTS_MOST);
  scene.sights[a->what][(*seen)++] = (sight){block, a->turn, writes, self->clock[block]};
  return true;
}

/* The block's next act. false: it has to wait. */
static bool act_do(int block, bool *safe) {
  actor *self = &scene.actors[block];
  const act *a = &self->acts[self->next];
  if (a->kind == AWAIT && scene.arrived[a->what] < a->till) return false;
  self->next++;
  self->clock[block]++;
  if (a->kind == ARRIVE) {
    ck_assert_uint_lt(scene.arrived[a->what], ARRIVALS_MOST);
    /* Each arrival hands on what those before it knew. */
    unsigned n = scene.arrived[a->what]++, *known = scene.known[a->what][n];
    for (int b = 0; b < scene.blocks; b++) {
      unsigned before = n > 0 ? scene.known[a->what][n - 1][b] : 0;
      known[b] = self->clock[b] > before ? self->clock[b] : before;
    }
  } else if (a->kind == AWAIT) {
    ck_assert_uint_gt(a->till, 0);
    const unsigned *known = scene.known[a->what][a->till - 1];
    for (int b = 0; b < scene.blocks; b++)
      if (known[b] > self->clock[b]) self->clock[b] = known[b];
  } else {
    *safe = *safe && is_safe(block, a);
  }
  return true;
}

typedef enum { FINE, STUCK, RACES } outcome;

/* Runs all blocks in an order of chance. */
static outcome scene_run(unsigned seed) {
  bool safe = true;
  scene_make();
  srand(seed);
  for (;;) {
    int first = rand() % scene.blocks, runs = 1 + rand() % 40, done = 0;
    bool moved = false;
    for (int i = 0; i < scene.blocks && !moved; i++) {
      int b = (first + i) % scene.blocks;
      if (scene.actors[b].next == scene.actors[b].count) {
        done++;
        continue;
      }
      for (int r = 0; r < runs && scene.actors[b].next < scene.actors[b].count; r++) {
        if (!act_do(b, &safe)) break;
        moved = true;
      }
    }
    if (!safe) return RACES;
    if (done == scene.blocks) return FINE;
    if (!moved) return STUCK;
  }
}

static outcome scene_try(void) {
  for (unsigned seed = 1; seed <= 30; seed++) {
    outcome seen = scene_run(seed);
    if (seen != FINE) return seen;
  }
  return FINE;
}

START_TEST(blocks_wait_for_what_they_read) {
  const ep_optimizer *optimizer = _i == 0 ? &sgd : &adam;
  for (int multiprocessors = 2; multiprocessors <= FEW; multiprocessors += 3) {
    for (int layers = 9; layers <= 12; layers++) {
      ck_assert(plan_make(layers, 100, optimizer, multiprocessors));
      ck_assert(plan.span.chained);
      ck_assert_int_eq(scene_try(), FINE);
    }
    plan_make_wide(100, optimizer, multiprocessors);
    ck_assert_int_eq(scene_try(), FINE);
  }
}
END_TEST

/* The phase of the way forward through the first wide layer, that of the way back, or the head's.
 */
static ep_grid_phase *phase_find(ep_grid_work work) {
  int layer = work == EP_GRID_HEAD ? plan.span.layers_count - 1 : plan.span.front;
  for (int p = 0; p < plan.span.phases_count; p++)
    if (plan.span.phases[p].work == work && plan.span.phases[p].layer == layer)
      return &plan.span.phases[p];
  ck_abort_msg("no such phase");
  return NULL;
}

/* The same with an await or an arrival left out. */
START_TEST(a_missing_meeting_is_noticed) {
  ck_assert(plan_make(10, 100, &sgd, 6));
  phase_find(EP_GRID_FORWARD)->begins = EP_GRID_NONE;
  ck_assert_int_eq(scene_try(), RACES);
  ck_assert(plan_make(10, 100, &sgd, 6));
  phase_find(EP_GRID_FORWARD)->awaits = EP_GRID_NONE;
  ck_assert_int_eq(scene_try(), RACES);
  ck_assert(plan_make(10, 100, &sgd, 6));
  /* Of its own weights, while others read them. */
  phase_find(EP_GRID_BACKWARD)->updates |= UINT32_C(1) << plan.span.front;
  ck_assert_int_eq(scene_try(), RACES);
  ck_assert(plan_make(10, 100, &sgd, 6));
  plan.span.front_turn = 0; /* the next outputs over those that the update reads */
  ck_assert_int_eq(scene_try(), RACES);
  ck_assert(plan_make(10, 100, &sgd, 6));
  phase_find(EP_GRID_BACKWARD)->arrives = EP_GRID_NONE;
  ck_assert_int_eq(scene_try(), STUCK);
  ck_assert(plan_make(10, 100, &sgd, 6));
  phase_find(EP_GRID_HEAD)->tasks--; /* a block that nobody awaits */
  ck_assert_int_eq(scene_try(), RACES);
}
END_TEST

/* Blocks without a row turn inputs for others. */
START_TEST(what_is_turned_is_waited_for) {
  ck_assert(plan_make(12, 2, &sgd, BLOCKS_MOST));
  int turned = 0;
  for (int l = 0; l < plan.span.layers_count; l++) turned += plan.span.layers[l].turned >= 0;
  ck_assert_int_gt(turned, 0);
  ck_assert_int_eq(scene_try(), FINE);
}
END_TEST

START_TEST(a_missing_meeting_of_the_middle_is_noticed) {
  ck_assert(plan_make(12, 100, &sgd, FEW));
  ck_assert_int_gt(plan.span.middle_blocks, 1);
  phase_find(EP_GRID_FORWARD)->begins = EP_GRID_NONE;
  ck_assert_int_eq(scene_try(), RACES);
  ck_assert(plan_make(12, 100, &sgd, FEW));
  for (int p = 0; p < plan.span.phases_count; p++) /* of layers that are still to go back through */
    if (plan.span.phases[p].update_from == plan.span.middle_blocks)
      plan.span.phases[p].updates |= UINT32_C(1) << (plan.span.middle - 1);
  ck_assert_int_eq(scene_try(), RACES);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("kernels/grid_plan");
  TCase *places = tcase_create("places");
  tcase_add_test(places, the_front_of_doubling_layers_is_one_blocks);
  tcase_add_test(places, what_a_front_keeps_does_not_overlap);
  tcase_add_loop_test(places, every_product_is_there_once, 0, 2);
  tcase_add_test(places, the_middle_layers_are_of_half_of_the_blocks);
  tcase_add_test(places, the_head_adds_up_what_is_left_in_parts);
  suite_add_tcase(suite, places);
  TCase *meetings = tcase_create("meetings");
  tcase_set_timeout(meetings, 60);
  tcase_add_loop_test(meetings, blocks_wait_for_what_they_read, 0, 2);
  tcase_add_test(meetings, a_missing_meeting_is_noticed);
  tcase_add_test(meetings, a_missing_meeting_of_the_middle_is_noticed);
  tcase_add_test(meetings, what_is_turned_is_waited_for);
  suite_add_tcase(suite, meetings);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
