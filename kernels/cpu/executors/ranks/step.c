/* step.c: what a rank does in a step. Its pieces go forward and back, one forward, one back (1F1B):
 * a stage begins with as many forward as there are stages behind it, and so keeps no more than
 * those. Then gradients are summed over the replicas, each rank a part of its stage's, in the order
 * of the replicas: how many threads there are, and who is first, changes no bit. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/cpu/executors/ranks/exchange.h"
#include "kernels/cpu/executors/ranks/slices.h"
#include "kernels/cpu/executors/ranks/targets.h"
#include "kernels/cpu/layers/batch.h"
#include "kernels/cpu/layers/losses.h"
#include "kernels/cpu/layers/optimizers.h"
#include "kernels/random.h"

/* One batch, and the slice of a rank's replica. */
typedef struct {
  ep_rank *rank;
  int64_t step, epoch;
  int64_t first, rows; /* of the batch, in the epoch's order */
  ep_ranks_rows slice; /* of it */
  int pieces;          /* of the slice */
  bool shuffled;
  ep_permutation order;
} batch;

typedef ep_ranks_rows piece;

/* --- time and waiting ------------------------------------------------------------------------- */

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A rank of the leader's node rests, or goes on: others must be heard only where all of them rest.
 */
static void rest(const ep_rank *rank, bool rests) {
  if (rank->here && rank->ranks->node == 0 && rank->ranks->exchange)
    ep_exchange_rest(rank->ranks->exchange, rests);
}

static void barrier_wait(ep_rank *rank, ep_barrier *barrier) {
  double start = seconds_now();
  rest(rank, true);
  ep_barrier_wait(barrier);
  rest(rank, false);
  rank->info.idle_seconds += seconds_now() - start;
}

/* On the leader's node: some rank offers another number of sums, or of values, than the others of
 * its stage. */
static void sums_differ(const ep_rank *rank) {
  ep_error why = {0};
  ep_fail(&why, EP_MALFORMED, "a node has sent other sums than stage %d has", rank->stage);
  ep_exchange_break(rank->ranks->exchange, &why);
}

/* All replicas of a stage have something to be summed; false: the ranks are broken. */
static bool stage_meet(ep_rank *rank) {
  const ep_ranks *ranks = rank->ranks;
  double start = seconds_now();
  rest(rank, true);
  bool same = ep_barrier_meet(&ranks->stage[rank->stage]);
  rest(rank, false);
  rank->info.idle_seconds += seconds_now() - start;
  for (int d = 0; same && !atomic_load(&ranks->broken) && d < ranks->replicas; d++)
    same = ep_rank_of(ranks, d, rank->stage)->offered_count == rank->offered_count;
  if (!same && ranks->exchange) sums_differ(rank);
  return !atomic_load(&ranks->broken);
}

static void semaphore_wait(ep_rank *rank, sem_t *semaphore) {
  double start = seconds_now();
  rest(rank, true);
  while (!atomic_load(&rank->ranks->broken) && sem_wait(semaphore) != 0 && errno == EINTR) continue;
  rest(rank, false);
  rank->info.idle_seconds += seconds_now() - start;
}

/* --- sums over the replicas of a stage -------------------------------------------------------- */

/* ep_replica_sums.add: of few values, which each rank adds up for itself. */
static void replicas_add(void *context, double *values, int64_t count) {
  enum { AT_ONCE = EP_RANKS_OFFER };
  ep_rank *rank = context;
  const ep_ranks *ranks = rank->ranks;
  double sums[AT_ONCE];
  for (int64_t first = 0; first < count; first += AT_ONCE) {
    int64_t many = count - first < AT_ONCE ? count - first : AT_ONCE;
    if (ranks->node > 0) {
      double start = seconds_now();
      ep_exchange_add(rank, values + first, many);
      rank->info.idle_seconds += seconds_now() - start;
      continue;
    }
    rank->offered = values + first;
    rank->offered_count = many;
    if (!stage_meet(rank)) return;
    for (int64_t i = 0; i < many; i++) sums[i] = 0;
    for (int d = 0; d < ranks->replicas; d++)
      for (int64_t i = 0; i < many; i++) sums[i] += ep_rank_of(ranks, d, rank->stage)->offered[i];
    barrier_wait(rank, &ranks->stage[rank->stage]);
    memcpy(values + first, sums, (size_t)many * sizeof *sums);
  }
}

