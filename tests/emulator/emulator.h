/* emulator.h: runs a launch of a CUDA kernel on one thread of the CPU, for tests of device code
 * without a GPU.
 *
 * Each CUDA thread is a fiber. Lanes of a warp run one after the other, up to their next collective
 * of the warp; warps and blocks take turns in an order that a seed gives. Device code is compiled
 * as C++17 with builtins.h included by force, and headers that hold PTX are replaced by those of
 * the same name below tests/emulator/include. Memory is not weakly ordered: a missing fence does
 * not show. */
#ifndef EP_TEST_EMULATOR_H
#define EP_TEST_EMULATOR_H

#include <cstddef>
#include <functional>
#include <string>

/* The largest launch: fibers' stacks are address space. */
constexpr int EMULATOR_MAX_BLOCKS = 4096, EMULATOR_MAX_THREADS = 1024;
constexpr size_t EMULATOR_MAX_SHARED_BYTES = 1
                                             << 24; /* of a block: shared addresses have 24 bits */

/* One-dimensional. */
struct emulator_launch {
  int blocks;
  int threads;         /* of a block */
  int cluster;         /* blocks of a cluster; 0 or 1: no clusters */
  size_t shared_bytes; /* of dynamic shared memory, of a block */
  unsigned seed;       /* of the order of blocks, warps and lanes */
  int timeout_s;       /* of CPU time; 0: a minute */
  int starved = -1;    /* a block that runs only while no other gets anywhere; -1: none */
};

/* Calls `kernel` once in each thread of the launch. Shared memory starts as NaN (0xffffffff).
 *
 * false: something is wrong with the launch, and *failure says what and where: a deadlock, lanes of
 * a warp that meet at different collectives, a barrier that some threads of the block do not reach,
 * a write outside of shared memory, an address that is not aligned or not mapped, __trap, or a
 * timeout. Fibers are then abandoned as they are: what they own is not released.
 *
 * One run at a time in a process. While it runs, it handles SIGSEGV, SIGBUS, SIGFPE, SIGILL and
 * SIGVTALRM. */
bool emulator_run(const emulator_launch &launch, const std::function<void()> &kernel,
                  std::string *failure);

#endif
