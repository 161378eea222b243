#include "kernels/cpu/executors/blocked/product.h"

void ep_product_prepare(void) {}

static float a_at(const ep_product *p, int64_t row, int64_t k) {
  return p->a_transposed ? p->a[k * p->a_stride + row] : p->a[row * p->a_stride + k];
}

/* One row of c from rows of b, a vector at a time. */
static void row_of_rows(const ep_product *p, int64_t row, float *restrict c) {
  for (int64_t k = 0; k < p->depth; k++) {
    const float a = a_at(p, row, k), *restrict b = p->b + k * p->b_stride;
    for (int64_t column = 0; column < p->columns; column++) c[column] += a * b[column];
  }
}

/* One row of c where b is transposed: sums along its rows. */
static void row_of_sums(const ep_product *p, int64_t row, float *restrict c) {
  enum { PARTS = 16 };
  for (int64_t column = 0; column < p->columns; column++) {
    const float *restrict b = p->b + column * p->b_stride;
    float parts[PARTS] = {0}, sum = 0;
    int64_t k = 0;
    for (; k + PARTS <= p->depth; k += PARTS)
      for (int i = 0; i < PARTS; i++) parts[i] += a_at(p, row, k + i) * b[k + i];
    for (int i = 0; i < PARTS; i++) sum += parts[i];
    for (; k < p->depth; k++) sum += a_at(p, row, k) * b[k];
    c[column] += sum;
  }
}

void ep_product_run(const ep_product *p) {
  for (int64_t row = 0; row < p->rows; row++) {
    float *c = p->c + row * p->c_stride;
    for (int64_t column = 0; !p->add && column < p->columns; column++) c[column] = 0;
    if (p->b_transposed)
      row_of_sums(p, row, c);
    else
      row_of_rows(p, row, c);
  }
}

const char *ep_product_processor(ep_instruction_set found) {
  (void)found;
  return NULL;
}
