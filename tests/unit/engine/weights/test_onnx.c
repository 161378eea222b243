#include "engine/weights/onnx.h"

#include "engine/data/columns/encoding_json.h"
#include "engine/layers/layer.h"
#include "engine/weights/weights.h"
#include "kernels/operators/operator.h"
#include "tests/suite.h"
#include "tests/unit/engine/scratch.h"
#include "tests/unit/engine/weights/network_fixture.h"

/* A reader of its own, by the wire format's description alone: bytes that lie elsewhere. */
typedef struct {
  const uint8_t *bytes;
  size_t count;
} part;

static uint64_t varint_read(part *message) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    ck_assert(message->count > 0 && shift < 64);
    uint8_t byte = *message->bytes++;
    message->count--;
    value |= (uint64_t)(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
}

/* The next field: its number; a length-delimited one's bytes in *value, a varint in *integer. */
static int field_read(part *message, part *value, uint64_t *integer) {
  uint64_t key = varint_read(message);
  *integer = 0;
  *value = (part){message->bytes, 4};
  if ((key & 7) == 0)
    *integer = varint_read(message);
  else if ((key & 7) == 2)
    *value = (part){NULL, varint_read(message)};
  else
    ck_assert_uint_eq(key & 7, 5);
  if ((key & 7) == 2) value->bytes = message->bytes;
  if ((key & 7) == 0) return (int)(key >> 3);
  ck_assert_uint_le(value->count, message->count);
  message->bytes += value->count;
  message->count -= value->count;
  return (int)(key >> 3);
}

/* The `index`th field of that number; false when there are not so many. */
static bool field_find(part message, int number, int index, part *value, uint64_t *integer) {
  while (message.count > 0)
    if (field_read(&message, value, integer) == number && index-- == 0) return true;
  return false;
}

static part field(part message, int number, int index) {
  part value;
  uint64_t integer;
  ck_assert(field_find(message, number, index, &value, &integer));
  return value;
}

static uint64_t integer_field(part message, int number, int index) {
  part value;
  uint64_t integer;
  ck_assert(field_find(message, number, index, &value, &integer));
  return integer;
}

static bool is(part value, const char *text) {
  return value.count == strlen(text) && memcmp(value.bytes, text, value.count) == 0;
}

enum { GRAPH = 7, NODE = 1, INITIALIZER = 5, INPUT = 11, OUTPUT = 12 };

static uint8_t *exported;

/* Exports the network to scratch_path. */
static ep_status export_try(const char *layers, const char *rest, ep_shape row, ep_x_type x_type,
                            int64_t targets, ep_scaling scaling, ep_error *error) {
  network n;
  char sha256[65], weights[192];
  int64_t bytes;
  network_open(&n, layers, rest, row, x_type, targets);
  scaling.x_columns = ep_shape_count(row);
  scaling.y_columns = n.plan->program.target_columns;
  snprintf(weights, sizeof weights, "%s", scratch_file("w.safetensors"));
  ck_assert_msg(
      ep_weights_write(weights, n.plan, n.state, &scaling, n.text, sha256, &bytes, error) == EP_OK,
      "%s", error->message);
  network_close(&n);
  return ep_weights_to_onnx(weights, scratch_file("w.onnx"), &(ep_cancellation){0}, error);
}

/* The same; the graph lies in `exported`. */
static part export(const char *layers, const char *rest, ep_shape row, ep_x_type x_type,
                   int64_t targets, ep_scaling scaling) {
  size_t size;
  ep_error error = {0};
  ck_assert_msg(export_try(layers, rest, row, x_type, targets, scaling, &error) == EP_OK, "%s",
                error.message);
  free(exported);
  exported = (uint8_t *)scratch_read(scratch_path, &size);
  return field((part){exported, size}, GRAPH, 0);
}

/* "Gemm Relu Gemm": the nodes' operations; lent until the next call. Each node's inputs were there
 * before it: the graph's input, a constant or an output of a node. */
