/* device_calls.h: what builtins.h and the replaced device headers call in the emulator. Everything
 * here acts for the current thread of the launch. */
#ifndef EP_TEST_EMULATOR_DEVICE_CALLS_H
#define EP_TEST_EMULATOR_DEVICE_CALLS_H

#include <stddef.h>
#include <stdint.h>

/* Of a program that exports them to a generated library, whatever its default is. */
#pragma GCC visibility push(default)

/* Where device code calls, for reports. As a default argument it is the caller's line. */
struct emulator_site {
  const char *file;
  int line;
};
#define EMULATOR_SITE emulator_site site = {__builtin_FILE(), __builtin_LINE()}

struct emulator_index {
  unsigned x, y, z;
};
extern emulator_index threadIdx, blockIdx, blockDim, gridDim;

/* --- collectives of a warp ------------------------------------------------------------------- */

/* X(code, name in reports) */
#define EMULATOR_COLLECTIVES(X)                 \
  X(SYNCWARP, "__syncwarp")                     \
  X(SHUFFLE, "a shuffle")                       \
  X(VOTE, "a vote")                             \
  X(MMA_TF32, "mma_tf32")                       \
  X(MMA_BF16, "mma_bf16")                       \
  X(LDMATRIX, "ldmatrix")                       \
  X(LDMATRIX_TRANSPOSED, "ldmatrix_transposed") \
  X(CLUSTER_BARRIER, "the cluster's barrier")

#define EMULATOR_COLLECTIVE_CODE(code, name) EMULATOR_##code,
enum emulator_collective { EMULATOR_COLLECTIVES(EMULATOR_COLLECTIVE_CODE) };

struct emulator_shuffle {
  uint64_t value;
  unsigned from; /* lane */
  uint64_t got;
};

struct emulator_vote {
  bool predicate;
  unsigned ballot; /* written */
};

/* Fragments as kernels/cuda/device/mma.cuh says. */
struct emulator_product {
  float *c; /* [4], added to */
  unsigned a[4], b[2];
};

struct emulator_rows {
  const void *row;
  unsigned *to; /* [4] */
};

/* Waits until all lanes of `mask` that the warp has are at the same collective on the same line.
 * operands: one of the structs above; the last lane to arrive reads and writes those of all. */
void emulator_meet(emulator_collective kind, unsigned mask, void *operands, emulator_site site);

/* --- barriers and polling -------------------------------------------------------------------- */

/* Barrier `number` of a block, of so many threads; 0: __syncthreads, of all. Returns for how many
 * of them `predicate` was true. */
constexpr unsigned EMULATOR_BARRIERS = 16;
int emulator_barrier(unsigned number, unsigned threads, bool predicate, emulator_site site);
void emulator_cluster_arrive(emulator_site site);
void emulator_cluster_wait(emulator_site site);

/* One turn of a loop that waits for others: lets them run. */
void emulator_poll(emulator_site site);
/* After a store that others may wait for. Sometimes lets them run. */
void emulator_stored(emulator_site site);

/* --- memory ---------------------------------------------------------------------------------- */

/* Fails unless the address lies on `bytes` and outside of shared memory. */
void emulator_check_global(const void *address, size_t bytes, const char *what, emulator_site site);

/* Shared addresses: bytes 0 … of a block's memory; rank + 1 in the top 8 bits means the block of
 * that rank in the cluster, 0 the thread's own. */
unsigned emulator_shared_address(const void *address, emulator_site site);
/* What a shared address denotes; fails where it is not aligned to `bytes`, or out of bounds. */
void *emulator_shared_pointer(unsigned address, size_t bytes, const char *what, emulator_site site);
unsigned emulator_cluster_rank();
unsigned emulator_cluster_address(unsigned address, unsigned rank, emulator_site site);

/* cp.async: the copy is carried out when the thread waits for it, at the last moment. */
void emulator_copy_start(void *to, const void *from, unsigned bytes, bool in_bounds,
                         emulator_site site);
void emulator_copy_commit();
/* Carries out all groups but the last `left`. */
void emulator_copy_wait_group(unsigned left);
void emulator_copy_wait_all();

/* --- the end --------------------------------------------------------------------------------- */

/* Ends the run with a message, to which the thread is added. */
[[noreturn]] void emulator_fail(emulator_site site, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#pragma GCC visibility pop

#endif
