#include "kernels/cpu/executors/blocked/net.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/cpu/executors/blocked/direct.h"
#include "kernels/cpu/executors/blocked/planes.h"
#include "kernels/cpu/layers/layers.h"
#include "kernels/operators/operator.h"

/* How a batch is cut; each number was measured on MNIST's network, and only the speed depends on
 * it (and, since sums are cut, the last bits). */
enum {
  MOST_SLOTS = 32,
  SLOT_LEAST_ROWS = 8,
  SLOT_LEAST_WORK = 200000,      /* operations: worth a thread's while */
  SLOTS_MOST_FLOATS = 1 << 26,   /* of all slots' gradients */
  SLOT_FLOAT_WORK = 100,         /* operations for each float of a slot's gradient */
  SHARED_LEAST_FLOATS = 1 << 16, /* a weight from here on has no copy a slot */
  SHARED_LEAST_ROWS = 64,        /* … and its products want that many rows */
  SHARED_MOST_ROWS = 512,        /* … from here on no more do any good */
  SHARED_SLOTS = 16,             /* … and there are so many slots, if there are rows */
  SHARED_CONV_SLOTS = 4,         /* where convolutions are in front, whose threads wait for rows */
  SHARED_TILE_ROWS = 64,
  SHARED_TABLE_PIECES = 8,     /* of an embedding's table: each looks at all words of the batch */
  CHUNK_BYTES = 768 << 10,     /* fits the second level cache */
  CHUNK_INPUT_BYTES = 4 << 20, /* what a few rows of the widest input take */
  CHUNK_LEAST_ROWS = 4,
  PIECE_FLOATS = 1 << 14,
  ALIGN_BYTES = 64
};

typedef struct block {
  struct block *next;
} block;

/* Zeroed, aligned memory for rows * columns things of `size` bytes, owned by the net; NULL when
 * there is none. More than the machine has is not asked for: a system that promises it nevertheless
 * would end the process when it is used. */
static void *take(ep_blocked_net *net, int64_t rows, int64_t columns, size_t size) {
  int64_t bytes;
  if (__builtin_mul_overflow(rows, columns, &bytes) ||
      __builtin_mul_overflow(bytes, (int64_t)size, &bytes) ||
      __builtin_add_overflow(bytes, 2 * ALIGN_BYTES, &bytes))
    return NULL;
  bytes = bytes / ALIGN_BYTES * ALIGN_BYTES;
  if (bytes > net->most_bytes - net->bytes) return NULL;
  block *taken = aligned_alloc(ALIGN_BYTES, (size_t)bytes);
  if (!taken) return NULL;
  memset(taken, 0, (size_t)bytes);
  taken->next = net->blocks;
  net->blocks = taken;
  net->bytes += bytes;
  return (char *)taken + ALIGN_BYTES;
}

void ep_blocked_net_deinit(ep_blocked_net *net) {
  free(net->kept_state);
  for (block *next, *each = net->blocks; each; each = next) {
    next = each->next;
    free(each);
  }
  *net = (ep_blocked_net){0};
}

int64_t ep_blocked_side_bytes(const ep_op *op) {
  static const int64_t each[] = {[EP_SAVED_INDICES] = sizeof(int32_t),
                                 [EP_SAVED_MASK] = 1,
                                 [EP_SAVED_CHANNEL_MASK] = 1,
                                 [EP_SAVED_STATISTICS] = sizeof(double),
                                 [EP_SAVED_GATES] = 0};
  return ep_op_saved(op) * each[ep_operator_of(op->type)->saved];
}

int64_t ep_blocked_columns(const ep_op *op) {
  if (op->type != EP_LAYER_CONV2D) return 0;
  if (ep_direct_takes(op)) return ep_direct_floats(op);
  if (ep_planes_takes(op)) return ep_planes_floats(op);
  int64_t taps = op->in.channels / op->groups * op->kernel[0] * op->kernel[1], floats;
  return __builtin_mul_overflow(taps, op->out.height * op->out.width, &floats) ? INT64_MAX : floats;
}

