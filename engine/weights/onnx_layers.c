#include "engine/weights/onnx_layers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The tensor `part` of the layer, as the weights file names it. */
static ep_onnx_name weights_name(const ep_onnx_graph *graph, const char *part) {
  ep_onnx_name name;
  snprintf(name.text, sizeof name.text, "%.100s.%s", graph->layer, part);
  return name;
}

/* A node on the value, the weight and, where there is one, the bias. */
static void apply_weights(ep_onnx_graph *graph, const char *operation, const ep_op *op,
                          ep_protobuf *node) {
  ep_onnx_name weight = weights_name(graph, "weight"), bias = weights_name(graph, "bias");
  const char *inputs[] = {graph->value.name.text, weight.text, bias.text};
  graph->value.name = ep_onnx_node(graph, operation, inputs, op->bias >= 0 ? 3 : 2, node);
}

static void linear(ep_onnx_graph *graph, const ep_op *op) {
  ep_protobuf node = {0};
  ep_onnx_to_vector(graph);
  ep_onnx_attribute_integer(&node, "transB", 1);
  apply_weights(graph, "Gemm", op, &node);
}

/* Kernel, strides and padding of a window, which ONNX pads on each side by itself. */
static void window_describe(ep_protobuf *node, const ep_op *op) {
  ep_onnx_attribute_integers(node, "kernel_shape", (int64_t[]){op->kernel[0], op->kernel[1]}, 2);
  ep_onnx_attribute_integers(node, "strides", (int64_t[]){op->stride[0], op->stride[1]}, 2);
  ep_onnx_attribute_integers(
      node, "pads",
      (int64_t[]){op->padding[0], op->padding[1], op->padding[0], op->causal ? 0 : op->padding[1]},
      4);
}

static void dilations_describe(ep_protobuf *node, const ep_op *op) {
  ep_onnx_attribute_integers(node, "dilations", (int64_t[]){op->dilation[0], op->dilation[1]}, 2);
}

/* The weight of a conv1d with a height of 1. */
static ep_onnx_name flat_weight(ep_onnx_graph *graph, const ep_op *op) {
  ep_onnx_name weight = weights_name(graph, "weight");
  const int64_t four = 4,
                shape[] = {op->out.channels, op->in.channels / op->groups, 1, op->kernel[1]};
  ep_onnx_name to = ep_onnx_constant(graph, EP_ONNX_INT64, &four, 1, shape);
  const char *inputs[] = {weight.text, to.text};
  return ep_onnx_node(graph, "Reshape", inputs, 2, NULL);
}

static void conv2d(ep_onnx_graph *graph, const ep_op *op) {
  ep_protobuf node = {0};
  ep_onnx_to_image(graph, op->in);
  ep_onnx_name weight = op->is_1d ? flat_weight(graph, op) : weights_name(graph, "weight");
  window_describe(&node, op);
  dilations_describe(&node, op);
  ep_onnx_attribute_integer(&node, "group", op->groups);
  ep_onnx_name bias = weights_name(graph, "bias");
  const char *inputs[] = {graph->value.name.text, weight.text, bias.text};
  graph->value.name = ep_onnx_node(graph, "Conv", inputs, op->bias >= 0 ? 3 : 2, &node);
}

static void max_pool2d(ep_onnx_graph *graph, const ep_op *op) {
  ep_protobuf node = {0};
  ep_onnx_to_image(graph, op->in);
  window_describe(&node, op);
  dilations_describe(&node, op);
  ep_onnx_apply(graph, "MaxPool", NULL, &node);
}

static void average_pool(ep_onnx_graph *graph, const ep_op *op) {
  ep_protobuf node = {0};
  window_describe(&node, op);
  ep_onnx_attribute_integer(&node, "count_include_pad", 1);
  ep_onnx_apply(graph, "AveragePool", NULL, &node);
}

static void avg_pool2d(ep_onnx_graph *graph, const ep_op *op) {
  ep_onnx_to_image(graph, op->in);
  average_pool(graph, op);
}

/* Window i of n over `size`, as program.h says: first … end - 1. */
static int64_t window_first(int64_t i, int64_t n, int64_t size) {
  return i * size / n;
}
static int64_t window_end(int64_t i, int64_t n, int64_t size) {
  return ((i + 1) * size + n - 1) / n;
}

