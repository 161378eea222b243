/* text.c: a program and its plan as constants, for the kernel that is compiled for it. */
#include <stdio.h>
#include <stdlib.h>

#include "kernels/cuda/cluster/plan.h"

static void number_write(FILE *out, const char *name, int64_t value) {
  fprintf(out, "constexpr int %s = %lld;\n", name, (long long)value);
}

static void flag_write(FILE *out, const char *name, bool value) {
  fprintf(out, "constexpr bool %s = %s;\n", name, value ? "true" : "false");
}

static bool decays(const ep_program *program) {
  for (int g = 0; g < program->groups_count; g++)
    if (program->groups[g].weight_decay != 0) return true;
  return false;
}

static void program_write(FILE *out, const ep_program *program) {
  const ep_optimizer *optimizer = &program->optimizer;
  number_write(out, "IN", program->in_features);
  number_write(out, "OUT", program->out_features);
  number_write(out, "TARGETS", program->target_columns);
  number_write(out, "PARAMETERS", program->parameters);
  number_write(out, "SLOTS", ep_optimizer_slots(optimizer));
  number_write(out, "TRAIN_ROWS", program->train_rows);
  number_write(out, "BATCH_ROWS", program->batch_size);
  number_write(out, "STEPS_PER_EPOCH", ep_program_steps_per_epoch(program));
  flag_write(out, "SHUFFLES", ep_program_shuffles(program));
  flag_write(out, "TAKES_CLASSES", ep_loss_takes_classes(program->loss));
  flag_write(out, "SMOOTHS", program->label_smoothing != 0);
  flag_write(out, "DECAYS", decays(program));
  flag_write(out, "CLIPS_VALUE", optimizer->clip_value > 0);
  flag_write(out, "HAS_MOMENTUM", optimizer->momentum != 0);
  flag_write(out, "PLAIN_RATE",
             optimizer->type != EP_OPTIMIZER_ADAM && optimizer->type != EP_OPTIMIZER_ADAMW &&
                 optimizer->type != EP_OPTIMIZER_ADAGRAD);
  flag_write(out, "PRECISE", program->precision == EP_PRECISION_FP32);
  fprintf(out, "constexpr ep_loss_type LOSS = (ep_loss_type)%d;\n", (int)program->loss);
  fprintf(out, "constexpr ep_optimizer_type OPTIMIZER = (ep_optimizer_type)%d;\n",
          (int)optimizer->type);
}

static void layer_write(FILE *out, int l, const ep_cluster_layer *layer) {
  fprintf(out,
          "  if (l == %d) return {%d, %d, %d, %d, %d, %d, (ep_layer_type)%d, %.9ef, %.9ef, %.9ef, "
          "%.9ef, %d, %d, %d, %d, %d};\n",
          l, layer->in, layer->out, layer->inputs, layer->outputs, layer->weight, layer->bias,
          layer->activation, (double)layer->negative_slope, (double)layer->alpha,
          (double)layer->beta, (double)layer->threshold, layer->x, layer->grad, layer->weights,
          layer->biases, layer->landing);
}

static void plan_write(FILE *out, const ep_cluster_plan *plan) {
  number_write(out, "LAYERS", plan->layers_count);
  number_write(out, "FRONT", plan->front);
  number_write(out, "ROW_BLOCKS", plan->row_blocks);
  number_write(out, "SLICES", plan->slices);
  number_write(out, "WARPS", plan->warps);
  number_write(out, "ROW_WARPS", plan->row_warps);
  number_write(out, "EARLY", plan->early);
  number_write(out, "EARLY_GROUPS", plan->early_groups);
  number_write(out, "FETCHED", plan->fetched);
  number_write(out, "TARGETS_AT", plan->targets);
  number_write(out, "ORDER", plan->order);
  number_write(out, "UPDATES", plan->updates);
  number_write(out, "LOSSES", plan->losses);
  number_write(out, "BARRIERS", plan->barriers);
  number_write(out, "SHARED_FLOATS", plan->shared_floats);
  fprintf(out, "struct cluster_layer {\n  int in, out, inputs, outputs, weight, bias;\n"
               "  ep_layer_type activation;\n  float negative_slope, alpha, beta, threshold;\n"
               "  int x, grad, weights, biases, landing;\n};\n"
               "constexpr cluster_layer layer(int l) {\n");
  for (int l = 0; l < plan->layers_count; l++) layer_write(out, l, &plan->layers[l]);
  fprintf(out, "  return {};\n}\n");
}

char *ep_cluster_text(const ep_program *program, const ep_cluster_plan *plan) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  if (!out) return NULL;
  program_write(out, program);
  plan_write(out, plan);
  bool failed = ferror(out) != 0;
  if (fclose(out) == 0 && !failed) return text;
  free(text);
  return NULL;
}
