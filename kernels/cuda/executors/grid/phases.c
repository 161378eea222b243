#include "kernels/cuda/executors/grid/phases.h"

#include "kernels/cuda/executors/grid/offsets.h"

enum {
  SMALL_UPDATES = 3,  /* small tiles of a layer that a block updates while others go on … */
  MIDDLE_UPDATES = 4, /* … where there are middle layers, … */
  LAST_UPDATES = 24   /* … and of the last layer then, during two wide ones */
};

const ep_grid_access EP_GRID_ACCESSES[] = {
    {EP_GRID_ROWS, EP_GRID_READS, EP_GRID_ORDER, 0, EP_GRID_ALWAYS},
    {EP_GRID_ROWS, EP_GRID_WRITES, EP_GRID_INPUTS, 0, EP_GRID_ALWAYS},

    {EP_GRID_FORWARD, EP_GRID_FETCHES, EP_GRID_WEIGHTS, 0, EP_GRID_ALWAYS},
    {EP_GRID_FORWARD, EP_GRID_READS, EP_GRID_OUTPUTS, -1, EP_GRID_ALWAYS},
    {EP_GRID_FORWARD, EP_GRID_READS, EP_GRID_WEIGHTS, 0, EP_GRID_ALWAYS},
    {EP_GRID_FORWARD, EP_GRID_WRITES, EP_GRID_PARTIALS, 0, EP_GRID_IN_PARTS},
    {EP_GRID_FORWARD, EP_GRID_WRITES, EP_GRID_GRADS, 0, EP_GRID_WHOLE},
    {EP_GRID_FORWARD, EP_GRID_WRITES, EP_GRID_OUTPUTS, 0, EP_GRID_WHOLE},

    {EP_GRID_OUTPUT_LOSS, EP_GRID_FETCHES, EP_GRID_WEIGHTS, 0, EP_GRID_ALWAYS},
    {EP_GRID_OUTPUT_LOSS, EP_GRID_FETCHES, EP_GRID_ORDER, 0, EP_GRID_ALWAYS},
    {EP_GRID_OUTPUT_LOSS, EP_GRID_FETCHES, EP_GRID_WEIGHTS, -1, EP_GRID_IN_PARTS}, /* biases */
    {EP_GRID_OUTPUT_LOSS, EP_GRID_READS, EP_GRID_WEIGHTS, 0, EP_GRID_ALWAYS},
    {EP_GRID_OUTPUT_LOSS, EP_GRID_READS, EP_GRID_PARTIALS, 0, EP_GRID_IN_PARTS},
    {EP_GRID_OUTPUT_LOSS, EP_GRID_READS, EP_GRID_OUTPUTS, -1, EP_GRID_WHOLE},
    {EP_GRID_OUTPUT_LOSS, EP_GRID_READS, EP_GRID_GRADS, -1, EP_GRID_WHOLE},
    {EP_GRID_OUTPUT_LOSS, EP_GRID_WRITES, EP_GRID_OUTPUTS, -1, EP_GRID_IN_PARTS},
    {EP_GRID_OUTPUT_LOSS, EP_GRID_WRITES, EP_GRID_GRADS, 0, EP_GRID_ALWAYS},
    {EP_GRID_OUTPUT_LOSS, EP_GRID_WRITES, EP_GRID_GRADS, -1, EP_GRID_ALWAYS},
    {EP_GRID_OUTPUT_LOSS, EP_GRID_WRITES, EP_GRID_LOSSES, 0, EP_GRID_ALWAYS},

    {EP_GRID_BACKWARD, EP_GRID_FETCHES, EP_GRID_WEIGHTS, 0, EP_GRID_ALWAYS},
    {EP_GRID_BACKWARD, EP_GRID_READS, EP_GRID_GRADS, 0, EP_GRID_ALWAYS},
    {EP_GRID_BACKWARD, EP_GRID_READS, EP_GRID_OUTPUTS, -1, EP_GRID_ALWAYS}, /* or slopes: */
    {EP_GRID_BACKWARD, EP_GRID_READS, EP_GRID_GRADS, -1, EP_GRID_ALWAYS},
    {EP_GRID_BACKWARD, EP_GRID_READS, EP_GRID_WEIGHTS, 0, EP_GRID_ALWAYS},
    {EP_GRID_BACKWARD, EP_GRID_WRITES, EP_GRID_GRADS, -1, EP_GRID_ALWAYS},

    {EP_GRID_UPDATES, EP_GRID_READS, EP_GRID_LOSSES, 0, EP_GRID_LAST_BLOCK},
};
const int EP_GRID_ACCESSES_COUNT = sizeof EP_GRID_ACCESSES / sizeof *EP_GRID_ACCESSES;

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Whether so many blocks may update a layer while others go on: a few small tiles each, or one of
 * what takes longer; those that share a sum wait for each other. */
