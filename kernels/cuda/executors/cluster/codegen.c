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

static void plan_write(ep_cuda_text *text, const ep_cluster_plan *plan) {
  ep_cuda_text_number(text, "LAYERS", plan->layers_count);
  ep_cuda_text_number(text, "FRONT", plan->front);
  ep_cuda_text_number(text, "ROW_BLOCKS", plan->row_blocks);
  ep_cuda_text_number(text, "SLICES", plan->slices);
  ep_cuda_text_number(text, "WARPS", plan->warps);
  ep_cuda_text_number(text, "ROW_WARPS", plan->row_warps);
  ep_cuda_text_number(text, "FETCHED", plan->fetched);
  ep_cuda_text_number(text, "TARGETS_AT", plan->targets);
  ep_cuda_text_number(text, "ORDER", plan->order);
  ep_cuda_text_number(text, "UPDATES", plan->updates);
  ep_cuda_text_number(text, "LOSSES", plan->losses);
  ep_cuda_text_number(text, "BARRIERS", plan->barriers);
  ep_cuda_text_number(text, "SHARED_FLOATS", plan->shared_floats);
  fprintf(text->out,
          "struct cluster_layer {\n  int in, out, inputs, outputs, weight, bias;\n"
          "  ep_layer_type activation;\n  float negative_slope, alpha, beta, threshold;\n"
          "  int x, grad, weights, biases, landing;\n};\n"
          "constexpr cluster_layer layer(int l) {\n");
  for (int l = 0; l < plan->layers_count; l++) layer_write(text->out, l, &plan->layers[l]);
  fprintf(text->out, "  return {};\n}\n");
}

char *ep_cluster_text(const ep_program *program, const ep_cluster_plan *plan) {
  ep_cuda_text text;
  if (!ep_cuda_text_begin(&text, program)) return NULL;
  ep_cuda_text_dense(&text, program);
  plan_write(&text, plan);
  return ep_cuda_text_end(&text);
}

char *ep_cuda_cluster_source(const ep_program *program, const ep_gpu_traits *gpu) {
  (void)gpu;
  ep_cluster_plan plan;
  return ep_cluster_plan_make(program, &plan) ? ep_cluster_text(program, &plan) : NULL;
}
