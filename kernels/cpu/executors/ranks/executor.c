/* cpu/ranks: one training on several ranks, each a thread with its own copy of some of the layers:
 * replicas that have a slice of every batch, stages that have some of the layers, or both. Where
 * the backend has nodes, some of the ranks are threads of other machines (leader.h). By the
 * plain loops of kernels/cpu/layers: it is there to see and to test how ranks work, not for speed.
 * Gradients are sums of doubles, so the result is cpu/reference's but for rounding. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/executors/executor.h"
#include "kernels/cpu/executors/ranks/leader.h"
#include "kernels/cpu/executors/ranks/plan.h"
#include "kernels/cpu/executors/ranks/team.h"
#include "kernels/cpu/runtime/cpu.h"

typedef struct {
  ep_ranks ranks;
  ep_team *team;
  ep_nodes *nodes;   /* lent, and this program's; NULL = all ranks are here */
  ep_leader *leader; /* NULL likewise */
} executor;

static void ranks_destroy(void *self) {
  executor *e = self;
  if (!e) return;
  ep_leader_destroy(e->leader);
  if (e->nodes) ep_nodes_give_back(e->nodes);
  ep_team_destroy(e->team);
  ep_ranks_deinit(&e->ranks);
  free(e);
}

static ep_status ranks_create(ep_backend *backend, const ep_program *program, void **out,
                              ep_error *error) {
  executor *e = calloc(1, sizeof *e);
  if (!e) return ep_fail(error, EP_NO_MEMORY, "no memory for an instance");
  const int nodes = ep_nodes_take(backend->nodes, program);
  if (nodes > 1) e->nodes = backend->nodes;
  ep_status status = ep_ranks_init(&e->ranks, program, (ep_rank_node){0, nodes}, error);
  if (status == EP_OK) status = ep_team_create(e->ranks.count, &e->team, error);
  if (status == EP_OK && nodes > 1)
    status = ep_leader_create(e->nodes, &e->ranks, &e->leader, error);
  if (status != EP_OK) {
    ranks_destroy(e);
    return status;
  }
  *out = e;
  return EP_OK;
}

static int64_t ranks_bytes(const void *self) {
  const ep_ranks *ranks = &((const executor *)self)->ranks;
  const ep_program *program = ranks->program;
  int64_t bytes = (int64_t)sizeof(executor) + ranks->bytes;
  if (ranks->kept) bytes += ranks->state_count * (int64_t)sizeof *ranks->kept;
  for (int split = 0; split < EP_SPLIT_COUNT; split++) {
    int64_t x_size = program->x_type == EP_X_UINT8 ? 1 : (int64_t)sizeof(float);
    int64_t row_bytes =
        ep_shape_count(program->stored) * x_size + program->target_columns * (int64_t)sizeof(float);
    bytes += ranks->data[split].rows * row_bytes;
  }
  return bytes;
}

static void ranks_info(const void *self, ep_instance_info *out) {
  const ep_ranks *ranks = &((const executor *)self)->ranks;
  out->ranks = ranks->count;
  for (int i = 0; i < ranks->count; i++) out->rank[i] = ranks->rank[i].info;
}

static ep_status ranks_load_data(void *self, ep_split split, const void *x, const void *y,
                                 int64_t rows, ep_error *error) {
  executor *e = self;
  e->ranks.data[split] = (ep_ranks_data){x, y, rows};
  if (!e->leader || split != EP_SPLIT_TRAIN) return EP_OK; /* all else is evaluated here */
  return ep_leader_load(e->leader, &e->ranks.data[split], error);
}

/* What all ranks are to do. */
typedef struct {
  ep_ranks *ranks;
  const ep_segment *segment;
  const ep_ranks_data *data;
  float *output;
} order;

static void member_train(void *context, int member) {
  const order *o = context;
  ep_rank_train(&o->ranks->rank[member], o->segment);
}

static void member_evaluate(void *context, int member) {
  const order *o = context;
  ep_rank_evaluate(&o->ranks->rank[member], o->data, o->output);
}

static ep_status ranks_train_segment(void *self, const ep_segment *segment, ep_error *error) {
  executor *e = self;
  ep_status status = e->leader ? ep_leader_train(e->leader, segment, error) : EP_OK;
  if (status != EP_OK) return status;
  ep_team_run(e->team, member_train, &(order){.ranks = &e->ranks, .segment = segment});
  return e->leader ? ep_leader_status(e->leader, error) : EP_OK;
}