static bool is_shared(const ep_op *op) {
  return (op->type == EP_LAYER_LINEAR || op->type == EP_LAYER_EMBEDDING) &&
         ep_op_own_weights(op) >= SHARED_LEAST_FLOATS;
}

/* Units of a shared weight that are one piece of its gradient's sum: rows of a linear layer's,
 * words of an embedding's table. */
static int64_t shared_piece(const ep_op *op) {
  if (op->type == EP_LAYER_LINEAR) return SHARED_TILE_ROWS;
  return (op->embeddings + SHARED_TABLE_PIECES - 1) / SHARED_TABLE_PIECES;
}

static int64_t shared_units(const ep_op *op) {
  return op->type == EP_LAYER_LINEAR ? op->out_features : op->embeddings;
}

/* Room in a slot's gradient; -1 for nothing. */
static int64_t slot_place(ep_blocked_net *net, int64_t floats) {
  int64_t place = net->slot_floats;
  net->slot_floats += floats;
  return floats > 0 ? place : -1;
}

/* Whether nobody but the dropout2d that follows sees the output of a conv2d. */
static bool is_dropped(const ep_blocked_net *net, int op) {
  const ep_program *program = net->program;
  return program->ops[op].type == EP_LAYER_CONV2D && op + 1 < program->ops_count &&
         program->ops[op + 1].type == EP_LAYER_DROPOUT2D && !net->of[op + 1].shared;
}

/* Layers, the slots' gradients, and where the spans begin. */
static void lay_layers(ep_blocked_net *net) {
  const ep_program *program = net->program;
  net->first_learned = ep_program_first_learned(program);
  net->spans_count = 1;
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    ep_blocked_layer *layer = &net->layers[i];
    *layer = (ep_blocked_layer){.op = op,
                                .grad = -1,
                                .shared = is_shared(op),
                                .drops = is_dropped(net, i),
                                .norm = -1,
                                .side_bytes = ep_blocked_side_bytes(op)};
    if (op->type == EP_LAYER_BATCH_NORM) {
      layer->norm = net->spans_count - 1;
      net->spans[net->spans_count++] = i;
    } else if (!layer->shared) {
      layer->grad = slot_place(net, ep_op_parameters(op));
    }
  }
}

/* The span on whose way back op i goes: a batch_norm's is the one before it. */
static int back_span(const ep_blocked_net *net, int op) {
  int span = 0;
  while (span + 1 < net->spans_count && net->spans[span + 1] < op) span++;
  return span;
}

/* Whether a value is made and read on the ways back of two spans, each of which goes through the
 * whole batch. */
static bool spans_apart(const ep_blocked_net *net, int value) {
  const int base = net->of[value].base, outputs = net->program->ops_count;
  const int last = base == net->of[outputs].base ? outputs : net->of[base].last_read;
  return base > 0 && back_span(net, last) != back_span(net, base - 1);
}

/* The whole batch of a value, once. */
static bool keep_value(ep_blocked_net *net, int value) {
  ep_blocked_value *base = &net->values[net->of[value].base];
  if (!base->kept)
    base->kept = take(net, net->program->batch_size, net->of[value].features, sizeof(float));
  return base->kept != NULL;
}

/* What is kept for the whole batch. False: no memory. */
static bool keep_values(ep_blocked_net *net) {
  const ep_program *program = net->program;
  bool complete = true, all = net->spans_count > 1;
  for (int i = 0; i <= program->ops_count; i++) {
    const ep_blocked_layer *before = i > 0 ? &net->layers[i - 1] : NULL;
    const ep_blocked_layer *after = i < program->ops_count ? &net->layers[i] : NULL;
    if (all) complete = keep_value(net, i) && complete;
    if (after && after->shared) complete = keep_value(net, after->op->input[0]) && complete;
    ep_blocked_value *base = &net->values[net->of[i].base];
    if (((before && before->shared) || (net->of[i].learns && spans_apart(net, i))) &&
        !base->kept_grad) {
      base->kept_grad = take(net, program->batch_size, net->of[i].features, sizeof(float));
      complete = complete && base->kept_grad;
    }
  }
  for (int i = 0; i < program->ops_count; i++) {
    ep_blocked_layer *layer = &net->layers[i];
    if (!all || layer->side_bytes == 0) continue;
    layer->kept_side = take(net, program->batch_size, layer->side_bytes, 1);
    complete = complete && layer->kept_side;
  }
  return complete;
}