/* Whether the n adaptive windows over `size` are alike and equally far apart. */
static bool windows_even(int64_t n, int64_t size, int *kernel, int *stride) {
  int64_t width = window_end(0, n, size);
  int64_t step = n > 1 ? window_first(1, n, size) : 1;
  *kernel = (int)width;
  *stride = (int)step;
  for (int64_t i = 0; i < n; i++)
    if (window_first(i, n, size) != i * step || window_end(i, n, size) != i * step + width)
      return false;
  return step > 0;
}

/* The averages over n windows as a matrix: [n, size], or its transpose. NULL: memory is short. */
static float *windows_matrix(int64_t n, int64_t size, bool transposed) {
  float *matrix = calloc((size_t)n, (size_t)size * sizeof *matrix);
  for (int64_t i = 0; matrix && i < n; i++) {
    int64_t first = window_first(i, n, size), end = window_end(i, n, size);
    for (int64_t j = first; j < end; j++)
      matrix[transposed ? j * n + i : i * size + j] = 1 / (float)(end - first);
  }
  return matrix;
}

/* Windows of several sizes are beyond AveragePool: rows, then columns, are averaged by a matrix. */
static void average_by_matrices(ep_onnx_graph *graph, const ep_op *op) {
  float *rows = windows_matrix(op->out.height, op->in.height, false);
  float *columns = windows_matrix(op->out.width, op->in.width, true);
  if (rows && columns) {
    ep_onnx_name left =
        ep_onnx_constant(graph, EP_ONNX_FLOAT, (int64_t[]){op->out.height, op->in.height}, 2, rows);
    ep_onnx_name right = ep_onnx_constant(graph, EP_ONNX_FLOAT,
                                          (int64_t[]){op->in.width, op->out.width}, 2, columns);
    const char *inputs[] = {left.text, graph->value.name.text};
    graph->value.name = ep_onnx_node(graph, "MatMul", inputs, 2, NULL);
    ep_onnx_apply(graph, "MatMul", right.text, NULL);
  } else {
    graph->nodes.failed = true;
  }
  free(columns);
  free(rows);
}

static void adaptive_avg_pool2d(ep_onnx_graph *graph, const ep_op *op) {
  ep_op even = {.out = op->out};
  ep_onnx_to_image(graph, op->in);
  if (op->out.height == 1 && op->out.width == 1)
    ep_onnx_apply(graph, "GlobalAveragePool", NULL, NULL);
  else if (windows_even(op->out.height, op->in.height, &even.kernel[0], &even.stride[0]) &&
           windows_even(op->out.width, op->in.width, &even.kernel[1], &even.stride[1]))
    average_pool(graph, &even);
  else
    average_by_matrices(graph, op);
}

/* `count` times the same number. */
static ep_onnx_name filled(ep_onnx_graph *graph, int64_t count, float value) {
  ep_onnx_name name = {""};
  float *values = malloc((size_t)count * sizeof *values);
  for (int64_t i = 0; values && i < count; i++) values[i] = value;
  if (values) name = ep_onnx_constant(graph, EP_ONNX_FLOAT, &count, 1, values);
  if (!values) graph->nodes.failed = true;
  free(values);
  return name;
}

static void batch_norm(ep_onnx_graph *graph, const ep_op *op) {
  ep_protobuf node = {0};
  int64_t channels = op->in.channels;
  if (op->in.height * op->in.width > 1) ep_onnx_to_image(graph, op->in);
  ep_onnx_name weight =
      op->weight >= 0 ? weights_name(graph, "weight") : filled(graph, channels, 1);
  ep_onnx_name bias = op->bias >= 0 ? weights_name(graph, "bias") : filled(graph, channels, 0);
  ep_onnx_name mean = weights_name(graph, "running_mean");
  ep_onnx_name variance = weights_name(graph, "running_var");
  const char *inputs[] = {graph->value.name.text, weight.text, bias.text, mean.text, variance.text};
  ep_onnx_attribute_float(&node, "epsilon", op->eps);
  graph->value.name = ep_onnx_node(graph, "BatchNormalization", inputs, 5, &node);
}

