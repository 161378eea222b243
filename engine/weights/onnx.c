#include "engine/weights/onnx.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "engine/files/durable_file.h"
#include "engine/layers/layer.h"
#include "engine/weights/onnx_columns.h"
#include "engine/weights/onnx_outputs.h"
#include "engine/weights/stored_model.h"
#include "engine/weights/weights.h"

/* Fields of onnx.proto's messages. */
enum { MODEL_IR = 1, MODEL_PRODUCER = 2, MODEL_VERSION = 3, MODEL_GRAPH = 7, MODEL_OPSET = 8 };
enum { OPSET_DOMAIN = 1, OPSET_VERSION = 2, GRAPH_NAME = 2 };

/* The next value is what `operation` makes of this one and the numbers, which have its shape, or
 * one number a channel. */
static void apply_numbers(ep_onnx_graph *graph, const char *operation, ep_onnx_type type,
                          ep_shape row, int64_t count, const void *numbers) {
  int64_t image[] = {row.channels, row.height, row.width}, channel[] = {row.channels, 1, 1};
  bool all = graph->value.image && count == ep_shape_count(row);
  bool by_channel = graph->value.image && !all && count == row.channels;
  const int64_t *shape = all ? image : by_channel ? channel : &count;
  ep_onnx_name name = ep_onnx_constant(graph, type, shape, all || by_channel ? 3 : 1, numbers);
  ep_onnx_apply(graph, operation, name.text, NULL);
}

/* As it is done before training: figures of the data in float64, what comes of bytes in float32. */
static void input_scale(ep_onnx_graph *graph, const ep_stored_model *s) {
  const ep_program *program = &s->plan->program;
  const ep_scaling *scaling = &s->scaling;
  const ep_normalization *by_channel = &s->normalization;
  ep_shape row = program->stored;
  if (program->x_scale) {
    apply_numbers(graph, "Mul", EP_ONNX_FLOAT, row, row.channels, program->x_scale);
    apply_numbers(graph, "Add", EP_ONNX_FLOAT, row, row.channels, program->x_shift);
  } else if (scaling->x_mean) {
    ep_onnx_cast(graph, EP_ONNX_DOUBLE);
    apply_numbers(graph, "Sub", EP_ONNX_DOUBLE, row, scaling->x_columns, scaling->x_mean);
    apply_numbers(graph, "Div", EP_ONNX_DOUBLE, row, scaling->x_columns, scaling->x_deviation);
    ep_onnx_cast(graph, EP_ONNX_FLOAT);
  } else if (by_channel->channels > 0) {
    ep_onnx_cast(graph, EP_ONNX_DOUBLE);
    apply_numbers(graph, "Mul", EP_ONNX_DOUBLE, row, by_channel->channels, by_channel->factor);
    apply_numbers(graph, "Add", EP_ONNX_DOUBLE, row, by_channel->channels, by_channel->offset);
    ep_onnx_cast(graph, EP_ONNX_FLOAT);
  }
}

/* The middle, as in every evaluation. */
static void input_crop(ep_onnx_graph *graph, ep_shape stored, ep_shape in) {
  if (stored.height == in.height && stored.width == in.width) return;
  int64_t first[] = {(stored.height - in.height) / 2, (stored.width - in.width) / 2};
  int64_t end[] = {first[0] + in.height, first[1] + in.width}, axes[] = {2, 3};
  graph->value.name = ep_onnx_slice(graph, graph->value.name, 2, first, end, axes);
}

static void output_scale(ep_onnx_graph *graph, const ep_scaling *scaling) {
  ep_shape row = {scaling->y_columns, 1, 1};
  if (!scaling->y_mean) return;
  ep_onnx_cast(graph, EP_ONNX_DOUBLE);
  apply_numbers(graph, "Mul", EP_ONNX_DOUBLE, row, row.channels, scaling->y_deviation);
  apply_numbers(graph, "Add", EP_ONNX_DOUBLE, row, row.channels, scaling->y_mean);
  ep_onnx_cast(graph, EP_ONNX_FLOAT);
}

/* The nodes of an op, which leave graph->value; its weights are the constants graph->layer.weight,
 * … that the file will have. inputs: [op->inputs]. */
static void layer_add(ep_onnx_graph *graph, const ep_op *op, const ep_onnx_value *inputs) {
  const ep_layer *layer = ep_layer_of(op->type);
  graph->inputs = inputs;
  graph->value = inputs[0];
  layer->onnx(graph, op, layer->onnx_operation);
}

