#include "kernels/cpu/executors/ranks/exchange.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/cpu/executors/ranks/slices.h"

enum {
  WORK_FACTOR = 20,      /* a rank may take so many times as long as those of the leader's node */
  HEARD_BYTES = 1 << 20, /* of a frame, which count as a sign of life */
  OFFERS_OF_SUM = 8      /* of a norm that syncs, a piece and EP_RANKS_OFFER channels, at most */
};

/* --- what ends it --------------------------------------------------------------------------- */

void ep_exchange_init(ep_rank_exchange *exchange, ep_ranks *ranks) {
  *exchange = (ep_rank_exchange){.ranks = ranks};
  pthread_mutex_init(&exchange->mutex, NULL);
  pthread_mutex_init(&exchange->telling, NULL);
}

void ep_exchange_deinit(ep_rank_exchange *exchange) {
  pthread_mutex_destroy(&exchange->telling);
  pthread_mutex_destroy(&exchange->mutex);
}

void ep_exchange_begin(ep_rank_exchange *exchange, int64_t first_step, int64_t steps) {
  const ep_ranks *ranks = exchange->ranks;
  exchange->first_step = first_step;
  exchange->steps = steps;
  atomic_store(&exchange->working, ranks->end - ranks->first);
  for (int i = 0; i < ranks->count; i++) {
    ep_rank *rank = &ranks->rank[i];
    for (int way = 0; way < EP_RANK_WAYS; way++) {
      atomic_store(&rank->given[way], 0);
      rank->got[way] = 0;
    }
    rank->step = 0;
    rank->offers = 0;
    rank->stated = false;
    atomic_store(&rank->phase, EP_RANK_WORKS);
  }
}

void ep_exchange_rest(ep_rank_exchange *exchange, bool rests) {
  atomic_fetch_add(&exchange->busy, rests ? -1 : 1);
}

void ep_exchange_break(ep_rank_exchange *exchange, const ep_error *why) {
  pthread_mutex_lock(&exchange->mutex);
  if (exchange->why.status == EP_OK) exchange->why = *why;
  pthread_mutex_unlock(&exchange->mutex);
  for (int i = 0; i < EP_LIMIT_RANKS; i++)
    if (exchange->links[i]) ep_node_link_break(exchange->links[i]);
  ep_ranks_break(exchange->ranks);
}

/* --- sending -------------------------------------------------------------------------------- */

static struct iovec part_of(const void *bytes, size_t count) {
  return (struct iovec){(void *)bytes, count};
}

/* To the node that a rank is on, or to the leader, which hands it on. */
static void send_to(ep_rank_exchange *exchange, int node, ep_node_code code, int rank, int number,
                    const struct iovec *parts, int count) {
  ep_error error = {0};
  ep_node_link *link = exchange->links[exchange->ranks->node == 0 ? node : 0];
  if (atomic_load(&exchange->ranks->broken)) return;
  if (ep_node_link_send(link, code, rank, number, parts, count, &error) != EP_OK)
    ep_exchange_break(exchange, &error);
}

static void told_await(ep_rank *rank) {
  while (!atomic_load(&rank->ranks->broken) && sem_wait(&rank->told) != 0 && errno == EINTR)
    continue;
}

static int way_of(uint32_t code) {
  return code == EP_NODE_FORWARD ? EP_RANK_FORWARD : EP_RANK_RETURN;
}

void ep_exchange_hand(ep_rank *to, ep_node_code code, int number, const ep_real *values,
                      int64_t count) {
  atomic_fetch_add(&to->given[way_of(code)], 1); /* before what it makes of it can come */
  const struct iovec part = part_of(values, (size_t)count * sizeof *values);
  send_to(to->ranks->exchange, (int)to->info.node, code, to->number, number, &part, 1);
}

void ep_exchange_add(ep_rank *rank, double *values, int64_t count) {
  const struct iovec part = part_of(values, (size_t)count * sizeof *values);
  rank->offered_count = count;
  atomic_store(&rank->phase, EP_RANK_ASKS_SUM);
  send_to(rank->ranks->exchange, 0, EP_NODE_OFFER, rank->number, 0, &part, 1);
  told_await(rank);
  memcpy(values, rank->offer, (size_t)count * sizeof *values);
}

