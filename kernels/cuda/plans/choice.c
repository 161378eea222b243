/* choice.c: see kernels/choice.h: which programs CUDA's executors take, told without a GPU, by the
 * plans that they run by. Linked into epochd: no CUDA here. */
#include "kernels/choice.h"

#include <stdlib.h>

#include "kernels/cuda/executors/cluster/plan.h"
#include "kernels/cuda/executors/cnn/plan.h"
#include "kernels/cuda/executors/crews/plan.h"
#include "kernels/cuda/executors/fused/plan.h"
#include "kernels/cuda/executors/grid/offsets.h"
#include "kernels/cuda/executors/grid/plan.h"
#include "kernels/cuda/executors/images/parts.h"

enum { TILE_SMALL = 0, TILE_LARGE = 1 };

int64_t ep_choice_shared_bytes(int capability) {
  const int64_t own = 1024;
  if (ep_choice_has_large_blocks(capability)) return 232448 - own;
  if (capability < 80) return (capability < 75 ? 98304 : 65536) - own;
  return (capability == 80 || capability == 87 ? 166912 : 101376) - own;
}

/* --- cuda/resident --------------------------------------------------------------------------- */

static bool order_fits(const ep_program *program, const ep_choice_gpu *gpu) {
  int64_t bytes = ep_choice_shared_bytes(gpu->capability) - EP_CHOICE_RESIDENT_BYTES;
  return !ep_program_shuffles(program) || (program->train_rows <= EP_CHOICE_RESIDENT_ROWS &&
                                           program->train_rows * (int64_t)sizeof(int32_t) <= bytes);
}

bool ep_choice_resident(const ep_program *program, const ep_choice_gpu *gpu) {
  int64_t widths = program->in_features + program->target_columns;
  for (int i = 0; i < program->ops_count; i++) widths += program->ops[i].out_features;
  return (ep_program_needs(program).layers & ~EP_CHOICE_RESIDENT_LAYERS) == 0 &&
         ep_program_is_resident(program) && ep_program_takes_plain_rows(program) &&
         ep_program_trains(program) && program->parameters <= EP_CHOICE_RESIDENT_PARAMETERS &&
         widths <= EP_CHOICE_RESIDENT_WIDTHS && order_fits(program, gpu);
}

/* --- cuda/cluster ---------------------------------------------------------------------------- */

bool ep_choice_cluster(const ep_program *program, const ep_choice_gpu *gpu,
                       ep_choice_cluster_work *work) {
  ep_cluster_plan plan;
  if (!ep_choice_has_large_blocks(gpu->capability) || !ep_choice_cluster_suits(program) ||
      !ep_cluster_plan_make(program, &plan))
    return false;
  if (work) *work = plan.work;
  return true;
}

/* --- cuda/crews ------------------------------------------------------------------------------ */

/* A multiprocessor's neighbours are not always 16: of 132 there is room for seven clusters. */
bool ep_choice_crews(const ep_program *program, const ep_choice_gpu *gpu,
                     ep_choice_crews_work *work) {
  ep_crews_plan plan;
  if (!ep_choice_has_large_blocks(gpu->capability) || !ep_choice_cluster_suits(program) ||
      !ep_crews_plan_make(program, &plan) || plan.crews >= gpu->multiprocessors / EP_CREWS_RANKS)
    return false;
  if (!work) return true;
  double weights = 0;
  for (int l = 0; l < plan.layers_count; l++)
    weights += (double)plan.layers[l].inputs * plan.layers[l].outputs;
  *work = (ep_choice_crews_work){.front = plan.front,
                                 .shared = plan.layers_count - 1 - plan.front,
                                 .weights = weights,
                                 .state = weights * ep_optimizer_slots(&program->optimizer),
                                 .precise = program->precision == EP_PRECISION_FP32 ? weights : 0};
  return true;
}

/* --- cuda/grid ------------------------------------------------------------------------------- */

/* Adds a product: tiles of rows × columns, sums of `terms`. */
static void product_add(ep_choice_grid_work *work, const ep_grid_cut *cut, const int rows[2],
                        const int columns[2], int64_t terms, int blocks) {
  double m = rows[cut->large ? TILE_LARGE : TILE_SMALL];
  double n = columns[cut->large ? TILE_LARGE : TILE_SMALL];
  double depth = (double)(cut->chunk < terms ? cut->chunk : terms);
  int64_t tasks = (int64_t)cut->across * cut->down * cut->splits;
  double rounds = (double)((tasks + blocks - 1) / blocks);
  double at_once = (double)(tasks < blocks ? tasks : blocks) / blocks;
  work->rounds += rounds + (cut->splits > 1 ? 1 : 0);
  work->moved += rounds * at_once * ((m + n) * depth + 2 * m * n);
  work->multiplied += rounds * m * n * depth;
}