static ep_status layers_add(ep_onnx_graph *graph, const ep_plan *plan, ep_error *error) {
  int count = plan->program.ops_count;
  ep_onnx_value *values = calloc((size_t)count + 1, sizeof *values); /* [0]: the input */
  if (!values) return ep_fail_memory(error);
  values[0] = graph->value;
  for (int i = 0; i < count; i++) {
    const ep_op *op = &plan->program.ops[i];
    graph->layer = plan->names[i];
    ep_onnx_value inputs[EP_OP_INPUTS];
    for (int k = 0; k < op->inputs; k++) inputs[k] = values[op->input[k]];
    layer_add(graph, op, inputs);
    values[i + 1] = graph->value;
  }
  free(values);
  return EP_OK;
}

/* [C, H, W], or a vector: an image of one pixel is one only if the job said so. */
static bool rows_are_images(const ep_stored_model *s) {
  ep_shape row = s->plan->program.stored;
  return s->spec->data.shape[0] > 0 || row.height * row.width > 1;
}

/* Columns are inputs by their names. */
static ep_status names_check(const ep_encoding *encoding, ep_error *error) {
  const char *name;
  ep_status status = ep_encoding_repeated_name(encoding, &name, error);
  if (status != EP_OK || !name) return status;
  return ep_fail(error, EP_INVALID,
                 "two columns are named \"%.100s\", and an ONNX graph has one named input per "
                 "column: rename one of them in the data, or use safetensors",
                 name);
}

static ep_status graph_make(ep_onnx_graph *graph, const ep_stored_model *s, ep_error *error) {
  const ep_program *program = &s->plan->program;
  bool image = rows_are_images(s);
  graph->layer = "x";
  graph->value = (ep_onnx_value){.name = {"x"}, .image = image};
  if (s->scaling.encoding)
    ep_onnx_columns_add(graph, s->scaling.encoding);
  else
    input_scale(graph, s);
  input_crop(graph, program->stored, program->in);
  ep_status status = layers_add(graph, s->plan, error);
  if (status != EP_OK) return status;
  graph->layer = "y";
  ep_onnx_to_vector(graph);
  output_scale(graph, &s->scaling);
  return EP_OK;
}

/* What the graph has besides nodes and constants; its output gets the name "y". Raw rows of a table
 * have an input a column. */
static void graph_describe(ep_onnx_graph *graph, const ep_stored_model *s) {
  const ep_program *program = &s->plan->program;
  const ep_encoding *encoding = s->scaling.encoding;
  ep_shape row = program->stored;
  bool image = rows_are_images(s);
  int64_t features = ep_shape_count(row);
  ep_protobuf_text(&graph->nodes, GRAPH_NAME, "epochd");
  if (encoding) {
    ep_onnx_columns_describe(graph, encoding);
    ep_onnx_outputs_add(graph, encoding, program->loss, program->out_features);
    return;
  }
  ep_onnx_describe(graph, EP_ONNX_GRAPH_INPUT, "x", EP_ONNX_FLOAT,
                   image ? (int64_t[]){row.channels, row.height, row.width} : &features,
                   image ? 3 : 1, NULL);
  ep_onnx_rename(graph, graph->value.name.text, "y");
  ep_onnx_describe(graph, EP_ONNX_GRAPH_OUTPUT, "y", EP_ONNX_FLOAT, &program->out_features, 1,
                   NULL);
}

/* Everything of the file but the graph. words: it may hold operators of words. */
static void model_describe(ep_protobuf *model, bool words) {
  ep_protobuf opset = {0};
  ep_protobuf_integer(model, MODEL_IR, EP_ONNX_IR_VERSION);
  ep_protobuf_text(model, MODEL_PRODUCER, "epochd");
  ep_protobuf_text(model, MODEL_VERSION, EP_VERSION);
  ep_protobuf_integer(&opset, OPSET_VERSION, EP_ONNX_OPSET);
  ep_protobuf_take(model, MODEL_OPSET, &opset);
  if (!words) return;
  ep_protobuf_text(&opset, OPSET_DOMAIN, EP_ONNX_ML_DOMAIN);
  ep_protobuf_integer(&opset, OPSET_VERSION, EP_ONNX_ML_OPSET);
  ep_protobuf_take(model, MODEL_OPSET, &opset);
}

/* A weight as a constant: its head and how many bytes it takes, its values following. */
static uint64_t weight_head(const ep_tensor *tensor, ep_protobuf *head) {
  uint64_t bytes = (uint64_t)tensor->values_count * sizeof(float);
  ep_onnx_tensor_head(head, tensor->name, EP_ONNX_FLOAT, tensor->shape, tensor->dimensions);
  ep_protobuf_head(head, EP_ONNX_TENSOR_RAW_DATA, bytes);
  return head->count + bytes;
}

