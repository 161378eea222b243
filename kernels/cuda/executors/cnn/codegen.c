/* codegen.c: a plan as constants, for the kernel that is compiled for it. */
#include "kernels/cuda/runtime/codegen.h"
#include "kernels/cuda/executors/cnn/memory.h"
#include "kernels/cuda/executors/cnn/plan.h"
#include "kernels/formulas/augment.h"

static void place_write(FILE *out, const ep_cnn_place *place) {
  fprintf(out, "{%d, %d, %d, %d, %d, %s}, ", place->first, place->plane, place->pitch, place->top,
          place->left, place->compact ? "true" : "false");
}

static void shape_write(FILE *out, ep_shape shape) {
  fprintf(out, "{%lld, %lld, %lld}, ", (long long)shape.channels, (long long)shape.height,
          (long long)shape.width);
}

/* In the order of cnn_stage of constants.cuh. */
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

static void plan_write(ep_cuda_codegen *codegen, const ep_program *program,
                       const ep_cnn_plan *plan) {
  ep_cuda_codegen_flag(codegen, "BYTES", program->x_type == EP_X_UINT8);
  ep_cuda_codegen_flag(codegen, "AUGMENTS",
                       ep_program_augments(&program->augment, program->stored, program->in));
  ep_cuda_codegen_flag(codegen, "NESTEROV", program->optimizer.nesterov);
  ep_cuda_codegen_flag(codegen, "CENTERED", program->optimizer.centered);
  ep_cuda_codegen_number(codegen, "STORED_CHANNELS", program->stored.channels);
  ep_cuda_codegen_number(codegen, "STORED_HEIGHT", program->stored.height);
  ep_cuda_codegen_number(codegen, "STORED_WIDTH", program->stored.width);
  ep_cuda_codegen_number(codegen, "STAGES", plan->stages_count);
  ep_cuda_codegen_number(codegen, "OPS", program->ops_count);
  ep_cuda_codegen_number(codegen, "FIRST_STAGE", plan->first_trained);
  ep_cuda_codegen_number(codegen, "GROUPS", plan->groups);
  ep_cuda_codegen_number(codegen, "THREADS", plan->threads);
  ep_cuda_codegen_number(codegen, "BLOCKS", plan->blocks);
  ep_cuda_codegen_number(codegen, "REDUCTION", plan->reduction);
  ep_cuda_codegen_number(codegen, "GROUP_FLOATS", plan->group_floats);
  ep_cuda_codegen_number(codegen, "STAGED_FLOATS", plan->staged_floats);
  ep_cuda_codegen_number(codegen, "CONVOLVED", plan->convolved);
  ep_cuda_codegen_number(codegen, "LINEAR_PARTS", EP_CNN_LINEAR_PARTS);
}

char *ep_cnn_codegen(const ep_program *program, const ep_cnn_plan *plan) {
  ep_cuda_codegen codegen;
  if (!ep_cuda_codegen_begin(&codegen, program)) return NULL;
  plan_write(&codegen, program, plan);
  fprintf(codegen.out, "#include \"kernels/cuda/executors/cnn/constants.cuh\"\nconstexpr cnn_stage "
                       "stage(int s) {\n");
  for (int s = 0; s < plan->stages_count; s++)
    stage_write(codegen.out, s, program, &plan->stages[s]);
  fprintf(codegen.out, "  return {};\n}\nconstexpr cnn_op op(int i) {\n");
  for (int i = 0; i < program->ops_count; i++)
    op_write(codegen.out, i, &program->ops[i], plan->masks[i]);
  fprintf(codegen.out, "  return {};\n}\n");
  return ep_cuda_codegen_end(&codegen);
}

char *ep_cuda_cnn_source(const ep_program *program, const ep_gpu_traits *gpu) {
  ep_cnn_plan plan;
  return ep_cnn_plan_make(program, gpu, &plan) ? ep_cnn_codegen(program, &plan) : NULL;
}