/* --- a piece ---------------------------------------------------------------------------------- */

static int64_t row_at(const batch *b, int64_t within) {
  int64_t at = b->first + within;
  return b->shuffled ? (int64_t)ep_permutation_at(&b->order, (uint32_t)at) : at;
}

static piece piece_at(const batch *b, int number) {
  return ep_ranks_piece(b->slice, number, b->pieces);
}

static bool is_last(const ep_rank *rank) {
  return rank->stage + 1 == rank->ranks->stages;
}

static ep_network *network_of(const ep_rank *rank, int number) {
  return &rank->pieces[number % rank->pieces_count];
}

/* What a rank that comes before one that is here has made of a piece. */
static const ep_real *handed_by(const ep_rank *before, int number) {
  if (!before->here)
    return before->handed +
           number % before->pieces_count * before->ranks->piece_rows * ep_rank_out_features(before);
  const ep_network *network = network_of(before, number);
  return network->values[network->end];
}

static ep_reference_pass pass_of(const batch *b, piece of) {
  const ep_rank *rank = b->rank;
  const ep_program *program = rank->ranks->program;
  ep_real *state = rank->ranks->replica[rank->replica].state;
  return (ep_reference_pass){.parameters = state,
                             .buffers = state + program->parameters,
                             .rows = of.rows,
                             .first_row = of.first,
                             .step = b->step,
                             .seed = program->seed,
                             .training = true,
                             .replicas = rank->ranks->replicas > 1 ? &rank->sums : NULL};
}

/* Some of the batch's statistics are of all replicas: then each takes part, also without rows. */
static bool syncs(const ep_program *program) {
  for (int i = 0; i < program->ops_count; i++)
    if (program->ops[i].sync) return true;
  return false;
}

static void rows_read(const batch *b, piece of, ep_real *to) {
  const ep_program *program = b->rank->ranks->program;
  const void *x = b->rank->ranks->data[EP_SPLIT_TRAIN].x;
  for (int64_t i = 0; i < of.rows; i++)
    ep_reference_read_training_row(program, x, row_at(b, of.first + i), b->epoch,
                                   to + i * program->in_features);
}

static void targets_read(const batch *b, piece of) {
  const ep_program *program = b->rank->ranks->program;
  size_t bytes = (size_t)program->target_columns * sizeof(float);
  const ep_ranks_data *data = &b->rank->ranks->data[EP_SPLIT_TRAIN];
  for (int64_t i = 0; i < of.rows; i++)
    memcpy((char *)b->rank->target + (size_t)i * bytes,
           ep_target_at(program, data, row_at(b, of.first + i)), bytes);
}

/* What the stage before has made of the piece. */
static void input_take(const batch *b, int number, piece of) {
  ep_rank *rank = b->rank;
  const ep_ranks *ranks = rank->ranks;
  ep_network *network = network_of(rank, number);
  if (rank->stage == 0) {
    rows_read(b, of, network->values[0]);
    return;
  }
  semaphore_wait(rank, &rank->arrived);
  int64_t features = ep_network_features(ranks->program, network->first);
  double start = seconds_now();
  memcpy(network->values[network->first],
         handed_by(ep_rank_of(ranks, rank->replica, rank->stage - 1), number),
         (size_t)(of.rows * features) * sizeof(ep_real));
  rank->info.communication_seconds += seconds_now() - start;
}

