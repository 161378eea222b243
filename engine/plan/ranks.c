/* ranks.c: one training on several ranks: the slices of a batch, the layers of each stage, and how
 * long the stages wait for each other at best. */
#include <stdlib.h>
#include <string.h>

#include "engine/plan/cost.h"
#include "engine/plan/parts.h"
#include "kernels/operators/operator.h"
#include "kernels/operators/values.h"
#include "kernels/plans/ranks.h"

enum { MICRO_BATCHES_A_STAGE = 4 };

/* --- slices of a batch --------------------------------------------------------------------- */

static int64_t piece_rows(int64_t rows, int number, int pieces) {
  return ep_piece_first(rows, number + 1, pieces) - ep_piece_first(rows, number, pieces);
}

/* The least rows, above none, over which a batch_norm takes its mean in a batch of `rows` rows. */
static int64_t piece_rows_least(const ep_parallel *parallel, int64_t rows, bool sync) {
  int64_t least = INT64_MAX;
  for (int piece = 0; piece < parallel->micro_batches; piece++) {
    int64_t together = 0;
    for (int replica = 0; replica < parallel->data; replica++) {
      int64_t slice = piece_rows(rows, replica, parallel->data);
      int64_t own = piece_rows(slice, piece, parallel->micro_batches);
      together += own;
      if (!sync && own > 0 && own < least) least = own;
    }
    if (sync && together > 0 && together < least) least = together;
  }
  return least;
}

/* Not given: so many that the stages wait little, as far as the smallest slice has rows. */
static int micro_batches_default(int model, int64_t slice_rows) {
  int64_t most = slice_rows < EP_LIMIT_MICRO_BATCHES ? slice_rows : EP_LIMIT_MICRO_BATCHES;
  int64_t wanted = model > 1 ? (int64_t)MICRO_BATCHES_A_STAGE * model : 1;
  return (int)(wanted < most ? wanted : most);
}

static bool has_batch_norm(const ep_layer_spec *layers, int count) {
  for (int i = 0; i < count; i++)
    if (layers[i].type == EP_LAYER_BATCH_NORM ||
        has_batch_norm(layers[i].layers, layers[i].layers_count))
      return true;
  return false;
}

/* A batch_norm wants two rows of each piece that has some: of a batch, and of an epoch's last one.
 */
static void pieces_for_norms(const ep_program *program, ep_parallel *parallel) {
  int64_t batch = program->batch_size, left = program->train_rows % batch;
  while (parallel->micro_batches > 1 && (piece_rows_least(parallel, batch, false) < 2 ||
                                         (left > 0 && piece_rows_least(parallel, left, false) < 2)))
    parallel->micro_batches--;
}

void ep_plan_slices(const ep_job_spec *spec, ep_plan *plan, ep_problem *problem) {
  const ep_parallel_spec *asked = &spec->parallel;
  ep_parallel *parallel = &plan->program.parallel;
  int64_t batch = plan->program.batch_size;
  int data = asked->data > 1 ? asked->data : 1;
  *parallel = (ep_parallel){.data = 1, .model = asked->model > 1 ? asked->model : 1};
  if (data > batch) {
    ep_problem_add(problem, EP_INVALID, "/parallel/data",
                   "%d replicas share a batch of %lld rows: each needs at least one", data,
                   (long long)batch);
    data = 1;
  }
  int64_t slice = batch / data; /* the smallest one */
  parallel->data = data;
  parallel->micro_batches = asked->micro_batches;
  if (asked->micro_batches > slice)
    ep_problem_add(problem, EP_INVALID, "/parallel/micro_batches",
                   "%d micro-batches of a slice of %lld rows: each needs at least one row",
                   asked->micro_batches, (long long)slice);
  if (asked->micro_batches < 1 || asked->micro_batches > slice)
    parallel->micro_batches = micro_batches_default(parallel->model, slice);
  if (asked->micro_batches == 0 && has_batch_norm(spec->layers, spec->layers_count))
    pieces_for_norms(&plan->program, parallel);
}

