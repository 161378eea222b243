#include "engine/weights/stored_model.h"
#include "engine/weights/weights.h"

#include <jansson.h>
#include <math.h>

#include "engine/weights/notes.h"
#include "engine/weights/safetensors.h"
#include "tests/suite.h"
#include "tests/unit/engine/scratch.h"
#include "tests/unit/engine/weights/network_fixture.h"

/* 2 inputs, 3 hidden, relu, 1 output: 6 + 3 + 3 + 1 = 13; the last bias may be absent. */
enum { PARAMETERS = 13 };
static ep_op ops[3] = {{.type = EP_LAYER_LINEAR,
                        .inputs = 1,
                        .in_features = 2,
                        .out_features = 3,
                        .weight = 0,
                        .bias = 6,
                        .running = -1},
                       {.type = EP_LAYER_RELU,
                        .inputs = 1,
                        .in_features = 3,
                        .out_features = 3,
                        .weight = -1,
                        .bias = -1,
                        .running = -1},
                       {.type = EP_LAYER_LINEAR,
                        .inputs = 1,
                        .in_features = 3,
                        .out_features = 1,
                        .weight = 9,
                        .bias = 12,
                        .running = -1}};
static char names[3][EP_LIMIT_NAME_BYTES] = {"0", "1", "2"};
static const char spec_text[] = "{\"name\":\"gr\\u00f6\\\"ße\",\"epochs\":7}";

static ep_plan plan_make(void) {
  return (ep_plan){.program = {.ops = ops,
                               .ops_count = 3,
                               .stored = {2, 1, 1},
                               .in_features = 2,
                               .out_features = 1,
                               .target_columns = 1,
                               .parameters = PARAMETERS},
                   .ops = ops,
                   .names = names,
                   .parameters = PARAMETERS,
                   .shape = {.train_rows = 7,
                             .features = 2,
                             .row = {2, 1, 1},
                             .target_columns = 1,
                             .target_min = -INFINITY,
                             .target_max = 0.1}};
}

static void parameters_make(float *parameters) {
  for (int i = 0; i < PARAMETERS; i++) parameters[i] = (float)(i + 1) / 3 * (i % 2 ? -1 : 1);
}

/* Writes the plan's weights to "w.safetensors" and returns the file's bytes. */
static uint8_t *weights_make(const float *parameters, const ep_scaling *scaling, size_t *size,
                             char sha256[65]) {
  ep_plan plan = plan_make();
  ep_error error = {0};
  int64_t bytes;
  ck_assert_msg(ep_weights_write(scratch_file("w.safetensors"), &plan, parameters, scaling,
                                 spec_text, sha256, &bytes, &error) == EP_OK,
                "%s", error.message);
  uint8_t *file = (uint8_t *)scratch_read(scratch_path, size);
  ck_assert_int_eq(bytes, (int64_t)*size);
  return file;
}

static ep_status weights_read(const uint8_t *file, size_t size, float *parameters,
                              ep_scaling *scaling, ep_error *error) {
  ep_plan plan = plan_make();
  memset(error, 0, sizeof *error);
  return path_read(scratch_write("r.safetensors", file, size), &plan, parameters, scaling, error);
}

/* A reader of its own, by the format's description alone: the float at `index` of a tensor. */
static float independent_read(const uint8_t *file, const char *name, size_t index) {
  uint64_t length = 0;
  for (int i = 7; i >= 0; i--) length = length << 8 | file[i];
  char *header = malloc(length + 1);
  memcpy(header, file + 8, length);
  header[length] = 0;
  char key[32];
  snprintf(key, sizeof key, "\"%s\":{", name);
  char *entry = strstr(header, key);
  ck_assert_ptr_nonnull(entry);
  unsigned long begin, end;
  ck_assert_int_eq(sscanf(strstr(entry, "data_offsets"), "data_offsets\":[%lu,%lu]", &begin, &end),
                   2);
  ck_assert_ptr_eq(strstr(strstr(entry, "dtype"), "F32"), strstr(entry, "F32"));
  free(header);
  ck_assert_uint_lt(begin + 4 * index, end);
  float value;
  memcpy(&value, file + 8 + length + begin + 4 * index, 4);
  return value;
}

