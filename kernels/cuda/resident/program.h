/* program.h: a program as constants, for the kernel of cuda/resident. */
#ifndef EP_KERNELS_CUDA_RESIDENT_PROGRAM_H
#define EP_KERNELS_CUDA_RESIDENT_PROGRAM_H

#include "kernels/cuda/grid/span.h"
#include "kernels/program.h"

/* How the rows of a batch are spread. */
typedef struct {
  int blocks;  /* of one cluster */
  int threads; /* of each */
} ep_resident_grid;

/* The text of "resident_program.h", owned by the caller (free); NULL when memory is short. Figures
 * that do not change the code (rates, seeds) are not in it: programs that differ in these alone
 * share a kernel. */
char *ep_resident_program_text(const ep_program *program, ep_resident_grid grid);

/* cuda/grid sees a program as linear layers, each with the activation behind it. */
typedef struct {
  const ep_op *linear, *activation; /* activation: NULL for none */
} ep_grid_layer;

enum {
  EP_GRID_TILES_MAX = 14, /* tiles of rows that a warp accumulates at once: of its registers */
  EP_GRID_REDUCTION = 8 * 8 * 20 * EP_GRID_TILES_MAX /* floats: warps, rows of a tile, outputs */
};

typedef struct {
  ep_grid_layer layers[EP_GRID_LAYERS_MAX];
  int layers_count;
  int thin;   /* layers at the front that are taken by a block each eight rows */
  int blocks; /* of one cluster, or as many as there are multiprocessors */
  bool cluster;
} ep_grid_shape;

/* The layers of a program, at most `capacity`; 0 when it is not made of such alone. */
int ep_grid_layers(const ep_program *program, ep_grid_layer *layers, int capacity);

char *ep_grid_program_text(const ep_program *program, const ep_grid_shape *shape);

#endif