void ep_plan_pieces_check(const ep_plan *plan, const ep_op *op, const char *name,
                          ep_problem *problem) {
  if (!ep_operator_of(op->type)->running || op->in_features != op->in.channels) return;
  const ep_parallel *parallel = &plan->program.parallel;
  int64_t rows = plan->program.batch_size, left = plan->shape.train_rows % rows;
  bool ranks = ep_program_ranks(&plan->program) > 1;
  bool each = piece_rows_least(parallel, rows, op->sync) == 1;
  bool last = left > 0 && piece_rows_least(parallel, left, op->sync) == 1;
  if (!each && !last) return;
  if (!ranks || rows == 1 || (!each && left == 1))
    ep_problem_add(problem, EP_INVALID, "/batch_size",
                   "layer %s, batch_norm, needs at least 2 rows in a batch: %s has 1", name,
                   each ? "each" : "the last of an epoch");
  else
    ep_problem_add(
        problem, EP_INVALID,
        parallel->micro_batches > 1 ? "/parallel/micro_batches" : "/parallel/data",
        "layer %s, batch_norm, needs at least 2 rows in a micro-batch, and one has 1: of the "
        "%lld rows of %s, with %d replicas and %d micro-batches",
        name, (long long)(each ? rows : left), each ? "a batch" : "the last batch of an epoch",
        parallel->data, parallel->micro_batches);
}

/* --- layers of the stages ------------------------------------------------------------------- */

/* The top-level layers of a plan. */
typedef struct {
  int count;
  int first_op[EP_LIMIT_LAYERS + 1];  /* of each; [count] is ops_count */
  bool divides[EP_LIMIT_LAYERS];      /* a stage may begin with it */
  double before[EP_LIMIT_LAYERS + 1]; /* cost of all layers before it; [count]: of all */
} layer_costs;

/* Of a row, forward and backward: multiply-adds, and values that are written. */
static double op_cost(const ep_op *op, bool first) {
  double passes = first ? 2 : 3; /* the first layer with weights passes no gradient on */
  return passes * (double)ep_op_products(op) + ep_op_value_work(op) * (double)op->out_features;
}

static void layers_cost(const ep_plan *plan, layer_costs *out) {
  bool first = true;
  out->count = 0;
  out->before[0] = 0;
  for (int i = 0; i < plan->program.ops_count; i++) {
    const ep_op *op = &plan->ops[i];
    if (ep_plan_layer_of(plan, i) == out->count) {
      out->divides[out->count] = ep_program_divides_at(&plan->program, i);
      out->first_op[out->count++] = i;
      out->before[out->count] = out->before[out->count - 1];
    }
    out->before[out->count] += op_cost(op, first);
    first = first && op->weight < 0;
  }
  out->first_op[out->count] = plan->program.ops_count;
}

/* The best cut of the first layers into stages. */
typedef struct {
  double cost[EP_LIMIT_RANKS + 1][EP_LIMIT_LAYERS + 1]; /* [stages][layers]: of the dearest stage;
                                                           below 0: branches leave no such cut */
  int last[EP_LIMIT_RANKS + 1][EP_LIMIT_LAYERS + 1];    /* the first layer of the last stage */
} stage_table;

/* Fills in one entry: the last stage begins with the latest layer that is as good as any. */
static void stage_choose(stage_table *table, const layer_costs *costs, int stages, int layers) {
  double best = -1;
  for (int first = layers - 1; first >= stages - 1; first--) {
    double own = costs->before[layers] - costs->before[first];
    double rest = stages > 1 ? table->cost[stages - 1][first] : 0;
    double dearest = own > rest ? own : rest;
    if ((stages == 1 && first > 0) || !costs->divides[first] || rest < 0) continue;
    if (best >= 0 && own >= best) break; /* a longer one costs more */
    if (best >= 0 && dearest >= best) continue;
    best = dearest;
    table->last[stages][layers] = first;
  }
  table->cost[stages][layers] = best;
}