START_TEST(others_can_read_it) {
  float parameters[PARAMETERS];
  ep_scaling none = {.x_columns = 2, .y_columns = 1};
  char sha256[65];
  size_t size;
  parameters_make(parameters);
  uint8_t *file = weights_make(parameters, &none, &size, sha256);
  for (size_t i = 0; i < 6; i++)
    ck_assert_float_eq(independent_read(file, "0.weight", i), parameters[i]);
  for (size_t i = 0; i < 3; i++) {
    ck_assert_float_eq(independent_read(file, "0.bias", i), parameters[6 + i]);
    ck_assert_float_eq(independent_read(file, "2.weight", i), parameters[9 + i]);
  }
  ck_assert_float_eq(independent_read(file, "2.bias", 0), parameters[12]);
  ck_assert_uint_eq((size - PARAMETERS * sizeof(float)) % 8, 0); /* the values are aligned */
  char command[256];
  snprintf(command, sizeof command, "test \"$(sha256sum < %s/w.safetensors)\" = '%s  -'",
           scratch_root, sha256);
  ck_assert_int_eq(system(command), 0);
  ck_assert_int_ne(access(scratch_file("w.safetensors.tmp"), F_OK), 0);
  free(file);
}
END_TEST

START_TEST(what_was_written_is_read_back) {
  double x_mean[2] = {0.1, -3e100}, x_deviation[2] = {1, 0.3}, y_mean[1] = {1.0 / 3},
         y_deviation[1] = {7};
  char *animals[2] = {"a cat", "\"dog\""};
  ep_words classes = {.word = animals, .count = 2};
  ep_scaling read, written = {.x_columns = 2,
                              .y_columns = 1,
                              .x_mean = x_mean,
                              .x_deviation = x_deviation,
                              .y_mean = y_mean,
                              .y_deviation = y_deviation,
                              .names = classes,
                              .target = "price",
                              .classes = classes};
  ep_stored_model stored;
  float parameters[PARAMETERS], back[PARAMETERS];
  char sha256[65];
  size_t size;
  ep_error error;
  parameters_make(parameters);
  uint8_t *file = weights_make(parameters, &written, &size, sha256);
  ck_assert_msg(weights_read(file, size, back, &read, &error) == EP_OK, "%s", error.message);
  ck_assert_int_eq(memcmp(parameters, back, sizeof back), 0);
  ck_assert_int_eq(memcmp(read.x_mean, x_mean, sizeof x_mean), 0);
  ck_assert_int_eq(memcmp(read.x_deviation, x_deviation, sizeof x_deviation), 0);
  ck_assert(read.y_mean[0] == y_mean[0] && read.y_deviation[0] == 7);
  ck_assert(read.x_columns == 2 && read.y_columns == 1);
  ck_assert_int_eq(read.classes.count, 2);
  ck_assert_str_eq(read.classes.word[1], animals[1]);
  ck_assert_int_eq(ep_stored_model_open(scratch_file("w.safetensors"), &stored, &error), EP_OK);
  ck_assert_str_eq(stored.classes.word[0], animals[0]);
  const ep_encoding *plain = stored.encoding;
  ck_assert(plain && plain->columns == 2 && plain->features == 2);
  ck_assert_str_eq(plain->column[1].name, animals[1]);
  ck_assert_str_eq(plain->target, "price");
  ck_assert_str_eq(ep_tensors_note(&stored.file, "spec"), spec_text);
  ep_stored_model_close(&stored);
  ep_scaling_deinit(&read);
  free(file);
}
END_TEST

START_TEST(without_scaling_there_is_none) {
  ep_scaling none = {.x_columns = 2, .y_columns = 1}, read;
  float parameters[PARAMETERS], back[PARAMETERS];
  char sha256[65];
  size_t size;
  ep_error error;
  parameters_make(parameters);
  uint8_t *file = weights_make(parameters, &none, &size, sha256);
  ck_assert_int_eq(weights_read(file, size, back, &read, &error), EP_OK);
  ck_assert(!read.x_mean && !read.y_mean && read.x_columns == 2 && read.y_columns == 1);
  free(file);
}
END_TEST

