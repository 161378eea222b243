/* layers.c: the fields of each type of layer, and lists of layers. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"
#include "api/spec/tables.h"

#define AT(member) offsetof(ep_layer_spec, member)

#define WINDOW(key_, member, doc_, ...)                                                \
  {                                                                                    \
    .key = key_, .kind = EP_FIELD_PAIR, .element = EP_FIELD_INT, .offset = AT(member), \
    .alone = true, .max = EP_LIMIT_KERNEL, .doc = doc_, __VA_ARGS__                    \
  }
#define KERNEL_SIZE(usual)                                                         \
  WINDOW("kernel_size", kernel_size, "the window: one number, or [height, width]", \
         .required = true, .min = 1, .example = usual)
#define POOL_STRIDE                                                                         \
  WINDOW("stride", stride, "steps from window to window; kernel_size by default", .min = 1, \
         .nullable = true)
#define PADDING(...) \
  WINDOW("padding", padding, "rows and columns added on each side", .min = 0, __VA_ARGS__)
#define DILATION(doc_) \
  WINDOW("dilation", dilation, doc_, .min = 1, .fallback = 1, .second = 1, .rare = true)
#define COUNT(key_, member, doc_, ...)                                                             \
  {                                                                                                \
    .key = key_, .kind = EP_FIELD_INT64, .offset = AT(member), .min = 1, .max = EP_LIMIT_FEATURES, \
    .doc = doc_, __VA_ARGS__                                                                       \
  }
#define BIAS(doc_) \
  { .key = "bias", .kind = EP_FIELD_BOOL, .offset = AT(bias), .fallback = 1, .doc = doc_ }
#define INIT                                                                           \
  {                                                                                    \
    .key = "init", .kind = EP_FIELD_WORD, .offset = AT(init), .words = &ep_init_words, \
    .fallback = EP_INIT_DEFAULT, .doc = "how the initial weights are generated"        \
  }
/* What is smaller than this is zero in a division of float32. */
#define EPS \
  EP_ROW_REAL("eps", eps, "keeps the division finite", 1e-30, EP_REAL_MAX, 1e-5, .rare = true)
#define AFFINE                                                                   \
  {                                                                              \
    .key = "affine", .kind = EP_FIELD_BOOL, .offset = AT(affine), .fallback = 1, \
    .doc = "learns a weight and a bias"                                          \
  }