/* Stages whose dearest costs least. first: [stages], the first layer of each, written. */
static void stages_balance(const layer_costs *costs, int stages, int *first, ep_problem *problem) {
  stage_table *table = malloc(sizeof *table);
  if (!table) {
    ep_problem_fail_memory(problem);
    return;
  }
  for (int s = 1; s <= stages; s++)
    for (int layers = s; layers <= costs->count; layers++) stage_choose(table, costs, s, layers);
  const bool possible = table->cost[stages][costs->count] >= 0;
  if (!possible)
    ep_problem_add(problem, EP_INVALID, "/parallel/model",
                   "%d stages: a stage begins where one value goes on alone, and the model's "
                   "branches leave fewer places",
                   stages);
  for (int s = stages, layers = costs->count; possible && s >= 1; s--) {
    first[s - 1] = table->last[s][layers];
    layers = first[s - 1];
  }
  free(table);
}

/* The stages that the spec names. */
static void stages_take(const ep_job_spec *spec, const layer_costs *costs, int *first,
                        ep_problem *problem) {
  for (int s = 0; s < spec->parallel.stages_count; s++) {
    first[s] = spec->parallel.stages[s][0];
    if (first[s] < costs->count && costs->divides[first[s]]) continue;
    ep_problem_add(problem, EP_INVALID, "/parallel/stages",
                   "layer %d cannot begin a stage: what it and later layers read is more than the "
                   "value of the layer before it",
                   first[s]);
  }
}

static bool has_sync(const ep_program *program) {
  for (int i = 0; i < program->ops_count; i++)
    if (program->ops[i].type == EP_LAYER_BATCH_NORM && program->ops[i].sync) return true;
  return false;
}

/* Whether a device and an executor are asked for that train on so many ranks. */
static void device_check(const ep_job_spec *spec, const ep_program *program, ep_problem *problem) {
  int ranks = ep_program_ranks(program);
  const ep_executor_profile *named =
      spec->executor[0] ? ep_cost_executor_find(spec->executor) : NULL;
  if (named && named->ranks && ranks == 1)
    ep_problem_add(problem, EP_INVALID, "/executor",
                   "%s trains only on several ranks: give \"parallel\", or remove \"executor\"",
                   spec->executor);
  if (ranks == 1) return;
  if (strncmp(spec->device, "cuda", 4) == 0 && program->parallel.data > 1 && has_sync(program))
    ep_problem_add(problem, EP_INVALID, "/parallel/data",
                   "batch_norm with \"sync\": true is supported only on device \"cpu\": remove "
                   "\"sync\" to use the statistics of each replica");
  if (spec->executor[0] && !(named && named->ranks))
    ep_problem_add(problem, EP_INVALID, "/executor",
                   "%s trains on one rank, and the job requests %d: remove \"executor\"",
                   spec->executor, ranks);
}

void ep_plan_ranks(const ep_job_spec *spec, ep_plan *plan, ep_problem *problem) {
  ep_parallel *parallel = &plan->program.parallel;
  layer_costs costs;
  int first[EP_LIMIT_RANKS] = {0};
  device_check(spec, &plan->program, problem);
  layers_cost(plan, &costs);
  if (parallel->model > costs.count) {
    ep_problem_add(problem, EP_INVALID, "/parallel/model",
                   "%d stages, and the model has %d layers, a residual counted as one: each stage "
                   "needs at least one",
                   parallel->model, costs.count);
    return;
  }
  if (spec->parallel.stages_count == parallel->model)
    stages_take(spec, &costs, first, problem);
  else if (parallel->model > 1)
    stages_balance(&costs, parallel->model, first, problem);
  for (int s = 0; s < parallel->model; s++) parallel->stage_first[s] = costs.first_op[first[s]];
  parallel->stage_first[parallel->model] = plan->program.ops_count;
}

/* --- memory -------------------------------------------------------------------------------- */

/* Values of a row that a stage holds for each of its pieces: what came in, all outputs, and two
 * gradients of the widest. */
