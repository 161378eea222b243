/* What the blocks of cuda/grid do in some steps, without a GPU: they wait for all that they read,
 * and for room where they write, and none waits for ever. The phases, and what each does with
 * memory, are those of phases.h; here stand the sums that blocks share (exchange.cuh), the updates
 * (updates.cuh, panels.cuh) and the ends of a step (kernel.cu), on a generation with warpgroups. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/executors/grid/offsets.h"
#include "kernels/cuda/executors/grid/phases.h"
#include "tests/suite.h"
#include "tests/unit/kernels/cuda/grid_plans.h"
#include "tests/unit/kernels/cuda/races.h"

enum {
  MULTIPROCESSORS = 132,
  FEW = 8,
  STEPS = 4,
  FEW_UPDATES = 3 /* as in updates.cuh */
};

static ep_grid_plan plan;
static ep_races *races;

/* --- what blocks read and write, and where they meet ------------------------------------------ */

/* What no phase touches, behind an ep_grid_memory. */
enum {
  OTHER_OUTPUTS = EP_GRID_MEMORIES, /* of every other step */
  TURNED,                           /* inputs, for panels */
  KINDS
};

static int thing_of(int kind, int layer) {
  return kind * EP_GRID_LAYERS_MAX + layer;
}

/* The place in a block's shared memory that its neighbour sends sums to. */
static int sent_of(int block) {
  return KINDS * EP_GRID_LAYERS_MAX + block;
}

/* The parts of the sums that blocks share at a counter. */
static int parts_of(int counter) {
  return KINDS * EP_GRID_LAYERS_MAX + plan.blocks + counter;
}

/* Where a block waits for what its neighbour sends. */
static int neighbour_of(int block) {
  return EP_GRID_PHASE + EP_GRID_PHASES_MAX + block;
}

static int counter_of(int counter) {
  return EP_GRID_PHASE + EP_GRID_PHASES_MAX + plan.blocks + counter;
}

/* Waits that no plan says; tests leave one out. */
typedef enum { NO_WAIT, NEIGHBOURS_WAIT, SUMS_WAIT, UPDATE_SUMS_WAIT } wait_kind;
static wait_kind left_out;

/* What a block has counted. */
static struct {
  unsigned target, exchanges; /* of the barrier; with its neighbour */
} counted[MULTIPROCESSORS];

static int updated[EP_GRID_LAYERS_MAX]; /* tasks, by all blocks in all steps */

/* Who does something, and when. Blocks that share out a product have different parts of it. */
typedef struct {
  int block;
  unsigned step;
  int turn;
} moment;

static void reads(const moment *now, int thing) {
  ep_races_read(races, now->block, thing, now->turn);
}

static void writes(const moment *now, int thing) {
  ep_races_write(races, now->block, thing, now->turn);
}

static void awaits(const moment *now, int meeting) {
  const ep_grid_args *args = &plan.args;
  if (meeting == EP_GRID_NONE) return;
  int blocks = meeting >= EP_GRID_PHASE    ? args->phases[meeting - EP_GRID_PHASE].tasks
               : meeting == EP_GRID_GIVEN  ? args->given
               : meeting == EP_GRID_MIDDLE ? args->middle_blocks
                                           : 1;
  unsigned till = (now->step + (meeting != EP_GRID_MIDDLE)) * (unsigned)blocks;
  if (meeting == EP_GRID_BARRIER) till = counted[now->block].target;
  ep_races_await(races, now->block, meeting, till);
}

static void barrier_arrive(int block) {
  ep_races_arrive(races, block, EP_GRID_BARRIER);
  counted[block].target += (unsigned)plan.args.workers;
}

/* Where the order of the rows of an epoch of one step is. */
static int order_of(unsigned epoch) {
  return thing_of(EP_GRID_ORDER, (int)(epoch % 2));
}

