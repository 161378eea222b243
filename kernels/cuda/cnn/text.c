/* text.c: a plan as constants, for the kernel that is compiled for it. */
#include <stdio.h>
#include <stdlib.h>

#include "kernels/cuda/cnn/memory.h"
#include "kernels/formulas/augment.h"

static void number_write(FILE *out, const char *name, int64_t value) {
  fprintf(out, "constexpr int %s = %lld;\n", name, (long long)value);
}

static void flag_write(FILE *out, const char *name, bool value) {
  fprintf(out, "constexpr bool %s = %s;\n", name, value ? "true" : "false");
}

static void place_write(FILE *out, const ep_cnn_place *place) {
  fprintf(out, "{%d, %d, %d, %d, %d, %s}, ", place->first, place->plane, place->pitch, place->top,
          place->left, place->compact ? "true" : "false");
}

static void shape_write(FILE *out, ep_shape shape) {
  fprintf(out, "{%lld, %lld, %lld}, ", (long long)shape.channels, (long long)shape.height,
          (long long)shape.width);
}

/* In the order of cnn_stage in stage.cuh. */
static void stage_write(FILE *out, int s, const ep_program *program, const ep_cnn_stage *stage) {
  const ep_op none = {.type = EP_LAYER_COUNT, .weight = -1, .bias = -1};
  const ep_op *op = stage->op ? stage->op : &none;
  fprintf(out, "  if (s == %d) return {(ep_layer_type)%d, %d, ", s, (int)op->type,
          stage->op ? (int)(stage->op - program->ops) : -1);
  shape_write(out, stage->in);
  shape_write(out, stage->out);
  fprintf(out, "%d, %d, ", stage->chain_first, stage->chain_count);
  place_write(out, &stage->value);
  place_write(out, &stage->grad);
  fprintf(out, "%d, %d, %d, %d, %d, %d, %d, %d, %d, ", stage->places, stage->forward, stage->back,
          stage->weights, stage->staged, stage->list, stage->dropout, stage->x, stage->g);
  fprintf(out, "%d, %d, %d, %d, %d, %d, ", stage->tile, stage->split, stage->back_tile,
          stage->back_split, stage->weights_tile, stage->rows_split);
  fprintf(out, "%d, %d, %d, %d, %d, %d, %d, %d, %d, %d};\n", op->kernel[0], op->kernel[1],
          op->stride[0], op->stride[1], op->padding[0], op->padding[1],
          op->dilation[0] > 0 ? op->dilation[0] : 1, op->dilation[1] > 0 ? op->dilation[1] : 1,
          (int)op->weight, (int)op->bias);
}

/* In the order of cnn_op. */
static void op_write(FILE *out, int i, const ep_op *op, int mask) {
  fprintf(out,
          "  if (i == %d) return {(ep_layer_type)%d, %d, %d, %d, %d, %.9ef, %.9ef, %.9ef, %.9ef, "
          "%.9ef};\n",
          i, (int)op->type, op->layer, mask, (int)op->in.channels,
          (int)(op->in.height * op->in.width), (double)op->p, (double)op->negative_slope,
          (double)op->alpha, (double)op->beta, (double)op->threshold);
}

/* What the program is, however it is run. Figures that do not change the code (rates, seeds) are
 * not in it: programs that differ in these alone share a kernel. */
static void program_write(FILE *out, const ep_program *program) {
  const ep_optimizer *optimizer = &program->optimizer;
  number_write(out, "OUT", program->out_features);
  number_write(out, "TARGETS", program->target_columns);
  number_write(out, "PARAMETERS", program->parameters);
  number_write(out, "TRAIN_ROWS", program->train_rows);
  number_write(out, "BATCH_ROWS", program->batch_size);
  number_write(out, "STEPS_PER_EPOCH", ep_program_steps_per_epoch(program));
  number_write(out, "LOSS_TYPE", (int)program->loss);
  number_write(out, "OPTIMIZER_TYPE", (int)optimizer->type);
  flag_write(out, "SHUFFLES", ep_program_shuffles(program));
  flag_write(out, "TAKES_CLASSES", ep_loss_takes_classes(program->loss));
  flag_write(out, "CLIPS_VALUE", optimizer->clip_value > 0);
  flag_write(out, "HAS_MOMENTUM", optimizer->momentum != 0);
  flag_write(out, "PLAIN_RATE",
             optimizer->type != EP_OPTIMIZER_ADAM && optimizer->type != EP_OPTIMIZER_ADAMW &&
                 optimizer->type != EP_OPTIMIZER_ADAGRAD);
}

static void plan_write(FILE *out, const ep_program *program, const ep_cnn_plan *plan) {
  program_write(out, program);
  flag_write(out, "BYTES", program->x_type == EP_X_UINT8);
  flag_write(out, "AUGMENTS", ep_program_augments(&program->augment, program->stored, program->in));
  flag_write(out, "NESTEROV", program->optimizer.nesterov);
  flag_write(out, "CENTERED", program->optimizer.centered);
  number_write(out, "STORED_CHANNELS", program->stored.channels);
  number_write(out, "STORED_HEIGHT", program->stored.height);
  number_write(out, "STORED_WIDTH", program->stored.width);
  number_write(out, "STAGES", plan->stages_count);
  number_write(out, "OPS", program->ops_count);
  number_write(out, "FIRST_STAGE", plan->first_trained);
  number_write(out, "GROUPS", plan->groups);
  number_write(out, "THREADS", plan->threads);
  number_write(out, "BLOCKS", plan->blocks);
  number_write(out, "REDUCTION", plan->reduction);
  number_write(out, "GROUP_FLOATS", plan->group_floats);
  number_write(out, "STAGED_FLOATS", plan->staged_floats);
  number_write(out, "CONVOLVED", plan->convolved);
  number_write(out, "LINEAR_PARTS", EP_CNN_LINEAR_PARTS);
}

char *ep_cnn_plan_text(const ep_program *program, const ep_cnn_plan *plan) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  if (!out) return NULL;
  plan_write(out, program, plan);
  fprintf(out, "#include \"kernels/cuda/cnn/figures.cuh\"\nconstexpr cnn_stage stage(int s) {\n");
  for (int s = 0; s < plan->stages_count; s++) stage_write(out, s, program, &plan->stages[s]);
  fprintf(out, "  return {};\n}\nconstexpr cnn_op op(int i) {\n");
  for (int i = 0; i < program->ops_count; i++) op_write(out, i, &program->ops[i], plan->masks[i]);
  fprintf(out, "  return {};\n}\n");
  bool failed = ferror(out) != 0;
  if (fclose(out) == 0 && !failed) return text;
  free(text);
  return NULL;
}
