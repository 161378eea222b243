#include "engine/weights/c/export.h"

#include <math.h>

#include "engine/layers/c/quantize.h"
#include "engine/layers/layer.h"
#include "engine/weights/c/layers.h"
#include "kernels/operators/operator.h"
#include "tests/suite.h"
#include "tests/unit/engine/scratch.h"
#include "tests/unit/engine/weights/network_fixture.h"

START_TEST(no_layer_is_without_c) {
  for (int type = 0; type < EP_LAYER_COUNT; type++)
    ck_assert_msg(ep_layer_of((ep_layer_type)type)->c.call, "%s", ep_layer_type_name(type));
}
END_TEST

START_TEST(names_are_identifiers) {
  static const struct {
    const char *text, *name;
  } cases[] = {{"Iris", "Iris"},         {"MNIST, 2nd try!", "MNIST_2nd_try"},
               {"7 rows", "n7_rows"},    {"", "model"},
               {"\xC3\x85rhus", "rhus"}, {"class", "class_"},
               {"typeof", "typeof_"},    {"or", "or_"},
               {"NAN", "NAN_"},          {"INT8 MAX", "INT8_MAX_"},
               {"IRIS_ROW", "IRIS_ROW"}, {"IRIS_OUTPUTS", "IRIS_OUTPUTS_"},
               {"!?", "model"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char name[EP_C_PREFIX_BYTES];
    ep_c_identifier(cases[i].text, "model", name, sizeof name);
    ck_assert_str_eq(name, cases[i].name);
  }
}
END_TEST

/* Valid until the next call. */
static char *source_text(const ep_c_source *source) {
  static char text[200];
  ck_assert(!source->failed && source->count <= source->limit && source->count < sizeof text);
  memcpy(text, source->text, source->count);
  text[source->count] = 0;
  return text;
}

START_TEST(texts_of_others_stay_texts) {
  ep_c_source source;
  ep_c_source_init(&source, "net 1", 1000);
  ep_c_add_text(&source, "@ ^ ");
  ep_c_add_string(&source, "a\"\\\n?@\xC3\xA6"
                           "1");
  ep_c_add_string(&source, NULL);
  ep_c_add_remark(&source, " */ \n@");
  ck_assert_str_eq(source_text(&source),
                   "net_1 NET_1 \"a\\042\\134\\012\\077@\\303\\2461\"0 __ _@");
  ep_c_source_deinit(&source);
}
END_TEST

START_TEST(numbers_read_back) {
  static const float values[] = {0, -0.0F, 1, 1e-42F, 3.4028235e38F, 0.1F, 16777216, -1.0F / 3};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    ep_c_source source;
    ep_c_source_init(&source, "", 100);
    ep_c_add_float(&source, values[i]);
    char *end, *text = source_text(&source);
    float back = strtof(text, &end);
    ck_assert(memcmp(&back, &values[i], sizeof back) == 0);
    ck_assert_str_eq(end, "f");
    ck_assert(strpbrk(text, ".e") != NULL); /* an integer with an f is no number */
    ep_c_source_deinit(&source);
  }
}
END_TEST

START_TEST(what_is_beyond_the_limit_is_counted) {
  ep_c_source source;
  ep_c_source_init(&source, "", 10);
  ep_c_add_text(&source, "123456789");
  ep_c_add_text(&source, "1234567890");
  ck_assert_uint_eq(source.count, 19);
  ck_assert(!source.failed && memcmp(source.text, "123456789", 9) == 0);
  ep_c_source_deinit(&source);
}
END_TEST

START_TEST(codes_are_near) {
  float weights[] = {0.5F, -1.27F, 1.0F, 0.004F, 0.0F}, zeros[] = {0, 0};
  int8_t codes[5];
  float scale = ep_c_quantize(weights, 5, codes);
  static const int8_t wanted[] = {50, -127, 100, 0, 0};
  ck_assert(fabsf(scale - 0.01F) < 1e-8F && memcmp(codes, wanted, 5) == 0);
  ck_assert(ep_c_quantize(zeros, 2, codes) == 0 && codes[0] == 0 && codes[1] == 0);
}
END_TEST

static const char residuals[] =
    "[{\"type\": \"linear\", \"out_features\": 8}, {\"type\": \"residual\", \"layers\": ["
    "{\"type\": \"linear\", \"out_features\": 8}, {\"type\": \"relu\"}, {\"type\": \"residual\", "
    "\"layers\": [{\"type\": \"tanh\"}]}, {\"type\": \"dropout\"}]}, "
    "{\"type\": \"linear\", \"out_features\": 3}]";

