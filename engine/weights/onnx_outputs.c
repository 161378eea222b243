#include "engine/weights/onnx_outputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/weights/onnx_arithmetic.h"

static bool is_column(const ep_encoding *encoding, const char *name) {
  for (int64_t i = 0; i < encoding->columns; i++)
    if (strcmp(encoding->column[i].name, name) == 0) return true;
  return false;
}

/* The value becomes an output; a column keeps a name that both would have. */
static void output_add(ep_onnx_graph *graph, const ep_encoding *encoding, const char *value,
                       const char *name, ep_onnx_type type, int64_t columns) {
  char own[EP_ONNX_NAME_BYTES], longer[EP_ONNX_NAME_BYTES];
  snprintf(own, sizeof own, "%s", name);
  while (is_column(encoding, own)) { /* whose names have at most EP_LIMIT_NAME_BYTES */
    snprintf(longer, sizeof longer, "%.*s_", EP_LIMIT_NAME_BYTES, own);
    memcpy(own, longer, sizeof own);
  }
  ep_onnx_rename(graph, value, own);
  ep_onnx_describe(graph, EP_ONNX_GRAPH_OUTPUT, own, type, &columns, columns > 0 ? 1 : 0, NULL);
}

static ep_onnx_name along_columns(ep_onnx_graph *graph, const char *operation, bool reduces,
                                  ep_onnx_name first, const ep_onnx_name *second) {
  const char *inputs[] = {first.text, second ? second->text : NULL};
  ep_protobuf node = {0};
  ep_onnx_attribute_integer(&node, "axis", 1);
  if (reduces) ep_onnx_attribute_integer(&node, "keepdims", 0);
  return ep_onnx_node(graph, operation, inputs, second ? 2 : 1, &node);
}

/* int64 [N]: the first of the greatest outputs; of one, whether it is above the middle. */
static ep_onnx_name class_find(ep_onnx_graph *graph, ep_loss_type loss) {
  if (ep_loss_takes_classes(loss))
    return along_columns(graph, "ArgMax", true, graph->value.name, NULL);
  const int64_t flat = -1;
  ep_onnx_name middle = ep_onnx_scalar(graph, loss == EP_LOSS_BCE ? 0.5F : 0);
  ep_onnx_name above = ep_onnx_of_two(graph, "Greater", graph->value.name, middle);
  ep_onnx_name shape = ep_onnx_constant(graph, EP_ONNX_INT64, (int64_t[]){1}, 1, &flat);
  return ep_onnx_of_two(graph, "Reshape", ep_onnx_cast_of(graph, above, EP_ONNX_INT64), shape);
}

/* float32 [N, classes] */
static ep_onnx_name probabilities_find(ep_onnx_graph *graph, ep_loss_type loss) {
  ep_onnx_name y = graph->value.name, no, yes = y;
  if (ep_loss_takes_classes(loss)) return along_columns(graph, "Softmax", false, y, NULL);
  if (loss == EP_LOSS_BCE) {
    no = ep_onnx_of_two(graph, "Sub", ep_onnx_scalar(graph, 1), y);
  } else {
    yes = ep_onnx_of(graph, "Sigmoid", y);
    no = ep_onnx_of(graph, "Sigmoid", ep_onnx_of(graph, "Neg", y));
  }
  return along_columns(graph, "Concat", false, no, &yes);
}

static ep_onnx_name class_name(ep_onnx_graph *graph, const ep_words *classes, ep_onnx_name class) {
  int count = (int)classes->count;
  const char *inputs[] = {class.text};
  int64_t *keys = calloc((size_t)count + 1, sizeof *keys);
  ep_protobuf node = {.failed = !keys};
  for (int64_t i = 0; keys && i < count; i++) keys[i] = i;
  ep_onnx_domain_ml(&node);
  ep_onnx_attribute_integers(&node, "keys_int64s", keys, keys ? count : 0);
  ep_onnx_attribute_strings(&node, "values_strings", (const char *const *)classes->word, count);
  ep_onnx_attribute_string(&node, "default_string", "");
  free(keys);
  return ep_onnx_node(graph, "LabelEncoder", inputs, 1, &node);
}

void ep_onnx_outputs_add(ep_onnx_graph *graph, const ep_encoding *encoding, ep_loss_type loss,
                         int64_t outputs) {
  bool many = ep_loss_takes_classes(loss), named = encoding->classes.count > 0;
  output_add(graph, encoding, graph->value.name.text, "y", EP_ONNX_FLOAT, outputs);
  if (!many && !(ep_loss_is_classifier(loss) && outputs == 1)) return;
  ep_onnx_name class = class_find(graph, loss);
  if (named) class = class_name(graph, &encoding->classes, class);
  output_add(graph, encoding, class.text, "class", named ? EP_ONNX_STRING : EP_ONNX_INT64, 0);
  ep_onnx_name probabilities = probabilities_find(graph, loss);
  output_add(graph, encoding, probabilities.text, "probabilities", EP_ONNX_FLOAT,
             many ? outputs : 2);
}