START_TEST(as_json) {
  double x_mean[2] = {0.5, 2}, x_deviation[2] = {1, 3};
  ep_scaling scaling = {
      .x_columns = 2, .y_columns = 1, .x_mean = x_mean, .x_deviation = x_deviation};
  float parameters[PARAMETERS];
  char sha256[65], source[192];
  size_t size;
  ep_error error = {0};
  parameters_make(parameters);
  parameters[12] = NAN;
  free(weights_make(parameters, &scaling, &size, sha256));
  snprintf(source, sizeof source, "%s", scratch_file("w.safetensors"));
  ck_assert_msg(ep_weights_to_json(source, scratch_file("w.json"), &(ep_cancellation){0}, &error) ==
                    EP_OK,
                "%s", error.message);
  char *text = scratch_read(scratch_path, &size);
  json_error_t fault;
  json_t *root = json_loads(text, 0, &fault);
  ck_assert_msg(root != NULL, "%s: %s", fault.text, text);
  const char *format, *last;
  json_t *weight, *bias, *y_mean;
  json_int_t rows, columns;
  double mean;
  ck_assert_int_eq(
      json_unpack(root, "{s:s, s:{s:{s:[I, I], s:o}, s:{s:o}, s:{s:[s]}}, s:[F], s:o, s:{s:i}}",
                  "format", &format, "tensors", "0.weight", "shape", &rows, &columns, "data",
                  &weight, "0.bias", "data", &bias, "2.bias", "data", &last, "x_mean", &mean,
                  "y_mean", &y_mean, "spec", "epochs", &(int){0}),
      0);
  ck_assert_str_eq(format, "epochd-weights");
  ck_assert_str_eq(last, "NaN");
  ck_assert(rows == 3 && columns == 2 && json_array_size(weight) == 3 && json_is_null(y_mean));
  for (size_t i = 0; i < 6; i++)
    ck_assert_float_eq(
        (float)json_number_value(json_array_get(json_array_get(weight, i / 2), i % 2)),
        parameters[i]);
  for (size_t i = 0; i < 3; i++)
    ck_assert_float_eq((float)json_number_value(json_array_get(bias, i)), parameters[6 + i]);
  ck_assert_double_eq(mean, 0.5);
  json_decref(root);
  free(text);
}
END_TEST

/* A file of this header and `values` bytes of zeros; length 0: the header's own. */
static uint8_t *file_make(const char *header, uint64_t length, size_t values, size_t *size) {
  size_t bytes = strlen(header);
  if (length == 0) length = bytes;
  *size = 8 + bytes + values;
  uint8_t *file = calloc(1, *size);
  for (int i = 0; i < 8; i++) file[i] = (uint8_t)(length >> 8 * i);
  memcpy(file + 8, header, bytes);
  return file;
}

#define OFFSETS "safetensors: the offsets of \"a\" do not fit its shape or the file"
#define FIELDS "safetensors: \"a\" needs dtype, shape and data_offsets"
#define SHAPE "safetensors: \"a\" has an unsupported shape"
#define A(shape, begin_end) \
  "\"a\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" begin_end "}"
static const struct {
  const char *header, *message;
  size_t values;
} bad[] = {
    {"{" A("[2]", "[0,4]") "}", OFFSETS, 8},
    {"{" A("[2]", "[0,8]") "}", OFFSETS, 4},
    {"{" A("[2]", "[8,0]") "}", OFFSETS, 8},
    {"{" A("[2]", "[-8,0]") "}", OFFSETS, 8},
    {"{" A("[2]", "[0,9223372036854775807]") "}", OFFSETS, 8},
    {"{" A("[4611686018427387904]", "[0,0]") "}", OFFSETS, 0},
    {"{" A("[4294967296,4294967296]", "[0,0]") "}", SHAPE, 0},
    {"{" A("[0]", "[0,0]") "}", SHAPE, 0},
    {"{" A("[-2]", "[0,8]") "}", SHAPE, 8},
    {"{" A("[]", "[0,8]") "}", OFFSETS, 8},
    {"{" A("[1,1,1,1,1]", "[0,4]") "}", SHAPE, 4},
    {"{\"a\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[0,4]}}", OFFSETS, 4},
    {"{" A("[1.0]", "[0,4]") "}", SHAPE, 4},
    {"{" A("\"1\"", "[0,4]") "}", SHAPE, 4},
    {"{" A("[1]", "[0]") "}", FIELDS, 4},
    {"{" A("[1]", "[0,4,4]") "}", FIELDS, 4},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", FIELDS, 4},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":1}}", FIELDS, 4},
    {"{\"a\":1}", FIELDS, 4},
    {"{\"a\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,4]}}",
     "safetensors: \"a\" is not of type F32 (nor I64)", 4},
    {"{" A("[1]", "[0,4]") ",\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
     "safetensors: the tensors overlap or leave a gap", 4},
    {"{" A("[1]", "[0,4]") ",\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]}}",
     "safetensors: the tensors overlap or leave a gap", 12},
    {"{" A("[1]", "[4,8]") "}", "safetensors: the tensors overlap or leave a gap", 8},
    {"{" A("[1]", "[0,4]") "}", "safetensors: trailing data after the last tensor", 5},
    {"{" A("[1]", "[0,4]") "," A("[1]", "[4,8]") "}", NULL, 8},
    {"{\"__metadata__\":{\"a\":1}}", "safetensors: __metadata__ must contain only strings", 0},
    {"{\"__metadata__\":[]}", "safetensors: __metadata__ is not an object", 0},
    {"[]", "safetensors: the header is not an object", 0},
    {"{", NULL, 0},
    {"", NULL, 0},
};

