/* program.h: a program as constants, for the kernel of cuda/resident. */
#ifndef EP_KERNELS_CUDA_RESIDENT_PROGRAM_H
#define EP_KERNELS_CUDA_RESIDENT_PROGRAM_H

#include "kernels/program.h"

/* How the rows of a batch are spread. */
typedef struct {
  int blocks;  /* of one cluster */
  int threads; /* of each */
} ep_resident_grid;

/* The text of "kernels/cuda/runtime/program.h", owned by the caller (free); NULL when memory is
 * short. Figures that do not change the code (rates, seeds) are not in it: programs that differ in
 * these alone share a kernel. */
char *ep_resident_program_text(const ep_program *program, ep_resident_grid grid);

#endif