/* Outputs of layer l in a step: those of a chained front lie in two places by turns. */
static int outputs_of(int l, unsigned step) {
  const ep_grid_args *args = &plan.args;
  if (l < 0) return thing_of(EP_GRID_INPUTS, 0);
  bool is_other = args->front_turn != 0 && l == args->front - 1 && step % 2 == 1;
  return thing_of(is_other ? OTHER_OUTPUTS : EP_GRID_OUTPUTS, l);
}

/* --- products -------------------------------------------------------------------------------- */

/* A block leaves its part of a sum, of `splits`, for those that share it, and reads theirs. */
static void sums_share(const moment *now, int counter, int splits, wait_kind kind) {
  const int block = now->block, turn = 2 * (int)now->step + 1;
  ep_races_write(races, block, parts_of(counter), turn); /* each its own */
  ep_races_arrive(races, block, counter_of(counter));
  if (left_out != kind)
    ep_races_await(races, block, counter_of(counter), (now->step + 1) * (unsigned)splits);
  ep_races_read(races, block, parts_of(counter), turn + 1);
}

/* Neighbours send each other the half of their sums that is the other's. */
static void neighbours_exchange(int block) {
  const int other = block ^ 1;
  ep_races_write(races, block, sent_of(other), 0);
  ep_races_arrive(races, block, neighbour_of(other));
  counted[block].exchanges++;
  if (left_out != NEIGHBOURS_WAIT)
    ep_races_await(races, block, neighbour_of(block), counted[block].exchanges);
  ep_races_read(races, block, sent_of(block), 0);
}

/* As tile_end in layers.cuh. */
static void tile_end(const moment *now, const ep_grid_cut *cut, int blocks, int number) {
  if (cut->splits == 1) return;
  const bool is_wide = cut->large && !plan.args.precise;
  const bool pairs = is_wide && plan.args.paired && ep_grid_cut_pairs(cut, blocks);
  const int splits = pairs ? cut->splits / 2 : cut->splits, group = number / cut->splits;
  if (pairs) neighbours_exchange(now->block);
  if (splits == 1) return;
  const int counter = is_wide ? 2 * group + (pairs && now->block % 2 == 1) : group;
  writes(now, thing_of(EP_GRID_PARTIALS, 0));
  sums_share(now, cut->counters + counter, splits, SUMS_WAIT);
  reads(now, thing_of(EP_GRID_PARTIALS, 0));
}

/* As panels_turn in panels.cuh. */
static void panels_turn(const moment *now) {
  if (plan.args.precise) return;
  for (int l = 1; l < plan.args.layers_count; l++) {
    const ep_grid_layer *layer = &plan.args.layers[l];
    if (layer->turned < 0 || now->block < layer->turned_by) continue;
    if (now->block >= layer->turned_by + layer->panels.across) continue;
    reads(now, outputs_of(l - 1, now->step));
    writes(now, thing_of(TURNED, l));
  }
}

/* --- updates --------------------------------------------------------------------------------- */

static bool is_by_panels(int l) {
  return !plan.args.precise && plan.args.layers[l].panels.splits > 0;
}

static const ep_grid_cut *update_cut(int l) {
  const ep_grid_layer *layer = &plan.args.layers[l];
  return is_by_panels(l) ? &layer->panels : &layer->update;
}

static void update_task(const moment *now, int l, int number) {
  const ep_grid_cut *cut = update_cut(l);
  const bool has_turned = is_by_panels(l) && plan.args.layers[l].turned >= 0;
  updated[l]++;
  reads(now, thing_of(EP_GRID_GRADS, l));
  reads(now, has_turned ? thing_of(TURNED, l) : outputs_of(l - 1, now->step));
  if (!is_by_panels(l) && cut->splits > 1)
    sums_share(now, cut->counters + number / cut->splits, cut->splits, UPDATE_SUMS_WAIT);
  writes(now, thing_of(EP_GRID_WEIGHTS, l));
}

