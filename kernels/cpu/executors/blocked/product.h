/* product.h: the matrix product under cpu/blocked: OpenBLAS where it was found, plain loops where
 * it was not. */
#ifndef EP_KERNELS_CPU_EXECUTORS_BLOCKED_PRODUCT_H
#define EP_KERNELS_CPU_EXECUTORS_BLOCKED_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/cpu/runtime/cpu.h"

/* c = a b, or c += a b with `add`; row-major. a: [rows, depth], or [depth, rows] when transposed;
 * b: [depth, columns], or [columns, depth]; c: [rows, columns]. *_stride: floats from row to row,
 * as stored. */
typedef struct {
  int64_t rows, columns, depth;
  const float *a, *b;
  float *c;
  int64_t a_stride, b_stride, c_stride;
  bool a_transposed, b_transposed, add;
} ep_product;

/* On the calling thread; several threads may at once. The same sizes give the same bits. */
void ep_product_run(const ep_product *product);

/* Once, before the first: keeps the library from starting threads of its own for a product. */
void ep_product_prepare(void);

/* Where the library took kernels far below the processor, because it does not know its number: the
 * name of better ones, which it reads from the environment's EP_PRODUCT_PROCESSOR when a program
 * starts. NULL: it took good ones. Static. */
#define EP_PRODUCT_PROCESSOR "OPENBLAS_CORETYPE"
const char *ep_product_processor(ep_instruction_set found);

#endif