START_TEST(hostile_files_are_refused) {
  size_t size;
  ep_tensors tensors;
  ep_error error = {0};
  uint8_t *file = file_make(bad[_i].header, 0, bad[_i].values, &size);
  ck_assert_int_eq(ep_tensors_read(file, size, &tensors, &error), EP_DATA);
  if (bad[_i].message) ck_assert_str_eq(error.message, bad[_i].message);
  ck_assert_ptr_null(tensors.tensor);
  free(file);
}
END_TEST

START_TEST(lengths_that_lie_are_refused) {
  size_t size;
  ep_tensors tensors;
  ep_error error = {0};
  uint8_t *file = file_make("{}", 3, 0, &size);
  ck_assert_int_eq(ep_tensors_read(file, size, &tensors, &error), EP_DATA);
  ck_assert_int_eq(ep_tensors_read(file, 7, &tensors, &error), EP_DATA);
  ck_assert_int_eq(ep_tensors_read(NULL, 0, &tensors, &error), EP_DATA);
  free(file);
  file = file_make("{}", UINT64_MAX, 0, &size);
  ck_assert_int_eq(ep_tensors_read(file, size, &tensors, &error), EP_TOO_LARGE);
  free(file);
  for (int over = 0; over <= 1; over++) { /* both sides of the ceiling, filled up with spaces */
    size_t length = EP_LIMIT_SAFETENSORS_HEADER_BYTES + (size_t)over;
    char *header = malloc(length + 1);
    memset(header, ' ', length);
    memcpy(header, "{}", 2);
    header[length] = 0;
    file = file_make(header, 0, 0, &size);
    ck_assert_int_eq(ep_tensors_read(file, size, &tensors, &error), over ? EP_TOO_LARGE : EP_OK);
    ep_tensors_close(&tensors);
    free(header);
    free(file);
  }
}
END_TEST

START_TEST(another_models_weights_are_refused) {
  ep_scaling none = {.x_columns = 2, .y_columns = 1}, read;
  float parameters[PARAMETERS], back[PARAMETERS];
  char sha256[65];
  size_t size;
  ep_error error = {0};
  parameters_make(parameters);
  free(weights_make(parameters, &none, &size, sha256));
  ep_plan plan = plan_make();
  const char *path = scratch_file("w.safetensors");
  ops[2].bias = -1;
  ck_assert_int_eq(path_read(path, &plan, back, &read, &error), EP_DATA);
  ck_assert_str_eq(error.message, "weights: 4 tensors, the model has 3");
  ops[2].bias = 12;
  ops[0].out_features = 2;
  ops[0].in_features = 3;
  ck_assert_int_eq(path_read(path, &plan, back, &read, &error), EP_INVALID);
  ck_assert_str_eq(error.message,
                   "the tensor \"0.weight\" has shape [3, 2], the model's is [2, 3]");
  ops[0].out_features = 3;
  ops[0].in_features = 2;
  plan.program.ops_count = 1;
  ck_assert_int_eq(path_read(path, &plan, back, &read, &error), EP_DATA);
  ck_assert_int_eq(path_read(scratch_file("none"), &plan, back, &read, &error), EP_NOT_FOUND);
}
END_TEST