/* As update in updates.cuh, of a layer that is not frozen. */
static int update(const moment *now, int l, int last, int skip, int block, int blocks) {
  const ep_grid_cut *cut = update_cut(l);
  const int tasks = (int)ep_grid_cut_tasks(cut), idle = blocks - skip % blocks;
  const bool is_behind = last >= 0 && plan.args.layers[last].panels.splits > 0;
  const bool is_few = is_behind && plan.args.slots == 0 && !is_by_panels(l) && !cut->large &&
                      cut->splits == 1 && tasks > idle && tasks <= FEW_UPDATES * idle;
  int number = block - skip % blocks;
  if (number < 0 && is_few) return skip + idle;
  if (number < 0) number += blocks;
  for (; number < tasks; number += is_few ? idle : blocks) update_task(now, l, number);
  return skip + (is_few ? idle : tasks);
}

static void updates_run(const moment *now, const ep_grid_phase *phase) {
  const int block = now->block - phase->update_from, blocks = phase->update_to - phase->update_from;
  if (block < 0 || block >= blocks) return;
  for (int l = plan.args.layers_count - 1, last = -1, skip = 0; l >= 0; l--) {
    if ((phase->updates >> l & 1) == 0) continue;
    skip = update(now, l, last, skip, block, blocks);
    last = l;
  }
}

/* --- phases ---------------------------------------------------------------------------------- */

/* The tasks that a phase has in the kernel, and the blocks that share them out. */
typedef struct {
  int tasks, blocks;
  const ep_grid_cut *cut; /* of a product; or NULL */
} work_share;

static work_share share_of(const ep_grid_phase *phase) {
  const ep_grid_layer *layer = &plan.args.layers[phase->layer];
  const int all = plan.args.workers;
  if (phase->work == EP_GRID_OUTPUT_LOSS) return (work_share){(int)plan.args.batch_rows, all, NULL};
  if (phase->work != EP_GRID_FORWARD && phase->work != EP_GRID_BACKWARD)
    return (work_share){all, all, NULL};
  const bool is_back = phase->work == EP_GRID_BACKWARD;
  const ep_grid_cut *cut = is_back ? &layer->backward : &layer->forward;
  return (work_share){(int)ep_grid_cut_tasks(cut),
                      is_back ? layer->backward_blocks : layer->forward_blocks, cut};
}

/* Whether the sums are in parts, of the phase's layer or the one before. */
static bool is_in_parts(const ep_grid_phase *phase) {
  const int l = phase->layer - (phase->work == EP_GRID_OUTPUT_LOSS);
  return plan.args.layers[l].forward.left_in_parts;
}

static bool does_apply(const ep_grid_access *access, const ep_grid_phase *phase, int block) {
  switch (access->condition) {
  case EP_GRID_ALWAYS: return true;
  case EP_GRID_WHOLE: return !is_in_parts(phase);
  case EP_GRID_IN_PARTS: return is_in_parts(phase);
  case EP_GRID_LAST_BLOCK: return block == plan.args.workers - 1;
  }
  return false;
}

static int thing_accessed(const ep_grid_access *access, int layer, unsigned step) {
  switch (access->memory) {
  case EP_GRID_WEIGHTS:
  case EP_GRID_GRADS: return thing_of(access->memory, layer);
  case EP_GRID_OUTPUTS: return outputs_of(layer, step);
  case EP_GRID_ORDER: return order_of(step);
  default: return thing_of(access->memory, 0); /* one for all layers */
  }
}

/* The rows of the phase's work that are of this kind. */
static void memory_access(const moment *now, const ep_grid_phase *phase, ep_grid_access_kind kind) {
  int rows = 0;
  for (int i = 0; i < EP_GRID_ACCESSES_COUNT; i++) {
    const ep_grid_access *access = &EP_GRID_ACCESSES[i];
    rows += access->work == phase->work;
    if (access->work != phase->work || access->kind != kind) continue;
    if (!does_apply(access, phase, now->block)) continue;
    const int thing = thing_accessed(access, phase->layer + access->layer, now->step);
    if (kind == EP_GRID_WRITES)
      writes(now, thing);
    else
      reads(now, thing);
  }
  ck_assert_int_gt(rows, 0);
}