/* Over a row's last three dimensions, if it is an image; the weight has the same shape. */
static void layer_norm(ep_onnx_graph *graph, const ep_op *op) {
  ep_protobuf node = {0};
  bool image = op->in.height * op->in.width > 1;
  if (image)
    ep_onnx_to_image(graph, op->in);
  else
    ep_onnx_to_vector(graph);
  ep_onnx_attribute_integer(&node, "axis", 1);
  ep_onnx_attribute_float(&node, "epsilon", op->eps);
  if (op->weight >= 0) {
    apply_weights(graph, "LayerNormalization", op, &node);
    return;
  }
  int64_t shape[] = {op->in.channels, op->in.height, op->in.width};
  ep_onnx_name ones = filled(graph, op->in_features, 1);
  if (image) { /* [features] to the image's shape */
    ep_onnx_name extents = ep_onnx_constant(graph, EP_ONNX_INT64, (int64_t[]){3}, 1, shape);
    const char *inputs[] = {ones.text, extents.text};
    ones = ep_onnx_node(graph, "Reshape", inputs, 2, NULL);
  }
  ep_onnx_apply(graph, "LayerNormalization", ones.text, &node);
}

/* Columns first … end - 1 of a vector. */
static ep_onnx_name columns_of(ep_onnx_graph *graph, ep_onnx_name vector, int64_t first,
                               int64_t end) {
  const int64_t one = 1;
  ep_onnx_name starts = ep_onnx_constant(graph, EP_ONNX_INT64, &one, 1, &first);
  ep_onnx_name ends = ep_onnx_constant(graph, EP_ONNX_INT64, &one, 1, &end);
  ep_onnx_name axes = ep_onnx_constant(graph, EP_ONNX_INT64, &one, 1, &one);
  const char *inputs[] = {vector.text, starts.text, ends.text, axes.text};
  return ep_onnx_node(graph, "Slice", inputs, 4, NULL);
}

/* x holds whole numbers behind `numbers` others: rows of the table, side by side, behind these. */
static void embedding(ep_onnx_graph *graph, const ep_op *op) {
  ep_onnx_name numbers = {0};
  ep_protobuf node = {0};
  ep_onnx_to_vector(graph);
  if (op->numbers > 0) {
    ep_onnx_name all = graph->value.name;
    numbers = columns_of(graph, all, 0, op->numbers);
    graph->value.name = columns_of(graph, all, op->numbers, op->in_features);
  }
  ep_onnx_cast(graph, EP_ONNX_INT64);
  ep_onnx_name table = weights_name(graph, "weight");
  const char *inputs[] = {table.text, graph->value.name.text};
  graph->value.name = ep_onnx_node(graph, "Gather", inputs, 2, NULL);
  graph->value.image = true; /* [N, columns, dimension]: flattened alike */
  ep_onnx_to_vector(graph);
  if (op->numbers == 0) return;
  const char *parts[] = {numbers.text, graph->value.name.text};
  ep_onnx_attribute_integer(&node, "axis", 1);
  graph->value.name = ep_onnx_node(graph, "Concat", parts, 2, &node);
}

static void leaky_relu(ep_onnx_graph *graph, const ep_op *op) {
  ep_protobuf node = {0};
  ep_onnx_attribute_float(&node, "alpha", op->negative_slope);
  ep_onnx_apply(graph, "LeakyRelu", NULL, &node);
}

/* x * (1 + erf(x / sqrt 2)) / 2; ONNX's own Gelu comes with opset 20. */
static void gelu(ep_onnx_graph *graph, const ep_op *op) {
  (void)op;
  ep_onnx_name x = graph->value.name;
  ep_onnx_apply(graph, "Mul", ep_onnx_scalar(graph, (float)M_SQRT1_2).text, NULL);
  ep_onnx_apply(graph, "Erf", NULL, NULL);
  ep_onnx_apply(graph, "Add", ep_onnx_scalar(graph, 1).text, NULL);
  ep_onnx_apply(graph, "Mul", x.text, NULL);
  ep_onnx_apply(graph, "Mul", ep_onnx_scalar(graph, 0.5F).text, NULL);
}

/* Over all features of a row. */
static void over_features(ep_onnx_graph *graph, const char *operation) {
  ep_protobuf node = {0};
  ep_onnx_to_vector(graph);
  ep_onnx_attribute_integer(&node, "axis", 1);
  ep_onnx_apply(graph, operation, NULL, &node);
}

static void softmax(ep_onnx_graph *graph, const ep_op *op) {
  (void)op;
  over_features(graph, "Softmax");
}