void ep_exchange_totals(ep_rank *rank) {
  const ep_ranks *ranks = rank->ranks;
  const ep_rank_course head = {rank->loss, rank->divisor, rank->squares, rank->errors};
  const double *grad = ranks->replica[rank->replica].grad + rank->first_parameter;
  const struct iovec parts[] = {part_of(&head, sizeof head),
                                part_of(grad, (size_t)ep_rank_parameters(rank) * sizeof *grad)};
  atomic_store(&rank->phase, EP_RANK_ASKS_TOTALS);
  send_to(ranks->exchange, 0, EP_NODE_GRADIENT, rank->number, 0, parts,
          ranks->replicas > 1 ? 2 : 1);
  told_await(rank);
}

void ep_exchange_finish(const ep_rank *rank) {
  ep_rank_exchange *exchange = rank->ranks->exchange;
  const ep_real *state = rank->ranks->replica[rank->replica].state;
  ep_state_range range[EP_STATE_RANGES];
  struct iovec parts[EP_STATE_RANGES];
  const struct iovec info = part_of(&rank->info, sizeof rank->info);
  const int count = ep_rank_state(rank, range);
  for (int i = 0; i < count; i++)
    parts[i] = part_of(state + range[i].first, (size_t)range[i].count * sizeof *state);
  if (rank->replica == 0) send_to(exchange, 0, EP_NODE_STATE, rank->number, 0, parts, count);
  atomic_fetch_sub(&exchange->working, 1); /* before the leader can tell of the next segment */
  send_to(exchange, 0, EP_NODE_DONE, rank->number, 0, &info, 1);
}

bool ep_semaphore_await(sem_t *semaphore, int64_t ms) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += ms / 1000;
  until.tv_nsec += ms % 1000 * 1000000;
  if (until.tv_nsec >= 1000000000L) until.tv_sec++, until.tv_nsec -= 1000000000L;
  int failed;
  while ((failed = sem_timedwait(semaphore, &until)) != 0 && errno == EINTR) continue;
  return failed == 0;
}

static void silence_end(ep_rank *rank, int64_t seconds) {
  ep_error why = {0};
  ep_fail(&why, EP_UNAVAILABLE, "node %d sent nothing about rank %d for %lld s",
          (int)rank->info.node, rank->number, (long long)seconds);
  ep_exchange_break(rank->ranks->exchange, &why);
}

/* Time counts by ticks: it does not pass while this process is stopped, as all others of an
 * allocation may be. */
static void mail_await(ep_rank *rank) {
  ep_rank_exchange *exchange = rank->ranks->exchange;
  const int64_t tick_ms = ep_node_deadline_in(exchange->patience_ms).tick_ms;
  unsigned heard = atomic_load(&exchange->heard);
  int64_t silent_ms = 0, worked_ms = 0;
  while (!atomic_load(&rank->ranks->broken) && !ep_semaphore_await(&rank->told, tick_ms)) {
    const unsigned now = atomic_load(&exchange->heard);
    const bool works = atomic_load(&exchange->busy) > 0;
    if (works) worked_ms += tick_ms;
    silent_ms = works || now != heard ? 0 : silent_ms + tick_ms;
    heard = now;
    if (silent_ms < exchange->patience_ms + WORK_FACTOR * worked_ms) continue;
    silence_end(rank, silent_ms / 1000);
  }
}

ep_mail ep_exchange_await(ep_rank *rank) {
  mail_await(rank);
  return atomic_load(&rank->ranks->broken) ? EP_MAIL_NONE
                                           : atomic_exchange(&rank->mail, EP_MAIL_NONE);
}

void ep_exchange_reply_sum(ep_rank *rank) {
  double sums[EP_RANKS_OFFER]; /* the next offer may come at once */
  const size_t bytes = (size_t)rank->offered_count * sizeof *sums;
  memcpy(sums, rank->offer, bytes);
  const struct iovec part = part_of(sums, bytes);
  atomic_store(&rank->phase, EP_RANK_WORKS);
  send_to(rank->ranks->exchange, (int)rank->info.node, EP_NODE_SUMS, rank->number, 0, &part, 1);
}

void ep_exchange_reply_totals(ep_rank *rank, double squares) {
  const ep_ranks *ranks = rank->ranks;
  const double *sums = ranks->sums ? ranks->sums + rank->first_parameter : NULL;
  const struct iovec parts[] = {part_of(&squares, sizeof squares),
                                part_of(sums, (size_t)ep_rank_parameters(rank) * sizeof *sums)};
  rank->step++;
  rank->offers = 0;
  atomic_store(&rank->phase, EP_RANK_WORKS);
  send_to(ranks->exchange, (int)rank->info.node, EP_NODE_TOTALS, rank->number, 0, parts,
          sums ? 2 : 1);
}

