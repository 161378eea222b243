/* list.h: the executors of table.h, in its order. */
#ifndef EP_KERNELS_CPU_EXECUTORS_LIST_H
#define EP_KERNELS_CPU_EXECUTORS_LIST_H

#include "kernels/cpu/executors/executor.h"
#include "kernels/cpu/executors/table.h"

#define EP_CPU_EXECUTOR_DECLARE(name) extern const ep_executor ep_cpu_##name;
EP_CPU_EXECUTORS(EP_CPU_EXECUTOR_DECLARE)

/* Static. */
const ep_executor *const *ep_cpu_executors(int *count);

#endif
