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

#ifndef EP_REAL
#define EP_REAL float
#endif

typedef EP_REAL ep_real;

#endif