static void grid_work(const ep_grid_plan *plan, ep_choice_grid_work *work) {
  const int m[2] = {EP_GRID_SMALL_M, ep_grid_large_m(plan->span.precise)};
  static const int n[2] = {EP_GRID_SMALL_N, EP_GRID_LARGE_N},
                   weights_m[2] = {EP_GRID_WEIGHTS_SMALL_M, EP_GRID_WEIGHTS_LARGE_M},
                   weights_n[2] = {EP_GRID_WEIGHTS_SMALL_N, EP_GRID_WEIGHTS_LARGE_N};
  const ep_grid_span *span = &plan->span;
  int64_t group = span->tiles * EP_GRID_GROUP;
  int64_t groups = (span->batch_rows + group - 1) / group;
  double turns = (double)((groups + plan->blocks - 1) / plan->blocks);
  *work = (ep_choice_grid_work){.cluster = span->cluster};
  for (int l = 0; l < span->layers_count; l++) {
    const ep_grid_layer *layer = &span->layers[l];
    work->layers += l < span->front ? 1 : 3;
    if (l < span->front) work->turns += turns * (double)span->tiles;
    if (l < span->front) work->front += turns * (double)group * layer->in * layer->out * 3;
    product_add(work, &layer->update, weights_m, weights_n, span->batch_rows, plan->blocks);
    if (l < span->front || l == span->layers_count - 1) continue;
    product_add(work, &layer->forward, m, n, layer->in, plan->blocks);
    if (l > 0) product_add(work, &layer->backward, m, n, layer->out, plan->blocks);
  }
}

bool ep_choice_grid(const ep_program *program, const ep_choice_gpu *gpu,
                    ep_choice_grid_work *work) {
  if (!ep_choice_has_large_blocks(gpu->capability) || !ep_choice_grid_suits(program) ||
      (ep_program_needs(program).layers & ~EP_CHOICE_RESIDENT_LAYERS) != 0)
    return false;
  ep_grid_plan *plan = malloc(sizeof *plan);
  bool takes = plan && ep_grid_plan_make(program, gpu->multiprocessors, plan);
  if (takes && work) grid_work(plan, work);
  free(plan);
  return takes;
}

/* --- cuda/fused ------------------------------------------------------------------------------ */

/* A kernel is compiled for it, and all multiprocessors wait for each other: few rows are not worth
 * that. The smallest networks go to cuda/resident as long as its few multiprocessors are enough for
 * their rows; others to cuda/cluster where that expects to be faster. */
bool ep_choice_narrow(const ep_program *program, const ep_choice_gpu *gpu,
                      ep_choice_narrow_work *work) {
  const int64_t rows_least = 256, resident_rows_least = 8192;
  ep_narrow_plan plan;
  ep_choice_cluster_work cluster;
  *work = (ep_choice_narrow_work){0};
  int64_t least = ep_choice_resident(program, gpu) ? resident_rows_least : rows_least;
  if (gpu->capability < 80 ||
      (ep_program_needs(program).layers & ~EP_CHOICE_RESIDENT_LAYERS) != 0 ||
      !ep_narrow_plan_make(program, gpu->multiprocessors, ep_choice_shared_bytes(gpu->capability),
                           &plan, work))
    return false;
  /* On many rows both take a tenth to a sixth more than they expect. */
  return program->batch_size >= least &&
         !(ep_choice_cluster(program, gpu, &cluster) && cluster.cycles < work->cycles);
}

/* --- cuda/graph ------------------------------------------------------------------------------ */

bool ep_choice_graph(const ep_program *program, const ep_choice_gpu *gpu) {
  const int64_t parameters_most = 1 << 20;
  if (gpu->capability < 80 || program->parameters < 1 || program->parameters > parameters_most ||
      !ep_program_is_resident(program) || program->optimizer.clip_norm > 0 ||
      (ep_program_needs(program).layers & ~EP_CHOICE_GRAPH_LAYERS) != 0)
    return false;
  float *decay = malloc((size_t)program->parameters * sizeof *decay);
  ep_cnn_plan *plan = malloc(sizeof *plan);
  bool takes = false;
  if (decay && plan) {
    ep_program_decay(program, decay);
    takes = ep_cnn_plan_make(program, gpu->multiprocessors, ep_choice_shared_bytes(gpu->capability),
                             decay, plan);
  }
  free(plan);
  free(decay);
  return takes;
}

/* --- cuda/images ----------------------------------------------------------------------------- */

bool ep_choice_images(const ep_program *program, const ep_choice_gpu *gpu) {
  return gpu->capability >= EP_IMAGES_CAPABILITY && ep_images_takes(program);
}

/* --- cuda/gemm ------------------------------------------------------------------------------- */

bool ep_choice_gemm(const ep_program *program, const ep_choice_gpu *gpu) {
  return gpu->capability >= 80 && program->precision != EP_PRECISION_FP32 &&
         program->optimizer.clip_norm == 0 && program->buffers == 0 && program->ops_count > 0 &&
         (ep_program_needs(program).layers & ~EP_CHOICE_GEMM_LAYERS) == 0;
}
