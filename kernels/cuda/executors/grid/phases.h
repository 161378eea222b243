/* phases.h: what cuda/grid's blocks do in a step, one phase after the other, and who updates which
 * layer meanwhile: the table that args.h describes. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GRID_PHASES_H
#define EP_KERNELS_CUDA_EXECUTORS_GRID_PHASES_H

#include "kernels/cuda/executors/grid/args.h"

/* Writes args->phases, from how its layers are cut; none of them has been written. */
void ep_grid_phases_make(ep_grid_args *args);

/* What the blocks with a task of a phase do with memory that other blocks use as well: rows of a
 * table, which tests hold the phases' meetings to (tests/unit/kernels/cuda/test_grid_meetings.c).
 * Who changes what the kernel does in a phase changes its rows. */
typedef enum {
  EP_GRID_WEIGHTS,  /* and biases, of the layer */
  EP_GRID_OUTPUTS,  /* of the layer */
  EP_GRID_GRADS,    /* of the layer: its slopes, then the gradient by its outputs */
  EP_GRID_PARTIALS, /* of the sums of any product */
  EP_GRID_INPUTS,   /* the batch's rows: the outputs before the first layer */
  EP_GRID_ORDER,    /* of the epoch's rows */
  EP_GRID_LOSSES,   /* of the batch's rows */
  EP_GRID_MEMORIES
} ep_grid_memory;

typedef enum {
  EP_GRID_FETCHES, /* read before the phase awaits */
  EP_GRID_READS,   /* behind that */
  EP_GRID_WRITES   /* behind the reads, and behind the sums that a product's blocks share */
} ep_grid_access_kind;

typedef enum {
  EP_GRID_ALWAYS,
  EP_GRID_WHOLE,     /* where the layer before the last ends its own sums … */
  EP_GRID_IN_PARTS,  /* … and where it leaves them to the phase of the last one */
  EP_GRID_LAST_BLOCK /* of the workers alone */
} ep_grid_condition;

typedef struct {
  ep_grid_work work;
  ep_grid_access_kind kind;
  ep_grid_memory memory;
  int layer; /* from the phase's: 0, or -1 for the one before */
  ep_grid_condition condition;
} ep_grid_access;

/* The rows of a kind of work follow one another, in the order in which they happen. */
extern const ep_grid_access EP_GRID_ACCESSES[];
extern const int EP_GRID_ACCESSES_COUNT;

/* Blocks from the one up to the other update a layer behind their part of the way back through
 * layer `behind`, or, -1, at the step's end. */
typedef struct {
  int behind, from, to;
} ep_grid_share;

/* Of the blocks that have the middle layers, who updates which of these, and the first layer behind
 * them: writes shares of layers from the front's end up to args->middle. Needs args->panels of
 * these layers no further than who has any, and how many lie across. */
void ep_grid_middle_shares(const ep_grid_args *args, ep_grid_share shares[EP_GRID_LAYERS_MAX]);

#endif
