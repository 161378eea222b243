#include <cblas.h>

#include "kernels/cpu/executors/blocked/product.h"

void ep_product_prepare(void) {
  openblas_set_num_threads(1);
}

/* Sizes are held by api/limits.h, far below what an int holds. */
void ep_product_run(const ep_product *p) {
  if (p->rows == 0 || p->columns == 0) return;
  cblas_sgemm(CblasRowMajor, p->a_transposed ? CblasTrans : CblasNoTrans,
              p->b_transposed ? CblasTrans : CblasNoTrans, (int)p->rows, (int)p->columns,
              (int)p->depth, 1.0f, p->a, (int)p->a_stride, p->b, (int)p->b_stride,
              p->add ? 1.0f : 0.0f, p->c, (int)p->c_stride);
}