static int64_t at_least(int64_t value, int64_t least) {
  return value < least ? least : value;
}

static int64_t at_most(int64_t value, int64_t most) {
  return value < most ? value : most;
}

/* Operations of one row, forward and back, roughly. */
static double row_work(const ep_blocked_net *net) {
  double work = 0;
  for (int i = 0; i < net->program->ops_count; i++) {
    const ep_op *op = &net->program->ops[i];
    const double products = (double)ep_op_products(op);
    work += products > 0 ? 6.0 * products : 4.0 * (double)op->out_features;
  }
  return work;
}

/* Rows of a slot at least. Of a convolution one row is work enough. A large linear layer reads its
 * weights for each slot, and wants many rows: but not so many that threads have nothing to do. */
static int64_t slot_least_rows(const ep_blocked_net *net) {
  const int64_t rows = net->program->batch_size;
  bool convolves = false, shares = false;
  for (int i = 0; i < net->program->ops_count; i++) {
    const ep_op *op = &net->program->ops[i];
    convolves = convolves || op->type == EP_LAYER_CONV2D;
    shares = shares || (net->layers[i].shared && op->type == EP_LAYER_LINEAR);
  }
  if (convolves) return shares ? (rows + SHARED_CONV_SLOTS - 1) / SHARED_CONV_SLOTS : 1;
  if (!shares) return SLOT_LEAST_ROWS;
  return at_least(at_most(rows / SHARED_SLOTS, SHARED_MOST_ROWS), SHARED_LEAST_ROWS);
}

static void cut_batch(ep_blocked_net *net) {
  const ep_program *program = net->program;
  const int64_t least = slot_least_rows(net);
  double slots = (double)program->batch_size * row_work(net) / SLOT_LEAST_WORK;
  int64_t count = slots < 1 ? 1 : slots > MOST_SLOTS ? MOST_SLOTS : (int64_t)slots;
  int64_t bytes = 0, wide = CHUNK_LEAST_ROWS;
  if (net->slot_floats > 0) {
    /* A slot's gradient is cleared and added up: little beside what its rows take. */
    double worth = (double)program->batch_size * row_work(net) / SLOT_FLOAT_WORK;
    count = at_most(count, SLOTS_MOST_FLOATS / net->slot_floats);
    if (worth < (double)count * (double)net->slot_floats)
      count = (int64_t)(worth / (double)net->slot_floats);
  }
  for (int i = 0; i < program->ops_count; i++) {
    bytes += 2 * 4 * program->ops[i].out_features;
    if (program->ops[i].type == EP_LAYER_LINEAR) wide = SLOT_LEAST_ROWS;
  }
  count = at_least(count, 1);
  net->slot_rows = at_least((program->batch_size + count - 1) / count, least);
  net->slot_rows = at_most(net->slot_rows, program->batch_size);
  net->slots_count = (program->batch_size + net->slot_rows - 1) / net->slot_rows;
  int64_t rows = at_least(CHUNK_BYTES / at_least(bytes, 1), wide);
  if (least >= SHARED_LEAST_ROWS) rows = at_least(rows, least);
  rows = at_most(rows, at_least(CHUNK_INPUT_BYTES / (4 * program->in_features), wide));
  net->chunk_rows = at_most(rows, at_least(net->slot_rows, program->max_predict_rows));
}