/* Bytes of all weights as fields of the graph; 0 when memory is short. */
static uint64_t weights_bytes(const ep_tensors *weights) {
  uint64_t total = 0;
  bool failed = false;
  for (size_t i = 0; i < weights->tensors_count && !failed; i++) {
    ep_protobuf head = {0};
    if (weights->tensor[i].whole) continue;
    uint64_t bytes = weight_head(&weights->tensor[i], &head);
    total += ep_protobuf_head_bytes(EP_ONNX_GRAPH_INITIALIZER, bytes) + bytes;
    failed = head.failed;
    ep_protobuf_deinit(&head);
  }
  return failed ? 0 : total;
}

static ep_status part_write(ep_durable_file *file, const ep_protobuf *part, ep_error *error) {
  return part->count > 0 ? ep_durable_file_write(file, part->bytes, part->count, error) : EP_OK;
}

/* The values go from the mapped file straight to the new one. */
static ep_status weight_write(ep_durable_file *file, const ep_tensor *tensor, ep_error *error) {
  ep_protobuf field = {0}, head = {0};
  uint64_t bytes = weight_head(tensor, &head);
  ep_protobuf_head(&field, EP_ONNX_GRAPH_INITIALIZER, bytes);
  ep_status status = EP_OK;
  if (field.failed || head.failed) status = ep_fail_memory(error);
  if (status == EP_OK) status = part_write(file, &field, error);
  if (status == EP_OK) status = part_write(file, &head, error);
  if (status == EP_OK)
    status = ep_durable_file_write(file, tensor->bytes, (size_t)(bytes - head.count), error);
  ep_protobuf_deinit(&head);
  ep_protobuf_deinit(&field);
  return status;
}

static ep_status model_write(ep_durable_file *file, const ep_stored_model *s,
                             const ep_onnx_graph *graph, ep_error *error) {
  const ep_tensors *weights = &s->file;
  ep_protobuf model = {0};
  uint64_t made = graph->nodes.count + graph->constants.count, stored = weights_bytes(weights);
  ep_status status = EP_OK;
  model_describe(&model, s->scaling.encoding != NULL);
  ep_protobuf_head(&model, MODEL_GRAPH, made + stored);
  if (model.failed || graph->nodes.failed || graph->constants.failed)
    status = ep_fail_memory(error);
  else if (model.count + made + stored > INT32_MAX)
    status = ep_fail(error, EP_INVALID,
                     "this network has over 2 GiB of weights, more than an ONNX file can contain: "
                     "use safetensors");
  if (status == EP_OK) status = part_write(file, &model, error);
  if (status == EP_OK) status = part_write(file, &graph->nodes, error);
  if (status == EP_OK) status = part_write(file, &graph->constants, error);
  for (size_t i = 0; i < weights->tensors_count && status == EP_OK; i++)
    if (!weights->tensor[i].whole) status = weight_write(file, &weights->tensor[i], error);
  ep_protobuf_deinit(&model);
  return status;
}

ep_status ep_weights_to_onnx(const char *path, const char *onnx_path, const ep_cancellation *stop,
                             ep_error *error) {
  ep_stored_model s;
  ep_onnx_graph graph = {0};
  ep_durable_file *file = NULL;
  ep_status status = ep_stored_model_open(path, &s, error);
  if (status == EP_OK) status = ep_stored_model_plan(&s, false, error);
  if (status == EP_OK && s.scaling.encoding && s.scaling.encoding->window.length > 0)
    status = ep_fail(error, EP_INVALID,
                     "an ONNX graph has one input per column with one cell per row, and windows of "
                     "a series have several: use safetensors");
  if (status == EP_OK && s.scaling.encoding) status = names_check(s.scaling.encoding, error);
  if (status == EP_OK) status = graph_make(&graph, &s, error);
  if (status == EP_OK) {
    graph_describe(&graph, &s);
    status = ep_durable_file_create(onnx_path, &file, error);
    if (status == EP_OK) ep_durable_file_heed(file, stop);
  }
  if (status == EP_OK) status = model_write(file, &s, &graph, error);
  if (status == EP_OK) {
    status = ep_durable_file_commit(file, NULL, NULL, error);
  } else {
    ep_durable_file_abandon(file);
  }
  ep_onnx_graph_deinit(&graph);
  ep_stored_model_close(&s);
  return status;
}
