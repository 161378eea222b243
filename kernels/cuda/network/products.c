/* products.c: the products of layers, by cuBLASLt, with an algorithm for each shape. */
#include "kernels/cuda/network/operator.h"

/* Of epochs of at most so many steps, the last batch, which may be smaller, is searched too. */
enum { TAIL_SEARCHED_STEPS = 8 };

bool ep_cuda_network_searches(const ep_cuda_network *network, int64_t rows) {
  const ep_program *program = network->program;
  return network->searches && (rows == program->batch_size ||
                               ep_program_steps_per_epoch(program) <= TAIL_SEARCHED_STEPS);
}

static ep_status product_init(ep_cuda_network *network, const ep_cuda_gemm_shape *shape,
                              bool searched, ep_cuda_gemm *gemm, ep_error *error) {
  const size_t bytes = EP_CUDA_GEMM_WORKSPACE_BYTES;
  if (!searched) return ep_cuda_gemm_init(network->backend, shape, bytes, gemm, error);
  return ep_cuda_gemm_search(network->backend, shape, network->workspace, bytes, network->stream,
                             gemm, error);
}

static bool aligned_alike(const void *a, const void *b) {
  return ep_cuda_gemm_alignment_bytes(a) == ep_cuda_gemm_alignment_bytes(b);
}

/* Whether two shapes of one layer's products of a kind have the same algorithm. */
static bool computed_alike(const ep_cuda_gemm_shape *a, const ep_cuda_gemm_shape *b) {
  return a->rows == b->rows && a->depth == b->depth && a->tf32 == b->tf32 &&
         aligned_alike(a->a, b->a) && aligned_alike(a->b, b->b) && aligned_alike(a->out, b->out);
}

ep_status ep_cuda_network_multiply(ep_cuda_network *network, ep_cuda_products *products,
                                   const ep_cuda_gemm_shape *shape, bool searched,
                                   ep_error *error) {
  ep_cuda_gemm *gemm = NULL;
  for (int i = 0; i < EP_CUDA_PRODUCTS && !gemm; i++) {
    if (products->gemm[i].product && products->searched[i] == searched &&
        computed_alike(&products->gemm[i].shape, shape))
      gemm = &products->gemm[i];
  }
  if (!gemm) {
    const int at = products->next;
    gemm = &products->gemm[at];
    products->next = (at + 1) % EP_CUDA_PRODUCTS;
    products->searched[at] = searched;
    ep_cuda_gemm_deinit(gemm);
    ep_status status = product_init(network, shape, searched, gemm, error);
    if (status != EP_OK) {
      ep_cuda_gemm_deinit(gemm);
      return status;
    }
  }
  gemm->shape = *shape; /* an input may lie in another place than before */
  return ep_cuda_gemm_run(network->backend, gemm, network->workspace, network->stream, error);
}
