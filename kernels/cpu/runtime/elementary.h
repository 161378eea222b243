/* elementary.h: exp, log, tanh, sigmoid, erf, sine and cosine of a vector. Polynomials fitted for
 * this file (weighted least squares towards the smallest greatest relative error). What the tests
 * hold them to: tanh, sigmoid and log within 2 units of the last place; sin, cos and erf within
 * 2^-23 (absolute). NaN in, NaN out; infinities as in libm. */
#ifndef EP_KERNELS_CPU_RUNTIME_ELEMENTARY_H
#define EP_KERNELS_CPU_RUNTIME_ELEMENTARY_H

#include <math.h>

#include "kernels/cpu/runtime/lanes.h"

/* c0 + c1 x + … in Horner's order; the coefficients are literals. */
#define LANES_POLYNOMIAL4(x, c0, c1, c2, c3) ((((c3) * (x) + (c2)) * (x) + (c1)) * (x) + (c0))

/* The nearest integer, as a float and as an int, for |x| < 2^22: adding 1.5 * 2^23 leaves it in the
 * low bits. */
#define LANES_ROUNDER 12582912.0f

LANES_INLINE lanes lanes_exp2_of(lanes_word n) {
  return (lanes)((n + 127) << 23);
}

/* x 2^n, k = n. In two factors, so that the ends of the range (denormals, and what rounds to
 * infinity) come out right; AVX-512 has an instruction. */
LANES_INLINE lanes lanes_scale(lanes x, lanes k, lanes_word n) {
#if EP_LANES == 16
  (void)n;
  return (lanes)_mm512_scalef_ps((__m512)x, (__m512)k);
#else
  (void)k;
  lanes_word half = (lanes_word)((lanes_int)n >> 1);
  return x * lanes_exp2_of(half) * lanes_exp2_of(n - half);
#endif
}

/* x = n ln 2 + r, |r| <= ln 2 / 2. */
LANES_INLINE lanes lanes_exp(lanes x) {
  x = lanes_min(lanes_set(89.0f), lanes_max(lanes_set(-104.0f), x));
  lanes shifted = x * 0x1.715476p0f + LANES_ROUNDER;
  lanes_word n = (lanes_word)shifted - (lanes_word)lanes_set(LANES_ROUNDER);
  lanes k = shifted - LANES_ROUNDER;
  lanes r = (x - k * 0x1.62ep-1f) - k * 0x1.0bfbe8p-15f;
  lanes p =
      LANES_POLYNOMIAL4(r, 1.666651964e-01f, 4.166839272e-02f, 8.368755691e-03f, 1.381451730e-03f);
  p = (p * r + 4.999999404e-01f) * (r * r) + r + 1.0f;
  return lanes_scale(p, k, n);
}

/* x = 2^n m, m in [sqrt(1/2), sqrt(2)). Returns log(m) + extra + n ln 2; x is positive, normal and
 * finite. */
LANES_INLINE lanes lanes_log_normal(lanes x, lanes exponent, lanes extra) {
  lanes_word bits = (lanes_word)x;
  lanes_int n = (lanes_int)(bits - 0x3f3504f3u) >> 23; /* the bits of sqrt(1/2) */
  lanes f = (lanes)(bits - ((lanes_word)n << 23)) - 1.0f;
  lanes k = __builtin_convertvector(n, lanes) + exponent;
  lanes p = LANES_POLYNOMIAL4(f, -1.240558922e-01f, 1.188816205e-01f, -1.167565212e-01f,
                              6.746640056e-02f);
  p = ((p * f + 1.421955228e-01f) * f + -1.666799635e-01f) * f + 2.000211924e-01f;
  p = (p * f + -2.500000894e-01f) * f + 3.333331347e-01f;
  lanes square = f * f;
  lanes tail = p * (square * f) + (extra + k * 0x1.0bfbe8p-15f);
  return ((tail - 0.5f * square) + f) + k * 0x1.62ep-1f;
}

LANES_INLINE lanes lanes_log(lanes x) {
  const lanes zero = lanes_set(0.0f);
  lanes_mask tiny = lanes_less(x, lanes_set(0x1p-126f));
  lanes scaled = lanes_select(tiny, x * 0x1p23f, x);
  lanes y = lanes_log_normal(scaled, lanes_select(tiny, lanes_set(-23.0f), zero), zero);
  y = lanes_select(lanes_less(zero, x), y, lanes_set(-INFINITY));
  y = lanes_select(lanes_less(x, zero), lanes_set(NAN), y);
  return lanes_select(lanes_less(x, lanes_set(INFINITY)), y, x);
}

/* log(1 + x) for x in [-1, 1]: the part of x that 1 + x loses is put back as (lost / (1 + x)). */
LANES_INLINE lanes lanes_log1p(lanes x) {
  const lanes zero = lanes_set(0.0f);
  lanes u = x + 1.0f;
  lanes lost = x - (u - 1.0f);
  lanes y = lanes_log_normal(u, zero, lost / u);
  y = lanes_select(lanes_less(zero, u), y, lanes_set(-INFINITY));
  y = lanes_select(lanes_less(u, zero), lanes_set(NAN), y);
  return lanes_select(lanes_less(u, lanes_set(3.0f)), y, x);
}

