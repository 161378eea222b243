#include "kernels/cpu/executors/ranks/leader.h"

#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/executors/ranks/program_wire.h"

struct ep_nodes {
  ep_node_link link[EP_LIMIT_RANKS]; /* [count]: link[k - 1] is node k's */
  int count;
  int64_t patience_ms;
  atomic_bool taken; /* by a program */
};

typedef struct {
  ep_leader *leader;
  int node;
  pthread_t thread;
} receiver;

struct ep_leader {
  ep_ranks *ranks;
  ep_rank_exchange exchange;
  receiver receiver[EP_LIMIT_RANKS];
  int receivers;         /* threads that run, of nodes 1 … receivers */
  atomic_bool releasing; /* the nodes are told to release the program */
  sem_t ended;           /* of receivers */
};

/* --- the nodes ------------------------------------------------------------------------------ */

ep_status ep_nodes_create(const int *sockets, int count, ep_nodes **out, ep_error *error) {
  if (count < 1 || count >= EP_LIMIT_RANKS)
    return ep_fail(error, EP_INVALID, "there are 1 to %d other nodes", EP_LIMIT_RANKS - 1);
  ep_nodes *nodes = calloc(1, sizeof *nodes);
  if (!nodes) return ep_fail_memory(error);
  for (; nodes->count < count; nodes->count++)
    ep_node_link_init(&nodes->link[nodes->count], sockets[nodes->count], EP_NODES_PATIENCE_MS);
  nodes->patience_ms = EP_NODES_PATIENCE_MS;
  *out = nodes;
  return EP_OK;
}

void ep_nodes_set_patience(ep_nodes *nodes, int64_t ms) {
  nodes->patience_ms = ms;
  for (int i = 0; i < nodes->count; i++) nodes->link[i].patience_ms = ms;
}

void ep_nodes_destroy(ep_nodes *nodes) {
  for (int i = 0; nodes && i < nodes->count; i++) ep_node_link_deinit(&nodes->link[i]);
  free(nodes);
}

int ep_nodes_take(ep_nodes *nodes, const ep_program *program) {
  const int ranks = ep_program_ranks(program);
  if (!nodes || ranks == 1 || atomic_exchange(&nodes->taken, true)) return 1;
  return nodes->count + 1 < ranks ? nodes->count + 1 : ranks;
}

void ep_nodes_give_back(ep_nodes *nodes) {
  atomic_store(&nodes->taken, false);
}

/* --- what is told --------------------------------------------------------------------------- */

size_t ep_ranks_x_bytes(const ep_program *program, int64_t rows) {
  const size_t size = program->x_type == EP_X_UINT8 ? 1 : sizeof(float);
  return (size_t)rows * (size_t)ep_shape_count(program->stored) * size;
}

size_t ep_ranks_y_bytes(const ep_program *program, int64_t rows) {
  return (size_t)rows * (size_t)program->target_columns * sizeof(float);
}

ep_status ep_leader_status(ep_leader *leader, ep_error *error) {
  if (!atomic_load(&leader->ranks->broken)) return EP_OK;
  pthread_mutex_lock(&leader->exchange.mutex);
  const ep_error why = leader->exchange.why;
  pthread_mutex_unlock(&leader->exchange.mutex);
  return ep_fail(error, EP_DEVICE, "a node of the training is lost: %.400s", why.message);
}

/* To all other nodes. */
static ep_status tell(ep_leader *leader, ep_node_code code, const struct iovec *parts, int count,
                      ep_error *error) {
  ep_error why = {0};
  for (int k = 1; k < leader->ranks->nodes && !atomic_load(&leader->ranks->broken); k++)
    if (ep_node_link_send(leader->exchange.links[k], code, 0, k, parts, count, &why) != EP_OK)
      ep_exchange_break(&leader->exchange, &why);
  return ep_leader_status(leader, error);
}

ep_status ep_leader_load(ep_leader *leader, const ep_ranks_data *data, ep_error *error) {
  const ep_program *program = leader->ranks->program;
  const struct iovec parts[] = {{(void *)data->x, ep_ranks_x_bytes(program, data->rows)},
                                {(void *)data->y, ep_ranks_y_bytes(program, data->rows)}};
  return tell(leader, EP_NODE_LOAD, parts, 2, error);
}

ep_status ep_leader_adopt(ep_leader *leader, ep_error *error) {
  const ep_ranks *ranks = leader->ranks;
  const struct iovec state = {ranks->replica[0].state,
                              (size_t)ranks->state_count * sizeof(ep_real)};
  return tell(leader, EP_NODE_ADOPT, &state, 1, error);
}

ep_status ep_leader_train(ep_leader *leader, const ep_segment *segment, ep_error *error) {
  ep_node_train order = {segment->first_step, segment->steps, segment->lr_count};
  ep_exchange_begin(&leader->exchange, segment->first_step, segment->steps);
  const struct iovec parts[] = {{&order, sizeof order},
                                {(void *)segment->lr, (size_t)segment->lr_count * sizeof(float)}};
  pthread_mutex_lock(&leader->exchange.telling);
  ep_status status = tell(leader, EP_NODE_TRAIN, parts, 2, error);
  pthread_mutex_unlock(&leader->exchange.telling);
  return status;
}

/* --- what is received ----------------------------------------------------------------------- */

/* The last word of a node, once it was told to say it. */
static bool is_released(ep_leader *leader, const ep_node_head *head) {
  return head->code == EP_NODE_RELEASED && head->bytes == 0 && atomic_load(&leader->releasing);
}