static const char *operations(part graph) {
  static char text[1024];
  part node, type;
  uint64_t integer;
  size_t used = 0;
  text[0] = 0;
  for (int i = 0; field_find(graph, NODE, i, &node, &integer); i++) {
    ck_assert(field_find(node, 4, 0, &type, &integer));
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s", i > 0 ? " " : "",
                             (int)type.count, (const char *)type.bytes);
    ck_assert_uint_lt(used, sizeof text);
  }
  return text;
}

static bool named(part name, part graph, int number, int name_field, int before) {
  part element, candidate;
  uint64_t integer;
  for (int i = 0; i < before && field_find(graph, number, i, &element, &integer); i++)
    if (field_find(element, name_field, 0, &candidate, &integer) && candidate.count == name.count &&
        memcmp(candidate.bytes, name.bytes, name.count) == 0)
      return true;
  return false;
}

static void inputs_check(part graph) {
  part node, input;
  uint64_t integer;
  for (int i = 0; field_find(graph, NODE, i, &node, &integer); i++)
    for (int j = 0; field_find(node, 1, j, &input, &integer); j++)
      ck_assert_msg(is(input, "x") || named(input, graph, INITIALIZER, 8, 1 << 20) ||
                        named(input, graph, NODE, 2, i),
                    "input %.*s of node %d", (int)input.count, (const char *)input.bytes, i);
}

START_TEST(the_wire_format_is_protobufs) {
  ep_protobuf message = {0}, inner = {0};
  ep_protobuf_integer(&message, 1, 150); /* the three examples of its documentation */
  ep_protobuf_text(&message, 2, "testing");
  ep_protobuf_integer(&inner, 1, 150);
  ep_protobuf_take(&message, 3, &inner);
  ep_protobuf_integer(&message, 16, -1);
  ep_protobuf_float(&message, 2, 1);
  static const uint8_t expected[] = {0x08, 0x96, 0x01, 0x12, 0x07, 't',  'e',  's',  't',
                                     'i',  'n',  'g',  0x1a, 0x03, 0x08, 0x96, 0x01, 0x80,
                                     0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                     0xff, 0x01, 0x15, 0x00, 0x00, 0x80, 0x3f};
  ck_assert_uint_eq(message.count, sizeof expected);
  ck_assert_int_eq(memcmp(message.bytes, expected, sizeof expected), 0);
  ck_assert(!message.failed && inner.bytes == NULL);
  ep_protobuf_deinit(&message);
  static const uint64_t counts[] = {0, 127, 128, 16383, 16384, UINT32_MAX};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    ep_protobuf_head(&message, 15 + (int)i, counts[i]);
    ck_assert_uint_eq(message.count, ep_protobuf_head_bytes(15 + (int)i, counts[i]));
    ep_protobuf_deinit(&message);
  }
}
END_TEST

START_TEST(a_message_without_memory_stays_failed) {
  ep_protobuf message = {0}, inner = {.failed = true};
  ep_protobuf_take(&message, 1, &inner);
  ck_assert(message.failed);
  ep_protobuf_integer(&message, 1, 1);
  ck_assert(message.failed && message.count == 0);
  ep_protobuf_deinit(&message);
}
END_TEST

static const char mlp[] = "[{\"type\": \"linear\", \"out_features\": 3}, {\"type\": \"relu\"},"
                          "{\"type\": \"linear\", \"out_features\": 2, \"bias\": false}]";

