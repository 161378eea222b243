/* Tests of api/inference*.c and api/responses/model.c: requests of the Open Inference Protocol into
 * rows, and predictions into answers. tests/e2e/models.py asks the same of the whole server. */
#include "api/inference/inference.h"
#include "tests/suite.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const ep_model vector = {.name = "vector",
                                .job = "job_1",
                                .row = {2},
                                .row_dimensions = 1,
                                .outputs = 1,
                                .decision = EP_DECISION_POSITIVE,
                                .published_us = INT64_C(1795193527123456)};
static const ep_model image = {.name = "image",
                               .job = "job_2",
                               .row = {1, 2, 3},
                               .row_dimensions = 3,
                               .outputs = 3,
                               .decision = EP_DECISION_GREATEST,
                               .published_us = 1};

/* The request has `json`, then the bytes. */
static ep_status parse(const ep_model *model, const char *json, const void *behind, size_t bytes,
                       ep_inference_request *out, ep_error *error) {
  size_t json_bytes = strlen(json);
  char *body = malloc(json_bytes + bytes + 1);
  ck_assert_ptr_nonnull(body);
  memcpy(body, json, json_bytes);
  if (bytes > 0) memcpy(body + json_bytes, behind, bytes);
  ep_status status =
      ep_inference_parse(model, NULL, body, json_bytes + bytes, json_bytes, out, error);
  free(body);
  return status;
}

static void parse_well(const ep_model *model, const char *json, const void *behind, size_t bytes,
                       ep_inference_request *out) {
  ep_error error = {0};
  ep_status status = parse(model, json, behind, bytes, out, &error);
  ck_assert_msg(status == EP_OK, "%s: %s", json, error.message);
}

static void assert_row(const ep_inference_request *request, int64_t rows, const double *wanted) {
  ck_assert_int_eq(request->rows, rows);
  for (int64_t i = 0; i < rows * request->columns; i++) {
    ck_assert(isfinite(request->x[i]));
    ck_assert_double_eq(request->x[i], wanted[i]);
  }
}

START_TEST(json_flat_and_nested_are_the_same) {
  static const double WANTED[] = {1, 2, 3, 4, 5, 6};
  static const char *const DATA[] = {"[1,2,3,4,5,6]", "[[[[1,2,3],[4,5,6]]]]",
                                     " [ 1 , 2,3 ,4,5,6.0e0 ] "};
  static const char *const SHAPES[] = {"[1,1,2,3]", "[1, 1,2,3]", "[1,6]"};
  static const char *const MARKS[] = {"", "", "\xEF\xBB\xBF"}; /* a byte order mark */
  char json[256];
  for (int i = 0; i < 3; i++) {
    ep_inference_request request;
    snprintf(json, sizeof json,
             "%s{\"inputs\":[{\"data\":%s,\"name\":\"x\",\"shape\":%s,\"datatype\":\"INT32\"}]}",
             MARKS[i], DATA[i], SHAPES[i]);
    parse_well(&image, json, NULL, 0, &request);
    ck_assert_int_eq(request.columns, 6);
    assert_row(&request, 1, WANTED);
    ck_assert(request.wanted[0] && request.wanted[1] && !request.binary[0] && !request.binary[1]);
    ck_assert_ptr_null(request.id);
    ep_inference_request_deinit(&request);
  }
}
END_TEST

START_TEST(fp32_is_rounded_and_fp64_is_not) {
  static const char *const TYPES[] = {"FP32", "FP64"};
  static const double WANTED[][2] = {{(double)0.1f, -0.0}, {0.1, -1e-300}};
  for (int i = 0; i < 2; i++) {
    char json[256];
    ep_inference_request request;
    snprintf(json, sizeof json,
             "{\"inputs\":[{\"name\":\"x\",\"shape\":[1,2],\"datatype\":\"%s\","
             "\"data\":[0.1,-1e-300]}]}",
             TYPES[i]);
    parse_well(&vector, json, NULL, 0, &request);
    assert_row(&request, 1, WANTED[i]);
    ep_inference_request_deinit(&request);
  }
}
END_TEST

