/* codegen.c: a program as constants, for the kernel that is compiled for it. */
#include "kernels/cuda/runtime/codegen.h"
#include "kernels/cuda/executors/resident/plan.h"
#include "kernels/operators/operator.h"

static void op_write(FILE *out, int i, const ep_op *op) {
  fprintf(
      out,
      "  if (i == %d) return {(ep_layer_type)%d, %d, %d, %d, %d, %.9ef, %.9ef, %.9ef, %.9ef};\n", i,
      (int)op->type, (int)op->in_features, (int)op->out_features, (int)op->weight, (int)op->bias,
      (double)op->negative_slope, (double)op->alpha, (double)op->beta, (double)op->threshold);
}

char *ep_resident_codegen(const ep_program *program, const ep_resident_plan *plan) {
  ep_cuda_codegen codegen;
  if (!ep_cuda_codegen_begin(&codegen, program)) return NULL;
  ep_cuda_codegen_number(&codegen, "FIRST_TRAINED", ep_program_first_learned(program));
  ep_cuda_codegen_flag(&codegen, "CLIPS_NORM", program->optimizer.clip_norm > 0);
  ep_cuda_codegen_number(&codegen, "OPS", program->ops_count);
  ep_cuda_codegen_number(&codegen, "BLOCKS", plan->blocks);
  ep_cuda_codegen_number(&codegen, "THREADS", plan->threads);
  fprintf(codegen.out, "struct resident_op {\n  ep_layer_type type;\n  int in, out, weight, bias;\n"
                       "  float negative_slope, alpha, beta, threshold;\n};\n"
                       "constexpr resident_op op(int i) {\n");
  for (int i = 0; i < program->ops_count; i++) op_write(codegen.out, i, &program->ops[i]);
  fprintf(codegen.out, "  return {(ep_layer_type)-1, OUT, OUT, -1, -1, 0, 0, 0, 0};\n}\n");
  return ep_cuda_codegen_end(&codegen);
}

char *ep_cuda_resident_source(const ep_program *program, const ep_gpu_traits *gpu) {
  ep_resident_plan plan;
  return ep_resident_plan_make(program, gpu, &plan) ? ep_resident_codegen(program, &plan) : NULL;
}