START_TEST(the_file_says_what_it_is) {
  double x_mean[] = {1, 2}, x_deviation[] = {3, 4}, y_mean[] = {5, 6}, y_deviation[] = {7, 8};
  part graph = export(mlp, NULL, (ep_shape){2, 1, 1}, EP_X_FLOAT32, 2,
                      (ep_scaling){.x_mean = x_mean,
                                   .x_deviation = x_deviation,
                                   .y_mean = y_mean,
                                   .y_deviation = y_deviation});
  size_t size = (size_t)(graph.bytes + graph.count - exported);
  part model = {exported, size};
  ck_assert_uint_eq(integer_field(model, 1, 0), 8);
  ck_assert(is(field(model, 2, 0), "epochd") && is(field(model, 3, 0), EP_VERSION));
  ck_assert_uint_eq(integer_field(field(model, 8, 0), 2, 0), 17);
  ck_assert_str_eq(operations(graph),
                   "Cast Sub Div Cast Gemm Relu Gemm Cast Mul Add Cast Identity");
  inputs_check(graph);
  part input = field(graph, INPUT, 0), output = field(graph, OUTPUT, 0);
  ck_assert(is(field(input, 1, 0), "x") && is(field(output, 1, 0), "y"));
  part tensor = field(field(input, 2, 0), 1, 0), shape = field(tensor, 2, 0);
  ck_assert_uint_eq(integer_field(tensor, 1, 0), EP_ONNX_FLOAT);
  ck_assert(is(field(field(shape, 1, 0), 2, 0), "N"));
  ck_assert_uint_eq(integer_field(field(shape, 1, 1), 1, 0), 2);
}
END_TEST

START_TEST(the_weights_are_the_files) {
  part graph = export(mlp, NULL, (ep_shape){2, 1, 1}, EP_X_FLOAT32, 2, (ep_scaling){0}), tensor;
  uint64_t integer;
  int found = 0;
  ck_assert_str_eq(operations(graph), "Gemm Relu Gemm Identity");
  for (int i = 0; field_find(graph, INITIALIZER, i, &tensor, &integer); i++) {
    if (!is(field(tensor, 8, 0), "2.weight")) continue;
    part raw = field(tensor, 9, 0);
    ck_assert_uint_eq(integer_field(tensor, 1, 0), 2);
    ck_assert_uint_eq(integer_field(tensor, 1, 1), 3);
    ck_assert_uint_eq(raw.count, 6 * sizeof(float));
    for (int j = 0; j < 6; j++) {
      float value;
      memcpy(&value, raw.bytes + (size_t)j * sizeof value, sizeof value);
      ck_assert_float_eq(value, (float)(9 + j + 1) / 64); /* behind 6 weights and 3 biases */
    }
    found++;
  }
  ck_assert_int_eq(found, 1);
}
END_TEST