START_TEST(bytes_of_every_type) {
  static const struct {
    const char *type;
    unsigned char bytes[16];
    size_t count;
    double wanted[2];
  } CASES[] = {
      {"UINT8", {0, 255}, 2, {0, 255}},
      {"BOOL", {1, 0}, 2, {1, 0}},
      {"INT8", {0x80, 0x7f}, 2, {-128, 127}},
      {"UINT16", {0xff, 0xff, 1, 2}, 4, {65535, 513}},
      {"INT16", {0xff, 0xff, 1, 2}, 4, {-1, 513}},
      {"UINT32", {0xff, 0xff, 0xff, 0xff, 1, 2, 0, 0}, 8, {4294967295.0, 513}},
      {"UINT64",
       {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x1f, 0, 1, 2, 0, 0, 0, 0, 0, 0},
       16,
       {0x1p53 - 1, 513}},
      {"FP16", {0x80, 0x51, 1, 0x80}, 4, {44, -0x1p-24}}, /* 1: the least denormal number */
      {"FP16", {0xff, 0x7b, 0, 0x84}, 4, {65504, -0x1p-14}},
      {"INT32", {0xff, 0xff, 0xff, 0xff, 1, 2, 0, 0}, 8, {-1, 513}},
      {"INT64",
       {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 1, 0, 0, 0},
       16,
       {-2, 4294967296.0}},
      {"FP32", {0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0}, 8, {1.5, -2}},
      {"FP64", {0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0}, 16, {1.5, -2}},
  };
  char json[256];
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    ep_inference_request request;
    snprintf(json, sizeof json,
             "{\"inputs\":[{\"name\":\"x\",\"shape\":[1,2],\"datatype\":\"%s\",\"parameters\":"
             "{\"binary_data_size\":%zu}}]}",
             CASES[i].type, CASES[i].count);
    parse_well(&vector, json, CASES[i].bytes, CASES[i].count, &request);
    assert_row(&request, 1, CASES[i].wanted);
    ep_inference_request_deinit(&request);
  }
}
END_TEST

START_TEST(what_is_not_right_is_refused) {
  static const struct {
    const char *json, *word; /* `word` stands in the message */
    ep_status status;
    size_t behind;
  } CASES[] = {
#define INPUT(shape, type, rest) \
  "{\"inputs\":[{\"name\":\"x\",\"shape\":" shape ",\"datatype\":\"" type "\"" rest "}]}"
      {"{}", "inputs", EP_MALFORMED, 0},
      {"[]", "object", EP_MALFORMED, 0},
      {"{\"inputs\":[],\"inputs\":[]}", "twice", EP_MALFORMED, 0},
      {"{\"inputs\":[]} x", "trailing data", EP_MALFORMED, 0},
      {INPUT("[1,3]", "FP32", ",\"data\":[1,2,3]"), "[rows, 2]", EP_MALFORMED, 0},
      {INPUT("[1,2]", "FP32", ""), "neither", EP_MALFORMED, 0},
      {INPUT("[1,2]", "BF16", ",\"data\":[1,2]"),
       "\"BF16\" of the input \"x\" is not supported: BOOL, ", EP_MALFORMED, 0},
      {INPUT("[1,2]", "FP16", ",\"data\":[1,65520]"), "value 1", EP_MALFORMED, 0},
      {INPUT("[1,2]", "BOOL", ",\"data\":[true,2]"), "value 1", EP_MALFORMED, 0},
      {INPUT("[1,2]", "INT8", ",\"data\":[true,1]"), "value 0", EP_MALFORMED, 0},
      {INPUT("[1,2]", "BOOL", ",\"parameters\":{\"binary_data_size\":2}"), "value 0", EP_MALFORMED,
       2}, /* a byte of 7 */
      {INPUT("[1,2]", "INT64", ",\"data\":[0,9007199254740992]"), "2^53", EP_MALFORMED, 0},
      {INPUT("[1,2]", "UINT64", ",\"data\":[9007199254740993,0]"), "2^53", EP_MALFORMED, 0},
      {INPUT("[1,2]", "FP32", ",\"data\":[1,2,3]"), "more", EP_MALFORMED, 0},
      {INPUT("[1,2]", "FP32", ",\"data\":[1]"), "less", EP_MALFORMED, 0},
      {INPUT("[1,2]", "FP32", ",\"data\":[1,1e39]"), "value 1", EP_MALFORMED, 0},
      {INPUT("[1,2]", "UINT8", ",\"data\":[256,1]"), "value 0", EP_MALFORMED, 0},
      {INPUT("[1,2]", "FP32", ",\"parameters\":{\"binary_data_size\":8}"), "0 bytes follow",
       EP_MALFORMED, 0},
      {INPUT("[1,2]", "FP32", ",\"parameters\":{\"binary_data_size\":9}"), "are 8 bytes",
       EP_MALFORMED, 9},
      {INPUT("[1,2]", "FP32", ",\"parameters\":{\"binary_data_size\":-8}"), "number of bytes",
       EP_MALFORMED, 8},
      {INPUT("[1,2]", "FP32", ",\"data\":[1,2]"), "trailing data", EP_MALFORMED, 1},
      {INPUT("[100001,2]", "FP32", ",\"data\":[]"), "at most", EP_TOO_LARGE, 0},
      {INPUT("[4611686018427387904,2]", "FP32", ",\"data\":[]"), "too large", EP_TOO_LARGE, 0},
#undef INPUT
  };
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    char behind[16] = {7};
    ep_inference_request request;
    ep_error error = {0};
    ep_status status = parse(&vector, CASES[i].json, behind, CASES[i].behind, &request, &error);
    ck_assert_msg(status == CASES[i].status, "%s: %d, %s", CASES[i].json, status, error.message);
    ck_assert_msg(strstr(error.message, CASES[i].word), "%s: %s", CASES[i].json, error.message);
    ep_inference_request_deinit(&request);
  }
}
END_TEST

