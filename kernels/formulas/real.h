/* real.h: the number type of the formulas and of cpu/reference: float, unless a test compiles the
 * same sources with -DEP_REAL=double to check gradients by finite differences.
 *
 * The formulas call exp, log, erf … by their generic names: <tgmath.h> picks the float or the
 * double function in C, overloading does in C++ and CUDA. */
#ifndef EP_KERNELS_FORMULAS_REAL_H
#define EP_KERNELS_FORMULAS_REAL_H

#ifdef __cplusplus
#include <cmath>
#else
#include <tgmath.h>
#endif

#include "kernels/random.h" /* EP_DEVICE_INLINE */

#ifndef EP_REAL
#define EP_REAL float
#endif

typedef EP_REAL ep_real;

/* A GPU has a root and a quotient of float32 to two units of the last place, each one instruction;
 * exact ones branch where a number is next to 0, as a gradient's means are that decay. */
EP_DEVICE_INLINE ep_real ep_root(ep_real x) {
#ifdef __CUDA_ARCH__
  float root;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(x));
  return root;
#else
  return sqrt(x);
#endif
}

EP_DEVICE_INLINE ep_real ep_quotient(ep_real a, ep_real b) {
#ifdef __CUDA_ARCH__
  return __fdividef(a, b);
#else
  return a / b;
#endif
}

#endif