/* --- receiving ------------------------------------------------------------------------------- */

typedef struct {
  ep_rank_exchange *exchange;
  const ep_node_link *link;
  int node; /* that it comes from */
  const ep_node_head *head;
  ep_error *error;
} incoming;

static ep_status refuse(const incoming *in, const char *why) {
  return ep_fail(in->error, EP_MALFORMED, "a node has sent %s (frame %u of %llu bytes)", why,
                 in->head->code, (unsigned long long)in->head->bytes);
}

/* What comes is no silence, however long a frame is. */
static ep_status bytes_read(const incoming *in, void *to, size_t bytes) {
  ep_status status = EP_OK;
  for (size_t at = 0, piece; status == EP_OK && at < bytes; at += piece) {
    piece = bytes - at < HEARD_BYTES ? bytes - at : HEARD_BYTES;
    status = ep_node_link_read(in->link, (char *)to + at, piece, in->error);
    if (status == EP_OK) atomic_fetch_add(&in->exchange->heard, 1);
  }
  return status;
}

static ep_status payload_read(const incoming *in, void *to, size_t bytes) {
  if (in->head->bytes != bytes) return refuse(in, "a frame of another length");
  return bytes_read(in, to, bytes);
}

/* --- pieces, either way */

/* The leader also hands on what others sent. */
static bool is_of_sender(const incoming *in, const ep_rank *from) {
  return !from->here && (in->exchange->ranks->node != 0 || from->info.node == in->node);
}

/* Of the rank of another node that has sent it: whether it may be the next one, and how many bytes
 * it has. `slots` are under way at most: those that went the other way come back first. */
static ep_status piece_check(const incoming *in, const ep_rank *from, int way, int64_t features,
                             size_t *bytes) {
  const ep_rank_exchange *exchange = in->exchange;
  const ep_ranks *ranks = exchange->ranks;
  const int64_t next = from->got[way];
  const int pieces = ep_ranks_pieces(ranks, 0);
  const int64_t step = next / pieces, number = next % pieces;
  if (ranks->node == 0 && (atomic_load(&from->phase) != EP_RANK_WORKS || step != from->step))
    return refuse(in, "an unexpected micro-batch");
  const int64_t back =
      atomic_load(&from->given[way == EP_RANK_FORWARD ? EP_RANK_RETURN : EP_RANK_FORWARD]);
  const int64_t slots = way == EP_RANK_FORWARD ? from->pieces_count : 0;
  if (step >= exchange->steps || next >= back + slots || in->head->number != (uint32_t)number)
    return refuse(in, "a piece before its turn");
  const ep_ranks_rows slice = ep_rank_slice(from, exchange->first_step + step);
  const int64_t rows = ep_ranks_piece(slice, (int)number, pieces).rows;
  *bytes = (size_t)(rows * features) * sizeof(ep_real);
  return in->head->bytes == *bytes ? EP_OK : refuse(in, "a piece of other rows");
}

/* By the leader, between two other nodes. */
static ep_status pass_on(const incoming *in, ep_rank *to, size_t bytes) {
  void *values = malloc(bytes > 0 ? bytes : 1);
  if (!values) return ep_fail_memory(in->error);
  ep_status status = bytes_read(in, values, bytes);
  pthread_mutex_lock(&in->exchange->telling);
  pthread_mutex_unlock(&in->exchange->telling);
  if (status == EP_OK)
    ep_exchange_hand(to, (ep_node_code)in->head->code, (int)in->head->number, values,
                     (int64_t)(bytes / sizeof(ep_real)));
  free(values);
  return status;
}

/* Into one of `count` slots, each for the rows of a piece. */
static ep_status rows_take(const incoming *in, ep_real *slots, int count, int64_t features,
                           size_t bytes, sem_t *ready) {
  const int64_t slot = in->head->number % (unsigned)count;
  ep_real *to = slots + slot * in->exchange->ranks->piece_rows * features;
  ep_status status = bytes_read(in, to, bytes);
  if (status == EP_OK) sem_post(ready);
  return status;
}

static ep_status forward_take(const incoming *in, ep_rank *to) {
  ep_rank *from = to - 1;
  size_t bytes;
  if (to->stage == 0) return refuse(in, "rows for a first stage");
  if (!is_of_sender(in, from)) return refuse(in, "rows of a rank of others");
  const int64_t features = ep_rank_in_features(to);
  ep_status status = piece_check(in, from, EP_RANK_FORWARD, features, &bytes);
  if (status != EP_OK) return status;
  status = to->here ? rows_take(in, from->handed, from->pieces_count, features, bytes, &to->arrived)
                    : pass_on(in, to, bytes);
  from->got[EP_RANK_FORWARD]++;
  return status;
}

