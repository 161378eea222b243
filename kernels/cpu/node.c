/* node.c: a process of a training on several nodes that does not lead: kernels/nodes.h. Its main
 * thread receives; the ranks of a segment run beside it. */
#include <pthread.h>
#include <stdlib.h>

#include "kernels/cpu/check.h"
#include "kernels/cpu/executors/ranks/leader.h"
#include "kernels/cpu/executors/ranks/program_wire.h"
#include "kernels/cpu/executors/ranks/team.h"
#include "kernels/cpu/runtime/cpu.h"
#include "kernels/nodes.h"

void ep_backend_cpu_use_nodes(ep_backend *backend, ep_nodes *nodes) {
  backend->nodes = nodes;
}

/* One program, from CREATE to RELEASE. */
typedef struct {
  ep_program *program; /* NULL = there is none; owned, with its arrays */
  ep_ranks ranks;
  ep_rank_exchange exchange;
  ep_team *team;
  void *x, *y; /* the training rows; owned */
  ep_node_train order;
  float *lr; /* [order.lr_count]; owned */
  pthread_t thread;
  bool threaded; /* it has a segment's thread, which may have ended */
} session;

typedef struct {
  ep_node_link link;
  session now;
} node;

/* --- a segment ------------------------------------------------------------------------------ */

typedef struct {
  session *now;
  const ep_segment *segment;
} work;

static void member_train(void *context, int member) {
  const work *w = context;
  ep_ranks *ranks = &w->now->ranks;
  ep_rank_train(&ranks->rank[ranks->first + member], w->segment);
}

static void *segment_run(void *context) {
  session *now = context;
  const ep_segment segment = {.first_step = now->order.first_step,
                              .steps = now->order.steps,
                              .lr = now->lr,
                              .lr_count = now->order.lr_count};
  ep_team_run(now->team, member_train, &(work){now, &segment});
  return NULL;
}

static void segment_join(session *now) {
  if (now->threaded) pthread_join(now->thread, NULL);
  now->threaded = false;
}

/* --- a program ------------------------------------------------------------------------------ */

/* Breaks what runs, if anything does. */
static void session_end(session *now) {
  if (!now->program) return;
  ep_ranks_break(&now->ranks);
  segment_join(now);
  ep_team_destroy(now->team);
  ep_exchange_deinit(&now->exchange);
  ep_ranks_deinit(&now->ranks);
  free(now->lr);
  free(now->y);
  free(now->x);
  free(now->program);
  *now = (session){0};
}

/* No rank of a segment works: its thread has ended, or is about to. */
static bool is_at_rest(const session *now) {
  return atomic_load(&now->exchange.working) == 0;
}

static ep_status malformed(const ep_node_head *head, ep_error *error) {
  return ep_fail(error, EP_MALFORMED, "the leader has sent frame %u of %llu bytes", head->code,
                 (unsigned long long)head->bytes);
}

/* Takes ownership of the program on success. */
static ep_status ranks_make(node *n, ep_program *program, ep_rank_node at, ep_error *error) {
  session *now = &n->now;
  ep_status status = ep_check_program(program, error);
  if (status != EP_OK) return status;
  if (at.nodes < 2 || at.nodes > ep_program_ranks(program) || at.node < 1 || at.node >= at.nodes)
    return ep_fail(error, EP_INVALID, "%d nodes for %d ranks", at.nodes, ep_program_ranks(program));
  status = ep_ranks_init(&now->ranks, program, at, error);
  if (status == EP_OK)
    status = ep_team_create(now->ranks.end - now->ranks.first, &now->team, error);
  if (status != EP_OK) {
    ep_ranks_deinit(&now->ranks);
    *now = (session){0};
    return status;
  }
  ep_exchange_init(&now->exchange, &now->ranks);
  now->exchange.links[0] = &n->link;
  now->ranks.exchange = &now->exchange;
  now->program = program;
  return EP_OK;
}

static ep_status program_read(node *n, const ep_node_head *head, int32_t nodes[2], ep_program **out,
                              ep_error *error) {
  const size_t first = 2 * sizeof *nodes;
  if (n->now.program || head->bytes <= first || head->bytes > EP_LIMIT_FRAME_BYTES)
    return malformed(head, error);
  void *bytes = malloc((size_t)head->bytes - first);
  if (!bytes) return ep_fail_memory(error);
  ep_status status = ep_node_link_read(&n->link, nodes, first, error);
  if (status == EP_OK)
    status = ep_node_link_read(&n->link, bytes, (size_t)head->bytes - first, error);
  if (status == EP_OK) status = ep_program_unpack(bytes, (size_t)head->bytes - first, out, error);
  if (status != EP_OK) free(bytes);
  return status;
}

/* A program that this node cannot hold is told, and the next one may be smaller. */
static ep_status program_take(node *n, const ep_node_head *head, ep_error *error) {
  int32_t nodes[2];
  ep_program *program = NULL;
  ep_error why = {0};
  ep_status status = program_read(n, head, nodes, &program, error);
  if (status != EP_OK) return status;
  ep_node_created created = {
      .status = ranks_make(n, program, (ep_rank_node){(int)head->number, nodes[0]}, &why)};
  if (created.status != EP_OK) free(program);
  for (size_t i = 0; why.message[i] && i + 1 < sizeof created.message; i++)
    created.message[i] = why.message[i];
  const struct iovec part = {&created, sizeof created};
  return ep_node_link_send(&n->link, EP_NODE_CREATED, 0, 0, &part, 1, error);
}

