#include "kernels/cpu/executors/ranks/exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- what ends it --------------------------------------------------------------------------- */

void ep_exchange_init(ep_rank_exchange *exchange, ep_ranks *ranks) {
  *exchange = (ep_rank_exchange){.ranks = ranks};
  pthread_mutex_init(&exchange->mutex, NULL);
}

void ep_exchange_deinit(ep_rank_exchange *exchange) {
  pthread_mutex_destroy(&exchange->mutex);
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

void ep_exchange_hand(const ep_rank *to, ep_node_code code, int number, const ep_real *values,
                      int64_t count) {
  const struct iovec part = part_of(values, (size_t)count * sizeof *values);
  send_to(to->ranks->exchange, (int)to->info.node, code, to->number, number, &part, 1);
}

void ep_exchange_add(ep_rank *rank, double *values, int64_t count) {
  const struct iovec part = part_of(values, (size_t)count * sizeof *values);
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
  send_to(exchange, 0, EP_NODE_DONE, rank->number, 0, &info, 1);
}

ep_mail ep_exchange_await(ep_rank *rank) {
  told_await(rank);
  return atomic_load(&rank->ranks->broken) ? EP_MAIL_NONE
                                           : atomic_exchange(&rank->mail, EP_MAIL_NONE);
}

void ep_exchange_reply_sum(ep_rank *rank) {
  const struct iovec part = part_of(rank->offer, (size_t)rank->offer_count * sizeof *rank->offer);
  send_to(rank->ranks->exchange, (int)rank->info.node, EP_NODE_SUMS, rank->number, 0, &part, 1);
}

void ep_exchange_reply_totals(ep_rank *rank, double squares) {
  const ep_ranks *ranks = rank->ranks;
  const double *sums = ranks->sums ? ranks->sums + rank->first_parameter : NULL;
  const struct iovec parts[] = {part_of(&squares, sizeof squares),
                                part_of(sums, (size_t)ep_rank_parameters(rank) * sizeof *sums)};
  send_to(ranks->exchange, (int)rank->info.node, EP_NODE_TOTALS, rank->number, 0, parts,
          sums ? 2 : 1);
}

/* --- receiving ------------------------------------------------------------------------------- */

typedef struct {
  ep_rank_exchange *exchange;
  const ep_node_link *link;
  const ep_node_head *head;
  ep_error *error;
} incoming;

static ep_status refuse(const incoming *in, const char *why) {
  return ep_fail(in->error, EP_MALFORMED, "a node has sent %s (frame %u of %llu bytes)", why,
                 in->head->code, (unsigned long long)in->head->bytes);
}

static ep_status payload_read(const incoming *in, void *to, size_t bytes) {
  if (in->head->bytes != bytes) return refuse(in, "a frame of another length");
  return ep_node_link_read(in->link, to, bytes, in->error);
}

/* By the leader, between two other nodes. */
static ep_status pass_on(const incoming *in, const ep_rank *to, int64_t most_values) {
  const size_t bytes = (size_t)in->head->bytes;
  if (bytes > (size_t)most_values * sizeof(ep_real)) return refuse(in, "too many values");
  void *values = malloc(bytes > 0 ? bytes : 1);
  if (!values) return ep_fail_memory(in->error);
  ep_status status = ep_node_link_read(in->link, values, bytes, in->error);
  const struct iovec part = part_of(values, bytes);
  if (status == EP_OK)
    send_to(in->exchange, (int)to->info.node, (ep_node_code)in->head->code, to->number,
            (int)in->head->number, &part, 1);
  free(values);
  return status;
}

/* Into a slot of `slots`, each for the rows of a piece. */
static ep_status rows_take(const incoming *in, ep_real *slots, int count, int64_t most_values,
                           sem_t *ready) {
  ep_real *slot = slots + (int)(in->head->number % (unsigned)count) * most_values;
  if (in->head->bytes > (uint64_t)most_values * sizeof *slot) return refuse(in, "too many values");
  ep_status status = ep_node_link_read(in->link, slot, (size_t)in->head->bytes, in->error);
  if (status == EP_OK) sem_post(ready);
  return status;
}

static ep_status forward_take(const incoming *in, ep_rank *to) {
  const ep_rank *from = to - 1;
  if (to->stage == 0) return refuse(in, "rows for a first stage");
  int64_t most = in->exchange->ranks->piece_rows * ep_rank_in_features(to);
  if (!to->here) return pass_on(in, to, most);
  if (!from->handed) return refuse(in, "rows of a rank that is here");
  return rows_take(in, from->handed, from->pieces_count, most, &to->arrived);
}

static ep_status return_take(const incoming *in, ep_rank *to) {
  const ep_ranks *ranks = in->exchange->ranks;
  const ep_rank *behind = to + 1;
  if (to->stage + 1 == ranks->stages) return refuse(in, "a derivative for a last stage");
  int64_t most = ranks->piece_rows * ep_rank_out_features(to);
  if (!to->here) return pass_on(in, to, most);
  if (behind->here) return refuse(in, "a derivative of a rank that is here");
  return rows_take(in, behind->grad_inputs, to->pieces_count, most, &to->returned);
}

static ep_status mail_put(const incoming *in, ep_rank *from, ep_mail mail) {
  if (atomic_exchange(&from->mail, mail) != EP_MAIL_NONE)
    return refuse(in, "more than it was asked for");
  sem_post(&from->told);
  return EP_OK;
}

static ep_status offer_take(const incoming *in, ep_rank *from) {
  const size_t count = (size_t)in->head->bytes / sizeof(double);
  if (count > EP_RANKS_OFFER) return refuse(in, "too many sums");
  ep_status status = payload_read(in, from->offer, count * sizeof(double));
  from->offer_count = (int)count;
  return status == EP_OK ? mail_put(in, from, EP_MAIL_OFFER) : status;
}

static ep_status gradient_take(const incoming *in, ep_rank *from) {
  const ep_ranks *ranks = in->exchange->ranks;
  const bool sums = ranks->replicas > 1;
  const size_t bytes = sums ? (size_t)ep_rank_parameters(from) * sizeof(double) : 0;
  if (in->head->bytes != sizeof from->course + bytes)
    return refuse(in, "gradients of another length");
  ep_status status = ep_node_link_read(in->link, &from->course, sizeof from->course, in->error);
  if (status == EP_OK && sums)
    status = ep_node_link_read(in->link, ranks->replica[from->replica].grad + from->first_parameter,
                               bytes, in->error);
  return status == EP_OK ? mail_put(in, from, EP_MAIL_GRADIENT) : status;
}

static ep_status state_take(const incoming *in, const ep_rank *from) {
  ep_real *state = in->exchange->ranks->replica[0].state;
  ep_state_range range[EP_STATE_RANGES];
  const int count = ep_rank_state(from, range);
  uint64_t bytes = 0;
  for (int i = 0; i < count; i++) bytes += (uint64_t)range[i].count * sizeof *state;
  if (from->replica != 0 || in->head->bytes != bytes) return refuse(in, "a state of another form");
  ep_status status = EP_OK;
  for (int i = 0; status == EP_OK && i < count; i++)
    status = ep_node_link_read(in->link, state + range[i].first,
                               (size_t)range[i].count * sizeof *state, in->error);
  return status;
}

static ep_status done_take(const incoming *in, ep_rank *from) {
  const int64_t node = from->info.node;
  ep_rank_info info;
  ep_status status = payload_read(in, &info, sizeof info);
  if (status != EP_OK) return status;
  info.node = node;
  from->done = info;
  return mail_put(in, from, EP_MAIL_DONE);
}

static ep_status sums_take(const incoming *in, ep_rank *to) {
  const size_t count = (size_t)in->head->bytes / sizeof(double);
  if (count > EP_RANKS_OFFER) return refuse(in, "too many sums");
  ep_status status = payload_read(in, to->offer, count * sizeof(double));
  if (status == EP_OK) sem_post(&to->told);
  return status;
}

static ep_status totals_take(const incoming *in, ep_rank *to) {
  const size_t bytes = to->totals ? (size_t)ep_rank_parameters(to) * sizeof(double) : 0;
  if (in->head->bytes != sizeof(double) + bytes) return refuse(in, "totals of another length");
  ep_status status =
      ep_node_link_read(in->link, &to->total_squares, sizeof to->total_squares, in->error);
  if (status == EP_OK && to->totals)
    status = ep_node_link_read(in->link, to->totals + to->first_parameter, bytes, in->error);
  if (status == EP_OK) sem_post(&to->told);
  return status;
}

ep_status ep_exchange_take(ep_rank_exchange *exchange, int node, const ep_node_head *head,
                           ep_error *error) {
  ep_ranks *ranks = exchange->ranks;
  const incoming in = {exchange, exchange->links[node], head, error};
  if (head->rank >= (uint32_t)ranks->count) return refuse(&in, "a frame of no rank");
  ep_rank *rank = &ranks->rank[head->rank];
  if (head->code == EP_NODE_FORWARD || head->code == EP_NODE_RETURN) {
    if (rank->info.node == node || (!rank->here && ranks->node != 0))
      return refuse(&in, "a piece that is not for others");
    return head->code == EP_NODE_FORWARD ? forward_take(&in, rank) : return_take(&in, rank);
  }
  if (ranks->node == 0 ? rank->info.node != node : !rank->here)
    return refuse(&in, "a frame of another node's rank");
  if (ranks->node == 0) switch (head->code) {
    case EP_NODE_OFFER: return offer_take(&in, rank);
    case EP_NODE_GRADIENT: return gradient_take(&in, rank);
    case EP_NODE_STATE: return state_take(&in, rank);
    case EP_NODE_DONE: return done_take(&in, rank);
    default: return refuse(&in, "what is the leader's to say");
    }
  if (head->code == EP_NODE_SUMS) return sums_take(&in, rank);
  if (head->code == EP_NODE_TOTALS) return totals_take(&in, rank);
  return refuse(&in, "what is not the leader's to say");
}
