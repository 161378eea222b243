/* lowering.h: a layer on its way from JSON to an op: what is known where a row's `lower` is called,
 * and how it refuses. The walk from layer to layer is engine/plan/lowering.c. */
#ifndef EP_ENGINE_LAYERS_LOWERING_H
#define EP_ENGINE_LAYERS_LOWERING_H

#include "api/json/problem.h"
#include "api/spec/spec.h"
#include "kernels/operators/operator.h"

typedef struct {
  ep_problem *problem;
  const ep_program *program;          /* its ops so far */
  char (*names)[EP_LIMIT_NAME_BYTES]; /* of these: "3", "4.0" */
  int *rank;                      /* of each value: sides of its shape, 1 a vector, 3 an image */
  int data;                       /* the value that is the data */
  bool x_integer;                 /* the data's x: whole numbers … */
  double x_min, x_max;            /* … of this range */
  int from[EP_OP_INPUTS], inputs; /* values that the layer at hand reads */
  ep_shape shape;                 /* of the first of them … */
  int in_rank, out_rank;          /* … and its rank; that of what the layer makes */
  char pointer[EP_POINTER_BYTES]; /* of the layer at hand: "/model/layers/4/layers/0" */
  char name[EP_LIMIT_NAME_BYTES]; /* its name: "4.0" */
} ep_lowering;

/* Adds an error at a field of the layer at hand ("" = the layer itself). Always false. */
bool ep_lowering_refuse(ep_lowering *w, const char *field, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

enum { EP_SHAPE_BYTES = 72 };

/* "[20, 4, 4]", "[20, 16]" of rank 2, or "[320]" for a vector. */
const char *ep_shape_format(ep_shape shape, int rank, char text[EP_SHAPE_BYTES]);
/* The same of what the layer at hand reads. */
const char *ep_lowering_shape(const ep_lowering *w, char text[EP_SHAPE_BYTES]);

/* False, with an error, where the layer at hand reads something else. */
bool ep_lowering_needs_image(ep_lowering *w, const ep_layer_spec *layer);
bool ep_lowering_needs_vector(ep_lowering *w);

/* A number of inputs that was given must be what comes in. Wrong, it is no reason to stop: the
 * layer's own output does not depend on it. */
void ep_lowering_inputs_check(ep_lowering *w, const char *field, const char *noun, int64_t given,
                              int64_t there);

/* The `lower` of a layer without fields, which keeps its input's shape. */
bool ep_lowering_keeps_shape(ep_lowering *w, const ep_layer_spec *layer, ep_op *op);

#endif
