/* graph.h: an ONNX graph under construction: nodes one after the other, each on the value that
 * the one before gave, and constants.
 *
 * Format: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto; the numbers below are its. */
#ifndef EP_ENGINE_LAYERS_ONNX_GRAPH_H
#define EP_ENGINE_LAYERS_ONNX_GRAPH_H

#include "engine/protobuf/protobuf.h"
#include "kernels/graph.h"

enum { EP_ONNX_NAME_BYTES = 192, EP_ONNX_DIMENSIONS = 4 };

/* Fields of GraphProto and TensorProto that are written in more than one place. */
enum { EP_ONNX_GRAPH_NODE = 1, EP_ONNX_GRAPH_INITIALIZER = 5, EP_ONNX_TENSOR_RAW_DATA = 9 };
enum { EP_ONNX_GRAPH_INPUT = 11, EP_ONNX_GRAPH_OUTPUT = 12 };

/* The operators of words: https://github.com/onnx/onnx/blob/main/docs/Operators-ml.md. */
#define EP_ONNX_ML_DOMAIN "ai.onnx.ml"

typedef enum {
  EP_ONNX_FLOAT = 1,
  EP_ONNX_INT64 = 7,
  EP_ONNX_STRING = 8,
  EP_ONNX_BOOL = 9,
  EP_ONNX_DOUBLE = 11
} ep_onnx_type;

typedef struct {
  char text[EP_ONNX_NAME_BYTES];
} ep_onnx_name;

/* What flows from node to node: [N, channels, height, width] or, as a vector, [N, features]. */
typedef struct {
  ep_onnx_name name;
  bool image;
} ep_onnx_value;

/* All zeros but for value and layer is a graph without nodes. As with ep_protobuf, that memory was
 * short is kept, in nodes.failed, and looked at at the end. */
typedef struct {
  ep_protobuf nodes, constants; /* fields of GraphProto */
  const char *layer;            /* names of what is added begin with it; lent */
  int names_count;              /* made so far, so that each is another */
  ep_onnx_value value;          /* what the next node takes */
  const ep_onnx_value *inputs;  /* of the operator at hand, lent */
} ep_onnx_graph;

void ep_onnx_graph_deinit(ep_onnx_graph *graph);

/* Attributes, added to a node that ep_onnx_node then completes. */
void ep_onnx_attribute_integer(ep_protobuf *node, const char *name, int64_t value);
void ep_onnx_attribute_integers(ep_protobuf *node, const char *name, const int64_t *values,
                                int count);
void ep_onnx_attribute_float(ep_protobuf *node, const char *name, float value);
void ep_onnx_attribute_floats(ep_protobuf *node, const char *name, const float *values, int count);
void ep_onnx_attribute_string(ep_protobuf *node, const char *name, const char *value);
void ep_onnx_attribute_strings(ep_protobuf *node, const char *name, const char *const *values,
                               int count);
/* The node's operator is one of EP_ONNX_ML_DOMAIN. */
void ep_onnx_domain_ml(ep_protobuf *node);
/* An input of the node, behind those that it has. */
void ep_onnx_input_add(ep_protobuf *node, const char *name);

/* Adds a node with one output, whose name it returns. inputs: [inputs_count]; node: its attributes
 * and first inputs, deinitialized afterwards; NULL: it has none. */
ep_onnx_name ep_onnx_node(ep_onnx_graph *graph, const char *operation, const char *const *inputs,
                          int inputs_count, ep_protobuf *node);

/* A node on graph->value and up to one input more (NULL: none), whose output is the next value. */
void ep_onnx_apply(ep_onnx_graph *graph, const char *operation, const char *second,
                   ep_protobuf *node);

/* Gives the value another name, which nothing in the graph has yet. */
void ep_onnx_rename(ep_onnx_graph *graph, const char *value, const char *name);

/* Describes an input or output of the graph (`field`): rows of any number, then shape:
 * [dimensions]. meaning: a sentence for people; NULL: none. */
void ep_onnx_describe(ep_onnx_graph *graph, int field, const char *name, ep_onnx_type type,
                      const int64_t *shape, int dimensions, const char *meaning);

/* Adds a constant of `type`, row-major: shape: [dimensions]; values: of the product, copied. */
ep_onnx_name ep_onnx_constant(ep_onnx_graph *graph, ep_onnx_type type, const int64_t *shape,
                              int dimensions, const void *values);
ep_onnx_name ep_onnx_scalar(ep_onnx_graph *graph, float value);

/* The value turned to another type. */
void ep_onnx_cast(ep_onnx_graph *graph, ep_onnx_type type);
/* The value as an image of that shape, or as a vector. Nothing is added when it is so already. */
void ep_onnx_to_image(ep_onnx_graph *graph, ep_shape shape);
void ep_onnx_to_vector(ep_onnx_graph *graph);

/* Name, type and shape of a tensor, shape: [dimensions]: fields of TensorProto, all but its values.
 */
void ep_onnx_tensor_head(ep_protobuf *tensor, const char *name, ep_onnx_type type,
                         const int64_t *shape, int dimensions);

/* What several layers are made of: a node of no attributes on the value; a parameter of the layer
 * as the weights file names it ("weight", "bias"); a node on the value, the weight and, where the
 * op has one, the bias. */
ep_onnx_name ep_onnx_parameter(const ep_onnx_graph *graph, const char *part);
void ep_onnx_plain(ep_onnx_graph *graph, const ep_op *op, const char *operation);
void ep_onnx_apply_weights(ep_onnx_graph *graph, const char *operation, const ep_op *op,
                           ep_protobuf *node);
/* Places first … end - 1 of so many of the value's axes. first, end, axes: [count]; rows are axis
 * 0. */
ep_onnx_name ep_onnx_slice(ep_onnx_graph *graph, ep_onnx_name value, int64_t count,
                           const int64_t *first, const int64_t *end, const int64_t *axes);

#endif