#define ONE(type, fields) "[{\"type\": \"" type "\"" fields "}]"
#define CONV "{\"type\": \"conv2d\", \"out_channels\": 2, \"kernel_size\": 3, \"padding\": 1}"
static const struct {
  const char *layers, *rest, *operations;
  ep_shape row;
  ep_x_type x_type;
  int64_t targets;
} cases[] = {
    {"[" CONV ", {\"type\": \"relu\"}, {\"type\": \"flatten\"}]",
     NULL,
     "Conv Relu Flatten Identity",
     {1, 4, 6},
     EP_X_FLOAT32,
     48},
    {"[" CONV ", {\"type\": \"max_pool2d\", \"kernel_size\": 2}, {\"type\": \"flatten\"}]",
     NULL,
     "Conv MaxPool Flatten Identity",
     {1, 4, 6},
     EP_X_FLOAT32,
     12},
    {"[{\"type\": \"avg_pool2d\", \"kernel_size\": 2, \"padding\": 1}, {\"type\": \"flatten\"},"
     "{\"type\": \"linear\", \"out_features\": 1}]",
     NULL,
     "AveragePool Flatten Gemm Identity",
     {1, 4, 6},
     EP_X_FLOAT32,
     1},
    {"[{\"type\": \"adaptive_avg_pool2d\", \"output_size\": 1}, {\"type\": \"flatten\"},"
     "{\"type\": \"linear\", \"out_features\": 1}]",
     NULL,
     "GlobalAveragePool Flatten Gemm Identity",
     {2, 4, 6},
     EP_X_FLOAT32,
     1},
    {"[{\"type\": \"adaptive_avg_pool2d\", \"output_size\": [2, 3]}, {\"type\": \"flatten\"},"
     "{\"type\": \"linear\", \"out_features\": 1}]",
     NULL,
     "AveragePool Flatten Gemm Identity",
     {2, 4, 6},
     EP_X_FLOAT32,
     1},
    {"[{\"type\": \"adaptive_avg_pool2d\", \"output_size\": [3, 4]}, {\"type\": \"flatten\"},"
     "{\"type\": \"linear\", \"out_features\": 1}]",
     NULL,
     "MatMul MatMul Flatten Gemm Identity",
     {2, 4, 6},
     EP_X_FLOAT32,
     1},
    {"[{\"type\": \"batch_norm\", \"affine\": false}, {\"type\": \"dropout2d\"},"
     "{\"type\": \"flatten\"}, {\"type\": \"dropout\"},{\"type\": \"linear\", \"out_features\": "
     "1}]",
     NULL,
     "BatchNormalization Flatten Gemm Identity",
     {2, 4, 6},
     EP_X_FLOAT32,
     1},
    {"[{\"type\": \"layer_norm\"}, {\"type\": \"linear\", \"out_features\": 1},"
     "{\"type\": \"batch_norm\"}]",
     NULL,
     "LayerNormalization Gemm BatchNormalization Identity",
     {5, 1, 1},
     EP_X_FLOAT32,
     1},
    {"[{\"type\": \"layer_norm\", \"affine\": false}, {\"type\": \"flatten\"},"
     "{\"type\": \"linear\", \"out_features\": 1}]",
     NULL,
     "Reshape LayerNormalization Flatten Gemm Identity",
     {2, 4, 6},
     EP_X_FLOAT32,
     1},
    {"[{\"type\": \"embedding\", \"num_embeddings\": 5, \"embedding_dim\": 3},"
     "{\"type\": \"linear\", \"out_features\": 1}]",
     NULL,
     "Cast Gather Flatten Gemm Identity",
     {4, 1, 1},
     EP_X_FLOAT32,
     1},
    {"[{\"type\": \"linear\", \"out_features\": 2}, {\"type\": \"residual\", \"layers\":"
     "[{\"type\": \"linear\", \"out_features\": 2}, {\"type\": \"tanh\"}]}]",
     NULL,
     "Gemm Gemm Tanh Add Identity",
     {3, 1, 1},
     EP_X_FLOAT32,
     2},
    {"[{\"type\": \"residual\", \"layers\": [" CONV "]}, {\"type\": \"flatten\"},"
     "{\"type\": \"linear\", \"out_features\": 2}]",
     NULL,
     "Conv Add Flatten Gemm Identity",
     {2, 3, 3},
     EP_X_FLOAT32,
     2},
    {ONE("leaky_relu", ", \"negative_slope\": 0.1"),
     NULL,
     "LeakyRelu Identity",
     {2, 1, 1},
     EP_X_FLOAT32,
     2},
    {ONE("sigmoid", ""), NULL, "Sigmoid Identity", {2, 1, 1}, EP_X_FLOAT32, 2},
    {ONE("gelu", ""), NULL, "Mul Erf Add Mul Mul Identity", {2, 1, 1}, EP_X_FLOAT32, 2},
    {ONE("sin", ""), NULL, "Sin Identity", {2, 1, 1}, EP_X_FLOAT32, 2},
    {ONE("softmax", ""), NULL, "Softmax Identity", {2, 1, 1}, EP_X_FLOAT32, 2},
    {ONE("log_softmax", ""), NULL, "LogSoftmax Identity", {2, 1, 1}, EP_X_FLOAT32, 2},
    {ONE("elu", ""), NULL, "Elu Identity", {2, 1, 1}, EP_X_FLOAT32, 2},
    {ONE("silu", ""), NULL, "Sigmoid Mul Identity", {2, 1, 1}, EP_X_FLOAT32, 2},
    {ONE("softplus", ", \"beta\": 2"),
     NULL,
     "Mul Softplus Div Greater Where Identity",
     {2, 1, 1},
     EP_X_FLOAT32,
     2},
};