/* The same for x in [0, 1], with inverse = 1 / (1 + x) at hand. NaN in, NaN out. */
LANES_INLINE lanes lanes_log1p_positive(lanes x, lanes inverse) {
  lanes u = x + 1.0f;
  return lanes_log_normal(u, lanes_set(0.0f), (x - (u - 1.0f)) * inverse);
}

/* With e = exp(-|x|): 1 / (1 + e), or e / (1 + e) where x is negative; neither overflows. */
LANES_INLINE lanes lanes_sigmoid(lanes x) {
  lanes small = lanes_exp(-lanes_abs(x)), part = lanes_inverse(1.0f + small);
  return lanes_select(lanes_less(x, lanes_set(0.0f)), small * part, part);
}

LANES_INLINE lanes lanes_tanh(lanes x) {
  lanes magnitude = lanes_abs(x), z = x * x;
  lanes p = LANES_POLYNOMIAL4(z, -5.392095447e-02f, 2.157106064e-02f, -7.883311249e-03f,
                              1.895667636e-03f);
  p = (p * z + 1.333298385e-01f) * z + -3.333332539e-01f;
  lanes near = x + x * (z * p);
  lanes doubled = lanes_min(lanes_set(40.0f), magnitude + magnitude);
  lanes far = 1.0f - 2.0f * lanes_inverse(lanes_exp(doubled) + 1.0f);
  return lanes_select(lanes_less(magnitude, lanes_set(0.625f)), near, lanes_with_sign(far, x));
}

/* Below 1 an odd polynomial; above, 1 - exp(-q(|x|)), q a polynomial of -log(erfc), up to 4, where
 * erf is 1 to the last bit. */
LANES_INLINE lanes lanes_erf(lanes x) {
  lanes magnitude = lanes_abs(x), z = x * x;
  lanes p = LANES_POLYNOMIAL4(z, -2.685380355e-02f, 5.188313778e-03f, -8.010083111e-04f,
                              7.853525312e-05f);
  p = ((p * z + 1.128358468e-01f) * z + -3.761262596e-01f) * z + 1.128379107e+00f;
  lanes t = lanes_min(lanes_set(4.0f), magnitude);
  lanes q = LANES_POLYNOMIAL4(t, -2.508060448e-02f, 4.156250041e-03f, -4.313925165e-04f,
                              2.082852188e-05f);
  q = ((q * t + 1.082203686e-01f) * t + 6.334008574e-01f) * t + 1.129488349e+00f;
  q = q * t + -1.692038495e-04f;
  lanes far = 1.0f - lanes_exp(-q);
  return lanes_select(lanes_less(magnitude, lanes_set(1.0f)), x * p, lanes_with_sign(far, x));
}

/* sin(r) for |r| <= pi/2 and a little more. */
LANES_INLINE lanes lanes_sin_reduced(lanes r) {
  lanes z = r * r;
  lanes p = LANES_POLYNOMIAL4(z, 8.333330974e-03f, -1.984085247e-04f, 2.752455885e-06f,
                              -2.387409381e-08f);
  return r + r * (z * (p * z + -1.666666716e-01f));
}

/* x - k pi: pi in four parts of which the first three times k are exact for |k| < 2^12. */
LANES_INLINE lanes lanes_minus_pi(lanes x, lanes k) {
  return (((x - k * 0x1.92p1f) - k * 0x1.fb4p-11f) - k * 0x1.444p-23f) - k * 0x1.68c234p-38f;
}

#define LANES_SIN_LIMIT 8192.0f

/* Beyond that, infinities and NaN: libm, a lane at a time. */
LANES_INLINE lanes lanes_by_libm(lanes x, float (*function)(float)) {
  for (int j = 0; j < EP_LANES; j++) x[j] = function(x[j]);
  return x;
}

LANES_INLINE lanes_mask lanes_sin_near(lanes x) {
  return lanes_less(lanes_abs(x), lanes_set(LANES_SIN_LIMIT));
}

/* sin(x) = (-1)^k sin(x - k pi). */
LANES_INLINE lanes lanes_sin(lanes x) {
  if (lanes_mask_count(lanes_sin_near(x)) < EP_LANES) return lanes_by_libm(x, sinf);
  lanes shifted = x * 0x1.45f306p-2f + LANES_ROUNDER;
  lanes r = lanes_minus_pi(x, shifted - LANES_ROUNDER);
  return (lanes)((lanes_word)lanes_sin_reduced(r) ^ (lanes_word)shifted << 31);
}

/* cos(x) = (-1)^(k + 1) sin(x - (k + 1/2) pi). */
LANES_INLINE lanes lanes_cos(lanes x) {
  if (lanes_mask_count(lanes_sin_near(x)) < EP_LANES) return lanes_by_libm(x, cosf);
  lanes shifted = (x * 0x1.45f306p-2f - 0.5f) + LANES_ROUNDER;
  lanes r = lanes_minus_pi(x, (shifted - LANES_ROUNDER) + 0.5f);
  return (lanes)((lanes_word)lanes_sin_reduced(r) ^ ((lanes_word)shifted + 1) << 31);
}

#endif
