#include "kernels/cuda/runtime/codegen.h"

#include <stdlib.h>

#include "kernels/formulas/optimizers.h"

void ep_cuda_text_number(ep_cuda_text *text, const char *name, int64_t value) {
  fprintf(text->out, "constexpr int %s = %lld;\n", name, (long long)value);
}

void ep_cuda_text_flag(ep_cuda_text *text, const char *name, bool value) {
  fprintf(text->out, "constexpr bool %s = %s;\n", name, value ? "true" : "false");
}

bool ep_cuda_text_begin(ep_cuda_text *text, const ep_program *program) {
  const ep_optimizer *optimizer = &program->optimizer;
  *text = (ep_cuda_text){.text = NULL};
  text->out = open_memstream(&text->text, &text->bytes);
  if (!text->out) return false;
  fprintf(text->out, "#include \"kernels/program.h\"\n");
  ep_cuda_text_number(text, "IN", program->in_features);
  ep_cuda_text_number(text, "OUT", program->out_features);
  ep_cuda_text_number(text, "TARGETS", program->target_columns);
  ep_cuda_text_number(text, "PARAMETERS", program->parameters);
  ep_cuda_text_number(text, "SLOTS", ep_optimizer_slots(optimizer));
  ep_cuda_text_number(text, "TRAIN_ROWS", program->train_rows);
  ep_cuda_text_number(text, "BATCH_ROWS", program->batch_size);
  ep_cuda_text_number(text, "STEPS_PER_EPOCH", ep_program_steps_per_epoch(program));
  ep_cuda_text_flag(text, "SHUFFLES", ep_program_shuffles(program));
  ep_cuda_text_flag(text, "TAKES_CLASSES", ep_loss_takes_classes(program->loss));
  ep_cuda_text_flag(text, "CLIPS_VALUE", optimizer->clip_value > 0);
  ep_cuda_text_flag(text, "HAS_MOMENTUM", optimizer->momentum != 0);
  ep_cuda_text_flag(text, "PLAIN_RATE", ep_optimizer_is_plain(optimizer->type));
  fprintf(text->out, "constexpr ep_loss_type LOSS = (ep_loss_type)%d;\n", (int)program->loss);
  fprintf(text->out, "constexpr ep_optimizer_type OPTIMIZER = (ep_optimizer_type)%d;\n",
          (int)optimizer->type);
  return true;
}

static bool decays(const ep_program *program) {
  for (int g = 0; g < program->groups_count; g++)
    if (program->groups[g].weight_decay != 0) return true;
  return false;
}

void ep_cuda_text_dense(ep_cuda_text *text, const ep_program *program) {
  ep_cuda_text_flag(text, "SMOOTHS", program->label_smoothing != 0);
  ep_cuda_text_flag(text, "DECAYS", decays(program));
  ep_cuda_text_flag(text, "PRECISE", program->precision == EP_PRECISION_FP32);
}

char *ep_cuda_text_end(ep_cuda_text *text) {
  bool failed = ferror(text->out) != 0;
  if (fclose(text->out) == 0 && !failed) return text->text;
  free(text->text);
  return NULL;
}
