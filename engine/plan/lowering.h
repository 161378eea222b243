/* lowering.h: the walk from layers to a graph, for the two files that it is in: lowering.c, which
 * knows what a layer reads, and layers.c, which knows what it makes. */
#ifndef EP_ENGINE_PLAN_LOWERING_H
#define EP_ENGINE_PLAN_LOWERING_H

#include "engine/plan/parts.h"

/* Where the walk through the layers stands. */
typedef struct {
  const ep_job_spec *spec;
  ep_plan *plan;
  ep_problem *problem;
  int rank[EP_LIMIT_LAYERS + 2];  /* of each value: sides of its shape, 1 a vector, 3 an image */
  int value_of[EP_LIMIT_LAYERS];  /* what each layer of the model's own list makes */
  int data, last;                 /* the value that is the data; the one that was made last */
  int depth;                      /* blocks around the layer at hand */
  int from[EP_OP_INPUTS], inputs; /* values that it reads */
  ep_shape shape;                 /* of the first of them … */
  int in_rank, out_rank;          /* … and its rank; that of what the layer makes */
  int ops, layer;                 /* so many are done; the number of the next */
  char pointer[EP_POINTER_BYTES]; /* of the layer at hand: "/model/layers/4/layers/0" */
  char name[EP_LIMIT_NAME_BYTES]; /* its name: "4.0" */
  bool frozen;
} ep_lowering;

/* Adds an error at a field of the layer at hand ("" = the layer itself). Always false. */
bool ep_lowering_refuse(ep_lowering *w, const char *field, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Fills in the op, whose output has its input's shape, and w->out_rank. False after an error. */
bool ep_op_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op);

#endif