START_TEST(each_layer_has_its_nodes) {
  char layers[1024];
  const char *text = cases[_i].layers, *wanted = cases[_i].operations;
  bool alone =
      strncmp(wanted, "Gemm", 4) != 0 && !strstr(wanted, "Gemm") && !strstr(wanted, "Conv");
  if (alone) /* something to train comes first */
    snprintf(layers, sizeof layers, "[{\"type\": \"linear\", \"out_features\": 2}, %s", text + 1);
  else
    snprintf(layers, sizeof layers, "%s", text);
  part graph = export(layers, cases[_i].rest, cases[_i].row, cases[_i].x_type, cases[_i].targets,
                      (ep_scaling){0});
  const char *found = operations(graph);
  if (alone) ck_assert_int_eq(strncmp(found, "Gemm ", 5), 0);
  ck_assert_str_eq(alone ? found + 5 : found, wanted);
  inputs_check(graph);
}
END_TEST

START_TEST(no_layer_is_without_a_way) {
  for (int type = 0; type < EP_LAYER_COUNT; type++)
    ck_assert_msg(ep_layer_of((ep_layer_type)type)->onnx, "%s", ep_layer_type_name(type));
}
END_TEST

START_TEST(bytes_are_scaled_and_cropped_within) {
  part graph = export("[{\"type\": \"flatten\"}, {\"type\": \"linear\", \"out_features\": 2}]",
                      NULL, (ep_shape){1, 4, 6}, EP_X_UINT8, 2, (ep_scaling){0});
  ck_assert_str_eq(operations(graph), "Mul Add Flatten Gemm Identity");
  part shape = field(field(field(field(graph, INPUT, 0), 2, 0), 1, 0), 2, 0);
  static const uint64_t extents[] = {1, 4, 6};
  for (int i = 0; i < 3; i++)
    ck_assert_uint_eq(integer_field(field(shape, 1, i + 1), 1, 0), extents[i]);
}
END_TEST

/* An input or an output: its name and the type of its elements. */
static void value_check(part graph, int number, int index, const char *name, int element) {
  part value = field(graph, number, index);
  ck_assert_msg(is(field(value, 1, 0), name), "%s", name);
  ck_assert_uint_eq(integer_field(field(field(value, 2, 0), 1, 0), 1, 0), (uint64_t)element);
}

static part export_columns(const char *columns, const char *classes, const char *loss,
                           int64_t targets) {
  ep_encoding encoding;
  ep_error error = {0};
  ck_assert_msg(ep_encoding_parse(columns, classes, "kind", &encoding, &error) == EP_OK, "%s",
                error.message);
  part graph = export(targets == 1 ? ONE("linear", ", \"out_features\": 1")
                                   : ONE("linear", ", \"out_features\": 2"),
                      loss, (ep_shape){(int)encoding.features, 1, 1}, EP_X_FLOAT32, targets,
                      (ep_scaling){.encoding = &encoding});
  ep_encoding_deinit(&encoding);
  return graph;
}

#define FIGURES(fill)                                                          \
  "\"scaling\": \"standard\", \"fill\": " fill ", \"shift\": 0, \"scale\": 1," \
  "\"indicator\": false}"

START_TEST(columns_are_inputs_and_classes_outputs) {
  part graph = export_columns(
      "[{\"name\": \"class\", \"type\": \"category\", \"encode\": \"one_hot\","
      "\"words\": [\"a\", \"b\"], \"base\": 0, \"untrained\": [1], " FIGURES(
          "null") ","
                  "{\"name\": \"who\", \"type\": \"text\", \"encode\": \"none\"},"
                  "{\"name\": \"y\", \"type\": \"number\", \"encode\": \"number\", " FIGURES(
                      "2") ","
                           "{\"name\": \"day\", \"type\": \"date\", \"encode\": \"date\","
                           "\"parts\": [\"weekday\"], " FIGURES("0") "]",
      "[\"cat\", \"dog\"]", "\"loss\": \"cross_entropy\"", 2);
  part opset = field((part){exported, (size_t)(graph.bytes + graph.count - exported)}, 8, 1);
  part value;
  uint64_t integer;
  ck_assert(is(field(opset, 1, 0), "ai.onnx.ml"));
  ck_assert_uint_eq(integer_field(opset, 2, 0), EP_ONNX_ML_OPSET);
  value_check(graph, INPUT, 0, "class", EP_ONNX_STRING);
  value_check(graph, INPUT, 1, "y", EP_ONNX_DOUBLE);
  value_check(graph, INPUT, 2, "day", EP_ONNX_DOUBLE);
  ck_assert_msg(!field_find(graph, INPUT, 3, &value, &integer), "what is left out is an input");
  value_check(graph, OUTPUT, 0, "y_", EP_ONNX_FLOAT);
  value_check(graph, OUTPUT, 1, "class_", EP_ONNX_STRING);
  value_check(graph, OUTPUT, 2, "probabilities", EP_ONNX_FLOAT);
  ck_assert_int_eq(strncmp(operations(graph), "LabelEncoder Cast IsNaN Equal Cast", 34), 0);
}
END_TEST

