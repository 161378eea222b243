/* codegen.c: a program and its plan as constants, for the kernel that is compiled for it. */
#include "kernels/cuda/runtime/codegen.h"
#include "kernels/cuda/executors/cluster/plan.h"

static void layer_write(FILE *out, int l, const ep_cluster_layer *layer) {
  fprintf(out,
          "  if (l == %d) return {%d, %d, %d, %d, %d, %d, (ep_layer_type)%d, %.9ef, %.9ef, %.9ef, "
          "%.9ef, %d, %d, %d, %d, %d};\n",
          l, layer->in, layer->out, layer->inputs, layer->outputs, layer->weight, layer->bias,
          layer->activation, (double)layer->negative_slope, (double)layer->alpha,
          (double)layer->beta, (double)layer->threshold, layer->x, layer->grad, layer->weights,
          layer->biases, layer->landing);
}

static void plan_write(ep_cuda_codegen *codegen, const ep_cluster_plan *plan) {
  ep_cuda_codegen_number(codegen, "LAYERS", plan->layers_count);
  ep_cuda_codegen_number(codegen, "FRONT", plan->front);
  ep_cuda_codegen_number(codegen, "ROW_BLOCKS", plan->row_blocks);
  ep_cuda_codegen_number(codegen, "SLICES", plan->slices);
  ep_cuda_codegen_number(codegen, "WARPS", plan->warps);
  ep_cuda_codegen_number(codegen, "ROW_WARPS", plan->row_warps);
  ep_cuda_codegen_number(codegen, "FETCHED", plan->fetched);
  ep_cuda_codegen_number(codegen, "TARGETS_AT", plan->targets);
  ep_cuda_codegen_number(codegen, "ORDER", plan->order);
  ep_cuda_codegen_number(codegen, "UPDATES", plan->updates);
  ep_cuda_codegen_number(codegen, "LOSSES", plan->losses);
  ep_cuda_codegen_number(codegen, "BARRIERS", plan->barriers);
  ep_cuda_codegen_number(codegen, "SHARED_FLOATS", plan->shared_floats);
  fprintf(codegen->out,
          "struct cluster_layer {\n  int in, out, inputs, outputs, weight, bias;\n"
          "  ep_layer_type activation;\n  float negative_slope, alpha, beta, threshold;\n"
          "  int x, grad, weights, biases, landing;\n};\n"
          "constexpr cluster_layer layer(int l) {\n");
  for (int l = 0; l < plan->layers_count; l++) layer_write(codegen->out, l, &plan->layers[l]);
  fprintf(codegen->out, "  return {};\n}\n");
}

char *ep_cluster_codegen(const ep_program *program, const ep_cluster_plan *plan) {
  ep_cuda_codegen codegen;
  if (!ep_cuda_codegen_begin(&codegen, program)) return NULL;
  ep_cuda_codegen_dense(&codegen, program);
  plan_write(&codegen, plan);
  return ep_cuda_codegen_end(&codegen);
}

char *ep_cuda_cluster_source(const ep_program *program, const ep_gpu_traits *gpu) {
  (void)gpu;
  ep_cluster_plan plan;
  return ep_cluster_plan_make(program, &plan) ? ep_cluster_codegen(program, &plan) : NULL;
}
