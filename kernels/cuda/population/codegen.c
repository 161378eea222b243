/* codegen.c: a program and its plan as constants, for the kernel that is compiled for it. */
#include "kernels/cuda/runtime/codegen.h"

#include "kernels/cuda/population/plan.h"
#include "kernels/operators/operator.h"

static void ops_write(FILE *out, const ep_program *program) {
  fprintf(out, "struct population_op {\n  ep_layer_type type;\n"
               "  int in, out, weight, bias, layer;\n};\n"
               "constexpr population_op op(int i) {\n");
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    fprintf(out, "  if (i == %d) return {(ep_layer_type)%d, %d, %d, %d, %d, %d};\n", i,
            (int)op->type, (int)op->in_features, (int)op->out_features, (int)op->weight,
            (int)op->bias, op->layer);
  }
  fprintf(out, "  return {(ep_layer_type)-1, OUT, OUT, -1, -1, 0};\n}\n");
}

static void layers_write(FILE *out, const ep_population_blocks *blocks) {
  fprintf(out, "struct population_layer {\n  int op, end, in, out, in_stride, out_stride;\n"
               "  int weight, bias, weights, biases, sums, features;\n"
               "  bool trains_weight, trains_bias;\n};\n"
               "constexpr population_layer layer(int i) {\n");
  for (int i = 0; i < blocks->layers_count; i++) {
    const ep_population_layer *layer = &blocks->layers[i];
    fprintf(out,
            "  if (i == %d) return {%d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d};\n", i,
            layer->op, layer->end, layer->in, layer->out, layer->in_stride, layer->out_stride,
            layer->weight, layer->bias, layer->weights, layer->biases, layer->sums, layer->features,
            layer->trains_weight, layer->trains_bias);
  }
  fprintf(out, "  return {};\n}\n");
}

static void blocks_write(ep_cuda_codegen *codegen, const ep_population_blocks *blocks) {
  ep_cuda_codegen_number(codegen, "LAYERS", blocks->layers_count);
  ep_cuda_codegen_number(codegen, "FIRST_LAYER", blocks->first_layer);
  ep_cuda_codegen_number(codegen, "CHUNK_ROWS", blocks->chunk_rows);
  ep_cuda_codegen_number(codegen, "BLOCKS_EACH", blocks->blocks_each);
  ep_cuda_codegen_number(codegen, "WEIGHT_FLOATS", blocks->weight_floats);
  ep_cuda_codegen_number(codegen, "ACTIVATION_FLOATS", blocks->activation_floats);
  ep_cuda_codegen_flag(codegen, "GATHERS_GRADS", blocks->gathers_grads);
  ep_cuda_codegen_flag(codegen, "STATE_SHARED", blocks->state_shared);
  ep_cuda_codegen_flag(codegen, "ACTIVATIONS_SHARED", blocks->activations_shared);
  ep_cuda_codegen_flag(codegen, "X_STAGED", blocks->x_staged);
  ep_cuda_codegen_number(codegen, "GRADS_AT", blocks->grads);
  ep_cuda_codegen_number(codegen, "STATE_AT", blocks->state);
  ep_cuda_codegen_number(codegen, "X_AT", blocks->x);
  ep_cuda_codegen_number(codegen, "ACTIVATIONS_AT", blocks->activations);
  ep_cuda_codegen_number(codegen, "STAGE_AT", blocks->stage);
  ep_cuda_codegen_number(codegen, "TARGETS_AT", blocks->targets);
  ep_cuda_codegen_number(codegen, "NUMBERS_AT", blocks->numbers);
  ep_cuda_codegen_number(codegen, "SUMS_AT", blocks->sums);
  ep_cuda_codegen_number(codegen, "PERMUTATION_AT", blocks->permutation);
  layers_write(codegen->out, blocks);
}

char *ep_population_codegen(const ep_program *program, const ep_population_plan *plan) {
  const bool is_long = ep_program_shuffles(program) || program->parameters > 64;
  ep_cuda_codegen codegen;
  if (!ep_cuda_codegen_begin(&codegen, program)) return NULL;
  ep_cuda_codegen_number(&codegen, "FIRST_TRAINED", ep_program_first_learned(program));
  ep_cuda_codegen_flag(&codegen, "CLIPS_NORM", program->optimizer.clip_norm > 0);
  ep_cuda_codegen_number(&codegen, "OPS", program->ops_count);
  ep_cuda_codegen_number(&codegen, "THREADS", plan->threads);
  ep_cuda_codegen_number(&codegen, "LANES", plan->lanes);
  ep_cuda_codegen_flag(&codegen, "ROWS_SHARED", plan->rows_shared);
  ep_cuda_codegen_number(&codegen, "UNROLLED", is_long ? 1 : 2);
  ep_cuda_codegen_flag(&codegen, "PRECISE", program->precision == EP_PRECISION_FP32);
  ops_write(codegen.out, program);
  if (plan->has_blocks) blocks_write(&codegen, &plan->blocks);
  return ep_cuda_codegen_end(&codegen);
}