static ep_status ranks_evaluate(void *self, ep_split split, double *loss, int64_t *errors,
                                ep_error *error) {
  (void)error;
  executor *e = self;
  double sum = 0, divisor = 0;
  ep_team_run(e->team, member_evaluate,
              &(order){.ranks = &e->ranks, .data = &e->ranks.data[split]});
  *errors = 0;
  for (int i = 0; i < ep_ranks_evaluators(e->ranks.program); i++) {
    sum += e->ranks.rank[i].loss;
    divisor += e->ranks.rank[i].divisor;
    *errors += e->ranks.rank[i].errors;
  }
  *loss = sum / divisor;
  return EP_OK;
}

static ep_status ranks_predict(void *self, const void *x, int64_t rows, float *output,
                               ep_error *error) {
  (void)error;
  executor *e = self;
  const ep_ranks_data data = {.x = x, .rows = rows};
  ep_team_run(e->team, member_evaluate,
              &(order){.ranks = &e->ranks, .data = &data, .output = output});
  return EP_OK;
}

/* The first replica's: the others have the same parameters. */
static ep_status ranks_export_state(void *self, float *parameters, float *optimizer,
                                    ep_error *error) {
  (void)error;
  const ep_ranks *ranks = &((const executor *)self)->ranks;
  const ep_real *state = ranks->replica[0].state;
  int64_t floats = ep_program_state_floats(ranks->program);
  for (int64_t i = 0; i < floats; i++) parameters[i] = (float)state[i];
  for (int64_t i = 0; optimizer && i < ranks->program->optimizer_floats; i++)
    optimizer[i] = (float)state[floats + i];
  return EP_OK;
}

/* Without an optimizer's state it starts from zero. */
static ep_status ranks_import_state(void *self, const float *parameters, const float *optimizer,
                                    ep_error *error) {
  executor *e = self;
  const ep_ranks *ranks = &e->ranks;
  int64_t floats = ep_program_state_floats(ranks->program);
  for (int d = 0; d < ranks->replicas; d++) {
    ep_real *state = ranks->replica[d].state;
    if (!state) continue;
    for (int64_t i = 0; i < floats; i++) state[i] = parameters[i];
    for (int64_t i = 0; i < ranks->program->optimizer_floats; i++)
      state[floats + i] = optimizer ? optimizer[i] : 0;
  }
  return e->leader ? ep_leader_adopt(e->leader, error) : EP_OK;
}

static size_t state_bytes(const ep_ranks *ranks) {
  return (size_t)ranks->state_count * sizeof(ep_real);
}

static ep_status ranks_snapshot(void *self, ep_error *error) {
  ep_ranks *ranks = &((executor *)self)->ranks;
  if (!ranks->kept) ranks->kept = malloc(ranks->state_count > 0 ? state_bytes(ranks) : 1);
  if (!ranks->kept) return ep_fail(error, EP_NO_MEMORY, "no memory for a snapshot of the state");
  memcpy(ranks->kept, ranks->replica[0].state, state_bytes(ranks));
  return EP_OK;
}

static ep_status ranks_rollback(void *self, ep_error *error) {
  executor *e = self;
  const ep_ranks *ranks = &e->ranks;
  if (!ranks->kept) return ep_fail(error, EP_CONFLICT, "no snapshot to restore");
  for (int d = 0; d < ranks->replicas; d++)
    if (ranks->replica[d].state) memcpy(ranks->replica[d].state, ranks->kept, state_bytes(ranks));
  return e->leader ? ep_leader_adopt(e->leader, error) : EP_OK;
}

const ep_executor ep_cpu_ranks = {.profile = &ep_cpu_ranks_profile,
                                  .create = ranks_create,
                                  .destroy = ranks_destroy,
                                  .bytes = ranks_bytes,
                                  .ranks = ranks_info,
                                  .load_data = ranks_load_data,
                                  .train_segment = ranks_train_segment,
                                  .evaluate = ranks_evaluate,
                                  .predict = ranks_predict,
                                  .export_state = ranks_export_state,
                                  .import_state = ranks_import_state,
                                  .snapshot = ranks_snapshot,
                                  .rollback = ranks_rollback};
