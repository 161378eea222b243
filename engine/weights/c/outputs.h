/* outputs.h: what a classifier's outputs mean, as C: its class and the probabilities, as POST
 * /v1/jobs/{id}/predict has them (api/responses/predicted.c). Nothing for regressions. */
#ifndef EP_ENGINE_WEIGHTS_C_OUTPUTS_H
#define EP_ENGINE_WEIGHTS_C_OUTPUTS_H

#include "engine/data/columns/encoding.h"
#include "engine/layers/c/source.h"
#include "kernels/program.h"

/* "^_CLASSES", and the names of the classes. names: NULL: they are numbers. */
void ep_c_outputs_sizes(ep_c_source *source, const ep_program *program, const ep_words *names);
/* "@_class" and "@_probabilities". */
void ep_c_outputs_define(ep_c_source *source, const ep_program *program);

#endif
