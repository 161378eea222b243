#include "kernels/cuda/resident/program.h"

#include <stdio.h>
#include <stdlib.h>

#include "kernels/formulas/activations.h"

static int first_trained(const ep_program *program) {
  for (int i = 0; i < program->ops_count; i++) {
    if (program->ops[i].weight < 0) continue;
    for (int g = 0; g < program->groups_count; g++) {
      const ep_parameter_group *group = &program->groups[g];
      int64_t weight = program->ops[i].weight;
      if (!group->frozen && weight >= group->first && weight < group->first + group->count)
        return i;
      int64_t bias = program->ops[i].bias;
      if (!group->frozen && bias >= group->first && bias < group->first + group->count) return i;
    }
  }
  return program->ops_count;
}

static void op_write(FILE *out, int i, const ep_op *op) {
  fprintf(
      out,
      "  if (i == %d) return {(ep_layer_type)%d, %d, %d, %d, %d, %.9ef, %.9ef, %.9ef, %.9ef};\n", i,
      (int)op->type, (int)op->in_features, (int)op->out_features, (int)op->weight, (int)op->bias,
      (double)op->negative_slope, (double)op->alpha, (double)op->beta, (double)op->threshold);
}

static void flag_write(FILE *out, const char *name, bool value) {
  fprintf(out, "constexpr bool %s = %s;\n", name, value ? "true" : "false");
}

static void number_write(FILE *out, const char *name, int64_t value) {
  fprintf(out, "constexpr int %s = %lld;\n", name, (long long)value);
}

/* What the program is, however it is run. */
static void constants_write(FILE *out, const ep_program *program) {
  const ep_optimizer *optimizer = &program->optimizer;
  number_write(out, "IN", program->in_features);
  number_write(out, "OUT", program->out_features);
  number_write(out, "TARGETS", program->target_columns);
  number_write(out, "PARAMETERS", program->parameters);
  number_write(out, "SLOTS", ep_optimizer_slots(optimizer));
  number_write(out, "FIRST_TRAINED", first_trained(program));
  number_write(out, "TRAIN_ROWS", program->train_rows);
  number_write(out, "BATCH_ROWS", program->batch_size);
  number_write(out, "STEPS_PER_EPOCH", ep_program_steps_per_epoch(program));
  flag_write(out, "SHUFFLES", ep_program_shuffles(program));
  flag_write(out, "TAKES_CLASSES", ep_loss_takes_classes(program->loss));
  flag_write(out, "CLIPS_NORM", optimizer->clip_norm > 0);
  flag_write(out, "CLIPS_VALUE", optimizer->clip_value > 0);
  flag_write(out, "HAS_MOMENTUM", optimizer->momentum != 0);
  flag_write(out, "PLAIN_RATE",
             optimizer->type != EP_OPTIMIZER_ADAM && optimizer->type != EP_OPTIMIZER_ADAMW &&
                 optimizer->type != EP_OPTIMIZER_ADAGRAD);
  fprintf(out, "constexpr ep_loss_type LOSS = (ep_loss_type)%d;\n", (int)program->loss);
  fprintf(out, "constexpr ep_optimizer_type OPTIMIZER = (ep_optimizer_type)%d;\n",
          (int)optimizer->type);
}

/* Ends a text; NULL when something failed. */
static char *text_take(FILE *out, char **text) {
  bool failed = ferror(out) != 0;
  if (fclose(out) == 0 && !failed) return *text;
  free(*text);
  return NULL;
}

char *ep_resident_program_text(const ep_program *program, ep_resident_grid grid) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  if (!out) return NULL;
  constants_write(out, program);
  number_write(out, "OPS", program->ops_count);
  number_write(out, "BLOCKS", grid.blocks);
  number_write(out, "THREADS", grid.threads);
  fprintf(out, "struct resident_op {\n  ep_layer_type type;\n  int in, out, weight, bias;\n"
               "  float negative_slope, alpha, beta, threshold;\n};\n"
               "constexpr resident_op op(int i) {\n");
  for (int i = 0; i < program->ops_count; i++) op_write(out, i, &program->ops[i]);
  fprintf(out, "  return {(ep_layer_type)-1, OUT, OUT, -1, -1, 0, 0, 0, 0};\n}\n");
  return text_take(out, &text);
}