/* A one-layer model, 1 to 1, with this text as one note. */
static ep_status note_read(const char *key, const char *text) {
  static const char tensors[] =
      "\"0.weight\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[0,4]}";
  ep_op op = {.type = EP_LAYER_LINEAR,
              .inputs = 1,
              .in_features = 1,
              .out_features = 1,
              .bias = -1,
              .running = -1};
  ep_plan plan = {.program = {.ops = &op,
                              .ops_count = 1,
                              .stored = {1, 1, 1},
                              .in_features = 1,
                              .target_columns = 1},
                  .names = names};
  char header[512];
  float parameter;
  size_t size;
  ep_scaling scaling;
  snprintf(header, sizeof header,
           "{\"__metadata__\":{\"x_mean\":\"[1]\",\"x_deviation\":\"[2]\",\"%s\":\"%s\"},%s}", key,
           text, tensors);
  uint8_t *file = file_make(header, 0, 4, &size);
  ep_status status =
      path_read(scratch_write("n.safetensors", file, size), &plan, &parameter, &scaling, NULL);
  ep_scaling_deinit(&scaling);
  free(file);
  return status;
}

START_TEST(scalings_that_cannot_be_are_refused) {
  ck_assert_int_eq(note_read("y_mean", "null"), EP_OK);
  ck_assert_int_eq(note_read("y_mean", "[1]"), EP_DATA); /* without its deviation */
  static const char *const texts[] = {"[]", "[1,2]", "1", "{}", "[\\\"1\\\"]", "[0]", "[-1]", "["};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    ck_assert_msg(note_read("y_deviation", texts[i]) == EP_DATA, "%s", texts[i]);
}
END_TEST

/* The names and shapes that torch's state_dict has for such an nn.Sequential. */
static const struct {
  const char *name, *shape;
} torch_tensors[] = {
    {"0.weight", "[4, 1, 3, 2]"},
    {"0.bias", "[4]"},
    {"1.weight", "[4]"},
    {"1.bias", "[4]"},
    {"3.0.weight", "[4, 2, 1, 1]"},
    {"3.1.weight", "[4, 3, 3]"},
    {"3.1.bias", "[4, 3, 3]"},
    {"5.weight", "[2, 36]"},
    {"5.bias", "[2]"},
    {"1.running_mean", "[4]"},
    {"1.running_var", "[4]"},
};
static const char torch_layers[] =
    "[{\"type\": \"conv2d\", \"out_channels\": 4, \"kernel_size\": [3, 2], \"groups\": 2},"
    "{\"type\": \"batch_norm\"}, {\"type\": \"relu\"},"
    "{\"type\": \"residual\", \"layers\": [{\"type\": \"conv2d\", \"out_channels\": 4,"
    "\"kernel_size\": 1, \"groups\": 2, \"bias\": false}, {\"type\": \"layer_norm\"}]},"
    "{\"type\": \"flatten\"}, {\"type\": \"linear\", \"out_features\": 2}]";

static void torch_write(network *n, const char *file) {
  ep_scaling none = {.x_columns = 40, .y_columns = 2};
  char sha256[65];
  int64_t bytes;
  ep_error error = {0};
  network_open(n, torch_layers, NULL, (ep_shape){2, 5, 4}, EP_X_FLOAT32, 2);
  ck_assert_msg(ep_weights_write(scratch_file(file), n->plan, n->state, &none, n->text, sha256,
                                 &bytes, &error) == EP_OK,
                "%s", error.message);
}