static bool take_moments(ep_blocked_net *net, ep_blocked_moments **out) {
  ep_blocked_moments *moments = take(net, net->spans_count, 1, sizeof *moments);
  *out = moments;
  for (int i = 1; moments && i < net->spans_count; i++) {
    int64_t channels = net->program->ops[net->spans[i]].in.channels;
    double *numbers = take(net, channels, 5, sizeof *numbers);
    if (!numbers) return false;
    moments[i - 1] = (ep_blocked_moments){.mean = numbers,
                                          .squares = numbers + channels,
                                          .factor = numbers + 2 * channels,
                                          .sum = numbers + 3 * channels,
                                          .product = numbers + 4 * channels};
  }
  return moments != NULL;
}

static bool take_slots(ep_blocked_net *net) {
  net->slots = take(net, net->slots_count, 1, sizeof *net->slots);
  if (!net->slots) return false;
  for (int64_t i = 0; i < net->slots_count; i++) {
    ep_blocked_slot *slot = &net->slots[i];
    slot->grad = take(net, net->slot_floats, 1, sizeof *slot->grad);
    if (!slot->grad || !take_moments(net, &slot->moments)) return false;
  }
  return take_moments(net, &net->moments);
}

static bool take_gradients(ep_blocked_net *net, ep_blocked_member *member) {
  const int values = net->program->ops_count + 1;
  int64_t widest = 1;
  member->grads = take(net, net->gradients_count, 1, sizeof *member->grads);
  for (int memory = 0; member->grads && memory < net->gradients_count; memory++) {
    int64_t features = 0;
    for (int i = 0; i < values; i++)
      if (net->of[i].gradient == memory) features = at_least(features, net->of[i].features);
    member->grads[memory] = take(net, net->chunk_rows, features, sizeof(float));
    if (!member->grads[memory]) return false;
    widest = at_least(widest, features);
  }
  for (int k = 0, most = ep_values_added(net->program, net->of, 0, net->program->ops_count);
       k < most; k++) {
    member->parts[k] = take(net, net->chunk_rows, widest, sizeof(float));
    if (!member->parts[k]) return false;
  }
  return member->grads != NULL;
}

static bool take_member(ep_blocked_net *net, ep_blocked_member *member) {
  const ep_program *program = net->program;
  int64_t columns = 1, scratch = 1;
  member->values = take(net, program->ops_count + 1, 1, sizeof *member->values);
  member->sides = take(net, program->ops_count, 1, sizeof *member->sides);
  if (!member->values || !member->sides) return false;
  for (int i = 0; i <= program->ops_count; i++) {
    if (net->of[i].base != i) continue;
    member->values[i] = take(net, net->chunk_rows, net->of[i].features, sizeof(float));
    if (!member->values[i]) return false;
  }
  for (int i = 0; i < program->ops_count; i++) {
    columns = at_least(columns, ep_blocked_columns(&program->ops[i]));
    if (!net->variant->layers[program->ops[i].type].forward)
      scratch = at_least(scratch, ep_op_parameters(&program->ops[i]) +
                                      ep_reference_scratch(&program->ops[i]));
    member->sides[i] = take(net, net->chunk_rows, net->layers[i].side_bytes, 1);
    if (!member->sides[i]) return false;
  }
  member->columns = take(net, columns, 1, sizeof(float));
  member->scratch = take(net, scratch, 1, sizeof(double));
  member->target = take(net, net->chunk_rows, program->target_columns, sizeof(float));
  return take_gradients(net, member) && member->columns && member->scratch && member->target;
}

static bool take_members(ep_blocked_net *net) {
  net->members = take(net, net->members_count, 1, sizeof *net->members);
  for (int i = 0; net->members && i < net->members_count; i++)
    if (!take_member(net, &net->members[i])) return false;
  return net->members != NULL;
}

static int64_t pieces_of(int64_t count, int64_t each) {
  return (count + each - 1) / each;
}

/* A range of a slot's gradient, in pieces. */
static void sum_range(ep_blocked_net *net, int64_t first, int64_t slot_first, int64_t count) {
  for (int64_t done = 0; done < count; done += PIECE_FLOATS)
    net->sums[net->sums_count++] = (ep_blocked_piece){.layer = -1,
                                                      .first = first + done,
                                                      .slot_first = slot_first + done,
                                                      .count = at_most(count - done, PIECE_FLOATS)};
}

