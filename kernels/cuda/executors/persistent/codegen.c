/* codegen.c: the source of "kernels/cuda/device/program.h" for a program and its plan: constants, a
 * struct of constants for each stage, and the tail of each as code. */
#include "kernels/cuda/runtime/codegen.h"
#include "kernels/cuda/executors/persistent/plan.h"
#include "kernels/formulas/activations.h"

/* --- constants ------------------------------------------------------------------------------- */

static void plan_write(ep_cuda_codegen *codegen, const ep_persistent_plan *plan) {
  const struct {
    const char *name;
    int64_t value;
  } numbers[] = {{"GROUPS", plan->groups},
                 {"SLICES", plan->slices},
                 {"WARPS", plan->warps},
                 {"MICRO_BATCHES", plan->micro_batches},
                 {"ROWS", plan->rows},
                 {"LINE", plan->row_line},
                 {"TERMS", ep_persistent_terms(plan)},
                 {"INPUT", plan->input},
                 {"INPUT_BUFFERS", plan->input_buffers},
                 {"ROW_WORDS", plan->row_words},
                 {"INPUT_LINE", plan->input_line},
                 {"TARGETS_AT", plan->targets},
                 {"ORDER", plan->order},
                 {"PERMUTATION", plan->permutation},
                 {"METRICS", plan->metrics},
                 {"GRADIENT", plan->gradient},
                 {"SCRATCH", plan->scratch},
                 {"MEMORY_WORDS", plan->memory_words},
                 {"CHUNK", plan->chunk},
                 {"VECTOR_WORDS", plan->vector_words},
                 {"GIVEN_GRADIENTS", plan->given_gradients},
                 {"GIVEN_WORDS", plan->given_words},
                 {"EXCHANGE", plan->clustered ? plan->exchange : -1},
                 {"ROWS_HALF", plan->rows_half},
                 {"WORDS_HALF", plan->words_half},
                 {"GIVEN_METRICS", plan->clustered ? 0 : 2 * (plan->rows_half + plan->words_half)},
                 {"REPORTERS", plan->reporters},
                 {"STATE_WORDS", plan->state_words},
                 {"SHARDS", plan->shards.blocks},
                 {"SHARD_WORDS", plan->shards.words},
                 {"SHARD_CELLS", plan->shards.cells},
                 {"SHARD_COUNTS", plan->shards.counts},
                 {"SHARD_ORDER", plan->shards.order},
                 {"SHARD_LIST", plan->shards.listed},
                 {"ENDS_COUNTER", plan->shards.ends_counter}};
  const bool idles = plan->idle_stage >= 0;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    ep_cuda_codegen_number(codegen, numbers[i].name, numbers[i].value);
  ep_cuda_codegen_flag(codegen, "LOSS_IS_SLICED", plan->stages[plan->stages_count - 1].sliced);
  ep_cuda_codegen_flag(codegen, "HALF", plan->half);
  ep_cuda_codegen_flag(codegen, "CLUSTERED", plan->clustered);
  ep_cuda_codegen_flag(codegen, "HELPED", plan->helper);
  ep_cuda_codegen_flag(codegen, "IDLES_BETWEEN", !idles && plan->groups == 1);
  ep_cuda_codegen_flag(codegen, "IDLES_AT_UPDATE", !idles && plan->groups > 1);
}

/* --- tails ----------------------------------------------------------------------------------- */

static void op_write(FILE *out, const ep_op *op) {
  fprintf(out,
          "      ep_op op = {};\n"
          "      op.type = (ep_layer_type)%d;\n"
          "      op.negative_slope = (float)%.9g;\n"
          "      op.alpha = (float)%.9g;\n"
          "      op.beta = (float)%.9g;\n"
          "      op.threshold = (float)%.9g;\n",
          (int)op->type, (double)op->negative_slope, (double)op->alpha, (double)op->beta,
          (double)op->threshold);
}