static const ep_field linear_rows[] = {
    COUNT("in_features", in_features, "input columns; inferred by default, checked if given",
          .nullable = true, .rare = true),
    COUNT("out_features", out_features, "output columns", .required = true, .example = "16"),
    BIAS("adds a bias to each output column"),
    INIT,
};
static const ep_field leaky_relu_rows[] = {
    EP_ROW_REAL("negative_slope", negative_slope, "slope below zero", -EP_REAL_MAX, EP_REAL_MAX,
                0.01, EP_ROW_PLAIN),
};
static const ep_field elu_rows[] = {
    EP_ROW_REAL("alpha", alpha, "the negative of its limit far below zero", -EP_REAL_MAX,
                EP_REAL_MAX, 1, EP_ROW_PLAIN),
};
static const ep_field softplus_rows[] = {
    EP_ROW_REAL("beta", beta, "how sharp the bend is", 0, EP_REAL_MAX, 1, .open_min = true),
    EP_ROW_REAL("threshold", threshold, "where beta x is above this, y = x", -EP_REAL_MAX,
                EP_REAL_MAX, 20, .rare = true),
};
static const ep_field conv2d_rows[] = {
    COUNT("in_channels", in_channels, "input channels; inferred by default, checked if given",
          .nullable = true, .rare = true),
    COUNT("out_channels", out_channels, "output channels", .required = true, .example = "8"),
    KERNEL_SIZE("3"),
    WINDOW("stride", stride, "steps from window to window", .min = 1, .fallback = 1, .second = 1),
    PADDING(EP_ROW_PLAIN),
    DILATION("steps between the window's own pixels"),
    COUNT("groups", groups, "number of groups of channels, each connected only to itself",
          .fallback = 1, .rare = true),
    BIAS("adds a bias to each output channel"),
    INIT,
};
static const ep_field max_pool2d_rows[] = {
    KERNEL_SIZE("2"),
    POOL_STRIDE,
    PADDING(.rare = true),
    DILATION("steps between the window's own pixels"),
};
static const ep_field avg_pool2d_rows[] = {KERNEL_SIZE("2"), POOL_STRIDE, PADDING(.rare = true)};
static const ep_field adaptive_avg_pool2d_rows[] = {
    {.key = "output_size",
     .kind = EP_FIELD_PAIR,
     .element = EP_FIELD_INT64,
     .offset = AT(output_size),
     .alone = true,
     .required = true,
     .min = 1,
     .max = EP_LIMIT_KERNEL,
     .doc = "size of the output: one number, or [height, width]",
     .example = "1"},
};
static const ep_field dropout_rows[] = {
    EP_ROW_REAL("p", p, "the probability of a value to become 0 in training", 0, 1, 0.5,
                .open_max = true),
};
static const ep_field dropout2d_rows[] = {
    EP_ROW_REAL("p", p, "the probability of a channel to become 0 in training", 0, 1, 0.5,
                .open_max = true),
};
static const ep_field batch_norm_rows[] = {
    EPS,
    EP_ROW_REAL("momentum", momentum, "how fast the running statistics follow", 0, 1, 0.1,
                .rare = true),
    AFFINE,
    {.key = "sync",
     .kind = EP_FIELD_BOOL,
     .offset = AT(sync),
     .rare = true,
     .doc = "mean and variance over all replicas, not over each one's own rows"},
};
static const ep_field layer_norm_rows[] = {EPS, AFFINE};
static const ep_field instance_norm_rows[] = {
    EPS,
    {.key = "affine",
     .kind = EP_FIELD_BOOL,
     .offset = AT(affine),
     .doc = "learns a weight and a bias of each channel"},
};
static const ep_field unfold_rows[] = {
    KERNEL_SIZE("3"),
    WINDOW("stride", stride, "steps from window to window", .min = 1, .fallback = 1, .second = 1),
    PADDING(EP_ROW_PLAIN),
    DILATION("steps between the window's own pixels"),
};
static const ep_field gru_rows[] = {
    COUNT("input_size", in_features, "input channels; inferred by default, checked if given",
          .nullable = true, .rare = true),
    COUNT("hidden_size", out_features, "size of the state", .required = true, .example = "16"),
    BIAS("adds biases to the gates"),
    INIT,
};
static const ep_field embedding_rows[] = {
    COUNT("num_embeddings", num_embeddings, "the columns contain 0 to this minus one",
          .required = true, .example = "10"),
    COUNT("embedding_dim", embedding_dim, "size of the vector of each column", .required = true,
          .example = "4"),
    INIT,
};

/* --- names and inputs ---------------------------------------------------------------------- */

static bool name_accepts(const char *text) {
  size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
  return text[length] == 0 && (isalpha((unsigned char)text[0]) || text[0] == '_') &&
         strcmp(text, "x") != 0 && strcmp(text, EP_LAYER_COLUMNS) != 0;
}

/* One input's name: true if it is a text of a name's length. */
static bool input_take(ep_field_reader *reader, const json_t *value, ep_layer_name out) {
  const char *text = json_string_value(value);
  if (!text)
    ep_field_reader_fail(reader,
                         "must be the name of a layer, its number as a text, or \"x\", not %s",
                         ep_json_type_name(value));
  else if (json_string_length(value) == 0 ||
           json_string_length(value) > EP_LIMIT_LAYER_NAME_BYTES ||
           strlen(text) != json_string_length(value))
    ep_field_reader_fail(reader, "must be a name of 1 to %d bytes", EP_LIMIT_LAYER_NAME_BYTES);
  else
    memcpy(out, text, json_string_length(value) + 1);
  return out[0] != 0;
}

