/* codegen.h: a program as constants: the source of "kernels/cuda/device/program.h", which a kernel
 * is compiled with. Figures that do not change the code (rates, seeds) are not in it: programs that
 * differ in these alone share a kernel. */
#ifndef EP_KERNELS_CUDA_RUNTIME_CODEGEN_H
#define EP_KERNELS_CUDA_RUNTIME_CODEGEN_H

#include <stdio.h>

#include "kernels/program.h"

/* A source being written; it must not move. */
typedef struct {
  FILE *out; /* for more lines */
  char *source;
  size_t bytes;
} ep_cuda_codegen;

/* Begins with what the program is, however it is run; false when memory is short. */
bool ep_cuda_codegen_begin(ep_cuda_codegen *codegen, const ep_program *program);
/* What kernels of dense networks that keep their weights ask besides:
 * "kernels/cuda/device/row_loss.cuh" and the updates. */
void ep_cuda_codegen_dense(ep_cuda_codegen *codegen, const ep_program *program);
/* Ends it: the caller's to free, or NULL when memory was short. */
char *ep_cuda_codegen_end(ep_cuda_codegen *codegen);

void ep_cuda_codegen_number(ep_cuda_codegen *codegen, const char *name, int64_t value);
void ep_cuda_codegen_flag(ep_cuda_codegen *codegen, const char *name, bool value);

#endif
