/* table.h: the executors of the CPU, one row each: X(folder). The most special comes first: of
 * those that take a program, the backend chooses the first. The last takes everything.
 *
 * All else follows from a row: the folder's library and its plan's, the backend's list, the plan's,
 * the cost model, the calibrator and the tests. A folder NAME has `ep_cpu_NAME` in executor.c and
 * `ep_cpu_NAME_profile` in plan.c; users see it as "cpu/NAME". */
#ifndef EP_KERNELS_CPU_EXECUTORS_TABLE_H
#define EP_KERNELS_CPU_EXECUTORS_TABLE_H

#define EP_CPU_EXECUTORS(X) \
  X(ranks)                  \
  X(fused)                  \
  X(blocked)                \
  X(reference)

#endif
