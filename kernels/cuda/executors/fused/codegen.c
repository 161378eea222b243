/* codegen.c: a plan as constants, for the kernel that is compiled for it. */
#include "kernels/cuda/runtime/codegen.h"
#include "kernels/cuda/executors/fused/plan.h"

/* In the order of fused_layer. */
static void layer_write(FILE *out, int l, const ep_cuda_fused_layer *layer) {
  const ep_op none = {.type = EP_LAYER_LINEAR}, *op = layer->op;
  const ep_op *activation = layer->activation ? layer->activation : &none;
  fprintf(out,
          "  if (l == %d) return {%d, %d, %d, %d, (ep_layer_type)%d, %.9ef, %.9ef, %.9ef, %.9ef, "
          "%d, %d, %d, %d};\n",
          l, (int)op->in_features, (int)op->out_features, (int)op->weight, (int)op->bias,
          (int)activation->type, (double)activation->negative_slope, (double)activation->alpha,
          (double)activation->beta, (double)activation->threshold, layer->image, layer->x,
          layer->slopes, layer->quads);
}

static void plan_write(ep_cuda_codegen *codegen, const ep_cuda_fused_plan *plan) {
  ep_cuda_codegen_number(codegen, "LAYERS", plan->layers_count);
  ep_cuda_codegen_number(codegen, "THREADS", plan->threads);
  ep_cuda_codegen_number(codegen, "TILE_ROWS", plan->tile_rows);
  ep_cuda_codegen_number(codegen, "BLOCKS", plan->blocks);
  ep_cuda_codegen_number(codegen, "QUADS", plan->quads);
  ep_cuda_codegen_number(codegen, "OWNED", plan->owned);
  ep_cuda_codegen_number(codegen, "IMAGE_BYTES", plan->image_bytes);
  ep_cuda_codegen_number(codegen, "LAST_AT", plan->last);
  ep_cuda_codegen_number(codegen, "STAGE_AT", plan->stage);
  ep_cuda_codegen_number(codegen, "TARGETS_AT", plan->targets);
  ep_cuda_codegen_number(codegen, "ORDER_AT", plan->order);
  ep_cuda_codegen_number(codegen, "SUMS_AT", plan->sums);
  ep_cuda_codegen_number(codegen, "SUMS_BYTES", plan->sums_bytes);
  ep_cuda_codegen_number(codegen, "OWNED_AT", plan->owned_at);
  ep_cuda_codegen_number(codegen, "OWNED_BYTES", plan->owned_bytes);
  ep_cuda_codegen_number(codegen, "SHARED_BYTES", plan->shared_bytes);
  fprintf(codegen->out, "#include \"kernels/cuda/executors/fused/constants.cuh\"\n"
                        "constexpr fused_layer layer(int l) {\n");
  for (int l = 0; l < plan->layers_count; l++) layer_write(codegen->out, l, &plan->layers[l]);
  fprintf(codegen->out, "  return {};\n}\n");
}

char *ep_cuda_fused_codegen(const ep_program *program, const ep_cuda_fused_plan *plan) {
  ep_cuda_codegen codegen;
  if (!ep_cuda_codegen_begin(&codegen, program)) return NULL;
  ep_cuda_codegen_flag(&codegen, "NESTEROV", program->optimizer.nesterov);
  ep_cuda_codegen_flag(&codegen, "CENTERED", program->optimizer.centered);
  fprintf(codegen.out, "constexpr ep_precision PRECISION = (ep_precision)%d;\n",
          (int)program->precision);
  plan_write(&codegen, plan);
  return ep_cuda_codegen_end(&codegen);
}

char *ep_cuda_fused_source(const ep_program *program, const ep_gpu_traits *gpu) {
  ep_cuda_fused_plan plan;
  return ep_cuda_fused_plan_make(program, gpu, &plan) ? ep_cuda_fused_codegen(program, &plan)
                                                      : NULL;
}
