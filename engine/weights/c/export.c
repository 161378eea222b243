/* export.c: the parts of the header, in their order: what it is, names, tables, layers, the
 * functions that are called from outside, the test. */
#include "engine/weights/c/export.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/files/durable_file.h"
#include "engine/weights/c/columns.h"
#include "engine/weights/c/layers.h"
#include "engine/weights/c/outputs.h"

/* A model on its way into source. */
typedef struct {
  const ep_c_model *model;
  const ep_program *program;
  const ep_encoding *encoding; /* NULL: x is an array of numbers */
  ep_c_field *fields;          /* [columns], owned; NULL without an encoding */
  ep_c_memory memory;
  ep_c_source source;
} export;

static int64_t window_rows(const export *e) {
  return e->encoding && e->encoding->window.length > 0 ? e->encoding->window.length : 1;
}

/* The type of a number of x: with scaling, cells are as exact as predict has them. */
static const char *cell_type(const export *e) {
  const ep_c_model *model = e->model;
  if (model->bytes) return "uint8_t";
  return model->scaling->x_mean || model->normalization->channels > 0 ? "double" : "float";
}

/* The parameter that has a row. */
static void row_parameter_add(export *e) {
  ep_c_source *source = &e->source;
  if (!e->encoding)
    ep_c_add(source, "const %s x[^_INPUTS]", cell_type(e));
  else if (window_rows(e) > 1)
    ep_c_add_text(source, "const @_row row[^_WINDOW]");
  else
    ep_c_add_text(source, "const @_row *row");
}

static void figures_add(ep_c_source *source, const ep_c_measured *measured) {
  const char *name = measured->accuracy ? "Accuracy" : "RMSE";
  if (!measured->split) return;
  ep_c_add(source, " * Model-Rows: %lld %s\n", (long long)measured->rows, measured->split);
  ep_c_add(source, " * Model-%s: %.6g\n", name, measured->before);
  ep_c_add(source, " * Model-%s-Quantized: %.6g\n *\n", name, measured->after);
}

static int64_t memory_floats(const ep_c_memory *memory) {
  int64_t floats = 0;
  for (int i = 0; i < memory->arrays; i++) floats += memory->floats[i];
  return floats;
}

static void names_remark(export *e) {
  const ep_encoding *names = e->model->names;
  if (e->encoding || !names || names->columns != ep_shape_count(e->program->stored)) return;
  ep_c_add_text(&e->source, " * x has, in this order: ");
  for (int64_t i = 0; i < names->columns; i++) {
    ep_c_add_text(&e->source, i == 0 ? "\"" : ", \"");
    ep_c_add_remark(&e->source, names->column[i].name);
    ep_c_add_text(&e->source, "\"");
  }
  ep_c_add_text(&e->source, "\n *\n");
}

static void head_add(export *e) {
  ep_c_source *source = &e->source;
  const ep_c_model *model = e->model;
  ep_c_add_text(source, "/* @: \"");
  ep_c_add_remark(source, model->spec->name);
  ep_c_add(source, "\", %s, trained by epochd " EP_VERSION ".\n *\n", model->job);
  if (model->quantized)
    ep_c_add_text(source, " * Weights of linear and convolution layers are int8, with a scale for "
                          "each output channel.\n");
  figures_add(source, &model->measured);
  ep_c_add(
      source,
      " * C99, and of the C library memory, strings and the functions of math.h (-lm); no heap."
      "\n * %lld floats of static memory: one prediction at a time.\n *\n",
      (long long)memory_floats(&e->memory));
  names_remark(e);
  ep_c_add_text(source, " * @_predict makes y of a row in the units of the data. With "
                        "MODEL_SELF_TEST defined,\n * @_self_test is 0 if a row of the data is "
                        "predicted as epochd predicts it. */\n");
  ep_c_add_text(source, "#ifndef ^_H\n#define ^_H\n\n#include <math.h>\n#include <stdint.h>\n"
                        "#include <string.h>\n\n");
}

static void sizes_add(export *e) {
  ep_c_source *source = &e->source;
  if (e->encoding && window_rows(e) > 1)
    ep_c_add(source, "#define ^_WINDOW %lld /* successive rows, the oldest first */\n",
             (long long)window_rows(e));
  if (!e->encoding)
    ep_c_add(source, "#define ^_INPUTS %lld\n", (long long)ep_shape_count(e->program->stored));
  ep_c_add(source, "#define ^_OUTPUTS %lld\n", (long long)e->program->out_features);
  ep_c_outputs_sizes(source, e->program, ep_scaling_classes(e->model->scaling));
}