static bool blocks_suffice(const ep_grid_layer *layer, int64_t blocks, int tiles) {
  if (layer->panels.splits > 0) return layer->panels.across <= blocks;
  if (layer->update.splits > blocks) return false;
  return ep_grid_cut_tasks(&layer->update) <= (layer->update.large ? 1 : tiles) * blocks;
}

/* Each way back through a middle layer leaves some blocks without a task from there on. They take
 * the last layer that is left, which is the largest. */
void ep_grid_middle_shares(const ep_grid_args *args, ep_grid_share shares[EP_GRID_LAYERS_MAX]) {
  int64_t idle = args->middle_blocks, first = 0, tiles = 0;
  for (int l = args->front; l <= args->middle; l++) shares[l].behind = -1;
  for (int l = args->middle - 2; l >= args->front; l--) {
    int64_t tasks = 0; /* of this way back or one behind it */
    for (int to = args->front; to <= l; to++) {
      const int64_t all = least(ep_grid_cut_tasks(&args->layers[to].backward), idle);
      if (all > tasks) tasks = all;
    }
    for (int of = args->middle; of > l && tasks < idle; of--) {
      if (shares[of].behind >= 0) continue;
      if (!blocks_suffice(&args->layers[of], idle - tasks, MIDDLE_UPDATES)) continue;
      shares[of] = (ep_grid_share){l, (int)tasks, (int)idle};
      break;
    }
    idle = tasks;
    if (l == args->middle - 2) first = tasks;
  }
  /* What is left is small, and of those that have waited the longest, or everybody's. */
  for (int l = args->front; l <= args->middle; l++)
    if (shares[l].behind < 0)
      tiles += args->layers[l].panels.splits > 0 || args->layers[l].update.large
                   ? INT32_MAX
                   : ep_grid_cut_tasks(&args->layers[l].update);
  const int from = tiles <= args->middle_blocks - first ? (int)first : 0;
  for (int l = args->front; l <= args->middle; l++)
    if (shares[l].behind < 0) shares[l] = (ep_grid_share){-1, from, args->middle_blocks};
}

/* A phase that awaits the one before it, unless it says otherwise. */
static ep_grid_phase phase_of(const ep_grid_args *args, ep_grid_work work, int layer, int64_t tasks,
                              int blocks) {
  int number = args->phases_count;
  return (ep_grid_phase){.work = (uint8_t)work,
                         .layer = (uint8_t)layer,
                         .begins = EP_GRID_NONE,
                         .awaits =
                             (uint8_t)(number > 0 ? EP_GRID_PHASE + number - 1 : EP_GRID_BARRIER),
                         .arrives = (uint8_t)(EP_GRID_PHASE + number),
                         .tasks = (uint16_t)least(tasks, blocks),
                         .update_to = (uint16_t)blocks};
}

static void phase_add(ep_grid_args *args, ep_grid_phase phase) {
  args->phases[args->phases_count++] = phase;
}

/* Of the step's end: the layers that are left. Those that share out the front do it otherwise. */
static void phases_end(ep_grid_args *args, const ep_grid_share *shares, uint32_t left) {
  ep_grid_phase phase = phase_of(args, EP_GRID_UPDATES, 0, args->workers, args->workers);
  if (args->chained) phase.awaits = EP_GRID_GIVEN;
  for (int l = args->front; args->middle_blocks > 0 && l <= args->middle; l++)
    if (shares[l].behind < 0)
      phase.update_from = (uint16_t)shares[l].from, phase.update_to = (uint16_t)shares[l].to;
  phase.arrives = EP_GRID_BARRIER;
  phase.updates = left;
  phase_add(args, phase);
}

/* Who updates what on the way back, where there are middle layers: who has no task has time until
 * the front's next outputs are there. What is behind the middle layers, but for the first of it, is
 * updated by the blocks that do not have these; the last layer of all, where it is small, by the
 * few that are idle for two wide ones. */
