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

/* A struct that the host and the kernel share has one list of its fields, LIST(INTEGER, TYPE,
 * REAL): INTEGER(name) is an int, TYPE(name) a layer's type (an int on the host: -1 is none),
 * REAL(name) a float. From the list follow the host's fields, the kernel's declaration, and a
 * printed value. */
#define EP_CUDA_FIELD_INTEGER(name) int name;
#define EP_CUDA_FIELD_REAL(name) float name;
#define EP_CUDA_FIELDS(LIST) LIST(EP_CUDA_FIELD_INTEGER, EP_CUDA_FIELD_INTEGER, EP_CUDA_FIELD_REAL)

#define EP_CUDA_DECLARE_INTEGER(name) "  int " #name ";\n"
#define EP_CUDA_DECLARE_TYPE(name) "  ep_layer_type " #name ";\n"
#define EP_CUDA_DECLARE_REAL(name) "  float " #name ";\n"
/* A string: "struct name { … };". */
#define EP_CUDA_DECLARATION(name, LIST) \
  "struct " name                        \
  " {\n" LIST(EP_CUDA_DECLARE_INTEGER, EP_CUDA_DECLARE_TYPE, EP_CUDA_DECLARE_REAL) "};\n"

#define EP_CUDA_FORMAT_INTEGER(name) "%d, "
#define EP_CUDA_FORMAT_TYPE(name) "(ep_layer_type)%d, "
#define EP_CUDA_FORMAT_REAL(name) "%.9ef, "
/* A format of printf: the values in braces, in the order of the list; their arguments:
 * LIST(INTEGER, INTEGER, REAL) of macros that begin with a comma. */
#define EP_CUDA_VALUES(LIST) \
  "{" LIST(EP_CUDA_FORMAT_INTEGER, EP_CUDA_FORMAT_TYPE, EP_CUDA_FORMAT_REAL) "}"

#endif