/* No op writes over a value that it, or a later one, reads. */
static void memory_check(const ep_program *program, const ep_c_memory *memory) {
  int holds[EP_C_VALUES]; /* the value of each array */
  holds[memory->array[0]] = 0;
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    int array = memory->array[i + 1];
    for (int k = 0; k < op->inputs; k++)
      ck_assert_int_eq(holds[memory->array[op->input[k]]], op->input[k]);
    if (!ep_c_is_in_place(op->type)) ck_assert_int_ne(array, memory->array[op->input[0]]);
    ck_assert_int_ge(memory->floats[array], op->out_features);
    holds[array] = i + 1;
  }
}

START_TEST(values_keep_their_arrays) {
  network n;
  ep_c_memory memory;
  network_open(&n, residuals, NULL, (ep_shape){5, 1, 1}, EP_X_FLOAT32, 3);
  ck_assert_int_eq(ep_c_memory_plan(&n.plan->program, &memory, NULL), EP_OK);
  memory_check(&n.plan->program, &memory);
  network_close(&n);
  network_open(&n,
               "[{\"type\": \"linear\", \"out_features\": 9}, {\"type\": \"relu\"}, "
               "{\"type\": \"linear\", \"out_features\": 3}]",
               NULL, (ep_shape){5, 1, 1}, EP_X_FLOAT32, 3);
  ck_assert_int_eq(ep_c_memory_plan(&n.plan->program, &memory, NULL), EP_OK);
  memory_check(&n.plan->program, &memory);
  ck_assert_int_eq(memory.arrays, 2);
  network_close(&n);
}
END_TEST

static ep_status exported(const char *layers, int64_t columns, bool quantized, ep_error *error) {
  network n;
  double *cells = calloc((size_t)columns, sizeof *cells);
  network_open(&n, layers, NULL, (ep_shape){columns, 1, 1}, EP_X_FLOAT32, 1);
  const ep_scaling scaling = {.x_columns = columns, .y_columns = 1};
  const ep_normalization normalization = {0};
  const ep_c_model model = {.plan = n.plan,
                            .spec = n.spec,
                            .state = n.state,
                            .scaling = &scaling,
                            .normalization = &normalization,
                            .job = "job_1",
                            .quantized = quantized,
                            .measured = {quantized ? "test" : NULL, 20, false, 0.5, 0.25},
                            .example = cells,
                            .expected = cells};
  ep_status status = ep_weights_to_c(&model, scratch_file("w.h"), error);
  network_close(&n);
  free(cells);
  return status;
}

START_TEST(a_header_has_a_limit) {
  static const char one[] = "[{\"type\": \"linear\", \"out_features\": 1}]";
  static const char many[] = "[{\"type\": \"linear\", \"out_features\": 1500}, "
                             "{\"type\": \"linear\", \"out_features\": 1}]";
  static const char most[] = "[{\"type\": \"linear\", \"out_features\": 5000}, "
                             "{\"type\": \"linear\", \"out_features\": 1}]";
  ep_error error = {0};
  ck_assert_int_eq(exported(one, 5, false, &error), EP_OK);
  ck_assert_int_eq(exported(many, 1200, false, &error), EP_TOO_LARGE);
  ck_assert_msg(strstr(error.message, "would have 2") != NULL, "%s", error.message);
  ck_assert_int_eq(exported(many, 1200, true, &error), EP_OK);
  ck_assert_int_eq(exported(most, 1200, false, &error), EP_TOO_LARGE);
  ck_assert_msg(strstr(error.message, "over 18") != NULL, "%s", error.message);
}
END_TEST

static void figure_take(void *context, const char *name, const char *value) {
  char *text = context;
  snprintf(text + strlen(text), 100, "%s=%s;", name, value);
}

START_TEST(figures_read_back) {
  char text[400] = "";
  ck_assert_int_eq(exported("[{\"type\": \"linear\", \"out_features\": 1}]", 5, true, NULL), EP_OK);
  int file = scratch_open(scratch_path);
  ep_c_figures_read(file, figure_take, text);
  close(file);
  ck_assert_str_eq(text, "Model-Rows=20 test;Model-RMSE=0.5;Model-RMSE-Quantized=0.25;");
}
END_TEST

EP_SUITE("weights_c") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_checked_fixture(all, scratch_setup, scratch_teardown);
  tcase_add_test(all, no_layer_is_without_c);
  tcase_add_test(all, names_are_identifiers);
  tcase_add_test(all, texts_of_others_stay_texts);
  tcase_add_test(all, numbers_read_back);
  tcase_add_test(all, what_is_beyond_the_limit_is_counted);
  tcase_add_test(all, codes_are_near);
  tcase_add_test(all, values_keep_their_arrays);
  tcase_add_test(all, a_header_has_a_limit);
  tcase_add_test(all, figures_read_back);
}
