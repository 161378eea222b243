/* phases.h: what cuda/grid's blocks do in a step, one phase after the other, and who updates which
 * layer meanwhile: the table that span.h describes. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GRID_PHASES_H
#define EP_KERNELS_CUDA_EXECUTORS_GRID_PHASES_H

#include "kernels/cuda/executors/grid/args.h"

/* Writes span->phases, from how its layers are cut; none of them has been written. */
void ep_grid_phases_make(ep_grid_span *span);

/* Blocks from the one up to the other update a layer behind their part of the way back through
 * layer `behind`, or, -1, at the step's end. */
typedef struct {
  int behind, from, to;
} ep_grid_share;

/* Of the blocks that have the middle layers, who updates which of these, and the first layer behind
 * them: writes shares of layers from the front's end up to span->middle. Needs span->panels of
 * these layers no further than who has any, and how many lie across. */
void ep_grid_middle_shares(const ep_grid_span *span, ep_grid_share shares[EP_GRID_LAYERS_MAX]);

#endif
