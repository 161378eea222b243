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
  if (network->side.stream) /* nothing else may be at work */
    EP_CUDA_TRY(cudaStreamSynchronize(network->side.stream), "the work on the device");
  return ep_cuda_gemm_search(network->backend, shape, network->workspace, bytes, network->stream,
                             gemm, error);
}

static bool aligned_alike(const void *a, const void *b) {
  return ep_cuda_gemm_alignment_bytes(a) == ep_cuda_gemm_alignment_bytes(b);
}

/* Whether two shapes of one layer's products of a kind have the same algorithm. */
static bool computed_alike(const ep_cuda_gemm_shape *a, const ep_cuda_gemm_shape *b) {
  return a->rows == b->rows && a->depth == b->depth && a->tf32 == b->tf32 &&
         a->operands == b->operands && !a->scales == !b->scales && a->bias == b->bias &&
         aligned_alike(a->a, b->a) && aligned_alike(a->b, b->b) && aligned_alike(a->out, b->out);
}

/* The product of such a shape, made where it is new. */
static ep_status product_of(ep_cuda_network *network, ep_cuda_products *products,
                            const ep_cuda_gemm_shape *shape, bool searched, ep_cuda_gemm **out,
                            ep_error *error) {
  for (int i = 0; i < EP_CUDA_PRODUCTS; i++) {
    *out = &products->gemm[i];
    if ((*out)->product && products->searched[i] == searched &&
        computed_alike(&(*out)->shape, shape))
      return EP_OK;
  }
  const int at = products->next;
  *out = &products->gemm[at];
  products->next = (at + 1) % EP_CUDA_PRODUCTS;
  products->searched[at] = searched;
  ep_cuda_gemm_deinit(*out);
  ep_status status = product_init(network, shape, searched, *out, error);
  if (status != EP_OK) ep_cuda_gemm_deinit(*out);
  return status;
}

ep_status ep_cuda_network_multiply_all(ep_cuda_network *network, ep_cuda_products *products,
                                       const ep_cuda_gemm_shape *shapes, int count, bool searched,
                                       ep_error *error) {
  ep_cuda_gemm *gemm = NULL;
  ep_status status = EP_OK;
  for (int i = 0; status == EP_OK && i < count; i++)
    status = product_of(network, products, &shapes[i], searched, &gemm, error);
  for (int i = 0; status == EP_OK && i < count; i++) {
    status = product_of(network, products, &shapes[i], searched, &gemm, error);
    if (status != EP_OK) break;
    gemm->shape = shapes[i]; /* an input may lie in another place than before */
    status = ep_cuda_gemm_run(network->backend, gemm, network->workspace, network->stream, error);
  }
  return status;
}

ep_status ep_cuda_network_multiply(ep_cuda_network *network, ep_cuda_products *products,
                                   const ep_cuda_gemm_shape *shape, bool searched,
                                   ep_error *error) {
  return ep_cuda_network_multiply_all(network, products, shape, 1, searched, error);
}