START_TEST(torch_finds_its_names_and_shapes) {
  network n;
  ep_tensors file;
  char shape[EP_TENSOR_SHAPE_BYTES];
  ep_scaling scaling;
  ep_error error = {0};
  torch_write(&n, "t.safetensors");
  ck_assert_int_eq(ep_tensors_open(scratch_path, &file, NULL), EP_OK);
  size_t count = sizeof torch_tensors / sizeof *torch_tensors;
  ck_assert_uint_eq(file.tensors_count, count);
  for (size_t i = 0; i < count; i++) {
    const ep_tensor *tensor = ep_tensors_find(&file, torch_tensors[i].name);
    ck_assert_msg(tensor != NULL, "%s", torch_tensors[i].name);
    ck_assert_str_eq(ep_tensor_shape_format(tensor, shape), torch_tensors[i].shape);
    ck_assert_str_eq(file.tensor[i].name, torch_tensors[i].name); /* in the state's order */
  }
  ck_assert_int_eq(memcmp(file.tensor[0].bytes, n.state,
                          (size_t)ep_program_state_floats(&n.plan->program) * sizeof(float)),
                   0);
  ep_tensors_close(&file);
  int64_t floats = ep_program_state_floats(&n.plan->program);
  float *back = calloc((size_t)floats, sizeof *back);
  ck_assert_msg(path_read(scratch_path, n.plan, back, &scaling, &error) == EP_OK, "%s",
                error.message);
  ck_assert_int_eq(memcmp(back, n.state, (size_t)floats * sizeof *back), 0);
  ep_scaling_deinit(&scaling);
  free(back);
  network_close(&n);
}
END_TEST

START_TEST(the_shape_of_the_data_is_kept) {
  network n;
  ep_stored_model stored;
  torch_write(&n, "t.safetensors");
  ck_assert_int_eq(ep_stored_model_open(scratch_path, &stored, NULL), EP_OK);
  const ep_data_shape shape = stored.shape;
  const ep_data_shape *had = &n.plan->shape;
  ck_assert(shape.row.channels == 2 && shape.row.height == 5 && shape.row.width == 4);
  ck_assert(shape.train_rows == had->train_rows && shape.features == 40 &&
            shape.target_columns == 2 && shape.x_type == had->x_type &&
            shape.x_integer == had->x_integer && shape.x_deep == had->x_deep &&
            shape.x_max == had->x_max && shape.target_max == had->target_max &&
            shape.classes == had->classes);
  ep_stored_model_close(&stored);
  network_close(&n);
}
END_TEST

static const char *const shapes_that_cannot_be[] = {
    "{}",
    "1",
    "\"row\"",
    "{\"train_rows\":1,\"validation_rows\":0,\"test_rows\":0,\"row\":[4294967296,4294967296,1],"
    "\"bytes\":false,\"x_integer\":false,\"one_hot\":false,\"features\":0,"
    "\"target_columns\":1,\"classes\":0,\"target_min\":0,\"target_max\":0,\"x_min\":0,"
    "\"x_max\":0}",
    "{\"train_rows\":1,\"validation_rows\":0,\"test_rows\":0,\"row\":[2,1,1],"
    "\"bytes\":false,\"x_integer\":false,\"one_hot\":false,\"features\":3,"
    "\"target_columns\":1,\"classes\":0,\"target_min\":0,\"target_max\":0,\"x_min\":0,"
    "\"x_max\":0}",
};

START_TEST(shapes_that_cannot_be_are_refused) {
  ep_tensor_note note = {"data", (char *)shapes_that_cannot_be[_i]};
  ep_tensors file = {.note = &note, .notes_count = 1};
  ep_data_shape shape;
  ck_assert_int_eq(ep_weights_notes_shape(&file, &shape, NULL), EP_DATA);
  ck_assert_int_eq(shape.features, 0);
}
END_TEST

/* Whole numbers to predict, such as dates and revenues, count as so many classes. */
START_TEST(great_targets_are_possible) {
  static const char text[] =
      "{\"train_rows\":1,\"validation_rows\":0,\"test_rows\":0,\"row\":[2,1,1],"
      "\"bytes\":false,\"x_integer\":false,\"one_hot\":false,\"features\":2,"
      "\"target_columns\":1,\"classes\":2147483647,\"target_min\":0,\"target_max\":2147483646,"
      "\"x_min\":0,\"x_max\":0}";
  ep_tensor_note note = {"data", (char *)text};
  ep_tensors file = {.note = &note, .notes_count = 1};
  ep_data_shape shape;
  ck_assert_int_eq(ep_weights_notes_shape(&file, &shape, NULL), EP_OK);
  ck_assert_int_eq(shape.classes, INT32_MAX);
}
END_TEST