/* A block's tasks of a phase. */
static void tasks_run(const moment *now, const ep_grid_phase *phase) {
  const work_share share = share_of(phase);
  const bool has_task = now->block < share.blocks && now->block < share.tasks;
  const bool ends = share.cut && !(phase->work == EP_GRID_FORWARD && is_in_parts(phase));
  if (!has_task) awaits(now, phase->awaits);
  for (int number = now->block; has_task && number < share.tasks; number += share.blocks) {
    memory_access(now, phase, EP_GRID_FETCHES);
    if (number == now->block) awaits(now, phase->awaits);
    memory_access(now, phase, EP_GRID_READS);
    if (ends) tile_end(now, share.cut, share.blocks, number);
    memory_access(now, phase, EP_GRID_WRITES);
  }
}

/* As phase_run in kernel.cu. */
static void phase_run(int block, int number, unsigned step) {
  const ep_grid_args *args = &plan.args;
  const ep_grid_phase *phase = &args->phases[number];
  const bool is_last = phase->work == EP_GRID_UPDATES;
  moment now = {block, step, 2 * ((int)step * args->phases_count + number + 1)};
  awaits(&now, phase->begins);
  if (phase->work == EP_GRID_OUTPUT_LOSS) panels_turn(&now);
  tasks_run(&now, phase);
  if (!is_last && phase->arrives == EP_GRID_BARRIER) barrier_arrive(block);
  if (phase->arrives != EP_GRID_BARRIER && phase->arrives != EP_GRID_NONE && block < phase->tasks)
    ep_races_arrive(races, block, phase->arrives);
  now.turn++;
  updates_run(&now, phase);
  if (is_last && block < args->middle_blocks) ep_races_arrive(races, block, EP_GRID_MIDDLE);
  if (is_last) barrier_arrive(block);
}

/* --- steps ----------------------------------------------------------------------------------- */

/* As blocks_steps in kernel.cu, of epochs of a step each. */
static void worker_run(int block) {
  const ep_grid_args *args = &plan.args;
  moment now = {block, 0, 1};
  ep_races_write(races, block, sent_of(block), 0); /* its barrier */
  for (int l = args->front; l < args->layers_count; l++)
    if (args->layers[l].mirror >= 0) writes(&now, thing_of(EP_GRID_WEIGHTS, l));
  writes(&now, order_of(0));
  barrier_arrive(block);
  if (args->middle_blocks > 0) awaits(&now, EP_GRID_BARRIER);
  for (unsigned step = 0; step < STEPS; step++) {
    now.turn = 2 * (int)step * args->phases_count + 1;
    writes(&now, order_of(step + 1));
    for (int p = 0; p < args->phases_count; p++) phase_run(block, p, step);
  }
}

static void front_run(int block) {
  const int last = plan.args.front - 1;
  for (unsigned step = 0; step < STEPS; step++) {
    const moment now = {block, step, 0};
    writes(&now, outputs_of(last, step));
    ep_races_arrive(races, block, EP_GRID_FRONT);
    awaits(&now, EP_GRID_GIVEN);
    reads(&now, thing_of(EP_GRID_GRADS, last));
  }
}

static ep_races_finding found;

/* Runs the plan in some orders, until one is not fine. */
static ep_races_outcome scene_try(unsigned orders) {
  ck_assert_int_le(plan.blocks, MULTIPROCESSORS);
  const int counters = (int)plan.counters;
  races = ep_races_create(plan.blocks, counter_of(counters), parts_of(counters));
  memset(counted, 0, sizeof counted);
  memset(updated, 0, sizeof updated);
  for (int b = 0; b < plan.args.workers; b++) worker_run(b);
  if (plan.args.chained) front_run(plan.args.workers);
  found = (ep_races_finding){.outcome = EP_RACES_NONE};
  for (unsigned seed = 1; seed <= orders && found.outcome == EP_RACES_NONE; seed++)
    found = ep_races_run(races, seed);
  ep_races_destroy(races);
  return found.outcome;
}

/* --- all wait -------------------------------------------------------------------------------- */