static void log_softmax(ep_onnx_graph *graph, const ep_op *op) {
  (void)op;
  over_features(graph, "LogSoftmax");
}

static void elu(ep_onnx_graph *graph, const ep_op *op) {
  ep_protobuf node = {0};
  ep_onnx_attribute_float(&node, "alpha", op->alpha);
  ep_onnx_apply(graph, "Elu", NULL, &node);
}

static void silu(ep_onnx_graph *graph, const ep_op *op) {
  (void)op;
  ep_onnx_name x = graph->value.name;
  ep_onnx_apply(graph, "Sigmoid", NULL, NULL);
  ep_onnx_apply(graph, "Mul", x.text, NULL);
}

/* x tanh(ln(1 + e^x)); ONNX's own Mish comes with opset 18. */
static void mish(ep_onnx_graph *graph, const ep_op *op) {
  (void)op;
  ep_onnx_name x = graph->value.name;
  ep_onnx_apply(graph, "Softplus", NULL, NULL);
  ep_onnx_apply(graph, "Tanh", NULL, NULL);
  ep_onnx_apply(graph, "Mul", x.text, NULL);
}

/* beta x > threshold ? x : ln(1 + e^(beta x)) / beta */
static void softplus(ep_onnx_graph *graph, const ep_op *op) {
  ep_onnx_name x = graph->value.name, beta = ep_onnx_scalar(graph, op->beta);
  ep_onnx_apply(graph, "Mul", beta.text, NULL);
  ep_onnx_name scaled = graph->value.name;
  ep_onnx_apply(graph, "Softplus", NULL, NULL);
  ep_onnx_apply(graph, "Div", beta.text, NULL);
  ep_onnx_name curve = graph->value.name, threshold = ep_onnx_scalar(graph, op->threshold);
  const char *compared[] = {scaled.text, threshold.text};
  ep_onnx_name above = ep_onnx_node(graph, "Greater", compared, 2, NULL);
  const char *chosen[] = {above.text, x.text, curve.text};
  graph->value.name = ep_onnx_node(graph, "Where", chosen, 3, NULL);
}

static void flatten(ep_onnx_graph *graph, const ep_op *op) {
  (void)op;
  ep_onnx_to_vector(graph);
}

/* An input as the graph has it, or as an image. */
static ep_onnx_value input_of(ep_onnx_graph *graph, int number, bool image, ep_shape shape) {
  graph->value = graph->inputs[number];
  if (image) ep_onnx_to_image(graph, shape);
  return graph->value;
}

static bool any_image(const ep_onnx_graph *graph, const ep_op *op) {
  bool image = false;
  for (int k = 0; k < op->inputs; k++) image = image || graph->inputs[k].image;
  return image;
}

/* The inputs one after the other, each with what came of those before it. */
static void elements(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  const bool image = any_image(graph, op);
  ep_onnx_value all = input_of(graph, 0, image, op->out);
  for (int k = 1; k < op->inputs; k++) {
    ep_onnx_value other = input_of(graph, k, image, op->out);
    graph->value = all;
    ep_onnx_apply(graph, operation, other.name.text, NULL);
    all = graph->value;
  }
}

static void add(ep_onnx_graph *graph, const ep_op *op) {
  elements(graph, op, "Add");
}

static void mul(ep_onnx_graph *graph, const ep_op *op) {
  elements(graph, op, "Mul");
}

static void concat(ep_onnx_graph *graph, const ep_op *op) {
  const bool image = op->axis > 0 || any_image(graph, op);
  ep_onnx_value values[EP_OP_INPUTS];
  const char *names[EP_OP_INPUTS];
  ep_protobuf node = {0};
  for (int k = 0; k < op->inputs; k++) {
    ep_shape shape = op->out;
    *(op->axis == 0   ? &shape.channels
      : op->axis == 1 ? &shape.height
                      : &shape.width) = op->length[k];
    values[k] = input_of(graph, k, image, shape);
    names[k] = values[k].name.text;
  }
  ep_onnx_attribute_integer(&node, "axis", op->axis + 1);
  graph->value.name = ep_onnx_node(graph, "Concat", names, op->inputs, &node);
}