static void phase_share_updates(const ep_grid_args *args, const ep_grid_share *shares,
                                ep_grid_phase *phase, uint32_t left) {
  const int l = phase->layer, last = args->layers_count - 1;
  int from = 0, to = args->layers[l].backward_blocks;
  uint32_t all = 0;
  if (l + 1 < args->middle) {
    for (int of = args->front; of <= args->middle; of++)
      if (shares[of].behind == l)
        all = UINT32_C(1) << of, from = shares[of].from, to = shares[of].to;
  } else if (l + 1 == args->middle) {
    all = ~UINT32_C(1) << args->middle, from = args->middle_blocks, to = args->workers;
  } else if (l + 1 == last) {
    from = phase->tasks > args->middle_blocks ? phase->tasks : args->middle_blocks;
    if (blocks_suffice(&args->layers[last], to - from, LAST_UPDATES)) all = UINT32_C(1) << last;
  }
  phase->updates = left & all;
  phase->update_from = (uint16_t)(all != 0 ? from : 0);
  phase->update_to = (uint16_t)to;
}

/* The way back through layer l. The layer behind it is updated by blocks that have no task there,
 * where that takes them no more than a few small tiles, and no panels: so that those who give the
 * others what they wait for are not late, and that no one else arrives late behind it. Returns what
 * is left to the step's end, when a chained front is on its way, of the layers `left`. */
static uint32_t phase_add_backward(ep_grid_args *args, const ep_grid_share *shares, int l,
                                   uint32_t left) {
  const ep_grid_cut *cut = &args->layers[l].backward;
  const ep_grid_layer *behind = &args->layers[l + 1];
  const int blocks = args->layers[l].backward_blocks;
  int64_t tasks = ep_grid_cut_tasks(cut), idle = blocks - tasks;
  ep_grid_phase phase = phase_of(args, EP_GRID_BACKWARD, l, tasks, blocks);
  if (args->middle_blocks > 0) {
    phase_share_updates(args, shares, &phase, left);
  } else if (idle > 0 && behind->panels.splits == 0 &&
             blocks_suffice(behind, idle, SMALL_UPDATES)) {
    phase.updates = left & UINT32_C(1) << (l + 1);
    phase.update_from = (uint16_t)tasks;
  }
  if (args->chained && l == args->front) {
    phase.arrives = EP_GRID_GIVEN;
    args->given = phase.tasks;
  }
  phase_add(args, phase);
  return left & ~phase.updates;
}

void ep_grid_phases_make(ep_grid_args *args) {
  const int last = args->layers_count - 1;
  const bool updates = args->front == 0 || args->chained;
  ep_grid_phase phase;
  const int workers = args->workers;
  ep_grid_share shares[EP_GRID_LAYERS_MAX];
  if (args->middle_blocks > 0) ep_grid_middle_shares(args, shares);
  if (args->front == 0) phase_add(args, phase_of(args, EP_GRID_ROWS, 0, workers, workers));
  for (int l = args->front; l < last; l++) {
    const ep_grid_layer *layer = &args->layers[l];
    phase = phase_of(args, EP_GRID_FORWARD, l, ep_grid_cut_tasks(&layer->forward),
                     layer->forward_blocks);
    if (l > 0 && l == args->front) { /* the last step's update of its weights is awaited as well */
      phase.begins = args->middle_blocks > 0 ? EP_GRID_MIDDLE : EP_GRID_BARRIER;
      phase.awaits = args->chained ? EP_GRID_FRONT : EP_GRID_NONE;
    }
    if (args->middle_blocks > 0 && l + 1 == args->middle) phase.begins = EP_GRID_BARRIER;
    phase_add(args, phase);
  }
  phase = phase_of(args, EP_GRID_OUTPUT_LOSS, last, args->batch_rows, workers);
  if (args->front == last) phase.begins = EP_GRID_BARRIER, phase.awaits = EP_GRID_NONE;
  phase_add(args, phase);
  uint32_t left = updates ? (UINT32_C(2) << last) - (UINT32_C(1) << args->front) : 0;
  for (int l = last - 1; l > 0 && l >= args->front; l--)
    left = phase_add_backward(args, shares, l, left);
  if (updates)
    phases_end(args, shares, left);
  else
    args->phases[args->phases_count - 1].arrives = EP_GRID_BARRIER; /* with those of the front */
}
