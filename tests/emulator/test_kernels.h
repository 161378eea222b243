/* test_kernels.h: device code that test_emulator.cpp runs. Arrays are device memory. */
#ifndef EP_TEST_EMULATOR_KERNELS_H
#define EP_TEST_EMULATOR_KERNELS_H

/* --- that works ------------------------------------------------------------------------------ */

/* errors: [1], added to. One warp or more. */
void kernel_shuffles(int *errors);
void kernel_votes(int *errors);
void kernel_numbers(int *errors);
/* sums: [blocks], of x: [blocks, threads]. Shared memory: threads + 1 numbers. */
void kernel_block_sum(const float *x, float *sums);
/* c: [16, 8] of a: [16, 8] and b: [8, 8]. One warp. */
void kernel_mma_tf32(const float *a, const float *b, float *c);
void kernel_multiply(const float *a, const float *b, float *c);
/* c: [16, 8] of a: [16, 16] and b: [16, 8], bfloat16 in 16 bits. One warp. */
void kernel_mma_bf16(const unsigned short *a, const unsigned short *b, float *c);
/* errors: [1], added to. One warp, 512 bytes of shared memory. */
void kernel_ldmatrix(int *errors);
/* x: [8] on 16 bytes. seen: [4, 8], shared memory before a wait and after each. One thread. */
void kernel_copies(const float *x, float *seen);
/* Each block has a number in each of `width` columns, which becomes a sum of all blocks' in each
 * step. buffers: [count of buffers, blocks, width], zeros; out: [blocks, width]. */
void kernel_all_gather(float *buffers, int buffer_count, int width, int steps, float *out);
/* out: [blocks]: the sum of what other blocks of the cluster stored. 32 threads, two numbers of
 * shared memory a block of the cluster. */
void kernel_cluster(float *out, int cluster);
/* Work for a timing: `steps` of eight products, a sum and a barrier, of all warps. */
void kernel_work(int steps, float *out);
/* A sum over the launch by grid_barrier.cuh. counter: [1], 0; sums: [blocks]; out: [1]. */
void kernel_grid(unsigned *counter, float *sums, float *out);
/* In which place each block came to its end. ended: [1], 0; place: [blocks]. */
void kernel_ends(int *ended, int *place);

/* --- that does not --------------------------------------------------------------------------- */

void kernel_waits_for_nobody(const float *word);
void kernel_diverges();
void kernel_misses_barrier();
void kernel_exits_early();
void kernel_writes_outside(int at); /* shared memory: 64 numbers */
void kernel_reads_unaligned(const float *x);
void kernel_dereferences(const float *x);
void kernel_overflows_stack();
void kernel_traps();
void kernel_spins();
void kernel_copies_outside(const float *x); /* shared memory: 64 numbers */
/* Without the __syncwarp that its lanes need. out: [1]: 1 where that showed. One warp. */
void kernel_lacks_syncwarp(int *out); /* shared memory: 32 numbers */

#endif
