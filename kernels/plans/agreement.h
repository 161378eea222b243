/* agreement.h: which programs may be trained as one population (kernels/population.h). */
#ifndef EP_KERNELS_PLANS_AGREEMENT_H
#define EP_KERNELS_PLANS_AGREEMENT_H

#include <stdbool.h>

#include "kernels/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether they differ in nothing but numbers. */
bool ep_programs_agree(const ep_program *a, const ep_program *b);

#ifdef __cplusplus
}
#endif
#endif