/* Tells the stage behind that the piece is ready. */
static void output_give(const batch *b, int number, piece of) {
  ep_rank *rank = b->rank;
  const ep_network *network = network_of(rank, number);
  if (is_last(rank)) return;
  ep_rank *behind = ep_rank_of(rank->ranks, rank->replica, rank->stage + 1);
  double start = seconds_now();
  if (behind->here)
    sem_post(&behind->arrived);
  else
    ep_exchange_hand(behind, EP_NODE_FORWARD, number, network->values[network->end],
                     of.rows * ep_network_features(rank->ranks->program, network->end));
  rank->info.communication_seconds += seconds_now() - start;
}

static void piece_forward(const batch *b, int number) {
  ep_rank *rank = b->rank;
  piece of = piece_at(b, number);
  ep_network *network = network_of(rank, number);
  input_take(b, number, of);
  double start = seconds_now(), idle = rank->info.idle_seconds;
  ep_reference_pass pass = pass_of(b, of);
  if (of.rows > 0 || syncs(rank->ranks->program)) ep_network_forward(network, &pass);
  rank->info.compute_seconds += seconds_now() - start - (rank->info.idle_seconds - idle);
  output_give(b, number, of);
}

/* The derivative by the piece's output: from the loss, or from the stage behind. */
static void grad_take(const batch *b, int number, piece of) {
  ep_rank *rank = b->rank;
  const ep_ranks *ranks = rank->ranks;
  ep_network *network = network_of(rank, number);
  if (is_last(rank)) {
    targets_read(b, of);
    rank->loss += ep_reference_loss(ranks->program, network->values[network->end], rank->target,
                                    of.rows, rank->divisor, network->grad, &rank->errors);
    return;
  }
  semaphore_wait(rank, &rank->returned);
  const ep_rank *behind = ep_rank_of(ranks, rank->replica, rank->stage + 1);
  int64_t features = ep_network_features(ranks->program, network->end);
  int64_t slot = number % rank->pieces_count;
  double start = seconds_now();
  memcpy(network->grad, behind->grad_inputs + slot * ranks->piece_rows * features,
         (size_t)(of.rows * features) * sizeof(ep_real));
  rank->info.communication_seconds += seconds_now() - start;
}

static void grad_give(const batch *b, int number, piece of) {
  ep_rank *rank = b->rank;
  const ep_ranks *ranks = rank->ranks;
  if (rank->stage == 0) return;
  const ep_network *network = network_of(rank, number);
  ep_rank *before = ep_rank_of(ranks, rank->replica, rank->stage - 1);
  int64_t features = ep_network_features(ranks->program, network->first);
  const ep_real *grad = ep_network_input_gradient(network);
  int64_t slot = number % before->pieces_count;
  double start = seconds_now();
  if (before->here)
    memcpy(rank->grad_inputs + slot * ranks->piece_rows * features, grad,
           (size_t)(of.rows * features) * sizeof(ep_real));
  else
    ep_exchange_hand(before, EP_NODE_RETURN, number, grad, of.rows * features);
  rank->info.communication_seconds += seconds_now() - start;
  if (before->here) sem_post(&before->returned);
}

static void piece_backward(const batch *b, int number) {
  ep_rank *rank = b->rank;
  piece of = piece_at(b, number);
  grad_take(b, number, of);
  double start = seconds_now(), idle = rank->info.idle_seconds;
  ep_reference_pass pass = pass_of(b, of);
  if (of.rows > 0 || syncs(rank->ranks->program))
    ep_network_backward(network_of(rank, number), &pass, rank->ranks->replica[rank->replica].grad);
  rank->info.compute_seconds += seconds_now() - start - (rank->info.idle_seconds - idle);
  grad_give(b, number, of);
}

/* --- a step ----------------------------------------------------------------------------------- */