static void inputs_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                        void *base) {
  (void)field;
  ep_layer_spec *layer = base;
  if (!value) return;
  if (!json_is_array(value)) {
    layer->inputs = input_take(reader, value, layer->input[0]);
    return;
  }
  size_t count = json_array_size(value);
  if (count < 1 || count > EP_LIMIT_LAYER_INPUTS) {
    ep_field_reader_fail(reader, "must have 1 to %d names, not %zu", EP_LIMIT_LAYER_INPUTS, count);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    size_t place = ep_field_reader_enter_index(reader, i);
    layer->inputs += input_take(reader, json_array_get(value, i), layer->input[i]);
    ep_field_reader_leave(reader, place);
  }
}

static void inputs_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_layer_spec *layer = base;
  if (layer->inputs == 1) {
    ep_writer_string(writer, layer->input[0]);
    return;
  }
  ep_writer_open(writer, '[');
  for (int i = 0; i < layer->inputs; i++) ep_writer_string(writer, layer->input[i]);
  ep_writer_close(writer, ']');
}

static bool has_name(const void *base) {
  return ((const ep_layer_spec *)base)->name[0] != 0;
}

static bool has_inputs(const void *base) {
  return ((const ep_layer_spec *)base)->inputs > 0;
}

/* Fields of every layer. They are not written where they are not given. */
static const ep_field place_rows[] = {
    {.key = "name",
     .kind = EP_FIELD_STRING,
     .offset = AT(name),
     .capacity = EP_LIMIT_LAYER_NAME_BYTES + 1,
     .nullable = true,
     .rare = true,
     .accepts = name_accepts,
     .form = "a letter or _, then letters, digits, _ and -; not x and not columns",
     .is_given = has_name,
     .doc = "its name in the weights file, and for the `input` of others; its number by default"},
    {.key = "input",
     .kind = EP_FIELD_CUSTOM,
     .nullable = true,
     .rare = true,
     .text_fallback = "null",
     .read = inputs_read,
     .write = inputs_write,
     .is_given = has_inputs,
     .form = "a name, or an array of names",
     .schema = EP_JSON({
       "oneOf" : [
         {"type" : "string"}, {
           "type" : "array",
           "items" : {"type" : "string"},
           "minItems" : 1,
           "maxItems" : EP_LIMIT_LAYER_INPUTS
         }
       ]
     }),
     .doc = "the layers that it reads, by name or number; `x` is the data; the layer before it by "
            "default"},
};
static const ep_field_table place_table = EP_FIELD_TABLE(place_rows, NULL);

/* --- operators on values ------------------------------------------------------------------- */

static void sides_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                       void *base) {
  ep_layer_sides *sides = (ep_layer_sides *)((char *)base + field->offset);
  int64_t *numbers = value ? ep_integers_take(reader, field, value, 3, &sides->count) : NULL;
  if (numbers) memcpy(sides->at, numbers, (size_t)sides->count * sizeof *numbers);
  free(numbers);
}

static void sides_write(ep_writer *writer, const ep_field *field, const void *base) {
  const ep_layer_sides *sides = (const ep_layer_sides *)((const char *)base + field->offset);
  ep_integers_write(writer, sides->at, sides->count);
}

#define SIDES(key_, member, most, doc_, example_)                                                  \
  {                                                                                                \
    .key = key_, .kind = EP_FIELD_CUSTOM, .offset = AT(member), .required = true, .min = 1,        \
    .max = most, .read = sides_read, .write = sides_write, .form = "1 to 3 integers", .doc = doc_, \
    .example = example_,                                                                           \
    .schema =                                                                                      \
        EP_JSON({"type" : "array", "items" : {"type" : "integer", "minimum" : 1}, "maxItems" : 3}) \
  }
#define DIM(doc_)                                                                             \
  {                                                                                           \
    .key = "dim", .kind = EP_FIELD_INT, .offset = AT(dim), .min = 1, .max = 3, .fallback = 1, \
    .doc = doc_                                                                               \
  }

static bool has_columns(const void *base) {
  return ((const ep_layer_spec *)base)->columns.count > 0;
}

static bool has_places(const void *base) {
  return ((const ep_layer_spec *)base)->places_count > 0;
}

