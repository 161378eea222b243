/* text.c: a plan as constants, for the kernel that is compiled for it. */
#include <stdio.h>
#include <stdlib.h>

#include "kernels/cuda/narrow/plan.h"

static void number_write(FILE *out, const char *name, int64_t value) {
  fprintf(out, "constexpr int %s = %lld;\n", name, (long long)value);
}

static void flag_write(FILE *out, const char *name, bool value) {
  fprintf(out, "constexpr bool %s = %s;\n", name, value ? "true" : "false");
}

/* In the order of narrow_layer. */
static void layer_write(FILE *out, int l, const ep_narrow_layer *layer) {
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

static void program_write(FILE *out, const ep_program *program) {
  const ep_optimizer *optimizer = &program->optimizer;
  number_write(out, "OUT", program->out_features);
  number_write(out, "TARGETS", program->target_columns);
  number_write(out, "PARAMETERS", program->parameters);
  number_write(out, "SLOTS", ep_optimizer_slots(optimizer));
  number_write(out, "TRAIN_ROWS", program->train_rows);
  number_write(out, "BATCH_ROWS", program->batch_size);
  number_write(out, "STEPS_PER_EPOCH", ep_program_steps_per_epoch(program));
  flag_write(out, "SHUFFLES", ep_program_shuffles(program));
  flag_write(out, "TAKES_CLASSES", ep_loss_takes_classes(program->loss));
  flag_write(out, "CLIPS_VALUE", optimizer->clip_value > 0);
  flag_write(out, "HAS_MOMENTUM", optimizer->momentum != 0);
  flag_write(out, "NESTEROV", optimizer->nesterov);
  flag_write(out, "CENTERED", optimizer->centered);
  flag_write(out, "PLAIN_RATE",
             optimizer->type != EP_OPTIMIZER_ADAM && optimizer->type != EP_OPTIMIZER_ADAMW &&
                 optimizer->type != EP_OPTIMIZER_ADAGRAD);
  fprintf(out, "constexpr ep_loss_type LOSS = (ep_loss_type)%d;\n", (int)program->loss);
  fprintf(out, "constexpr ep_optimizer_type OPTIMIZER = (ep_optimizer_type)%d;\n",
          (int)optimizer->type);
  fprintf(out, "constexpr ep_precision PRECISION = (ep_precision)%d;\n", (int)program->precision);
}

static void plan_write(FILE *out, const ep_narrow_plan *plan) {
  number_write(out, "LAYERS", plan->layers_count);
  number_write(out, "THREADS", plan->threads);
  number_write(out, "TILE_ROWS", plan->tile_rows);
  number_write(out, "BLOCKS", plan->blocks);
  number_write(out, "QUADS", plan->quads);
  number_write(out, "OWNED", plan->owned);
  number_write(out, "IMAGE_BYTES", plan->image_bytes);
  number_write(out, "LAST_AT", plan->last);
  number_write(out, "STAGE_AT", plan->stage);
  number_write(out, "TARGETS_AT", plan->targets);
  number_write(out, "ORDER_AT", plan->order);
  number_write(out, "SUMS_AT", plan->sums);
  number_write(out, "SUMS_BYTES", plan->sums_bytes);
  number_write(out, "OWNED_AT", plan->owned_at);
  number_write(out, "OWNED_BYTES", plan->owned_bytes);
  number_write(out, "SHARED_BYTES", plan->shared_bytes);
}

char *ep_narrow_plan_text(const ep_program *program, const ep_narrow_plan *plan) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  if (!out) return NULL;
  fprintf(out, "#include \"kernels/cuda/narrow/figures.cuh\"\n");
  program_write(out, program);
  plan_write(out, plan);
  fprintf(out, "constexpr narrow_layer layer(int l) {\n");
  for (int l = 0; l < plan->layers_count; l++) layer_write(out, l, &plan->layers[l]);
  fprintf(out, "  return {};\n}\n");
  bool failed = ferror(out) != 0;
  if (fclose(out) == 0 && !failed) return text;
  free(text);
  return NULL;
}