static int64_t stage_values(const ep_program *program, int first, int end) {
  int64_t in = first == 0 ? program->in_features : program->ops[first - 1].out_features;
  int64_t values = in, widest = in;
  for (int i = first; i < end; i++) {
    int64_t out = program->ops[i].out_features;
    values = ep_add_saturated(values, out);
    if (out > widest) widest = out;
  }
  return ep_add_saturated(values, ep_multiply_saturated(2, widest));
}

/* The first stage has as many pieces under way as there are stages, the last has one. */
static int64_t pieces_bytes(const ep_program *program) {
  const ep_parallel *parallel = &program->parallel;
  int64_t values = 0;
  for (int s = 0; s < parallel->model; s++) {
    int64_t own = stage_values(program, parallel->stage_first[s], parallel->stage_first[s + 1]);
    values = ep_add_saturated(values, ep_multiply_saturated(parallel->model - s, own));
  }
  values = ep_multiply_saturated(values, ep_ranks_piece_rows(program));
  return ep_multiply_saturated((int64_t)sizeof(float) * parallel->data, values);
}

/* Some ranks have all layers once more, to evaluate. */
static int64_t evaluation_bytes(const ep_program *program) {
  int64_t ranks = ep_ranks_evaluators(program);
  int64_t values = stage_values(program, 0, program->ops_count);
  return ep_multiply_saturated((int64_t)sizeof(float) * ranks * EP_RANKS_PIECE_ROWS, values);
}

int64_t ep_plan_ranks_bytes(const ep_program *program) {
  int64_t state = ep_add_saturated(ep_program_state_floats(program), program->optimizer_floats);
  int64_t replica = ep_add_saturated(state, ep_multiply_saturated(2, program->parameters));
  int64_t all = ep_add_saturated(ep_multiply_saturated(program->parallel.data, replica), state);
  all = ep_add_saturated(all, ep_multiply_saturated(2, program->parameters)); /* their sums */
  int64_t bytes = ep_multiply_saturated((int64_t)sizeof(float), all);
  bytes = ep_add_saturated(bytes, pieces_bytes(program));
  return ep_add_saturated(bytes, evaluation_bytes(program));
}

/* --- what is shown of it -------------------------------------------------------------------- */

double ep_pipeline_idle(int stages, int micro_batches, double greatest_share) {
  double pieces = micro_batches;
  return 1 - pieces / (stages * (1 + (pieces - 1) * greatest_share));
}

static int64_t parameters_between(const ep_plan *plan, int first_op, int end_op) {
  int64_t parameters = 0;
  for (int i = first_op; i < end_op; i++) parameters += ep_op_parameters(&plan->ops[i]);
  return parameters;
}

bool ep_plan_parallel(const ep_plan *plan, const ep_job_spec *spec, ep_parallel_view *out) {
  const ep_parallel *parallel = &plan->program.parallel;
  layer_costs costs;
  double greatest = 0;
  if (ep_program_ranks(&plan->program) == 1 && !spec->parallel.data_auto) return false;
  *out = (ep_parallel_view){
      .data = parallel->data, .model = parallel->model, .micro_batches = parallel->micro_batches};
  layers_cost(plan, &costs);
  double all = costs.before[costs.count];
  for (int s = 0; s < parallel->model; s++) {
    ep_stage_view *stage = &out->stage[s];
    int end_op = parallel->stage_first[s + 1];
    stage->first_layer = ep_plan_layer_of(plan, parallel->stage_first[s]);
    stage->last_layer = ep_plan_layer_of(plan, end_op - 1);
    stage->parameters = parameters_between(plan, parallel->stage_first[s], end_op);
    double own = costs.before[stage->last_layer + 1] - costs.before[stage->first_layer];
    stage->cost_share = all > 0 ? own / all : 1.0 / parallel->model;
    if (stage->cost_share > greatest) greatest = stage->cost_share;
  }
  out->bubble = ep_pipeline_idle(parallel->model, parallel->micro_batches, greatest);
  if (spec->parallel.data_auto)
    out->note = "\"data\": \"auto\" is 1: one rank already uses a whole device; a number uses that "
                "many GPUs";
  return true;
}
