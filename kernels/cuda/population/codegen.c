/* codegen.c: a program and its plan as constants, for the kernel that is compiled for it. */
#include "kernels/cuda/runtime/codegen.h"

#include "kernels/cuda/population/plan.h"

static bool is_trained(const ep_program *program, int64_t offset) {
  return offset >= 0 && ep_program_decay_at(program, offset) >= 0;
}

static int first_trained(const ep_program *program) {
  int i = 0;
  while (i < program->ops_count && !is_trained(program, program->ops[i].weight) &&
         !is_trained(program, program->ops[i].bias))
    i++;
  return i;
}

static void ops_write(FILE *out, const ep_program *program) {
  fprintf(out, "struct population_op {\n  ep_layer_type type;\n"
               "  int in, out, weight, bias, layer;\n};\n"
               "constexpr population_op op(int i) {\n");
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    fprintf(out, "  if (i == %d) return {(ep_layer_type)%d, %d, %d, %d, %d, %d};\n", i,
            (int)op->type, (int)op->in_features, (int)op->out_features, (int)op->weight,
            (int)op->bias, op->layer);
  }
  fprintf(out, "  return {(ep_layer_type)-1, OUT, OUT, -1, -1, 0};\n}\n");
}

char *ep_population_codegen(const ep_program *program, const ep_population_plan *plan) {
  const bool is_long = ep_program_shuffles(program) || program->parameters > 64;
  ep_cuda_codegen codegen;
  if (!ep_cuda_codegen_begin(&codegen, program)) return NULL;
  ep_cuda_codegen_number(&codegen, "FIRST_TRAINED", first_trained(program));
  ep_cuda_codegen_flag(&codegen, "CLIPS_NORM", program->optimizer.clip_norm > 0);
  ep_cuda_codegen_number(&codegen, "OPS", program->ops_count);
  ep_cuda_codegen_number(&codegen, "THREADS", plan->threads);
  ep_cuda_codegen_number(&codegen, "LANES", plan->lanes);
  ep_cuda_codegen_flag(&codegen, "ROWS_SHARED", plan->rows_shared);
  ep_cuda_codegen_number(&codegen, "UNROLLED", is_long ? 1 : 2);
  ops_write(codegen.out, program);
  return ep_cuda_codegen_end(&codegen);
}
