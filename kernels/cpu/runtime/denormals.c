#include "kernels/cpu/runtime/denormals.h"

#if defined(__x86_64__)

#include <xmmintrin.h>

enum { FLUSH_TO_ZERO = 0x8000, DENORMALS_ARE_ZERO = 0x0040 }; /* of MXCSR */

void ep_denormals_flush(void) {
  _mm_setcsr(_mm_getcsr() | FLUSH_TO_ZERO | DENORMALS_ARE_ZERO);
}

#elif defined(__aarch64__)

#include <stdint.h>

enum { FLUSH_TO_ZERO = 1 << 24 }; /* of FPCR: reads and writes */

void ep_denormals_flush(void) {
  uint64_t control;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  __asm__ volatile("msr fpcr, %0" : : "r"(control | FLUSH_TO_ZERO));
}

#else

void ep_denormals_flush(void) {}

#endif
