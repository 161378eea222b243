/* codegen.c: a program and its plan as constants, for the kernel that is compiled for it. */
#include "kernels/cuda/runtime/codegen.h"
#include "kernels/cuda/executors/crews/plan.h"

static void layer_write(FILE *out, int l, const ep_crews_layer *layer) {
  fprintf(out,
          "  if (l == %d) return {%d, %d, %d, %d, %d, %d, (ep_layer_type)%d, %.9ef, %.9ef, %.9ef, "
          "%.9ef, %d, %d, %d, %d, %d};\n",
          l, layer->in, layer->out, layer->inputs, layer->outputs, layer->weight, layer->bias,
          layer->activation, (double)layer->negative_slope, (double)layer->alpha,
          (double)layer->beta, (double)layer->threshold, layer->weights, layer->biases,
          layer->image, layer->x, layer->grad);
}

static void plan_write(ep_cuda_text *text, const ep_crews_plan *plan) {
  ep_cuda_text_number(text, "LAYERS", plan->layers_count);
  ep_cuda_text_number(text, "FRONT", plan->front);
  ep_cuda_text_number(text, "CREWS", plan->crews);
  ep_cuda_text_number(text, "ROWS_EACH", plan->rows_each);
  ep_cuda_text_number(text, "PLACE_FIRST", plan->place[0]);
  ep_cuda_text_number(text, "PLACE_SECOND", plan->place[1]);
  ep_cuda_text_number(text, "FEATURES", plan->features);
  ep_cuda_text_number(text, "GRADS", plan->grads);
  ep_cuda_text_number(text, "FRONT_WEIGHTS", plan->front_weights);
  ep_cuda_text_number(text, "FRONT_FLOATS", plan->front_floats);
  ep_cuda_text_number(text, "FETCHED", plan->fetched);
  ep_cuda_text_number(text, "TARGETS_AT", plan->targets);
  ep_cuda_text_number(text, "ORDER", plan->order);
  ep_cuda_text_number(text, "UPDATES", plan->updates);
  ep_cuda_text_number(text, "BARRIERS", plan->barriers);
  ep_cuda_text_flag(text, "REFETCHES", plan->refetches);
  ep_cuda_text_number(text, "FIGURES", plan->figures);
  ep_cuda_text_number(text, "TASKS", plan->tasks);
  fprintf(text->out,
          "struct crews_layer {\n  int in, out, inputs, outputs, weight, bias;\n"
          "  ep_layer_type activation;\n  float negative_slope, alpha, beta, threshold;\n"
          "  int weights, biases, image, x, grad;\n};\n"
          "constexpr crews_layer layer(int l) {\n");
  for (int l = 0; l < plan->layers_count; l++) layer_write(text->out, l, &plan->layers[l]);
  fprintf(text->out, "  return {};\n}\n");
}

char *ep_crews_text(const ep_program *program, const ep_crews_plan *plan) {
  ep_cuda_text text;
  if (!ep_cuda_text_begin(&text, program)) return NULL;
  ep_cuda_text_dense(&text, program);
  plan_write(&text, plan);
  return ep_cuda_text_end(&text);
}

char *ep_cuda_crews_source(const ep_program *program, const ep_gpu_traits *gpu) {
  (void)gpu;
  ep_crews_plan plan;
  return ep_crews_plan_make(program, &plan) ? ep_crews_text(program, &plan) : NULL;
}
