#include "kernels/cuda/runtime/codegen.h"

#include <stdlib.h>

#include "kernels/formulas/optimizers.h"

void ep_cuda_codegen_number(ep_cuda_codegen *codegen, const char *name, int64_t value) {
  fprintf(codegen->out, "constexpr int %s = %lld;\n", name, (long long)value);
}

void ep_cuda_codegen_flag(ep_cuda_codegen *codegen, const char *name, bool value) {
  fprintf(codegen->out, "constexpr bool %s = %s;\n", name, value ? "true" : "false");
}

bool ep_cuda_codegen_begin(ep_cuda_codegen *codegen, const ep_program *program) {
  const ep_optimizer *optimizer = &program->optimizer;
  *codegen = (ep_cuda_codegen){.source = NULL};
  codegen->out = open_memstream(&codegen->source, &codegen->bytes);
  if (!codegen->out) return false;
  fprintf(codegen->out, "#include \"kernels/program.h\"\n");
  ep_cuda_codegen_number(codegen, "IN", program->in_features);
  ep_cuda_codegen_number(codegen, "OUT", program->out_features);
  ep_cuda_codegen_number(codegen, "TARGETS", program->target_columns);
  ep_cuda_codegen_number(codegen, "PARAMETERS", program->parameters);
  ep_cuda_codegen_number(codegen, "SLOTS", ep_optimizer_slots(optimizer));
  ep_cuda_codegen_number(codegen, "TRAIN_ROWS", program->train_rows);
  ep_cuda_codegen_number(codegen, "BATCH_ROWS", program->batch_size);
  ep_cuda_codegen_number(codegen, "STEPS_PER_EPOCH", ep_program_steps_per_epoch(program));
  ep_cuda_codegen_flag(codegen, "SHUFFLES", ep_program_shuffles(program));
  ep_cuda_codegen_flag(codegen, "TAKES_CLASSES", ep_loss_takes_classes(program->loss));
  ep_cuda_codegen_flag(codegen, "CLIPS_VALUE", optimizer->clip_value > 0);
  ep_cuda_codegen_flag(codegen, "HAS_MOMENTUM", optimizer->momentum != 0);
  ep_cuda_codegen_flag(codegen, "PLAIN_RATE", ep_optimizer_is_plain(optimizer->type));
  fprintf(codegen->out, "constexpr ep_loss_type LOSS = (ep_loss_type)%d;\n", (int)program->loss);
  fprintf(codegen->out, "constexpr ep_optimizer_type OPTIMIZER = (ep_optimizer_type)%d;\n",
          (int)optimizer->type);
  return true;
}

static bool decays(const ep_program *program) {
  for (int g = 0; g < program->groups_count; g++)
    if (program->groups[g].weight_decay != 0) return true;
  return false;
}

void ep_cuda_codegen_dense(ep_cuda_codegen *codegen, const ep_program *program) {
  ep_cuda_codegen_flag(codegen, "SMOOTHS", program->label_smoothing != 0);
  ep_cuda_codegen_flag(codegen, "DECAYS", decays(program));
  ep_cuda_codegen_flag(codegen, "PRECISE", program->precision == EP_PRECISION_FP32);
}

char *ep_cuda_codegen_end(ep_cuda_codegen *codegen) {
  bool failed = ferror(codegen->out) != 0;
  if (fclose(codegen->out) == 0 && !failed) return codegen->source;
  free(codegen->source);
  return NULL;
}
