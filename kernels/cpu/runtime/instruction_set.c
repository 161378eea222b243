/* What the processor can do, and the system allows. */
#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "kernels/cpu/runtime/cpu.h"

static const char *const names[EP_CPU_COUNT] = {[EP_CPU_BASELINE] = "baseline",
                                                [EP_CPU_AVX2] = "avx2",
                                                [EP_CPU_AVX512] = "avx512",
                                                [EP_CPU_AMX] = "amx"};

const char *ep_instruction_set_name(ep_instruction_set instruction_set) {
  assert(instruction_set < EP_CPU_COUNT);
  return names[instruction_set];
}

#if defined(__x86_64__)
/* Tiles are many registers: Linux saves them for a process that has asked for it (its
 * Documentation/arch/x86/xstate.rst), and for all of its threads. */
static bool allows_tiles(void) {
  enum { ARCH_REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
  return syscall(SYS_arch_prctl, ARCH_REQUEST_PERMISSION, TILE_DATA) == 0;
}

static bool has_tiles(void) {
  enum { FEATURES_LEAF = 7, BFLOAT16_TILES = 1 << 22, TILES = 1 << 24 };
  unsigned a, b, c, d;
  return __get_cpuid_count(FEATURES_LEAF, 0, &a, &b, &c, &d) && (d & BFLOAT16_TILES) &&
         (d & TILES) && allows_tiles();
}
#endif

/* The compiler's run-time library tests the processor, and whether the system saves the registers.
 */
static ep_instruction_set processor_detect(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return has_tiles() ? EP_CPU_AMX : EP_CPU_AVX512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return EP_CPU_AVX2;
#endif
  return EP_CPU_BASELINE;
}

/* For tests: the name of an instruction set that this process does not go beyond. */
static ep_instruction_set ceiling(void) {
  const char *name = getenv("EPOCHD_TEST_INSTRUCTION_SET");
  for (int i = 0; name && i < EP_CPU_COUNT; i++)
    if (strcmp(names[i], name) == 0) return (ep_instruction_set)i;
  return EP_CPU_AMX;
}

ep_instruction_set ep_instruction_set_detect(void) {
  ep_instruction_set most = ceiling(), found = processor_detect();
  return found < most ? found : most;
}