static ep_status return_take(const incoming *in, ep_rank *to) {
  const ep_ranks *ranks = in->exchange->ranks;
  ep_rank *from = to + 1;
  size_t bytes;
  if (to->stage + 1 == ranks->stages) return refuse(in, "a derivative for a last stage");
  if (!is_of_sender(in, from)) return refuse(in, "a derivative of a rank of others");
  const int64_t features = ep_rank_out_features(to);
  ep_status status = piece_check(in, from, EP_RANK_RETURN, features, &bytes);
  if (status != EP_OK) return status;
  status = to->here
               ? rows_take(in, from->grad_inputs, to->pieces_count, features, bytes, &to->returned)
               : pass_on(in, to, bytes);
  from->got[EP_RANK_RETURN]++;
  return status;
}

/* --- by the leader */

/* The rank waits from here on. */
static void mail_put(ep_rank *from, ep_mail mail, ep_rank_phase phase) {
  atomic_store(&from->phase, phase);
  atomic_store(&from->mail, mail);
  sem_post(&from->told);
}

/* Sums over the replicas in a step, at most. */
static int64_t offers_most(const ep_rank *rank) {
  const ep_ranks *ranks = rank->ranks;
  const ep_program *program = ranks->program;
  int64_t sums = 0;
  for (int i = 0; ranks->replicas > 1 && i < program->ops_count; i++)
    if (program->ops[i].sync)
      sums += (program->ops[i].in.channels + EP_RANKS_OFFER - 1) / EP_RANKS_OFFER;
  return OFFERS_OF_SUM * sums * ep_ranks_pieces(ranks, ranks->program->batch_size);
}

static ep_status offer_take(const incoming *in, ep_rank *from) {
  const size_t count = (size_t)in->head->bytes / sizeof(double);
  if (count < 1 || count > EP_RANKS_OFFER || from->step >= in->exchange->steps ||
      from->offers >= offers_most(from))
    return refuse(in, "unrequested sums");
  ep_status status = payload_read(in, from->offer, count * sizeof(double));
  if (status != EP_OK) return status;
  from->offered_count = (int64_t)count;
  from->offers++;
  mail_put(from, EP_MAIL_OFFER, EP_RANK_ASKS_SUM);
  return EP_OK;
}

/* Whether all that others wait for has come of the step; between ranks of one node nothing does. */
static bool pieces_are_there(const ep_rank_exchange *exchange, const ep_rank *from) {
  const ep_ranks *ranks = exchange->ranks;
  const int64_t all = (from->step + 1) * ep_ranks_pieces(ranks, 0);
  const bool forward = from->stage + 1 < ranks->stages && from[1].info.node != from->info.node;
  const bool back = from->stage > 0 && from[-1].info.node != from->info.node;
  return (!forward || from->got[EP_RANK_FORWARD] == all) &&
         (!back || from->got[EP_RANK_RETURN] == all);
}

static ep_status gradient_take(const incoming *in, ep_rank *from) {
  const ep_ranks *ranks = in->exchange->ranks;
  const bool sums = ranks->replicas > 1;
  const size_t bytes = sums ? (size_t)ep_rank_parameters(from) * sizeof(double) : 0;
  if (from->step >= in->exchange->steps) return refuse(in, "gradients of an invalid step");
  if (!pieces_are_there(in->exchange, from)) return refuse(in, "gradients before the pieces");
  if (in->head->bytes != sizeof from->course + bytes)
    return refuse(in, "gradients of another length");
  ep_status status = bytes_read(in, &from->course, sizeof from->course);
  if (status == EP_OK && (from->course.errors < 0 || from->course.errors > INT32_MAX))
    return refuse(in, "an invalid number of errors");
  if (status == EP_OK && sums)
    status = bytes_read(in, ranks->replica[from->replica].grad + from->first_parameter, bytes);
  if (status == EP_OK) mail_put(from, EP_MAIL_GRADIENT, EP_RANK_ASKS_TOTALS);
  return status;
}