static ep_status rows_take(node *n, const ep_node_head *head, ep_error *error) {
  session *now = &n->now;
  const ep_program *program = now->program;
  const int64_t rows = program->train_rows;
  const size_t x_bytes = ep_ranks_x_bytes(program, rows), y_bytes = ep_ranks_y_bytes(program, rows);
  if (head->bytes != x_bytes + y_bytes) return malformed(head, error);
  segment_join(now);
  if (!now->x) now->x = malloc(x_bytes);
  if (!now->y) now->y = malloc(y_bytes);
  if (!now->x || !now->y) return ep_fail_memory(error);
  ep_status status = ep_node_link_read(&n->link, now->x, x_bytes, error);
  if (status == EP_OK) status = ep_node_link_read(&n->link, now->y, y_bytes, error);
  if (status == EP_OK) status = ep_check_targets(program, now->y, rows, error);
  if (status == EP_OK) status = ep_check_inputs(program, now->x, rows, error);
  if (status == EP_OK) now->ranks.data[EP_SPLIT_TRAIN] = (ep_ranks_data){now->x, now->y, rows};
  return status;
}

static ep_status state_take(node *n, const ep_node_head *head, ep_error *error) {
  session *now = &n->now;
  const size_t bytes = (size_t)now->ranks.state_count * sizeof(ep_real);
  const ep_real *first = NULL;
  ep_status status = EP_OK;
  if (head->bytes != bytes) return malformed(head, error);
  segment_join(now);
  for (int d = 0; status == EP_OK && d < now->ranks.replicas; d++) {
    ep_real *state = now->ranks.replica[d].state;
    if (state && !first) {
      status = ep_node_link_read(&n->link, state, bytes, error);
      first = state;
    } else if (state) {
      for (int64_t i = 0; i < now->ranks.state_count; i++) state[i] = first[i];
    }
  }
  return status;
}

static ep_status segment_take(node *n, const ep_node_head *head, ep_error *error) {
  session *now = &n->now;
  ep_node_train order;
  if (head->bytes < sizeof order) return malformed(head, error);
  segment_join(now);
  ep_status status = ep_node_link_read(&n->link, &order, sizeof order, error);
  if (status != EP_OK) return status;
  const uint64_t rates = (head->bytes - sizeof order) / sizeof(float);
  if (order.first_step < 0 || order.steps < 1 || order.lr_count < 1 ||
      order.steps > INT64_MAX - order.first_step ||
      (order.lr_count != 1 && order.lr_count != order.steps) || (uint64_t)order.lr_count != rates ||
      head->bytes != sizeof order + rates * sizeof(float) || !now->ranks.data[EP_SPLIT_TRAIN].x)
    return malformed(head, error);
  float *lr = realloc(now->lr, (size_t)rates * sizeof *lr);
  if (!lr) return ep_fail_memory(error);
  now->lr = lr;
  now->order = order;
  status = ep_node_link_read(&n->link, lr, (size_t)rates * sizeof *lr, error);
  if (status != EP_OK) return status;
  ep_exchange_begin(&now->exchange, order.first_step, order.steps);
  if (pthread_create(&now->thread, NULL, segment_run, now) != 0)
    return ep_fail(error, EP_NO_MEMORY, "the system gives no thread for a segment");
  now->threaded = true;
  return EP_OK;
}

static ep_status release_take(node *n, const ep_node_head *head, ep_error *error) {
  if (head->bytes != 0 || (n->now.program && !is_at_rest(&n->now))) return malformed(head, error);
  segment_join(&n->now);
  session_end(&n->now);
  return ep_node_link_send(&n->link, EP_NODE_RELEASED, 0, 0, NULL, 0, error);
}

/* --- all of them ---------------------------------------------------------------------------- */

static ep_status frame_take(node *n, const ep_node_head *head, ep_error *error) {
  if (head->code == EP_NODE_CREATE) return program_take(n, head, error);
  if (head->code == EP_NODE_RELEASE) return release_take(n, head, error);
  if (!n->now.program) return malformed(head, error);
  const bool orders =
      head->code == EP_NODE_LOAD || head->code == EP_NODE_ADOPT || head->code == EP_NODE_TRAIN;
  if (orders && (head->zero != 0 || !is_at_rest(&n->now))) return malformed(head, error);
  switch (head->code) {
  case EP_NODE_LOAD: return rows_take(n, head, error);
  case EP_NODE_ADOPT: return state_take(n, head, error);
  case EP_NODE_TRAIN: return segment_take(n, head, error);
  default: return ep_exchange_take(&n->now.exchange, 0, head, error);
  }
}

ep_status ep_node_serve(int socket, ep_error *error) {
  node n = {0};
  ep_node_head head;
  ep_error why = {0};
  ep_status status = EP_OK;
  ep_node_link_init(&n.link, socket, 0); /* it waits for the leader as long as it takes */
  while (status == EP_OK) {
    status = ep_node_link_head(&n.link, &head, &why);
    if (status == EP_UNAVAILABLE) break; /* between two frames: the leader has ended */
    if (status == EP_OK) status = frame_take(&n, &head, &why);
  }
  ep_node_link_break(&n.link);
  session_end(&n.now);
  ep_node_link_deinit(&n.link);
  if (status == EP_UNAVAILABLE) return EP_OK;
  if (error) *error = why;
  return status;
}