static batch batch_of(ep_rank *rank, int64_t step) {
  const ep_ranks *ranks = rank->ranks;
  const ep_program *program = ranks->program;
  int64_t steps_per_epoch = ep_program_steps_per_epoch(program);
  int64_t number = step % steps_per_epoch, rows = ep_program_batch_rows(program, number);
  batch b = {.rank = rank,
             .step = step,
             .epoch = step / steps_per_epoch,
             .first = number * program->batch_size,
             .rows = rows,
             .slice = ep_rank_slice(rank, step),
             .shuffled = ep_program_shuffles(program)};
  b.pieces = ep_ranks_pieces(ranks, b.slice.rows);
  if (b.shuffled)
    b.order = ep_permutation_make(program->seed, EP_RANDOM_SHUFFLE, (uint64_t)b.epoch,
                                  (uint64_t)program->train_rows);
  return b;
}

/* What the mean loss of the whole batch divides by. */
static double divisor_of(const batch *b) {
  const ep_program *program = b->rank->ranks->program;
  const ep_ranks_data *data = &b->rank->ranks->data[EP_SPLIT_TRAIN];
  double sum = 0;
  for (int64_t i = 0; i < b->rows; i++)
    sum += ep_reference_loss_share(program, ep_target_at(program, data, row_at(b, i)));
  return sum;
}

static void gradient_clear(ep_rank *rank) {
  double *grad = rank->ranks->replica[rank->replica].grad;
  memset(grad + rank->first_parameter, 0,
         (size_t)(rank->end_parameter - rank->first_parameter) * sizeof *grad);
}

/* One forward, one back. */
static void pieces_run(const batch *b) {
  ep_rank *rank = b->rank;
  int ahead = rank->pieces_count - 1, forward = 0, back = 0;
  gradient_clear(rank);
  rank->loss = 0;
  rank->errors = 0;
  rank->divisor = is_last(rank) ? divisor_of(b) : 0;
  while (forward < ahead && forward < b->pieces) piece_forward(b, forward++);
  while (forward < b->pieces) {
    piece_forward(b, forward++);
    piece_backward(b, back++);
  }
  while (back < b->pieces) piece_backward(b, back++);
}

/* This rank's part of its stage's gradients, summed over the replicas. */
static void gradient_sum(ep_rank *rank) {
  const ep_ranks *ranks = rank->ranks;
  int64_t count = rank->end_parameter - rank->first_parameter;
  int64_t first = rank->first_parameter + ep_piece_first(count, rank->replica, ranks->replicas);
  int64_t end = rank->first_parameter + ep_piece_first(count, rank->replica + 1, ranks->replicas);
  const double *total = ranks->replica[0].grad;
  double start = seconds_now();
  if (ranks->sums) {
    memcpy(ranks->sums + first, total + first, (size_t)(end - first) * sizeof *total);
    for (int d = 1; d < ranks->replicas; d++)
      for (int64_t i = first; i < end; i++) ranks->sums[i] += ranks->replica[d].grad[i];
    total = ranks->sums;
  }
  rank->squares = ranks->program->optimizer.clip_norm > 0
                      ? ep_reference_squares(ranks->program, total, first, end)
                      : 0;
  rank->info.communication_seconds += seconds_now() - start;
}

/* Of all gradients, once each rank has summed its part: in the order of the ranks. */
static double squares_of(const ep_ranks *ranks) {
  double squares = 0;
  for (int i = 0; i < ranks->count; i++) squares += ranks->rank[i].squares;
  return squares;
}

/* Each replica's own, by the same numbers. total: [parameters]. */
static void stage_update(ep_rank *rank, int64_t step, float lr, const double *total,
                         double squares) {
  const ep_ranks *ranks = rank->ranks;
  double start = seconds_now();
  ep_reference_update_range(ranks->program, step, lr, squares, rank->first_parameter,
                            rank->end_parameter, ranks->replica[rank->replica].state, total,
                            ep_ranks_optimizer(ranks, rank->replica));
  rank->info.compute_seconds += seconds_now() - start;
}