/* JSON's booleans stay booleans and whole numbers whole, so that they are read as in "rows". */
START_TEST(columns_of_every_kind) {
  static const char JSON[] =
      "{\"inputs\":[{\"name\":\"smoker\",\"shape\":[2,1],\"datatype\":\"BOOL\",\"data\":[true,[0]],"
      "\"parameters\":{\"content_type\":\"np\",\"of\":[{}]}},{\"name\":\"age\",\"shape\":[2],"
      "\"datatype\":"
      "\"INT8\",\"data\":[-5,null]},{\"name\":\"id\",\"shape\":[2],\"datatype\":\"INT64\",\"data\":"
      "[9007199254740991,1e3]},{\"name\":\"size\",\"shape\":[2],\"datatype\":\"FP16\",\"data\":"
      "[0.1,2049]},{\"name\":\"flag\",\"shape\":[2],\"datatype\":\"BOOL\",\"parameters\":"
      "{\"binary_data_size\":2}}]}";
  static const char *const WRONG[] = {"{\"inputs\":[{\"name\":\"id\",\"shape\":[1],\"datatype\":"
                                      "\"INT64\",\"data\":[9007199254740993]}]}",
                                      "{\"inputs\":[{\"name\":\"id\",\"shape\":[1],\"datatype\":"
                                      "\"UINT64\",\"data\":[18446744073709551615]}]}"};
  ep_inference_request request;
  ep_error error = {0};
  parse_well(&vector, JSON, "\0\1", 2, &request);
  char *text = json_dumps(request.named, JSON_COMPACT);
  ck_assert_str_eq(text,
                   "[{\"smoker\":true,\"age\":-5,\"id\":9007199254740991,\"size\":"
                   "0.0999755859375,\"flag\":false},{\"smoker\":false,\"age\":null,\"id\":1000,"
                   "\"size\":2048.0,\"flag\":true}]");
  free(text);
  ep_inference_request_deinit(&request);
  for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
    ck_assert_int_eq(parse(&vector, WRONG[i], NULL, 0, &request, &error), EP_MALFORMED);
    ck_assert_ptr_nonnull(strstr(error.message, "value 0 of the input \"id\""));
    ck_assert_ptr_nonnull(strstr(error.message, "give identifiers as BYTES"));
    ep_inference_request_deinit(&request);
  }
}
END_TEST