static ep_status state_take(const incoming *in, ep_rank *from) {
  ep_real *state = in->exchange->ranks->replica[0].state;
  ep_state_range range[EP_STATE_RANGES];
  const int count = ep_rank_state(from, range);
  uint64_t bytes = 0;
  for (int i = 0; i < count; i++) bytes += (uint64_t)range[i].count * sizeof *state;
  if (from->replica != 0 || in->head->bytes != bytes) return refuse(in, "a state of another form");
  if (from->step != in->exchange->steps || from->stated)
    return refuse(in, "a state before the last step");
  ep_status status = EP_OK;
  for (int i = 0; status == EP_OK && i < count; i++)
    status = bytes_read(in, state + range[i].first, (size_t)range[i].count * sizeof *state);
  from->stated = status == EP_OK;
  return status;
}

static bool is_duration(double seconds) {
  return isfinite(seconds) && seconds >= 0;
}

static ep_status done_take(const incoming *in, ep_rank *from) {
  const int64_t node = from->info.node;
  ep_rank_info info;
  if (from->step != in->exchange->steps || from->stated != (from->replica == 0))
    return refuse(in, "an end before the last step");
  ep_status status = payload_read(in, &info, sizeof info);
  if (status != EP_OK) return status;
  if (info.bytes < 0 || !is_duration(info.compute_seconds) ||
      !is_duration(info.communication_seconds) || !is_duration(info.idle_seconds))
    return refuse(in, "invalid times");
  info.node = node;
  from->done = info;
  mail_put(from, EP_MAIL_DONE, EP_RANK_RESTS);
  return EP_OK;
}

static ep_status leader_take(const incoming *in, ep_rank *from) {
  if (atomic_load(&from->phase) != EP_RANK_WORKS) return refuse(in, "more than it was asked for");
  switch (in->head->code) {
  case EP_NODE_OFFER: return offer_take(in, from);
  case EP_NODE_GRADIENT: return gradient_take(in, from);
  case EP_NODE_STATE: return state_take(in, from);
  case EP_NODE_DONE: return done_take(in, from);
  default: return refuse(in, "a frame only the leader may send");
  }
}

/* --- by the others */

static ep_status sums_take(const incoming *in, ep_rank *to) {
  if (atomic_load(&to->phase) != EP_RANK_ASKS_SUM) return refuse(in, "a sum of nothing");
  ep_status status = payload_read(in, to->offer, (size_t)to->offered_count * sizeof(double));
  if (status != EP_OK) return status;
  atomic_store(&to->phase, EP_RANK_WORKS);
  sem_post(&to->told);
  return EP_OK;
}

static ep_status totals_take(const incoming *in, ep_rank *to) {
  const size_t bytes = to->totals ? (size_t)ep_rank_parameters(to) * sizeof(double) : 0;
  if (atomic_load(&to->phase) != EP_RANK_ASKS_TOTALS) return refuse(in, "totals of nothing");
  if (in->head->bytes != sizeof(double) + bytes) return refuse(in, "totals of another length");
  ep_status status = bytes_read(in, &to->total_squares, sizeof to->total_squares);
  if (status == EP_OK && to->totals)
    status = bytes_read(in, to->totals + to->first_parameter, bytes);
  if (status != EP_OK) return status;
  atomic_store(&to->phase, EP_RANK_WORKS);
  sem_post(&to->told);
  return EP_OK;
}

/* --- all of them */

static ep_status frame_take(const incoming *in, ep_rank *rank) {
  const ep_ranks *ranks = in->exchange->ranks;
  const bool leads = ranks->node == 0;
  if (in->head->code == EP_NODE_FORWARD || in->head->code == EP_NODE_RETURN) {
    if (rank->info.node == in->node || (!rank->here && !leads))
      return refuse(in, "a piece that is not for others");
    return in->head->code == EP_NODE_FORWARD ? forward_take(in, rank) : return_take(in, rank);
  }
  if (leads ? rank->info.node != in->node : !rank->here)
    return refuse(in, "a frame of another node's rank");
  if (leads) return leader_take(in, rank);
  if (in->head->code == EP_NODE_SUMS) return sums_take(in, rank);
  if (in->head->code == EP_NODE_TOTALS) return totals_take(in, rank);
  return refuse(in, "a frame the leader may not send");
}

ep_status ep_exchange_take(ep_rank_exchange *exchange, int node, const ep_node_head *head,
                           ep_error *error) {
  ep_ranks *ranks = exchange->ranks;
  const incoming in = {exchange, exchange->links[node], node, head, error};
  if (head->zero != 0 || head->rank >= (uint32_t)ranks->count)
    return refuse(&in, "a frame of no rank");
  ep_status status = frame_take(&in, &ranks->rank[head->rank]);
  if (status == EP_OK) atomic_fetch_add(&exchange->heard, 1);
  return status;
}