static void scene_is_fine(unsigned orders) {
  ck_assert_msg(scene_try(orders) == EP_RACES_NONE, "block %d %s %d", found.block,
                found.outcome == EP_RACES_FOUND ? "races for" : "stays at", found.what);
  for (int l = plan.args.front; l < plan.args.layers_count; l++)
    ck_assert_int_eq(updated[l], ep_grid_cut_tasks(update_cut(l)) * STEPS);
}

START_TEST(blocks_wait_for_what_they_read) {
  const ep_optimizer *optimizer = _i == 0 ? &ep_grid_sgd : &ep_grid_adam;
  for (int multiprocessors = 2; multiprocessors <= FEW; multiprocessors += 3) {
    for (int layers = 9; layers <= 12; layers++) {
      ck_assert(ep_grid_plan_doubling(layers, 100, optimizer, multiprocessors, &plan));
      ck_assert(plan.args.chained);
      scene_is_fine(30);
    }
    ck_assert(ep_grid_plan_wide(EP_PRECISION_FP32, 100, optimizer, multiprocessors, &plan));
    ck_assert_int_eq(plan.args.front, 0);
    scene_is_fine(30);
  }
}
END_TEST

START_TEST(so_do_all_blocks_of_a_gpu) {
  const int64_t batch_sizes[] = {2, 100, 128};
  for (int layers = 9; layers <= 12; layers++)
    for (int i = 0; i < 3; i++) {
      ck_assert(ep_grid_plan_doubling(
          layers, batch_sizes[i], _i == 0 ? &ep_grid_sgd : &ep_grid_adam, MULTIPROCESSORS, &plan));
      if (layers >= 11 && batch_sizes[i] == 100) ck_assert(plan.args.paired);
      scene_is_fine(10);
      plan.args.paired = false; /* where clusters have no room */
      scene_is_fine(10);
    }
}
END_TEST

START_TEST(so_do_those_without_a_front) {
  const ep_precision precisions[] = {EP_PRECISION_FP32, EP_PRECISION_TF32};
  ck_assert(ep_grid_plan_wide(precisions[_i], 100, &ep_grid_sgd, MULTIPROCESSORS, &plan));
  ck_assert_int_eq(plan.args.front, 0);
  scene_is_fine(10);
}
END_TEST

/* Blocks without a row turn inputs for others. */
START_TEST(what_is_turned_is_waited_for) {
  ck_assert(ep_grid_plan_doubling(12, 2, &ep_grid_sgd, 24, &plan));
  int turned = 0;
  for (int l = 0; l < plan.args.layers_count; l++) turned += plan.args.layers[l].turned >= 0;
  ck_assert_int_gt(turned, 0);
  scene_is_fine(30);
}
END_TEST

/* --- what if one did not --------------------------------------------------------------------- */

/* The phase of that work and of the first wide layer. */
static ep_grid_phase *phase_find(ep_grid_work work) {
  for (int p = 0; p < plan.args.phases_count; p++)
    if (plan.args.phases[p].work == work && plan.args.phases[p].layer == plan.args.front)
      return &plan.args.phases[p];
  ck_abort_msg("no such phase");
  return NULL;
}

static void small_plan_make(void) {
  ck_assert(ep_grid_plan_doubling(10, 100, &ep_grid_sgd, 6, &plan));
}

static void middle_plan_make(void) {
  ck_assert(ep_grid_plan_doubling(12, 100, &ep_grid_sgd, FEW, &plan));
  ck_assert_int_gt(plan.args.middle_blocks, 1);
}

static void frontless_plan_make(void) {
  ck_assert(ep_grid_plan_wide(EP_PRECISION_FP32, 100, &ep_grid_sgd, FEW, &plan));
}

/* What comes of it where that phase is another one. */
static ep_races_outcome phase_try(int number, ep_grid_phase phase) {
  const ep_grid_phase was = plan.args.phases[number];
  plan.args.phases[number] = phase;
  const ep_races_outcome outcome = scene_try(30);
  plan.args.phases[number] = was;
  return outcome;
}

/* Leaves out each wait and each arrival of the table, and one block of those that arrive. The last
 * phase arrives at the step's end whatever its row says. */