static void places_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                        void *base) {
  (void)field;
  ep_layer_spec *layer = base;
  const ep_field ends[] = {{.min = 0, .max = EP_LIMIT_FEATURES},
                           {.min = 1, .max = EP_LIMIT_FEATURES}};
  size_t count = json_array_size(value);
  if (!value) return;
  if (count < 1 || count > EP_LIMIT_SLICE_PLACES) {
    ep_field_reader_fail(reader, "must be an array of 1 to %d pairs", EP_LIMIT_SLICE_PLACES);
    return;
  }
  layer->places = calloc(count, sizeof *layer->places);
  if (!layer->places) {
    ep_field_reader_fail_memory(reader);
    return;
  }
  layer->places_count = (int)count;
  for (size_t i = 0; i < count; i++) {
    const json_t *pair = json_array_get(value, i);
    size_t place = ep_field_reader_enter_index(reader, i);
    if (json_array_size(pair) != 2) ep_field_reader_fail(reader, "must be [start, length]");
    for (size_t end = 0; end < 2 && json_array_size(pair) == 2; end++) {
      ep_field number = ends[end];
      number.kind = EP_FIELD_INT64;
      ep_field_number_read(reader, &number, json_array_get(pair, end), &layer->places[i][end]);
    }
    ep_field_reader_leave(reader, place);
  }
}

static void places_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_layer_spec *layer = base;
  ep_writer_open(writer, '[');
  for (int i = 0; i < layer->places_count; i++) ep_integers_write(writer, layer->places[i], 2);
  ep_writer_close(writer, ']');
}

static const ep_field concat_rows[] = {
    DIM("the dimension that they are put together along, counted from 1 without the rows"),
};
static const ep_field slice_rows[] = {
    DIM("the dimension, counted from 1 without the rows"),
    {.key = "start",
     .kind = EP_FIELD_INT64,
     .offset = AT(start),
     .min = -EP_LIMIT_FEATURES,
     .max = EP_LIMIT_FEATURES,
     .doc = "the first place that is taken, from 0; -1 is the last one"},
    {.key = "length",
     .kind = EP_FIELD_INT64,
     .offset = AT(length),
     .min = 1,
     .max = EP_LIMIT_FEATURES,
     .nullable = true,
     .doc = "how many places; all from `start` by default"},
    {.key = "columns",
     .kind = EP_FIELD_CUSTOM,
     .offset = AT(columns),
     .nullable = true,
     .text_fallback = "null",
     .read = ep_column_names_read,
     .write = ep_column_names_write,
     .is_given = has_columns,
     .form = "an array of column names; * and ? stand for any",
     .schema = EP_JSON({"type" : "array", "items" : {"type" : "string"}, "minItems" : 1}),
     .doc = "instead of `start` and `length`: columns of a table, by name, with all that they "
            "become; of `x`"},
    {.key = "places",
     .kind = EP_FIELD_CUSTOM,
     .nullable = true,
     .rare = true,
     .text_fallback = "null",
     .read = places_read,
     .write = places_write,
     .is_given = has_places,
     .form = "an array of [start, length]",
     .schema = EP_JSON({
       "type" : "array",
       "items" : {"type" : "array", "items" : {"type" : "integer"}, "minItems" : 2, "maxItems" : 2},
       "minItems" : 1,
       "maxItems" : EP_LIMIT_SLICE_PLACES
     }),
     .doc = "instead: several parts, one after the other; filled in by epochd for `columns`"},
};
static const ep_field reshape_rows[] = {
    SIDES("shape", shape, EP_LIMIT_FEATURES, "the new shape of a row, 1 to 3 numbers", "[1, 8, 8]"),
};
static const ep_field permute_rows[] = {
    SIDES("dims", dims, 3, "the dimensions in their new order, counted from 1 without the rows",
          "[2, 1]"),
};

#define ALONG(key_, member, doc_, ...)                                                             \
  {                                                                                                \
    .key = key_, .kind = EP_FIELD_INT, .offset = AT(member) + sizeof(int), .max = EP_LIMIT_KERNEL, \
    .doc = doc_, __VA_ARGS__                                                                       \
  }