static bool make_sums(ep_blocked_net *net) {
  const ep_program *program = net->program;
  int64_t most = 1;
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    most += pieces_of(ep_op_parameters(op), PIECE_FLOATS);
    if (net->layers[i].shared) most += pieces_of(shared_units(op), shared_piece(op));
  }
  net->sums = take(net, most, 1, sizeof *net->sums);
  if (!net->sums) return false;
  for (int i = net->first_learned; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    const ep_blocked_layer *layer = &net->layers[i];
    const int64_t units = shared_units(op), each = shared_piece(op);
    for (int64_t unit = 0; layer->shared && unit < units; unit += each)
      net->sums[net->sums_count++] =
          (ep_blocked_piece){.layer = i, .first = unit, .count = at_most(units - unit, each)};
    if (layer->grad >= 0)
      sum_range(net, ep_op_parameters_first(op), layer->grad, ep_op_parameters(op));
  }
  return true;
}

/* Pieces of the groups that are not frozen. */
static bool make_updates(ep_blocked_net *net) {
  const ep_program *program = net->program;
  int64_t most = 1;
  for (int i = 0; i < program->groups_count; i++)
    most += pieces_of(program->groups[i].count, PIECE_FLOATS);
  net->updates = take(net, most, 1, sizeof *net->updates);
  for (int i = 0; net->updates && i < program->groups_count; i++) {
    const ep_parameter_group *group = &program->groups[i];
    for (int64_t done = 0; !group->frozen && done < group->count; done += PIECE_FLOATS)
      net->updates[net->updates_count++] =
          (ep_blocked_piece){.layer = -1,
                             .group = i,
                             .first = group->first + done,
                             .count = at_most(group->count - done, PIECE_FLOATS)};
  }
  return net->updates != NULL;
}

static bool take_state(ep_blocked_net *net) {
  const ep_program *program = net->program;
  if (__builtin_add_overflow(ep_program_state_floats(program), program->optimizer_floats,
                             &net->state_floats))
    return false;
  net->state = take(net, net->state_floats, 1, sizeof *net->state);
  net->gradient = take(net, program->parameters, 1, sizeof *net->gradient);
  net->rows_from = take(net, program->batch_size, 1, sizeof *net->rows_from);
  return net->state && net->gradient && net->rows_from;
}

ep_status ep_blocked_net_init(ep_blocked_net *net, const ep_program *program,
                              const ep_blocked_variant *variant, int members, ep_error *error) {
  *net = (ep_blocked_net){.program = program, .variant = variant, .members_count = members};
  net->most_bytes = program->memory_bytes_max > 0
                        ? program->memory_bytes_max
                        : (int64_t)sysconf(_SC_PAGESIZE) * sysconf(_SC_PHYS_PAGES);
  net->layers = take(net, program->ops_count, 1, sizeof *net->layers);
  net->values = take(net, program->ops_count + 1, 1, sizeof *net->values);
  net->of = take(net, program->ops_count + 1, 1, sizeof *net->of);
  net->spans = take(net, program->ops_count + 1, 1, sizeof *net->spans);
  bool complete = net->layers && net->values && net->of && net->spans;
  if (complete) {
    ep_values_find(program, 0, net->of);
    net->gradients_count = ep_values_gradients(program, 0, program->ops_count, net->of);
    lay_layers(net);
    cut_batch(net);
    complete = keep_values(net) && take_slots(net) && take_members(net) && make_sums(net) &&
               make_updates(net) && take_state(net);
  }
  if (complete) return EP_OK;
  int64_t taken = net->bytes;
  ep_blocked_net_deinit(net);
  return ep_fail(error, EP_NO_MEMORY,
                 "out of memory for the values and parameters of all layers, after %lld MiB",
                 (long long)(taken >> 20));
}
