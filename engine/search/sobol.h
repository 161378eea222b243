/* sobol.h: points that fill a space evenly (I. M. Sobol 1967), with a digital shift: each seed has
 * other points, and all are as even. */
#ifndef EP_ENGINE_SEARCH_SOBOL_H
#define EP_ENGINE_SEARCH_SOBOL_H

#include <stdint.h>

#include "api/limits.h"
#include "engine/search/search.h"

enum { EP_SOBOL_BITS = 32 };

typedef struct {
  uint32_t direction[EP_LIMIT_SWEEP_AXES][EP_SOBOL_BITS]; /* of bit i of a point's number */
  uint64_t shift[EP_LIMIT_SWEEP_AXES];                    /* 64 bits of a fraction */
} ep_sobol;

void ep_sobol_init(ep_sobol *sobol, uint64_t seed);

/* Coordinate `dimension` of a point, in [0, 1). The first 2^k points, for any k, have one in each
 * 2^-k of every dimension. `number` is below 2^32. */
double ep_sobol_fraction(const ep_sobol *sobol, int64_t number, int dimension);

/* The point of a trial. point: [axes_count]. */
void ep_sobol_point(const ep_sobol *sobol, const ep_axis *axes, int axes_count, int64_t trial,
                    double *point);

#endif