START_TEST(values_of_columns_are_one_output) {
  part graph = export_columns("[{\"name\": \"a\", \"type\": \"number\", \"encode\": "
                              "\"number\", " FIGURES("2") "]",
                              NULL, NULL, 1);
  part value;
  uint64_t integer;
  ck_assert_str_eq(operations(graph), "IsNaN Where Sub Div Concat Cast Gemm Identity");
  value_check(graph, OUTPUT, 0, "y", EP_ONNX_FLOAT);
  ck_assert(!field_find(graph, OUTPUT, 1, &value, &integer));
}
END_TEST

START_TEST(columns_of_one_name_are_refused) {
#define COLUMN "{\"name\": \"a\", \"type\": \"number\", \"encode\": \"number\", " FIGURES("2")
  ep_encoding encoding;
  ep_error error = {0};
  ck_assert_int_eq(ep_encoding_parse("[" COLUMN ", " COLUMN "]", NULL, "kind", &encoding, &error),
                   EP_OK);
  ck_assert_int_eq(export_try(ONE("linear", ", \"out_features\": 1"), NULL, (ep_shape){2, 1, 1},
                              EP_X_FLOAT32, 1, (ep_scaling){.encoding = &encoding}, &error),
                   EP_INVALID);
  ck_assert_msg(strstr(error.message, "two columns are named \"a\""), "%s", error.message);
  ep_encoding_deinit(&encoding);
#undef COLUMN
}
END_TEST

START_TEST(files_of_others_are_refused) {
  ep_error error = {0};
  static const char header[] = "\2\0\0\0\0\0\0\0{}";
  char path[192];
  snprintf(path, sizeof path, "%s", scratch_write("o.safetensors", header, sizeof header - 1));
  ck_assert_int_eq(ep_weights_to_onnx(path, scratch_file("o.onnx"), &(ep_cancellation){0}, &error),
                   EP_DATA);
  ck_assert_str_eq(error.message, "weights: the file does not describe its data");
  ck_assert_int_ne(access(scratch_path, F_OK), 0);
  ck_assert_int_eq(ep_weights_to_onnx(scratch_file("none"), "x", &(ep_cancellation){0}, &error),
                   EP_NOT_FOUND);
}
END_TEST

EP_SUITE("onnx") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_checked_fixture(all, scratch_setup, scratch_teardown);
  tcase_add_test(all, the_wire_format_is_protobufs);
  tcase_add_test(all, a_message_without_memory_stays_failed);
  tcase_add_test(all, the_file_says_what_it_is);
  tcase_add_test(all, the_weights_are_the_files);
  tcase_add_loop_test(all, each_layer_has_its_nodes, 0, sizeof cases / sizeof *cases);
  tcase_add_test(all, no_layer_is_without_a_way);
  tcase_add_test(all, bytes_are_scaled_and_cropped_within);
  tcase_add_test(all, columns_are_inputs_and_classes_outputs);
  tcase_add_test(all, values_of_columns_are_one_output);
  tcase_add_test(all, columns_of_one_name_are_refused);
  tcase_add_test(all, files_of_others_are_refused);
}
