/* plan.h: which programs cpu/fused takes, how it cuts the work of their layers, and what a step of
 * one costs. Linked into epochd: no compute. */
#ifndef EP_KERNELS_CPU_EXECUTORS_FUSED_PLAN_H
#define EP_KERNELS_CPU_EXECUTORS_FUSED_PLAN_H

#include "kernels/plans/profile.h"

extern const ep_executor_profile ep_cpu_fused_profile;

/* X(code): the activations that are left to other executors: the weights of the jobs that have them
 * stay the same to the last bit. */
#define EP_FUSED_NOT(X) X(ELU) X(SOFTPLUS)

/* X(code, function, cut): the losses of numbers that loss.h computes by vectors of its own. cut:
 * the output above which the class is 1; NaN for a regression. */
#define EP_FUSED_ELEMENT_LOSSES(X) \
  X(MSE, loss_mse, NAN)            \
  X(MAE, loss_mae, NAN)            \
  X(HUBER, loss_huber, NAN)        \
  X(BCE, loss_bce, 0.5f)           \
  X(BCE_WITH_LOGITS, loss_bce_with_logits, 0.0f)

/* On 16 cores a step of 11 million parameters took 13 ms here and 155 in cpu/blocked; on one core
 * without AMX it is the other way round, 155 and 77, as weights are read for each chunk of rows. */
enum { EP_FUSED_PARAMETERS_MAX = 1 << 24, EP_FUSED_FEATURES_MAX = 1 << 14 };

/* From here on a layer's products are worth the cutting into tiles for a matrix unit. */
enum {
  EP_FUSED_TILED_IN_FEATURES = 64,
  EP_FUSED_TILED_OUT_FEATURES = 32,
  EP_FUSED_TILED_BATCH_SIZE = 32
};

/* Threads share a layer whose product, of so many rows, has so many multiply-adds: some 100 us of a
 * core. A thread takes so many outputs at a time. A matrix unit does twice as many multiply-adds in
 * that time, and the threads' meeting costs the same, as what a thread wrote is in its own cache.
 * (256 by 256 of 128 rows, two threads: 446 us instead of 504 by AVX-512, 424 instead of 340 by
 * AMX.) */
enum {
  EP_FUSED_SHARED_ROWS = 128,
  EP_FUSED_SHARED_PRODUCTS = 1 << 23,
  EP_FUSED_SHARED_TILED_PRODUCTS = 3 << 22,
  EP_FUSED_SHARED_FEATURES = 64
};

/* A batch_norm takes sums over the whole batch, which is one chunk and one part then: so many rows,
 * and a step of so many microseconds of one core, of which cpu/blocked needs two to three times as
 * many; longer ones its threads share. Of EP_FUSED_SHARED_ROWS and less it may be any step that has
 * one part anyway. */
enum { EP_FUSED_NORM_ROWS = 1024, EP_FUSED_NORM_US = 160 };

/* Whether a matrix unit, where there is one, computes the layer. */
bool ep_fused_is_tiled(const ep_program *program, const ep_op *op);

/* Whether threads share the layer. tiles: whether the processor has a matrix unit. */
bool ep_fused_is_shared(const ep_program *program, const ep_op *op, bool tiles);

/* Threads that a step can use: as many as there are pieces of the largest side of a shared layer.
 */
int ep_fused_threads(const ep_program *program, bool tiles);

/* Parts of a batch, 1 to EP_FUSED_PARTS_MAX, that threads take whole, forward and back, each with
 * sums of its own; they are added up in order. One for steps that are too short to share, and for
 * networks so large that more threads can share the products of their layers, or that have a
 * batch_norm. It depends on the program alone: the number of threads changes no bit. */
enum { EP_FUSED_PARTS_MAX = 16 };
int ep_fused_parts(const ep_program *program, bool tiles);

#endif
