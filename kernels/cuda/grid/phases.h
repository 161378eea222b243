/* phases.h: what cuda/grid's blocks do in a step, one phase after the other, and who updates which
 * layer meanwhile: the table that span.h describes. */
#ifndef EP_KERNELS_CUDA_GRID_PHASES_H
#define EP_KERNELS_CUDA_GRID_PHASES_H

#include "kernels/cuda/grid/span.h"

/* Writes span->phases, from how its layers are cut; none of them has been written. */
void ep_grid_phases_make(ep_grid_span *span);

/* Of the blocks that have the middle layers, how many have no task from the way back through the
 * last but one of them on; 0 where there are none. */
int ep_grid_middle_spare(const ep_grid_span *span);

#endif
