/* members.h: the members of a population as its kernel sees them, and what they have on the device
 * for a call. */
#ifndef EP_KERNELS_CUDA_POPULATION_MEMBERS_H
#define EP_KERNELS_CUDA_POPULATION_MEMBERS_H

#include "kernels/cuda/population/args.h"
#include "kernels/cuda/population/plan.h"
#include "kernels/cuda/runtime/memory.h"

/* EP_INVALID when the members' programs differ in more than numbers, or a member is none. Where
 * they agree, *shape is a program with all that they have in common: lent as theirs are. */
ep_status ep_population_shape(const ep_population *population, ep_program *shape, ep_error *error);

/* Copies all members' numbers, rates and states to memory that is taken of `memory`, and points
 * `args` there. Returns when that is done. */
ep_status ep_population_members_upload(const ep_population *population, const ep_program *shape,
                                       ep_cuda_memory *memory, ep_population_args *args,
                                       ep_error *error);

/* Copies states and results back. Returns when that is done. */
ep_status ep_population_members_download(const ep_population_args *args, const ep_program *shape,
                                         cudaStream_t stream, ep_population *population,
                                         ep_error *error);

#endif