/* Of all slices, in the order of the replicas. */
static void loss_tell(const ep_ranks *ranks, float *loss, int32_t *errors) {
  double sum = 0;
  int64_t misses = 0;
  for (int d = 0; d < ranks->replicas; d++) {
    sum += ep_rank_of(ranks, d, ranks->stages - 1)->loss;
    misses += ep_rank_of(ranks, d, ranks->stages - 1)->errors;
  }
  *loss = (float)(sum / ep_rank_of(ranks, 0, ranks->stages - 1)->divisor);
  *errors = misses < INT32_MAX ? (int32_t)misses : INT32_MAX;
}

/* The leader's node: all gradients of the step meet, and the sums. A rank that has passed the
 * second barrier changes nothing that others read before they have. */
static void gradients_meet(ep_rank *rank, const ep_segment *segment, int64_t i) {
  ep_ranks *ranks = rank->ranks;
  if (!ep_barrier_leave(&ranks->stage[rank->stage]) && ranks->exchange) sums_differ(rank);
  barrier_wait(rank, &ranks->all);
  if (atomic_load(&ranks->broken)) return; /* others may have come half, and more may come */
  if (rank->here || ranks->sums)
    gradient_sum(rank);
  else
    rank->squares = rank->course.squares;
  if (rank == ranks->rank) loss_tell(ranks, &segment->loss[i], &segment->errors[i]);
  barrier_wait(rank, &ranks->all);
}

static void step_end_here(ep_rank *rank, const ep_segment *segment, int64_t i, float lr) {
  const ep_ranks *ranks = rank->ranks;
  gradients_meet(rank, segment, i);
  if (atomic_load(&ranks->broken)) return;
  const double *total = ranks->sums ? ranks->sums : ranks->replica[0].grad;
  stage_update(rank, segment->first_step + i, lr, total, squares_of(ranks));
}

/* The leader is elsewhere. With one replica there is nothing to sum but the squares. */
static void step_end_there(ep_rank *rank, const ep_segment *segment, int64_t i, float lr) {
  const ep_ranks *ranks = rank->ranks;
  const double *total = rank->totals ? rank->totals : ranks->replica[rank->replica].grad;
  if (!rank->totals) gradient_sum(rank);
  double start = seconds_now();
  ep_exchange_totals(rank);
  rank->info.idle_seconds += seconds_now() - start;
  stage_update(rank, segment->first_step + i, lr, total, rank->total_squares);
}

/* The leader's thread for a rank elsewhere. */
static void stand_in(ep_rank *rank, const ep_segment *segment) {
  const ep_ranks *ranks = rank->ranks;
  for (int64_t i = 0; i < segment->steps; i++) {
    ep_mail mail = ep_exchange_await(rank);
    for (; mail == EP_MAIL_OFFER; mail = ep_exchange_await(rank)) {
      replicas_add(rank, rank->offer, rank->offered_count);
      ep_exchange_reply_sum(rank);
    }
    if (mail != EP_MAIL_GRADIENT) return;
    rank->loss = rank->course.loss;
    rank->divisor = rank->course.divisor;
    rank->errors = rank->course.errors;
    gradients_meet(rank, segment, i);
    ep_exchange_reply_totals(rank, squares_of(ranks));
  }
  if (ep_exchange_await(rank) == EP_MAIL_DONE) rank->info = rank->done;
}

void ep_rank_train(ep_rank *rank, const ep_segment *segment) {
  const ep_ranks *ranks = rank->ranks;
  rank->sums = (ep_replica_sums){.context = rank, .add = replicas_add};
  if (!rank->here) {
    stand_in(rank, segment);
    return;
  }
  rest(rank, false);
  for (int64_t i = 0; i < segment->steps && !atomic_load(&ranks->broken); i++) {
    batch b = batch_of(rank, segment->first_step + i);
    const float lr = segment->lr[segment->lr_count == 1 ? 0 : i];
    pieces_run(&b);
    if (ranks->node == 0)
      step_end_here(rank, segment, i, lr);
    else
      step_end_there(rank, segment, i, lr);
  }
  rest(rank, true);
  if (ranks->node > 0) ep_exchange_finish(rank);
}