/* Each of the 63488 finite numbers is itself, and what lies between two goes to the nearer one. */
START_TEST(half_precision_is_exact) {
  double before = -1;
  for (unsigned bits = 0; bits < 0x7c00; bits++) {
    const unsigned char bytes[] = {(unsigned char)bits, (unsigned char)(bits >> 8)};
    double value = ep_tensor_element(EP_TENSOR_FP16, bytes), taken = value, negative = -value;
    ck_assert(ep_tensor_value_take(EP_TENSOR_FP16, &taken) && taken == value && value > before);
    ck_assert(ep_tensor_value_take(EP_TENSOR_FP16, &negative) && negative == -value);
    double middle = (before + value) / 2, above = nextafter(middle, INFINITY);
    if (bits > 0) {
      ck_assert(ep_tensor_value_take(EP_TENSOR_FP16, &middle));
      ck_assert_double_eq(middle, bits % 2 ? before : value); /* the even one */
      ck_assert(ep_tensor_value_take(EP_TENSOR_FP16, &above) && above == value);
    }
    before = value;
  }
  double most = nextafter(65520, 0), more = 65520;
  ck_assert(ep_tensor_value_take(EP_TENSOR_FP16, &most) && most == 65504);
  ck_assert(!ep_tensor_value_take(EP_TENSOR_FP16, &more));
}
END_TEST

START_TEST(the_length_of_the_json) {
  static const char *const BAD[] = {
      "", "0", "-1", "+5", " 5", "5 ", "11", "0x5", "99999999999999999"};
  size_t bytes = 7;
  for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
    ck_assert_msg(ep_inference_length_parse(BAD[i], 10, &bytes, NULL) == EP_MALFORMED, "%s",
                  BAD[i]);
  ck_assert_uint_eq(bytes, 7);
  ck_assert_int_eq(ep_inference_length_parse("1", 10, &bytes, NULL), EP_OK);
  ck_assert_int_eq(ep_inference_length_parse("10", 10, &bytes, NULL), EP_OK);
  ck_assert_uint_eq(bytes, 10);
}
END_TEST

static void assert_answer(const ep_model *model, const char *request_json, const double *output,
                          const char *json, const void *behind, size_t behind_bytes) {
  ep_inference_request request;
  ep_inference_response answer;
  parse_well(model, request_json, NULL, 0, &request);
  ck_assert_int_eq(ep_inference_response_format(model, NULL, &request, output, &answer, NULL),
                   EP_OK);
  ck_assert_int_eq(answer.binary, behind != NULL);
  ck_assert_uint_eq(answer.json_bytes, strlen(json));
  ck_assert_uint_eq(answer.body_bytes, answer.json_bytes + behind_bytes);
  ck_assert_msg(memcmp(answer.body, json, answer.json_bytes) == 0, "%.*s", (int)answer.json_bytes,
                answer.body);
  if (behind) ck_assert_mem_eq(answer.body + answer.json_bytes, behind, behind_bytes);
  free(answer.body);
  ep_inference_request_deinit(&request);
}

START_TEST(answers) {
  static const double TWO[] = {1.5, -2}, THREE[] = {1, NAN, 2};
  static const unsigned char BYTES[] = {0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0};
  static const unsigned char CLASS[] = {2, 0, 0, 0, 0, 0, 0, 0};
  assert_answer(&vector,
                "{\"id\":\"\\u00e9\\\"\",\"inputs\":[{\"name\":\"x\",\"shape\":[2,2],"
                "\"datatype\":\"FP32\",\"data\":[1,2,3,4]}]}",
                TWO,
                "{\"model_name\":\"vector\",\"model_version\":\"1\",\"id\":\"\\u00e9\\\"\","
                "\"outputs\":[{\"name\":\"predictions\",\"shape\":[2,1],\"datatype\":\"FP32\","
                "\"data\":[1.5,-2]},{\"name\":\"class\",\"shape\":[2],\"datatype\":\"INT64\","
                "\"data\":[1,0]}]}",
                NULL, 0);
  assert_answer(&vector,
                "{\"parameters\":{\"binary_data_output\":true},\"outputs\":[{\"name\":"
                "\"predictions\"}],\"inputs\":[{\"name\":\"x\",\"shape\":[2,2],\"datatype\":"
                "\"FP32\",\"data\":[1,2,3,4]}]}",
                TWO,
                "{\"model_name\":\"vector\",\"model_version\":\"1\",\"outputs\":[{\"name\":"
                "\"predictions\",\"shape\":[2,1],\"datatype\":\"FP32\",\"parameters\":"
                "{\"binary_data_size\":8}}]}",
                BYTES, sizeof BYTES);
  assert_answer(
      &image,
      "{\"outputs\":[{\"name\":\"class\",\"parameters\":{\"binary_data\":true}}],"
      "\"inputs\":[{\"name\":\"x\",\"shape\":[1,6],\"datatype\":\"UINT8\",\"data\":"
      "[1,2,3,4,5,6]}]}",
      THREE,
      "{\"model_name\":\"image\",\"model_version\":\"1\",\"outputs\":[{\"name\":\"class\","
      "\"shape\":[1],\"datatype\":\"INT64\",\"parameters\":{\"binary_data_size\":8}}]}",
      CLASS, sizeof CLASS);
}
END_TEST