static const ep_field conv1d_rows[] = {
    COUNT("in_channels", in_channels, "input channels; inferred by default, checked if given",
          .nullable = true, .rare = true),
    COUNT("out_channels", out_channels, "output channels", .required = true, .example = "8"),
    ALONG("kernel_size", kernel_size, "the window", .min = 1, .required = true, .example = "3"),
    ALONG("stride", stride, "steps from window to window", .min = 1, .fallback = 1),
    ALONG("padding", padding, "places added on each side", .min = 0),
    ALONG("dilation", dilation, "steps between the window's own places", .min = 1, .fallback = 1),
    {.key = "causal",
     .kind = EP_FIELD_BOOL,
     .offset = AT(causal),
     .doc = "pads on the left alone, by dilation (kernel_size - 1), so that no place sees later "
            "ones; without `padding`"},
    COUNT("groups", groups, "number of groups of channels, each connected only to itself",
          .fallback = 1, .rare = true),
    BIAS("adds a bias to each output channel"),
    INIT,
};

/* A block holds layers of these types: see below. */
static void block_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                       void *base);
static void block_write(ep_writer *writer, const ep_field *field, const void *base);

static const ep_field residual_rows[] = {
    {.key = "layers",
     .kind = EP_FIELD_CUSTOM,
     .required = true,
     .read = block_read,
     .write = block_write,
     .form = "an array of layers",
     .doc = "the block; its output has its input's shape",
     .schema = EP_LAYERS_SCHEMA,
     .example = EP_JSON([ {"type" : "relu"} ])},
};
#undef AT

#define TABLE(word) \
  static const ep_field_table word##_table = EP_FIELD_TABLE(word##_rows, &place_table)
TABLE(linear);
TABLE(leaky_relu);
TABLE(elu);
TABLE(softplus);
TABLE(conv2d);
TABLE(max_pool2d);
TABLE(avg_pool2d);
TABLE(adaptive_avg_pool2d);
TABLE(dropout);
TABLE(dropout2d);
TABLE(batch_norm);
TABLE(layer_norm);
TABLE(embedding);
TABLE(residual);
TABLE(concat);
TABLE(slice);
TABLE(reshape);
TABLE(permute);
TABLE(conv1d);
TABLE(unfold);
TABLE(instance_norm);
TABLE(gru);

static const ep_field_table *const tables[EP_LAYER_COUNT] = {
    [EP_LAYER_LINEAR] = &linear_table,
    [EP_LAYER_LEAKY_RELU] = &leaky_relu_table,
    [EP_LAYER_ELU] = &elu_table,
    [EP_LAYER_SOFTPLUS] = &softplus_table,
    [EP_LAYER_CONV2D] = &conv2d_table,
    [EP_LAYER_MAX_POOL2D] = &max_pool2d_table,
    [EP_LAYER_AVG_POOL2D] = &avg_pool2d_table,
    [EP_LAYER_ADAPTIVE_AVG_POOL2D] = &adaptive_avg_pool2d_table,
    [EP_LAYER_DROPOUT] = &dropout_table,
    [EP_LAYER_DROPOUT2D] = &dropout2d_table,
    [EP_LAYER_BATCH_NORM] = &batch_norm_table,
    [EP_LAYER_LAYER_NORM] = &layer_norm_table,
    [EP_LAYER_EMBEDDING] = &embedding_table,
    [EP_LAYER_RESIDUAL] = &residual_table,
    [EP_LAYER_CONCAT] = &concat_table,
    [EP_LAYER_SLICE] = &slice_table,
    [EP_LAYER_RESHAPE] = &reshape_table,
    [EP_LAYER_PERMUTE] = &permute_table,
    [EP_LAYER_CONV1D] = &conv1d_table,
    [EP_LAYER_UNFOLD] = &unfold_table,
    [EP_LAYER_INSTANCE_NORM] = &instance_norm_table,
    [EP_LAYER_GRU] = &gru_table,
};

#define ABOUT(code, name, group, meaning, formula) {meaning, formula},
static const ep_field_about about[EP_LAYER_COUNT] = {EP_LAYER_TABLE(ABOUT)};
#undef ABOUT

const ep_field_variants ep_layer_variants = {
    &ep_layer_words, offsetof(ep_layer_spec, type), false, tables, -1, about, &place_table};