static void activation_write(FILE *out, const ep_op *op) {
  fprintf(out, "    {\n");
  op_write(out, op);
  fprintf(out, "      const float y = ep_activation(&op, x);\n"
               "      derivative *= ep_activation_derivative(&op, x, y);\n"
               "      x = y;\n"
               "    }\n");
}

static void dropout_write(FILE *out, const ep_op *op, int number) {
  fprintf(out,
          "    {\n"
          "      const float factor = masks.keeps(%d) ? ep_dropout_scale((float)%.9g) : 0;\n"
          "      x *= factor;\n"
          "      derivative *= factor;\n"
          "    }\n",
          number, (double)op->p);
}

static void tail_write(FILE *out, const ep_persistent_stage *stage) {
  int dropouts = 0;
  fprintf(out, "  template <class MASKS>\n"
               "  static __device__ __forceinline__ void tail(const MASKS &masks, float &x, float "
               "&derivative) {\n");
  for (int t = 0; t < stage->tails; t++) {
    if (stage->tail[t]->type == EP_LAYER_DROPOUT)
      dropout_write(out, stage->tail[t], dropouts++);
    else
      activation_write(out, stage->tail[t]);
  }
  fprintf(out, "  }\n");
}

/* Of a tail whose derivative follows from its value y. */
static void derivative_write(FILE *out, const ep_persistent_stage *stage) {
  fprintf(out, "  static __device__ __forceinline__ float derivative_of(float y) {\n");
  if (stage->in_place) {
    op_write(out, stage->tail[0]);
    fprintf(out, "    return ep_activation_derivative(&op, y, y);\n");
  } else {
    fprintf(out, "    return 1;\n");
  }
  fprintf(out, "  }\n");
}

/* What random.h keys the stage's dropouts by, and how many of their elements fall out. */
static void dropouts_write(FILE *out, const ep_persistent_stage *stage) {
  fprintf(out, "  static __device__ __forceinline__ int dropout_layer(int n) {\n");
  for (int t = 0, n = 0; t < stage->tails; t++)
    if (stage->tail[t]->type == EP_LAYER_DROPOUT)
      fprintf(out, "    if (n == %d) return %d;\n", n++, stage->tail[t]->layer);
  fprintf(out, "    return 0;\n  }\n"
               "  static __device__ __forceinline__ float dropout_p(int n) {\n");
  for (int t = 0, n = 0; t < stage->tails; t++)
    if (stage->tail[t]->type == EP_LAYER_DROPOUT)
      fprintf(out, "    if (n == %d) return (float)%.9g;\n", n++, (double)stage->tail[t]->p);
  fprintf(out, "    return 0;\n  }\n");
}

/* --- stages ---------------------------------------------------------------------------------- */

static void number_write(FILE *out, const char *name, int64_t value) {
  fprintf(out, "  static constexpr int %s = %lld;\n", name, (long long)value);
}

static void flag_write(FILE *out, const char *name, bool value) {
  fprintf(out, "  static constexpr bool %s = %s;\n", name, value ? "true" : "false");
}

static void places_write(FILE *out, const ep_persistent_plan *plan, int i) {
  const ep_persistent_stage *stage = &plan->stages[i];
  const ep_persistent_stage *before = i > 0 ? stage - 1 : NULL;
  const bool takes_slice = ep_persistent_takes_slice(stage);
  const int64_t statistics = ep_persistent_norm_words(plan, stage);
  const int64_t sums = stage->given_statistics < 0
                           ? stage->given_sums
                           : stage->given_statistics + (statistics + 31) / 32 * 32;
  number_write(out, "WEIGHTS", stage->segment);
  number_write(out, "BIAS", stage->segment + stage->bias_word);
  number_write(out, "BIAS_WORD", stage->bias_word);
  number_write(out, "SEGMENT_WORDS", stage->segment_words);
  number_write(out, "STATE", stage->state);
  number_write(out, "X", !before ? -1 : takes_slice ? before->value : before->full_value);
  number_write(out, "VALUE", stage->value);
  number_write(out, "GRAD", stage->grad);
  number_write(out, "GRAD_LINE", stage->grad_line);
  number_write(out, "SCORES", stage->scores);
  number_write(out, "FULL_VALUE", stage->full_value);
  number_write(out, "FULL_GRAD", stage->full_grad);
  number_write(out, "NORMAL", stage->normal);
  number_write(out, "INVERSE", stage->inverse);
  number_write(out, "RUNNING", stage->running);
  number_write(out, "MASKS", stage->masks);
  number_write(out, "GIVEN_SUMS", sums);
  number_write(out, "GIVEN_ALL", stage->given_all);
  number_write(out, "GIVEN_VALUE", stage->given_value);
  number_write(out, "GIVEN_BACK", stage->given_back);
  number_write(out, "GIVEN_BACK_ALL", stage->given_back_all);
  number_write(out, "GIVEN_GRAD", stage->given_grad);
  number_write(out, "GIVEN_STATISTICS", stage->given_statistics);
}