START_TEST(a_class_of_no_number_is_none) {
  static const double ROWS[] = {NAN, 0};
  assert_answer(
      &vector,
      "{\"outputs\":[{\"name\":\"class\"}],\"inputs\":[{\"name\":\"x\",\"shape\":[2,2],"
      "\"datatype\":\"FP32\",\"data\":[1,2,3,4]}]}",
      ROWS,
      "{\"model_name\":\"vector\",\"model_version\":\"1\",\"outputs\":[{\"name\":\"class\","
      "\"shape\":[2],\"datatype\":\"INT64\",\"data\":[-1,0]}]}",
      NULL, 0);
}
END_TEST

START_TEST(columns_become_rows) {
  static const char JSON[] =
      "{\"inputs\":[{\"name\":\"town\",\"shape\":[2],\"datatype\":\"BYTES\",\"data\":[\"Oslo\","
      "null]},{\"name\":\"age\",\"shape\":[2,1],\"datatype\":\"FP32\",\"parameters\":"
      "{\"binary_data_size\":8}},{\"name\":\"x\",\"shape\":[2],\"datatype\":\"BYTES\","
      "\"parameters\":{\"binary_data_size\":9}}]}";
  static const unsigned char BEHIND[] = {0, 0, 0xc0, 0x3f, 0,   0, 0xc0, 0x7f, /* 1.5, NaN */
                                         1, 0, 0,    0,    'y', 0, 0,    0,    0};
  ep_inference_request request;
  parse_well(&vector, JSON, BEHIND, sizeof BEHIND, &request);
  char *text = json_dumps(request.named, JSON_COMPACT);
  ck_assert_str_eq(text, "[{\"town\":\"Oslo\",\"age\":1.5,\"x\":\"y\"},"
                         "{\"town\":null,\"age\":null,\"x\":\"\"}]");
  ck_assert(!request.x && request.rows == 2);
  free(text);
  ep_inference_request_deinit(&request);
}
END_TEST

START_TEST(classes_by_name) {
  static const double ROWS[] = {1, 2, 3, 5, 4, 4};
  char *names[] = {"cat", "d\"g", ""};
  const ep_output_meaning meaning = {
      .loss = EP_LOSS_CROSS_ENTROPY, .class_name = names, .classes = 3};
  static const char ASK[] =
      "{\"outputs\":[{\"name\":\"class_name\",\"parameters\":{\"binary_data\":true}},{\"name\":"
      "\"probabilities\"}],\"inputs\":[{\"name\":\"x\",\"shape\":"
      "[2,6],\"datatype\":\"UINT8\",\"data\":[1,2,3,4,5,6,1,2,3,4,5,6]}]}";
  ep_inference_request request;
  ep_inference_response answer;
  ck_assert_int_eq(
      ep_inference_parse(&image, &meaning, ASK, sizeof ASK - 1, sizeof ASK - 1, &request, NULL),
      EP_OK);
  ck_assert_int_eq(ep_inference_response_format(&image, &meaning, &request, ROWS, &answer, NULL),
                   EP_OK);
  json_t *whole = json_loadb(answer.body, answer.json_bytes, 0, NULL);
  const json_t *outputs = json_object_get(whole, "outputs");
  char *text = json_dumps(json_array_get(outputs, 0), JSON_COMPACT);
  ck_assert_str_eq(text, "{\"name\":\"class_name\",\"shape\":[2],\"datatype\":\"BYTES\","
                         "\"parameters\":{\"binary_data_size\":11}}");
  ck_assert_mem_eq(answer.body + answer.json_bytes, "\0\0\0\0\3\0\0\0cat", 11);
  const json_t *list = json_object_get(json_array_get(outputs, 1), "data");
  ck_assert_uint_eq(json_array_size(list), 6);
  for (size_t i = 0; i < 6; i++) { /* of the softmax in double */
    double sum = 0, wanted = exp(ROWS[i]);
    for (size_t j = 0; j < 3; j++) sum += exp(ROWS[i / 3 * 3 + j]);
    ck_assert_double_eq_tol(json_real_value(json_array_get(list, i)), wanted / sum, 1e-7);
  }
  free(text);
  json_decref(whole);
  free(answer.body);
  ep_inference_request_deinit(&request);
  ck_assert_int_eq(
      ep_inference_parse(&image, NULL, ASK, sizeof ASK - 1, sizeof ASK - 1, &request, NULL),
      EP_MALFORMED);
  ep_inference_request_deinit(&request);
}
END_TEST