START_TEST(each_meeting_is_needed) {
  static void (*const makes[])(void) = {small_plan_make, middle_plan_make, frontless_plan_make};
  makes[_i]();
  for (int p = 0; p < plan.args.phases_count; p++) {
    ep_grid_phase phase = plan.args.phases[p];
    phase.awaits = EP_GRID_NONE;
    ck_assert_msg(phase_try(p, phase) == EP_RACES_FOUND, "phase %d need not await", p);
    phase = plan.args.phases[p];
    phase.begins = EP_GRID_NONE;
    if (p == 0 && plan.args.chained) ck_assert_int_eq(phase_try(p, phase), EP_RACES_FOUND);
    if (phase.work == EP_GRID_UPDATES) continue;
    phase = plan.args.phases[p];
    phase.arrives = EP_GRID_NONE;
    ck_assert_msg(phase_try(p, phase) == EP_RACES_STUCK, "phase %d need not arrive", p);
    phase = plan.args.phases[p];
    if (--phase.tasks > 0)
      ck_assert_msg(phase_try(p, phase) != EP_RACES_NONE, "a block of phase %d need not", p);
  }
}
END_TEST

START_TEST(an_update_too_early_is_noticed) {
  small_plan_make();
  /* Of its own weights, while others read them. */
  phase_find(EP_GRID_BACKWARD)->updates |= UINT32_C(1) << plan.args.front;
  ck_assert_int_eq(scene_try(30), EP_RACES_FOUND);
  small_plan_make();
  plan.args.front_turn = 0; /* the next outputs over those that the update reads */
  ck_assert_int_eq(scene_try(30), EP_RACES_FOUND);
  middle_plan_make();
  for (int p = 0; p < plan.args.phases_count; p++) /* of layers that are still to go back through */
    if (plan.args.phases[p].update_from == plan.args.middle_blocks)
      plan.args.phases[p].updates |= UINT32_C(1) << (plan.args.middle - 1);
  ck_assert_int_eq(scene_try(30), EP_RACES_FOUND);
}
END_TEST

static void wait_leave_out(wait_kind kind, int first_thing, int end) {
  left_out = NO_WAIT;
  scene_is_fine(1);
  left_out = kind;
  ck_assert_int_eq(scene_try(10), EP_RACES_FOUND);
  left_out = NO_WAIT;
  ck_assert_int_ge(found.what, first_thing);
  ck_assert_int_lt(found.what, end);
}

START_TEST(a_missing_wait_for_sums_is_noticed) {
  ck_assert(ep_grid_plan_doubling(12, 100, &ep_grid_sgd, MULTIPROCESSORS, &plan));
  wait_leave_out(NEIGHBOURS_WAIT, sent_of(0), sent_of(plan.blocks));
  wait_leave_out(SUMS_WAIT, parts_of(0), parts_of((int)plan.counters));
  ck_assert(ep_grid_plan_wide(EP_PRECISION_FP32, 1000, &ep_grid_sgd, MULTIPROCESSORS, &plan));
  wait_leave_out(UPDATE_SUMS_WAIT, parts_of(0), parts_of((int)plan.counters));
}
END_TEST

EP_SUITE("kernels/grid_meetings") {
  TCase *fine = ep_suite_case(suite, "all wait");
  tcase_set_timeout(fine, 60);
  tcase_add_loop_test(fine, blocks_wait_for_what_they_read, 0, 2);
  tcase_add_loop_test(fine, so_do_all_blocks_of_a_gpu, 0, 2);
  tcase_add_loop_test(fine, so_do_those_without_a_front, 0, 2);
  tcase_add_test(fine, what_is_turned_is_waited_for);
  TCase *missing = ep_suite_case(suite, "one does not");
  tcase_set_timeout(missing, 60);
  tcase_add_loop_test(missing, each_meeting_is_needed, 0, 3);
  tcase_add_test(missing, an_update_too_early_is_noticed);
  tcase_add_test(missing, a_missing_wait_for_sums_is_noticed);
}