/* Whether the training changes the parameter at an offset. */
static bool trains(const ep_program *program, int64_t offset) {
  return offset >= 0 && ep_program_decay_at(program, offset) >= 0;
}

static void shape_write(FILE *out, const ep_program *program, const ep_persistent_plan *plan,
                        int i) {
  const ep_persistent_stage *stage = &plan->stages[i];
  const ep_op *core = stage->core;
  const bool linear = ep_persistent_is_linear(stage), takes = ep_persistent_takes_slice(stage);
  const bool takes_own = linear && stage->mode == EP_PERSISTENT_WHOLE && stage->sliced_in;
  number_write(out, "NUMBER", i);
  number_write(out, "IN", stage->in);
  number_write(out, "OUT", stage->out);
  number_write(out, "SLICE", stage->slice);
  number_write(out, "FEATURES", stage->slice);
  number_write(out, "INPUTS", stage->inputs);
  number_write(out, "OUTPUTS", stage->outputs);
  number_write(out, "BACK_OUTPUTS", takes_own ? stage->share_back : stage->inputs);
  number_write(out, "WEIGHT_LINE", stage->line);
  number_write(out, "SHARE", stage->share);
  number_write(out, "SHARE_BACK", stage->share_back);
  number_write(out, "GRADIENT_TILES", stage->gradient.fragments);
  number_write(out, "DROPOUTS", stage->dropouts);
  number_write(out, "RUNNING_FIRST", core->type == EP_LAYER_BATCH_NORM ? core->running : -1);
  flag_write(out, "IS_FIRST", i == 0);
  flag_write(out, "IS_LAST", i + 1 == plan->stages_count);
  flag_write(out, "IS_LINEAR", linear);
  flag_write(out, "IS_EMBEDDING", ep_persistent_is_embedding(stage));
  flag_write(out, "IS_SHARDED", ep_persistent_is_sharded(plan, i));
  flag_write(out, "IS_BATCH_NORM", core->type == EP_LAYER_BATCH_NORM);
  flag_write(out, "IS_OPERAND",
             i + 1 < plan->stages_count && ep_persistent_is_linear(&plan->stages[i + 1]));
  flag_write(out, "IS_IDLE_SUM", takes && i == plan->idle_stage);
  flag_write(out, "IS_IDLE_GATHER", !takes && i == plan->idle_stage);
  flag_write(out, "HAS_TAIL", stage->tails > 0);
  flag_write(out, "IS_IN_PLACE", stage->in_place);
  flag_write(out, "HAS_BIAS", linear && core->bias >= 0);
  flag_write(out, "HAS_RUNNING", core->type == EP_LAYER_BATCH_NORM && core->running >= 0);
  flag_write(out, "WEIGHT_TRAINS", trains(program, core->weight));
  flag_write(out, "BIAS_TRAINS", trains(program, core->bias));
  flag_write(out, "SLICED", stage->sliced);
  flag_write(out, "TAKES_SLICE", takes);
  flag_write(out, "TAKES_OWN_INPUTS", takes_own);
  flag_write(out, "TAKES_RAW", i == 0 || stage[-1].in_place);
  flag_write(out, "SUMS_SLICES", takes);
  flag_write(out, "SUMS_BY_ALL", stage->mode == EP_PERSISTENT_ROW_ALL);
  flag_write(out, "SUMS_BACK", ep_persistent_sums_back(plan, i));
  flag_write(out, "SUMS_BACK_BY_ALL", stage->back_by_all);
  flag_write(out, "GATHERS_VALUE", ep_persistent_gathers_value(plan, i));
  flag_write(out, "REGATHERS", ep_persistent_regathers(plan, i));
  flag_write(out, "GATHERS_GRAD", ep_persistent_gathers_grad(plan, i));
  if (ep_persistent_is_embedding(stage)) {
    number_write(out, "WORDS", core->embeddings);
    number_write(out, "DIMENSION", ep_op_dimension(core));
    number_write(out, "NUMBERS", core->numbers);
    number_write(out, "COLUMNS", ep_op_columns(core));
    number_write(out, "PIECES", ep_persistent_pieces(stage));
    number_write(out, "PARAMETER", core->weight);
    number_write(out, "GIVEN_VECTORS", plan->shards.given_vectors);
    number_write(out, "GIVEN_VECTOR_GRADS", plan->shards.given_vector_grads);
    flag_write(out, "GIVES_SHARE",
               ep_persistent_sums_back(plan, i + 1) && !plan->stages[i + 1].back_by_all);
  }
  fprintf(out, "  static constexpr float EPS = (float)%.9g, MOMENTUM = (float)%.9g;\n",
          (double)core->eps, (double)core->momentum);
  if (!linear) return;
  fprintf(out,
          "  typedef tiling<OUTPUTS, %d, %d> forward_tiling;\n"
          "  typedef tiling<BACK_OUTPUTS, %d, %d> backward_tiling;\n",
          stage->forward.fragments, stage->forward.splits, stage->backward.fragments,
          stage->backward.splits);
}

