/* codegen.c: a program and its plan as constants, for the kernel that is compiled for it. */
#include "kernels/cuda/runtime/codegen.h"
#include "kernels/cuda/executors/cluster/plan.h"

#define NUMBER(name) , layer->name
#define REAL(name) , (double)layer->name
static void layer_write(FILE *out, int l, const ep_cluster_layer *layer) {
  fprintf(out, "  if (l == %d) return " EP_CUDA_VALUES(EP_CLUSTER_LAYER) ";\n",
          l EP_CLUSTER_LAYER(NUMBER, NUMBER, REAL));
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
  fprintf(codegen->out, "%s", EP_CUDA_DECLARATION("cluster_layer", EP_CLUSTER_LAYER));
  fprintf(codegen->out, "constexpr cluster_layer layer(int l) {\n");
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
