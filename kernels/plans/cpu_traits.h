/* cpu_traits.h: a processor, as far as plans and costs depend on it. */
#ifndef EP_KERNELS_PLANS_CPU_TRAITS_H
#define EP_KERNELS_PLANS_CPU_TRAITS_H

#include <stdbool.h>

typedef struct {
  int threads; /* hardware threads that a program may use; 0: unknown */
  int lanes;   /* floats of a vector */
  bool tiles;  /* it has a matrix unit */
} ep_cpu_traits;

/* instruction_set: "amx", "avx512", "avx2" or "baseline", as a backend names it; "" for one that is
 * not known yet, which is taken to have AVX-512. */
ep_cpu_traits ep_cpu_traits_of(const char *instruction_set, int threads);

#endif