#define ASK_WITH(parameters)    \
  "{\"parameters\":" parameters \
  ",\"inputs\":[{\"name\":\"x\",\"shape\":[1,2],\"datatype\":\"FP32\",\"data\":[1,2]}]}"

START_TEST(thresholds_of_requests) {
  static const struct {
    const char *text;
    ep_threshold_kind kind;
  } CASES[] = {{ASK_WITH("{}"), EP_THRESHOLD_NONE},
               {ASK_WITH("{\"threshold\":null}"), EP_THRESHOLD_NONE},
               {ASK_WITH("{\"threshold\":0.25}"), EP_THRESHOLD_NUMBER},
               {ASK_WITH("{\"threshold\":\"f1\"}"), EP_THRESHOLD_F1},
               {ASK_WITH("{\"threshold\":\"fp:1,fn:5\"}"), EP_THRESHOLD_COST}};
  static const char *const WRONG[] = {
      ASK_WITH("{\"threshold\":1.5}"), ASK_WITH("{\"threshold\":-1}"),
      ASK_WITH("{\"threshold\":true}"), ASK_WITH("{\"threshold\":\"best\"}")};
  ep_inference_request request;
  ep_error error = {0};
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    parse_well(&vector, CASES[i].text, NULL, 0, &request);
    ck_assert_int_eq(request.threshold.kind, CASES[i].kind);
    ep_inference_request_deinit(&request);
  }
  for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
    ck_assert_int_eq(parse(&vector, WRONG[i], NULL, 0, &request, &error), EP_MALFORMED);
    ck_assert_msg(strncmp(error.message, "parameter \"threshold\": ", 23) == 0, "%s",
                  error.message);
    ep_inference_request_deinit(&request);
  }
  /* three classes */
  ck_assert_int_eq(parse(&image, CASES[2].text, NULL, 0, &request, &error), EP_MALFORMED);
  ck_assert_ptr_nonnull(strstr(error.message, "two classes"));
  ep_inference_request_deinit(&request);
}
END_TEST

START_TEST(a_threshold_that_decides_is_told) {
  static const double LOGIT[] = {-1}; /* a probability of 0.27 */
  static const struct {
    ep_output_meaning meaning;
    const char *parameters;
    int class;
  } CASES[] = {{{.loss = EP_LOSS_BCE_WITH_LOGITS}, NULL, 0},
               {{.loss = EP_LOSS_BCE_WITH_LOGITS, .has_threshold = true, .threshold = 0.25},
                "{\"threshold\":0.25,\"positive\":\"1\"}",
                1},
               {{.loss = EP_LOSS_BCE_WITH_LOGITS, .has_threshold = true, .threshold = 0.5},
                "{\"threshold\":0.5,\"positive\":\"1\"}",
                0}};
  ep_inference_request request;
  parse_well(&vector, ASK_WITH("{}"), NULL, 0, &request);
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    ep_inference_response answer;
    ck_assert_int_eq(
        ep_inference_response_format(&vector, &CASES[i].meaning, &request, LOGIT, &answer, NULL),
        EP_OK);
    json_t *root = json_loadb(answer.body, answer.json_bytes, 0, NULL);
    const json_t *parameters = json_object_get(root, "parameters");
    char *text = parameters ? json_dumps(parameters, JSON_COMPACT) : NULL;
    ck_assert_pstr_eq(text, CASES[i].parameters);
    const json_t *class = json_object_get(
        json_array_get(json_object_get(root, "outputs"), EP_INFERENCE_CLASS), "data");
    ck_assert_int_eq(json_integer_value(json_array_get(class, 0)), CASES[i].class);
    free(text);
    json_decref(root);
    free(answer.body);
  }
  ep_inference_request_deinit(&request);
}
END_TEST

