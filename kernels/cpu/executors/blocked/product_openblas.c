#include <cblas.h>
#include <string.h>

#include "kernels/cpu/executors/blocked/product.h"

void ep_product_prepare(void) {
  openblas_set_num_threads(1);
}

/* An unknown processor gets those of "Prescott", of 2004: a seventh of the speed. */
const char *ep_product_processor(ep_instruction_set found) {
  if (strcmp(openblas_get_corename(), "Prescott") != 0 || found < EP_CPU_AVX2) return NULL;
  return found >= EP_CPU_AVX512 ? "SkylakeX" : "Haswell";
}

/* Sizes are held by api/limits.h, far below what an int holds. */
void ep_product_run(const ep_product *p) {
  if (p->rows == 0 || p->columns == 0) return;
  cblas_sgemm(CblasRowMajor, p->a_transposed ? CblasTrans : CblasNoTrans,
              p->b_transposed ? CblasTrans : CblasNoTrans, (int)p->rows, (int)p->columns,
              (int)p->depth, 1.0f, p->a, (int)p->a_stride, p->b, (int)p->b_stride,
              p->add ? 1.0f : 0.0f, p->c, (int)p->c_stride);
}
