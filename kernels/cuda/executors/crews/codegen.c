/* codegen.c: a program and its plan as constants, for the kernel that is compiled for it. */
#include "kernels/cuda/runtime/codegen.h"
#include "kernels/cuda/executors/crews/plan.h"

#define NUMBER(name) , layer->name
#define REAL(name) , (double)layer->name
static void layer_write(FILE *out, int l, const ep_crews_layer *layer) {
  fprintf(out, "  if (l == %d) return " EP_CUDA_VALUES(EP_CREWS_LAYER) ";\n",
          l EP_CREWS_LAYER(NUMBER, NUMBER, REAL));
}

static void plan_write(ep_cuda_codegen *codegen, const ep_crews_plan *plan) {
  ep_cuda_codegen_number(codegen, "LAYERS", plan->layers_count);
  ep_cuda_codegen_number(codegen, "FRONT", plan->front);
  ep_cuda_codegen_number(codegen, "CREWS", plan->crews);
  ep_cuda_codegen_number(codegen, "ROWS_EACH", plan->rows_each);
  ep_cuda_codegen_number(codegen, "PLACE_FIRST", plan->place[0]);
  ep_cuda_codegen_number(codegen, "PLACE_SECOND", plan->place[1]);
  ep_cuda_codegen_number(codegen, "FEATURES", plan->features);
  ep_cuda_codegen_number(codegen, "GRADS", plan->grads);
  ep_cuda_codegen_number(codegen, "FRONT_WEIGHTS", plan->front_weights);
  ep_cuda_codegen_number(codegen, "FRONT_FLOATS", plan->front_floats);
  ep_cuda_codegen_number(codegen, "FETCHED", plan->fetched);
  ep_cuda_codegen_number(codegen, "TARGETS_AT", plan->targets);
  ep_cuda_codegen_number(codegen, "ORDER", plan->order);
  ep_cuda_codegen_number(codegen, "UPDATES", plan->updates);
  ep_cuda_codegen_number(codegen, "BARRIERS", plan->barriers);
  ep_cuda_codegen_flag(codegen, "REFETCHES", plan->refetches);
  ep_cuda_codegen_number(codegen, "METRICS", plan->metrics);
  ep_cuda_codegen_number(codegen, "TASKS", plan->tasks);
  fprintf(codegen->out, "%s", EP_CUDA_DECLARATION("crews_layer", EP_CREWS_LAYER));
  fprintf(codegen->out, "constexpr crews_layer layer(int l) {\n");
  for (int l = 0; l < plan->layers_count; l++) layer_write(codegen->out, l, &plan->layers[l]);
  fprintf(codegen->out, "  return {};\n}\n");
}

char *ep_crews_codegen(const ep_program *program, const ep_crews_plan *plan) {
  ep_cuda_codegen codegen;
  if (!ep_cuda_codegen_begin(&codegen, program)) return NULL;
  ep_cuda_codegen_dense(&codegen, program);
  plan_write(&codegen, plan);
  return ep_cuda_codegen_end(&codegen);
}

char *ep_cuda_crews_source(const ep_program *program, const ep_gpu_traits *gpu) {
  (void)gpu;
  ep_crews_plan plan;
  return ep_crews_plan_make(program, &plan) ? ep_crews_codegen(program, &plan) : NULL;
}