/* Until the node has released the program. */
static void *receiver_run(void *context) {
  const receiver *self = context;
  ep_leader *leader = self->leader;
  ep_rank_exchange *exchange = &leader->exchange;
  ep_node_head head;
  ep_error error = {0};
  for (;;) {
    ep_status status = ep_node_link_head(exchange->links[self->node], &head, &error);
    if (status == EP_OK && is_released(leader, &head)) break;
    if (status == EP_OK) status = ep_exchange_take(exchange, self->node, &head, &error);
    if (status == EP_OK) continue;
    ep_exchange_break(exchange, &error);
    break;
  }
  sem_post(&leader->ended);
  return NULL;
}

/* Signals are for the program's own threads. */
static ep_status receivers_start(ep_leader *leader, ep_error *error) {
  sigset_t all, before;
  int failed = 0;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int k = 1; failed == 0 && k < leader->ranks->nodes; k++) {
    receiver *next = &leader->receiver[k];
    *next = (receiver){.leader = leader, .node = k};
    failed = pthread_create(&next->thread, NULL, receiver_run, next);
    if (failed == 0) leader->receivers = k;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return failed == 0 ? EP_OK
                     : ep_fail(error, EP_NO_MEMORY, "the system gives no threads for the nodes");
}

/* --- a program ------------------------------------------------------------------------------ */

/* A stranger's, which is to stand in a log: of one line, and it ends. */
static void text_clean(char *text, size_t bytes) {
  text[bytes - 1] = 0;
  for (char *at = text; *at; at++)
    if (*at < ' ' || *at > '~') *at = '?';
}

static ep_status created_await(ep_leader *leader, int node, ep_error *error) {
  const ep_node_link *link = leader->exchange.links[node];
  ep_node_head head;
  ep_node_created created;
  ep_error why = {0};
  ep_node_deadline deadline = ep_node_deadline_in(link->patience_ms);
  ep_status status = ep_node_link_read_within(link, &head, sizeof head, &deadline, &why);
  if (status == EP_OK && (head.code != EP_NODE_CREATED || head.bytes != sizeof created))
    status = ep_fail(&why, EP_MALFORMED, "node %d has not made its ranks", node);
  if (status == EP_OK)
    status = ep_node_link_read_within(link, &created, sizeof created, &deadline, &why);
  if (status != EP_OK) {
    ep_exchange_break(&leader->exchange, &why);
    return ep_leader_status(leader, error);
  }
  if (created.status == EP_OK) return EP_OK;
  text_clean(created.message, sizeof created.message);
  return ep_fail(error, EP_NO_MEMORY, "node %d: %.400s", node, created.message);
}

/* All are told at once, and each replies. */
static ep_status program_tell(ep_leader *leader, ep_error *error) {
  const void *bytes[EP_PROGRAM_PARTS];
  size_t count[EP_PROGRAM_PARTS];
  struct iovec parts[EP_PROGRAM_PARTS + 1];
  int32_t nodes[2] = {leader->ranks->nodes, 0};
  ep_program_parts(leader->ranks->program, bytes, count);
  parts[0] = (struct iovec){nodes, sizeof nodes};
  for (int i = 0; i < EP_PROGRAM_PARTS; i++)
    parts[i + 1] = (struct iovec){(void *)bytes[i], count[i]};
  ep_status status = tell(leader, EP_NODE_CREATE, parts, EP_PROGRAM_PARTS + 1, error);
  if (status != EP_OK) return status;
  ep_error first = {0};
  for (int k = 1; k < leader->ranks->nodes; k++) {
    ep_error why = {0};
    if (created_await(leader, k, &why) != EP_OK && first.status == EP_OK) first = why;
  }
  if (first.status != EP_OK && error) *error = first;
  return first.status;
}

ep_status ep_leader_create(ep_nodes *nodes, ep_ranks *ranks, ep_leader **out, ep_error *error) {
  ep_leader *leader = calloc(1, sizeof *leader);
  if (!leader) return ep_fail_memory(error);
  leader->ranks = ranks;
  sem_init(&leader->ended, 0, 0);
  ep_exchange_init(&leader->exchange, ranks);
  leader->exchange.patience_ms = nodes->patience_ms;
  for (int k = 1; k < ranks->nodes; k++) leader->exchange.links[k] = &nodes->link[k - 1];
  ranks->exchange = &leader->exchange;
  ep_error first = {0};
  ep_status status = program_tell(leader, &first), received = EP_OK;
  if (!atomic_load(&ranks->broken)) received = receivers_start(leader, &first);
  if (received != EP_OK) ep_exchange_break(&leader->exchange, &first);
  if (status == EP_OK) status = received;
  if (status == EP_OK) {
    *out = leader;
    return EP_OK;
  }
  if (error) *error = first;
  ep_leader_destroy(leader);
  return status;
}

/* Within the patience with all of them; after that it ends their connections. */
static void receivers_end(ep_leader *leader) {
  ep_node_deadline deadline = ep_node_deadline_in(leader->exchange.patience_ms);
  ep_error why = {0};
  for (int left = leader->receivers; left > 0;) {
    if (ep_semaphore_await(&leader->ended, deadline.tick_ms))
      left--;
    else if (!ep_node_deadline_look(&deadline))
      ep_exchange_break(&leader->exchange,
                        (ep_fail(&why, EP_UNAVAILABLE, "a node does not end"), &why));
  }
  for (int k = 1; k <= leader->receivers; k++) pthread_join(leader->receiver[k].thread, NULL);
}

void ep_leader_destroy(ep_leader *leader) {
  if (!leader) return;
  atomic_store(&leader->releasing, true);
  tell(leader, EP_NODE_RELEASE, NULL, 0, NULL);
  receivers_end(leader);
  leader->ranks->exchange = NULL;
  sem_destroy(&leader->ended);
  ep_exchange_deinit(&leader->exchange);
  free(leader);
}