/* --- lists of layers ------------------------------------------------------------------------ */

/* What a layer's table alone cannot say: a pool's stride. */
static void layer_finish(ep_layer_spec *layer) {
  if (layer->type != EP_LAYER_MAX_POOL2D && layer->type != EP_LAYER_AVG_POOL2D) return;
  if (layer->stride[0] == 0) memcpy(layer->stride, layer->kernel_size, sizeof layer->stride);
}

/* Whether a list of `count` more layers is within the limits; else adds an error. */
static bool layers_check(ep_field_reader *reader, size_t count) {
  if (reader->depth > EP_LIMIT_RESIDUAL_DEPTH)
    ep_field_reader_fail(reader, "lies in more than %d residual blocks", EP_LIMIT_RESIDUAL_DEPTH);
  else if (count == 0 || count > EP_LIMIT_LAYERS)
    ep_field_reader_fail(reader, "must have 1 to %d layers, not %zu", EP_LIMIT_LAYERS, count);
  else if (count > (size_t)(EP_LIMIT_LAYERS - reader->items))
    ep_field_reader_fail(reader, "makes more than %d layers in all", EP_LIMIT_LAYERS);
  else
    return true;
  return false;
}

/* One list of layers, of the model or of a block within it. *out is the caller's, also after an
 * error: [*out_count]. */
static void layers_take(ep_field_reader *reader, const json_t *value, ep_layer_spec **out,
                        int *out_count) {
  if (!json_is_array(value)) {
    ep_field_reader_fail(reader, "must be an array of layers, not %s", ep_json_type_name(value));
    return;
  }
  size_t count = json_array_size(value);
  if (!layers_check(reader, count)) return;
  ep_layer_spec *layers = calloc(count, sizeof *layers);
  if (!layers) {
    ep_field_reader_fail_memory(reader);
    return;
  }
  *out = layers;
  *out_count = (int)count;
  reader->items += (int)count;
  reader->depth++;
  for (size_t i = 0; i < count; i++) {
    size_t place = ep_field_reader_enter_index(reader, i);
    ep_field_variant_read(reader, &ep_layer_variants, json_array_get(value, i), &layers[i]);
    layer_finish(&layers[i]);
    ep_field_reader_leave(reader, place);
  }
  reader->depth--;
}

static void layers_put(ep_writer *writer, const ep_layer_spec *layers, int count) {
  ep_writer_open(writer, '[');
  for (int i = 0; i < count; i++) ep_field_variant_write(writer, &ep_layer_variants, &layers[i]);
  ep_writer_close(writer, ']');
}

void ep_layers_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                    void *base) {
  (void)field;
  ep_job_spec *spec = base;
  layers_take(reader, value, &spec->layers, &spec->layers_count);
}

void ep_layers_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_job_spec *spec = base;
  layers_put(writer, spec->layers, spec->layers_count);
}

static void block_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                       void *base) {
  (void)field;
  ep_layer_spec *layer = base;
  layers_take(reader, value, &layer->layers, &layer->layers_count);
}

static void block_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_layer_spec *layer = base;
  layers_put(writer, layer->layers, layer->layers_count);
}

/* Comes after "layers", whose indices it holds. */
void ep_freeze_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                    void *base) {
  (void)field;
  ep_job_spec *spec = base;
  if (!value || spec->layers_count == 0) return;
  const ep_field index = {.min = 0, .max = spec->layers_count - 1};
  spec->freeze = ep_integers_take(reader, &index, value, EP_LIMIT_LAYERS, &spec->freeze_count);
  for (int i = 1; i < spec->freeze_count; i++)
    for (int j = 0; j < i; j++) {
      if (spec->freeze[i] != spec->freeze[j]) continue;
      size_t place = ep_field_reader_enter_index(reader, (size_t)i);
      ep_field_reader_fail(reader, "layer %lld is given twice", (long long)spec->freeze[i]);
      ep_field_reader_leave(reader, place);
      return;
    }
}

void ep_freeze_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_job_spec *spec = base;
  ep_integers_write(writer, spec->freeze, spec->freeze_count);
}