/* The figures that x or y are scaled by. */
static void scaling_define(export *e) {
  const ep_scaling *scaling = e->model->scaling;
  const ep_normalization *normal = e->model->normalization;
  ep_c_source *source = &e->source;
  if (!e->encoding && scaling->x_mean) {
    ep_c_add_doubles(source, "x_mean", scaling->x_mean, scaling->x_columns);
    ep_c_add_doubles(source, "x_deviation", scaling->x_deviation, scaling->x_columns);
  } else if (!e->encoding && normal->channels > 0) {
    ep_c_add_doubles(source, "x_factor", normal->factor, normal->channels);
    ep_c_add_doubles(source, "x_offset", normal->offset, normal->channels);
  }
  if (!scaling->y_mean) return;
  ep_c_add_doubles(source, "y_mean", scaling->y_mean, scaling->y_columns);
  ep_c_add_doubles(source, "y_deviation", scaling->y_deviation, scaling->y_columns);
}

/* Number i of the stored row, scaled; c is its channel. */
static const char *scaled_value(const export *e) {
  if (e->model->scaling->x_mean) return "(float)((x[i] - @_x_mean[i]) / @_x_deviation[i])";
  if (e->model->normalization->channels > 0) return "(float)(x[i] * @_x_factor[c] + @_x_offset[c])";
  return "(float)x[i]";
}

/* Of an image that is greater than what the network takes, the middle, as in every evaluation. */
static void array_read(export *e) {
  ep_shape stored = e->program->stored, in = e->program->in;
  long long top = (long long)(stored.height - in.height) / 2;
  long long left = (long long)(stored.width - in.width) / 2;
  ep_c_source *source = &e->source;
  ep_c_add(source, "  float *to = @_memory_%d;\n", e->memory.array[0]);
  ep_c_add(source, "  for (int32_t c = 0; c < %lld; c++)\n", (long long)in.channels);
  ep_c_add(source, "    for (int32_t h = 0; h < %lld; h++)\n", (long long)in.height);
  ep_c_add(source, "      for (int32_t v = 0; v < %lld; v++) {\n", (long long)in.width);
  ep_c_add(source, "        const int32_t i = (c * %lld + h + %lld) * %lld + v + %lld;\n",
           (long long)stored.height, top, (long long)stored.width, left);
  ep_c_add(source, "        *to++ = %s;\n      }\n", scaled_value(e));
}

/* Vectors have no channels that matter. */
static void vector_read(export *e) {
  bool by_channel = !e->model->scaling->x_mean && e->model->normalization->channels > 0;
  ep_c_add_text(&e->source, "  for (int32_t i = 0; i < ^_INPUTS; i++) {\n");
  if (by_channel) ep_c_add_text(&e->source, "    const int32_t c = i;\n");
  ep_c_add(&e->source, "    @_memory_%d[i] = %s;\n  }\n", e->memory.array[0], scaled_value(e));
}

static void row_read(export *e) {
  ep_shape stored = e->program->stored;
  ep_c_source *source = &e->source;
  if (e->encoding && window_rows(e) > 1)
    ep_c_add(source,
             "  for (int32_t t = 0; t < ^_WINDOW; t++) @_encode(&row[t], @_memory_%d + t);\n",
             e->memory.array[0]);
  else if (e->encoding)
    ep_c_add(source, "  @_encode(row, @_memory_%d);\n", e->memory.array[0]);
  else if (stored.height * stored.width > 1)
    array_read(e);
  else
    vector_read(e);
}

static void predict_define(export *e) {
  ep_c_source *source = &e->source;
  int last = e->memory.array[e->program->ops_count];
  ep_c_add_text(source, "/* y: what the network yields, in the units of the data. */\n"
                        "static inline void @_predict(");
  row_parameter_add(e);
  ep_c_add_text(source, ", float y[^_OUTPUTS]) {\n");
  row_read(e);
  ep_c_add_text(source, "  @_network();\n");
  ep_c_add_text(source, "  for (int32_t i = 0; i < ^_OUTPUTS; i++)\n");
  if (e->model->scaling->y_mean)
    ep_c_add(source, "    y[i] = (float)(@_memory_%d[i] * @_y_deviation[i] + @_y_mean[i]);\n}\n\n",
             last);
  else
    ep_c_add(source, "    y[i] = @_memory_%d[i];\n}\n\n", last);
}

/* Cells that are an array. */
static void example_add(export *e) {
  ep_c_source *source = &e->source;
  const double *cells = e->model->example;
  int64_t count = ep_shape_count(e->program->stored);
  if (!e->encoding) {
    ep_c_add(source, "  static const %s row[^_INPUTS] = {", cell_type(e));
    for (int64_t i = 0; i < count; i++) {
      ep_c_add_text(source, i == 0 ? "\n    " : i % 8 == 0 ? ",\n    " : ", ");
      if (e->model->bytes)
        ep_c_add(source, "%d", (int)cells[i]);
      else if (cell_type(e)[0] == 'f')
        ep_c_add_float(source, (float)cells[i]);
      else
        ep_c_add_double(source, cells[i]);
    }
    ep_c_add_text(source, "};\n");
    return;
  }
  int64_t rows = window_rows(e);
  ep_c_add_text(source, rows > 1 ? "  static const @_row row[^_WINDOW] = {\n    "
                                 : "  static const @_row row[1] = {\n    ");
  for (int64_t t = 0; t < rows; t++) {
    if (t > 0) ep_c_add_text(source, ",\n    ");
    ep_c_row_add(source, e->encoding, e->fields, cells + t * e->encoding->columns);
  }
  ep_c_add_text(source, "};\n");
}