static void stage_write(FILE *out, const ep_program *program, const ep_persistent_plan *plan,
                        int i) {
  fprintf(out, "struct stage%d {\n  static constexpr bool EXISTS = true;\n", i);
  shape_write(out, program, plan, i);
  places_write(out, plan, i);
  tail_write(out, &plan->stages[i]);
  derivative_write(out, &plan->stages[i]);
  dropouts_write(out, &plan->stages[i]);
  fprintf(out, "};\n");
}

static void stages_write(FILE *out, const ep_program *program, const ep_persistent_plan *plan) {
  const int count = plan->stages_count;
  fprintf(out, "#include \"kernels/formulas/activations.h\"\n"
               "#include \"kernels/formulas/dropout.h\"\n"
               "template <class... S> struct sequence {};\n"
               "template <int M, int FRAGMENTS, int SPLITS> struct tiling;\n");
  for (int i = 0; i < count; i++) stage_write(out, program, plan, i);
  fprintf(out, "typedef sequence<");
  for (int i = 0; i < count; i++) fprintf(out, "%sstage%d", i > 0 ? ", " : "", i);
  fprintf(out, "> network;\ntypedef sequence<");
  for (int i = count - 1; i >= 0; i--) fprintf(out, "stage%d%s", i, i > 0 ? ", " : "");
  fprintf(out, "> network_backward;\n");
}

char *ep_persistent_codegen(const ep_program *program, const ep_persistent_plan *plan) {
  ep_cuda_codegen codegen;
  ep_program trained = *program;
  trained.loss = ep_persistent_loss(program);
  if (!ep_cuda_codegen_begin(&codegen, &trained)) return NULL;
  ep_cuda_codegen_dense(&codegen, &trained);
  plan_write(&codegen, plan);
  stages_write(codegen.out, program, plan);
  return ep_cuda_codegen_end(&codegen);
}

char *ep_cuda_persistent_source(const ep_program *program, const ep_gpu_traits *gpu) {
  ep_persistent_plan plan;
  return ep_persistent_plan_make(program, gpu, &plan) ? ep_persistent_codegen(program, &plan)
                                                      : NULL;
}
