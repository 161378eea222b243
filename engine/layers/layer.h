/* layer.h: what each type of layer is above the kernels, a row each: its shape from JSON, its ONNX,
 * its C. What holds of it on every device is a row of kernels/operators/operator.h.
 *
 * A row is in the file of its family: a new layer is a new file. A type without a row does not
 * link, and a row that lacks one of the three does not compile. */
#ifndef EP_ENGINE_LAYERS_LAYER_H
#define EP_ENGINE_LAYERS_LAYER_H

#include <stddef.h>

#include "engine/layers/c/op.h"
#include "engine/layers/lowering.h"
#include "engine/layers/onnx/graph.h"

typedef struct {
  /* Fills in the op, which comes with its inputs, `in`, and `out` the same, and w->out_rank, which
   * comes as w->in_rank. False after an error, when its shape is not known. */
  bool (*lower)(ep_lowering *w, const ep_layer_spec *layer, ep_op *op);
  bool joins;        /* it reads several values; others are refused those before `lower` */
  const char *width; /* the field that says how wide its output is; NULL: it has none */
  bool wants_sides;  /* of the window of a series it takes [features, length], others a vector */

  /* As nodes of ONNX's opset 17, as it stands in evaluation
   * (https://github.com/onnx/onnx/blob/main/docs/Operators.md): takes graph->value, or
   * graph->inputs, and leaves graph->value. operation: the row's. */
  void (*onnx)(ep_onnx_graph *graph, const ep_op *op, const char *operation);
  const char *onnx_operation;

  /* As C99. A row of numbers goes in as x and comes out as y; an operator that writes where it
   * reads (EP_WRITES_EACH, …) changes y, which holds x. Sums are float, but for those of norms,
   * averages and softmax, which are double as in cpu/reference. */
  struct {
    const ep_c_function *functions[EP_C_FUNCTIONS]; /* that the call needs, in this order */
    void (*weights)(const ep_c_op *c);              /* writes its tables; NULL: it has none */
    void (*call)(const ep_c_op *c);                 /* writes its statements */
    size_t numbers[EP_C_NUMBERS]; /* floats of ep_op that ep_c_begin_in_place passes, till a 0 */
    bool quantized;               /* its weight may be int8 (c/quantize.h) */
  } c;
} ep_layer;

/* The row of a word of EP_LAYER_TABLE; the second with more facts: .joins = true. A word whose op
 * is of another type (ep_layer_operator) has the ONNX and the C of that one. */
#define EP_LAYER(code, lower_, onnx_, c_) \
  const ep_layer ep_layer_##code = {.lower = lower_, onnx_, c_}
#define EP_LAYER_WITH(code, lower_, onnx_, c_, ...) \
  const ep_layer ep_layer_##code = {.lower = lower_, onnx_, c_, __VA_ARGS__}
#define EP_ONNX(operation, add) .onnx = add, .onnx_operation = operation
#define EP_ONNX_NODE(operation) EP_ONNX(operation, ep_onnx_plain) /* without attributes */
#define EP_C(...) .c = {__VA_ARGS__}
/* Of an activation: `value` of each number v. The second also has parameters and the numbers that
 * are passed for them, and statements before the value. Formulas are those of
 * kernels/formulas/activations.h. */
#define EP_C_EACH(name, value) EP_C_EACH_WITH(name, "", "", value, 0)
#define EP_C_EACH_WITH(name, parameters, before, value, ...)                                   \
  EP_C(.functions = {&(const ep_c_function){                                                   \
           .text = "static inline void @_" name "(float *x, int32_t count" parameters ") {\n"  \
                   "  for (int32_t i = 0; i < count; i++) {\n"                                 \
                   "    const float v = x[i];\n" before "    x[i] = " value ";\n  }\n}\n\n"}}, \
       .call = ep_c_call_in_place, .numbers = {__VA_ARGS__})
/* A float of ep_op. */
#define EP_C_NUMBER(member) offsetof(ep_op, member)

/* The row of a word; of an op ep_layer_of(op->type) has its ONNX and C. */
const ep_layer *ep_layer_of(ep_layer_type type);

#endif