START_TEST(models_as_text) {
  char *text = ep_model_format(&image, NULL);
  ck_assert_str_eq(text,
                   "{\"object\":\"model\",\"name\":\"image\",\"job\":\"job_2\",\"owner\":\"\","
                   "\"visibility\":\"public\",\"inputs\":[{"
                   "\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[-1,1,2,3]}],\"outputs\":[{"
                   "\"name\":\"predictions\",\"datatype\":\"FP32\",\"shape\":[-1,3]},{\"name\":"
                   "\"class\",\"datatype\":\"INT64\",\"shape\":[-1]}],\"threshold\":0,\"positive\":"
                   "null,\"infer\":"
                   "\"/v2/models/image/infer\",\"published_at\":\"1970-01-01T00:00:00.000Z\"}");
  free(text);
  text = ep_models_format(NULL, 0);
  ck_assert_str_eq(text, "{\"object\":\"list\",\"data\":[]}");
  free(text);
}
END_TEST

START_TEST(requests_to_publish) {
  static const struct {
    const char *text, *pointer;
    ep_status status;
  } CASES[] = {{"{", "", EP_MALFORMED},
               {"[]", "", EP_INVALID},
               {"{}", "/job", EP_INVALID},
               {"{\"job\":1}", "/job", EP_INVALID},
               {"{\"job\":\"a\",\"name\":\"b\"}", "/name", EP_INVALID},
               {"{\"job\":\"a\",\"visibility\":\"secret\"}", "/visibility", EP_INVALID},
               {"{\"job\":\"a\",\"a/b~c\":1}", "/a~1b~0c", EP_INVALID}};
  static const char PRIVATE[] = "{\"job\":\"job_2\",\"visibility\":\"private\"}";
  ep_model_request request;
  ep_problem good = {0};
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    ep_problem problem = {0};
    ep_status status =
        ep_model_request_parse(CASES[i].text, strlen(CASES[i].text), &request, &problem);
    ck_assert_int_eq(status, CASES[i].status);
    if (CASES[i].pointer[0]) ck_assert_str_eq(problem.errors[0].pointer, CASES[i].pointer);
  }
  ck_assert_int_eq(ep_model_request_parse("{\"job\":\"job_1\"}", 15, &request, &good), EP_OK);
  ck_assert_str_eq(request.job, "job_1");
  ck_assert(!request.visibility_given && !request.private);
  ck_assert_int_eq(ep_model_request_parse(PRIVATE, sizeof PRIVATE - 1, &request, &good), EP_OK);
  ck_assert(request.visibility_given && request.private);
}
END_TEST

EP_SUITE("inference") {
  TCase *tests = ep_suite_case(suite, "inference");
  tcase_add_test(tests, json_flat_and_nested_are_the_same);
  tcase_add_test(tests, fp32_is_rounded_and_fp64_is_not);
  tcase_add_test(tests, bytes_of_every_type);
  tcase_add_test(tests, what_is_not_right_is_refused);
  tcase_add_test(tests, the_length_of_the_json);
  tcase_add_test(tests, answers);
  tcase_add_test(tests, a_class_of_no_number_is_none);
  tcase_add_test(tests, columns_become_rows);
  tcase_add_test(tests, columns_of_every_kind);
  tcase_add_test(tests, half_precision_is_exact);
  tcase_add_test(tests, classes_by_name);
  tcase_add_test(tests, thresholds_of_requests);
  tcase_add_test(tests, a_threshold_that_decides_is_told);
  tcase_add_test(tests, models_as_text);
  tcase_add_test(tests, requests_to_publish);
}