static void slice(ep_onnx_graph *graph, const ep_op *op) {
  if (op->axis > 0) ep_onnx_to_image(graph, op->in);
  const int64_t one = 1, axis = op->axis + 1, end = op->start + ep_shape_side(op->out, op->axis);
  ep_onnx_name starts = ep_onnx_constant(graph, EP_ONNX_INT64, &one, 1, &op->start);
  ep_onnx_name ends = ep_onnx_constant(graph, EP_ONNX_INT64, &one, 1, &end);
  ep_onnx_name axes = ep_onnx_constant(graph, EP_ONNX_INT64, &one, 1, &axis);
  const char *inputs[] = {graph->value.name.text, starts.text, ends.text, axes.text};
  graph->value.name = ep_onnx_node(graph, "Slice", inputs, 4, NULL);
}

static void reshape(ep_onnx_graph *graph, const ep_op *op) {
  ep_onnx_to_vector(graph);
  if (op->out.height * op->out.width > 1) ep_onnx_to_image(graph, op->out);
}

static void permute(ep_onnx_graph *graph, const ep_op *op) {
  ep_protobuf node = {0};
  ep_onnx_to_image(graph, op->in);
  ep_onnx_attribute_integers(
      &node, "perm", (int64_t[]){0, op->order[0] + 1, op->order[1] + 1, op->order[2] + 1}, 4);
  ep_onnx_apply(graph, "Transpose", NULL, &node);
}

/* Dropout: in evaluation nothing happens. */
static void nothing(ep_onnx_graph *graph, const ep_op *op) {
  (void)graph, (void)op;
}

/* A layer is one operator without attributes, or what `add` makes of it. */
static const struct {
  const char *operation;
  void (*add)(ep_onnx_graph *graph, const ep_op *op);
} layers[EP_LAYER_COUNT] = {
    [EP_LAYER_LINEAR] = {.add = linear},
    [EP_LAYER_RELU] = {.operation = "Relu"},
    [EP_LAYER_LEAKY_RELU] = {.add = leaky_relu},
    [EP_LAYER_TANH] = {.operation = "Tanh"},
    [EP_LAYER_SIGMOID] = {.operation = "Sigmoid"},
    [EP_LAYER_GELU] = {.add = gelu},
    [EP_LAYER_SIN] = {.operation = "Sin"},
    [EP_LAYER_SOFTMAX] = {.add = softmax},
    [EP_LAYER_LOG_SOFTMAX] = {.add = log_softmax},
    [EP_LAYER_ELU] = {.add = elu},
    [EP_LAYER_SILU] = {.add = silu},
    [EP_LAYER_SOFTPLUS] = {.add = softplus},
    [EP_LAYER_FLATTEN] = {.add = flatten},
    [EP_LAYER_CONV2D] = {.add = conv2d},
    [EP_LAYER_MAX_POOL2D] = {.add = max_pool2d},
    [EP_LAYER_AVG_POOL2D] = {.add = avg_pool2d},
    [EP_LAYER_ADAPTIVE_AVG_POOL2D] = {.add = adaptive_avg_pool2d},
    [EP_LAYER_DROPOUT] = {.add = nothing},
    [EP_LAYER_DROPOUT2D] = {.add = nothing},
    [EP_LAYER_BATCH_NORM] = {.add = batch_norm},
    [EP_LAYER_LAYER_NORM] = {.add = layer_norm},
    [EP_LAYER_EMBEDDING] = {.add = embedding},
    [EP_LAYER_MISH] = {.add = mish},
    [EP_LAYER_HARDSWISH] = {.operation = "HardSwish"},
    [EP_LAYER_ADD] = {.add = add},
    [EP_LAYER_MUL] = {.add = mul},
    [EP_LAYER_CONCAT] = {.add = concat},
    [EP_LAYER_SLICE] = {.add = slice},
    [EP_LAYER_RESHAPE] = {.add = reshape},
    [EP_LAYER_PERMUTE] = {.add = permute},
};

bool ep_onnx_layer_known(ep_layer_type type) {
  return layers[type].operation || layers[type].add;
}

void ep_onnx_layer_add(ep_onnx_graph *graph, const ep_op *op, const ep_onnx_value *inputs) {
  graph->inputs = inputs;
  graph->value = inputs[0];
  if (layers[op->type].operation)
    ep_onnx_apply(graph, layers[op->type].operation, NULL, NULL);
  else
    layers[op->type].add(graph, op);
}