/* As PyTorch saves them: more tensors than the plan names, a counter of int64 among them. */
static uint8_t *foreign_make(const char *weight_shape, const char *bias, size_t *size) {
  char header[512];
  snprintf(header, sizeof header,
           "{\"__metadata__\":{\"format\":\"pt\"},"
           "\"0.weight\":{\"dtype\":\"F32\",\"shape\":%s,\"data_offsets\":[0,8]},"
           "\"%s\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]},"
           "\"1.num_batches_tracked\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[12,20]},"
           "\"9.bias\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[20,24]}}",
           weight_shape, bias);
  uint8_t *file = malloc(8 + strlen(header) + 24);
  *size = 8 + strlen(header) + 24;
  for (int i = 0; i < 8; i++) file[i] = (uint8_t)(strlen(header) >> 8 * i);
  memcpy(file + 8, header, strlen(header));
  const float values[] = {1.5F, -2, 3, 0, 0, 9};
  memcpy(file + 8 + strlen(header), values, sizeof values);
  return file;
}

static ep_status foreign_load(const char *weight_shape, const char *bias, float *state,
                              ep_error *error) {
  network n;
  size_t size;
  uint8_t *file = foreign_make(weight_shape, bias, &size);
  network_open(&n, "[{\"type\": \"linear\", \"out_features\": 1}]", NULL, (ep_shape){2, 1, 1},
               EP_X_FLOAT32, 1);
  const char *path = scratch_write("f.safetensors", file, size);
  ep_status status = ep_weights_load_into(path, n.plan, state, error);
  ck_assert_int_eq(ep_weights_check(path, n.plan, NULL), status);
  network_close(&n);
  free(file);
  return status;
}

START_TEST(first_weights_come_from_files_of_any_making) {
  float state[3] = {7, 7, 7};
  ep_error error = {0};
  ck_assert_msg(foreign_load("[1,2]", "0.bias", state, &error) == EP_OK, "%s", error.message);
  ck_assert(state[0] == 1.5F && state[1] == -2 && state[2] == 3);
}
END_TEST

START_TEST(first_weights_that_do_not_fit_are_named) {
  float state[3] = {7, 7, 7};
  ep_error error = {0};
  ck_assert_int_eq(foreign_load("[2,1]", "0.bias", state, &error), EP_INVALID);
  ck_assert_str_eq(error.message,
                   "the tensor \"0.weight\" has shape [2, 1], the model's is [1, 2]");
  ck_assert_str_eq(error.pointer, "/model/init");
  ck_assert_int_eq(foreign_load("[1,2]", "bias", state, &error), EP_INVALID);
  ck_assert_str_eq(error.message, "the weights have no tensor \"0.bias\", of shape [1]");
  ck_assert(state[0] == 7 && state[1] == 7 && state[2] == 7);
}
END_TEST

START_TEST(a_folder_that_is_not_there_is_said) {
  ep_plan plan = plan_make();
  ep_scaling none = {.x_columns = 2, .y_columns = 1};
  float parameters[PARAMETERS] = {0};
  char sha256[65];
  int64_t bytes;
  ep_error error = {0};
  ck_assert_int_eq(ep_weights_write(scratch_file("no/w"), &plan, parameters, &none, spec_text,
                                    sha256, &bytes, &error),
                   EP_IO);
}
END_TEST

EP_SUITE("weights") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_checked_fixture(all, scratch_setup, scratch_teardown);
  tcase_add_test(all, others_can_read_it);
  tcase_add_test(all, what_was_written_is_read_back);
  tcase_add_test(all, without_scaling_there_is_none);
  tcase_add_test(all, as_json);
  tcase_add_loop_test(all, hostile_files_are_refused, 0, sizeof bad / sizeof *bad);
  tcase_add_test(all, lengths_that_lie_are_refused);
  tcase_add_test(all, another_models_weights_are_refused);
  tcase_add_test(all, scalings_that_cannot_be_are_refused);
  tcase_add_test(all, torch_finds_its_names_and_shapes);
  tcase_add_test(all, the_shape_of_the_data_is_kept);
  tcase_add_loop_test(all, shapes_that_cannot_be_are_refused, 0,
                      sizeof shapes_that_cannot_be / sizeof *shapes_that_cannot_be);
  tcase_add_test(all, great_targets_are_possible);
  tcase_add_test(all, first_weights_come_from_files_of_any_making);
  tcase_add_test(all, first_weights_that_do_not_fit_are_named);
  tcase_add_test(all, a_folder_that_is_not_there_is_said);
  tcase_set_timeout(all, 60);
}
