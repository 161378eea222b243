/* cpu.h: the CPU backend's device: the processor, as all its executors see it. Private to
 * kernels/cpu and its tests. */
#ifndef EP_KERNELS_CPU_RUNTIME_CPU_H
#define EP_KERNELS_CPU_RUNTIME_CPU_H

#include "kernels/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the processor and the system can do, in rising order: `>=` asks for at least.
 * AVX2 includes FMA; AVX512 is F, BW, DQ and VL; AMX is that with tiles of
 * bfloat16. */
typedef enum {
  EP_CPU_BASELINE,
  EP_CPU_AVX2,
  EP_CPU_AVX512,
  EP_CPU_AMX,
  EP_CPU_COUNT
} ep_instruction_set;

struct ep_backend {
  ep_instruction_set instruction_set; /* found at open; a test may lower it before compile */
  int threads;                        /* processors that this process may run on */
  char name[128];                     /* of the processor, as the vendor calls it */
  struct ep_nodes *nodes; /* that programs of several ranks are spread over, lent; NULL = none */
};

const char *ep_instruction_set_name(ep_instruction_set instruction_set); /* "avx512" */
/* The processor's, or the one that the environment's EPOCHD_TEST_INSTRUCTION_SET names, if less. */
ep_instruction_set ep_instruction_set_detect(void);

#ifdef __cplusplus
}
#endif
#endif