static void test_define(export *e) {
  ep_c_source *source = &e->source;
  ep_c_add_text(
      source, "#ifdef MODEL_SELF_TEST\n"
              "/* 0: a row of the data is predicted as epochd predicts it, to 1e-6 of the greatest "
              "output or of 1;\n * else 1 + the number of an output that is not. */\n"
              "static inline int @_self_test(void) {\n");
  example_add(e);
  ep_c_add_text(source, "  static const double expected[^_OUTPUTS] = {");
  for (int64_t i = 0; i < e->program->out_features; i++) {
    ep_c_add_text(source, i == 0 ? "\n    " : i % 4 == 0 ? ",\n    " : ", ");
    ep_c_add_double(source, e->model->expected[i]);
  }
  ep_c_add_text(source,
                "};\n"
                "  float y[^_OUTPUTS];\n"
                "  double greatest = 1;\n"
                "  @_predict(row, y);\n"
                "  for (int32_t i = 0; i < ^_OUTPUTS; i++)\n"
                "    if (fabs(expected[i]) > greatest) greatest = fabs(expected[i]);\n"
                "  for (int32_t i = 0; i < ^_OUTPUTS; i++)\n"
                "    if (!(fabs(y[i] - expected[i]) <= 1e-6 * greatest)) return 1 + (int)i;\n"
                "  return 0;\n"
                "}\n"
                "#endif\n\n");
}

static void memory_define(export *e) {
  for (int i = 0; i < e->memory.arrays; i++)
    ep_c_add(&e->source, "static float @_memory_%d[%lld];\n", i, (long long)e->memory.floats[i]);
  ep_c_add_text(&e->source, "\n");
}

static void source_make(export *e) {
  const ep_c_model *model = e->model;
  ep_c_source *source = &e->source;
  head_add(e);
  sizes_add(e);
  if (e->encoding) {
    ep_c_row_define(source, e->encoding, e->fields);
    ep_c_encode_define(source, e->encoding, e->fields);
  }
  ep_c_layers_define(source, e->program, model->state, model->quantized);
  scaling_define(e);
  memory_define(e);
  ep_c_layers_call(source, e->program, &e->memory, model->quantized);
  predict_define(e);
  ep_c_outputs_define(source, e->program);
  test_define(e);
  ep_c_add_text(source, "#endif\n");
}

static ep_status too_large(size_t bytes, const char *least, ep_error *error) {
  return ep_fail(error, EP_TOO_LARGE,
                 "the header would have %s%zu bytes of C source, the limit is %d: use onnx or "
                 "safetensors, or train a smaller network",
                 least, bytes, EP_LIMIT_C_SOURCE_BYTES);
}

/* A number takes three bytes at least ("0, "): what is far too large is not written first. */
ep_status ep_c_size_check(const ep_plan *plan, ep_error *error) {
  size_t least = 3 * (size_t)plan->program.parameters;
  return least > EP_LIMIT_C_SOURCE_BYTES ? too_large(least, "over ", error) : EP_OK;
}

static ep_status source_write(const export *e, const char *path, ep_error *error) {
  ep_durable_file *file;
  const ep_c_source *source = &e->source;
  if (source->count > source->limit) return too_large(source->count, "", error);
  if (source->failed) return ep_fail_memory(error);
  ep_status status = ep_durable_file_create(path, &file, error);
  if (status != EP_OK) return status;
  status = ep_durable_file_write(file, source->text, source->count, error);
  if (status == EP_OK) return ep_durable_file_commit(file, NULL, NULL, error);
  ep_durable_file_abandon(file);
  return status;
}

ep_status ep_weights_to_c(const ep_c_model *model, const char *path, ep_error *error) {
  export e = {
      .model = model, .program = &model->plan->program, .encoding = model->scaling->encoding};
  ep_status status = ep_c_size_check(model->plan, error);
  if (status == EP_OK) status = ep_c_memory_plan(e.program, &e.memory, error);
  if (status == EP_OK && e.encoding) status = ep_c_fields_find(e.encoding, &e.fields, error);
  if (status == EP_OK) {
    ep_c_source_init(&e.source, model->spec->name, EP_LIMIT_C_SOURCE_BYTES);
    source_make(&e);
    status = source_write(&e, path, error);
  }
  ep_c_source_deinit(&e.source);
  free(e.fields);
  return status;
}
