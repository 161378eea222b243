/* The job's spec: what is taken, what is refused and where the pointer points. */
#include "api/spec.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define XOR "\"data\":{\"generator\":\"xor\"}"
#define MODEL "\"model\":{\"layers\":[{\"type\":\"linear\",\"out_features\":1}]}"
#define REST "\"loss\":\"mse\",\"epochs\":10"
/* A whole job but for the part that a test is about. */
#define WITH(more) "{" XOR "," MODEL "," REST "," more "}"
#define WITH_DATA(data) "{\"data\":" data "," MODEL "," REST "}"
#define WITH_LAYERS(layers) "{" XOR ",\"model\":{\"layers\":" layers "}," REST "}"

static const char example[] =
    "{\n"
    "  \"name\": \"house-prices\",\n"
    "  \"data\": {\"dataset\": \"houses\", \"target\": \"price\", \"test\": 0.2, \"validation\": "
    "0.1, "
    "\"standardize\": [\"x\", \"y\"]},\n"
    "  \"model\": {\"layers\": [{\"type\": \"linear\", \"out_features\": 6}, {\"type\": \"relu\"}, "
    "{\"type\": \"linear\", \"out_features\": 1}]},\n"
    "  \"loss\": \"mse\",\n"
    "  \"optimizer\": {\"type\": \"sgd\", \"lr\": 0.005, \"momentum\": 0.0},\n"
    "  \"epochs\": 40000, \"batch_size\": \"full\", \"shuffle\": true, \"seed\": 1,\n"
    "  \"device\": \"auto\", \"precision\": \"fp32\",\n"
    "  \"report_every\": 1000, \"checkpoint\": {\"every_seconds\": 30}\n"
    "}\n";

static ep_job_spec *parse(const char *text) {
  ep_problem problem = {0};
  ep_job_spec *spec;
  ep_status status = ep_job_spec_parse(text, strlen(text), &spec, &problem);
  ck_assert_msg(status == EP_OK, "%s: %s at %s", text, problem.detail, problem.errors[0].pointer);
  ck_assert_ptr_nonnull(spec);
  ck_assert_int_eq(problem.status, EP_OK);
  return spec;
}

START_TEST(the_example_parses) {
  ep_job_spec *spec = parse(example);
  ck_assert_str_eq(spec->name, "house-prices");
  ck_assert_int_eq(spec->data.source, EP_DATA_DATASET);
  ck_assert_str_eq(spec->data.dataset, "houses");
  ck_assert(spec->data.has_target);
  ck_assert_str_eq(spec->data.target, "price");
  ck_assert_double_eq(spec->data.test, 0.2);
  ck_assert_double_eq(spec->data.validation, 0.1);
  ck_assert(spec->data.standardize_x && spec->data.standardize_y);
  ck_assert_int_eq(spec->layers_count, 3);
  ck_assert_int_eq(spec->layers[0].type, EP_LAYER_LINEAR);
  ck_assert_int_eq(spec->layers[0].out_features, 6);
  ck_assert_int_eq(spec->layers[0].in_features, 0);
  ck_assert(spec->layers[0].bias);
  ck_assert_int_eq(spec->layers[1].type, EP_LAYER_RELU);
  ck_assert_int_eq(spec->loss, EP_LOSS_MSE);
  ck_assert_double_eq(spec->optimizer.lr, 0.005);
  ck_assert_int_eq(spec->epochs, 40000);
  ck_assert_int_eq(spec->batch_size, 0);
  ck_assert_int_eq(spec->report_every, 1000);
  ck_assert_double_eq(spec->checkpoint_every_seconds, 30);
  ep_job_spec_destroy(spec);
}
END_TEST

START_TEST(defaults_are_filled_in) {
  ep_job_spec *spec = parse("{" XOR "," MODEL ",\"loss\":\"huber\",\"epochs\":25000}");
  ck_assert_str_eq(spec->name, "");
  ck_assert_int_eq(spec->tags_count, 0);
  ck_assert_int_eq(spec->priority, 0);
  ck_assert_int_eq(spec->data.generator, EP_GENERATOR_XOR);
  ck_assert_uint_eq(spec->data.generator_seed, 1);
  ck_assert_uint_eq(spec->data.split_seed, 1);
  ck_assert(!spec->data.has_target && !spec->data.standardize_x && !spec->data.standardize_y);
  ck_assert_double_eq(spec->data.test, 0);
  ck_assert_double_eq(spec->huber_delta, 1);
  ck_assert_int_eq(spec->optimizer.type, EP_OPTIMIZER_SGD);
  ck_assert_double_eq(spec->optimizer.lr, 0.01);
  ck_assert_double_eq(spec->optimizer.momentum, 0);
  ck_assert(!spec->optimizer.nesterov);
  ck_assert_int_eq(spec->batch_size, 0);
  ck_assert(spec->shuffle);
  ck_assert_uint_eq(spec->seed, 1);
  ck_assert_str_eq(spec->device, "auto");
  ck_assert_str_eq(spec->executor, "");
  ck_assert_int_eq(spec->report_every, 25);
  ck_assert_double_eq(spec->checkpoint_every_seconds, 30);
  ep_job_spec_destroy(spec);
}
END_TEST

static const struct {
  const char *text, *pointer, *detail; /* detail: a part of it */
} refused[] = {
    /* What must be there. */
    {"{}", "/data", "required"},
    {"{" MODEL "," REST "}", "/data", "\"data\" is required"},
    {"{" XOR "," REST "}", "/model", "required"},
    {"{" XOR ",\"model\":{}," REST "}", "/model/layers", "required"},
    {"{" XOR "," MODEL ",\"epochs\":1}", "/loss", "required"},
    {"{" XOR "," MODEL ",\"loss\":\"mse\"}", "/epochs", "required"},
    {"[]", "", "a job is a JSON object, not an array"},
    {"3", "", "not a number"},
    /* Unknown names. */
    {WITH("\"epoch\":1"), "/epoch", "unknown field \"epoch\": did you mean \"epochs\"?"},
    {WITH("\"zzzzzz\":1"), "/zzzzzz", "known are name, tags"},
    {WITH("\"a/b~c\":1"), "/a~1b~0c", "unknown field"},
    {WITH("\"optimizer\":{\"type\":\"sgd\",\"momentun\":0.5}"), "/optimizer/momentun",
     "did you mean \"momentum\"?"},
    {WITH("\"optimizer\":{\"type\":\"adam\"}"), "/optimizer/type", "later release"},
    {WITH("\"optimizer\":{\"type\":\"sdg\"}"), "/optimizer/type", "did you mean \"sgd\"?"},
    {"{" XOR "," MODEL ",\"epochs\":1,\"loss\":{\"delta\":1}}", "/loss/type",
     "\"type\" is required"},
    {WITH("\"optimizer\":7"), "/optimizer", "an object or a word, not a number"},
    {WITH("\"precision\":\"bf16\""), "/precision", "later release"},
    {WITH("\"precision\":\"tf32\""), "/precision", "later release"},
    {WITH("\"precision\":\"fp31\""), "/precision", "did you mean \"fp32\"?"},
    {WITH("\"precision\":32"), "/precision", "not a number"},
    {WITH("\"checkpoint\":{\"every\":1}"), "/checkpoint/every", "every_seconds"},
    {"{" XOR "," MODEL ",\"epochs\":1,\"loss\":\"mes\"}", "/loss", "did you mean \"mse\"?"},
    {"{" XOR "," MODEL ",\"epochs\":1,\"loss\":{\"type\":\"mse\",\"delta\":1}}", "/loss/delta",
     "unknown field"},
    {"{" XOR "," MODEL ",\"epochs\":1,\"loss\":{\"type\":\"huber\",\"delta\":0}}", "/loss/delta",
     "above 0"},
    /* Types and ranges. */
    {WITH("\"name\":5"), "/name", "must be a string, not a number"},
    {WITH("\"name\":\"a\\nb\""), "/name", "control characters"},
    {WITH("\"priority\":101"), "/priority", "from -100 to 100, not 101"},
    {WITH("\"priority\":-101"), "/priority", "from -100 to 100"},
    {WITH("\"priority\":0.5"), "/priority", "an integer"},
    {WITH("\"shuffle\":1"), "/shuffle", "must be true or false, not a number"},
    {WITH("\"shuffle\":null"), "/shuffle", "not null"},
    {WITH("\"batch_size\":0"), "/batch_size", "from 1 to 2147483648 or \"full\", not 0"},
    {WITH("\"batch_size\":\"all\""), "/batch_size", "\"full\", not a string"},
    {WITH("\"batch_size\":2147483649"), "/batch_size", "not 2147483649"},
    {WITH("\"seed\":-1"), "/seed", "from 0"},
    {WITH("\"seed\":9007199254740992"), "/seed", "not 9007199254740992"},
    {WITH("\"seed\":9223372036854775807"), "/seed", "must be an integer"},
    {WITH("\"seed\":1e300"), "/seed", "must be an integer"},
    {WITH("\"report_every\":0"), "/report_every", "from 1"},
    {WITH("\"device\":\"gpu\""), "/device", "\"cuda:N\", not \"gpu\""},
    {WITH("\"device\":\"cuda:\""), "/device", "cuda"},
    {WITH("\"device\":\"cuda:01\""), "/device", "cuda"},
    {WITH("\"device\":\"cuda:1x\""), "/device", "cuda"},
    {WITH("\"device\":\"cuda:99999\""), "/device", "cuda"},
    {WITH("\"executor\":\"fused\""), "/executor", "an executor's name"},
    {WITH("\"executor\":\"\""), "/executor", "an executor's name"},
    {WITH("\"executor\":\"cuda/../x\""), "/executor", "an executor's name"},
    {WITH("\"device\":\"cpu\",\"executor\":\"cuda/general\""), "/executor", "another kind"},
    {WITH("\"checkpoint\":{\"every_seconds\":0}"), "/checkpoint/every_seconds", "above 0"},
    {WITH("\"optimizer\":{\"type\":\"sgd\",\"lr\":-0.1}"), "/optimizer/lr", "from 0"},
    {WITH("\"optimizer\":{\"type\":\"sgd\",\"lr\":\"0.1\"}"), "/optimizer/lr", "not a string"},
    {WITH("\"optimizer\":{\"type\":\"sgd\",\"momentum\":1.1}"), "/optimizer/momentum",
     "from 0 to 1"},
    {WITH("\"optimizer\":{\"type\":\"sgd\",\"weight_decay\":-1}"), "/optimizer/weight_decay",
     "from 0"},
    {"{" XOR "," MODEL ",\"loss\":\"mse\",\"epochs\":0}", "/epochs", "from 1 to 1000000000"},
    {"{" XOR "," MODEL ",\"loss\":\"mse\",\"epochs\":1000000001}", "/epochs", "not 1000000001"},
    {"{" XOR "," MODEL ",\"loss\":\"mse\",\"epochs\":\"10\"}", "/epochs", "not a string"},
    {"{" XOR "," MODEL ",\"loss\":\"mse\",\"epochs\":1000000000,\"report_every\":99}",
     "/report_every", "10000000"},
    {WITH("\"tags\":\"a\""), "/tags", "must be an array"},
    {WITH("\"tags\":[\"a\",\"\"]"), "/tags/1", "1 to 128 bytes"},
    {WITH("\"tags\":[7]"), "/tags/0", "must be a string"},
    {WITH("\"tags\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]"), "/tags", "at most 16"},
    /* Layers. */
    {WITH_LAYERS("[]"), "/model/layers", "1 to 256 layers, not 0"},
    {WITH_LAYERS("{}"), "/model/layers", "an array of layers"},
    {WITH_LAYERS("[\"relu\"]"), "/model/layers/0", "must be an object, not a string"},
    {WITH_LAYERS("[{\"type\":\"relu\"},{}]"), "/model/layers/1/type", "required"},
    {WITH_LAYERS("[{\"type\":\"linaer\",\"out_features\":1}]"), "/model/layers/0/type",
     "did you mean \"linear\"?"},
    {WITH_LAYERS("[{\"type\":\"conv2d\"}]"), "/model/layers/0/type", "later release"},
    {WITH_LAYERS("[{\"type\":\"linear\"}]"), "/model/layers/0/out_features", "required"},
    {WITH_LAYERS("[{\"type\":\"linear\",\"out_features\":0}]"), "/model/layers/0/out_features",
     "from 1 to 16777216"},
    {WITH_LAYERS("[{\"type\":\"linear\",\"out_features\":16777217}]"),
     "/model/layers/0/out_features", "not 16777217"},
    {WITH_LAYERS("[{\"type\":\"linear\",\"out_features\":1,\"in_features\":0}]"),
     "/model/layers/0/in_features", "from 1"},
    {WITH_LAYERS("[{\"type\":\"linear\",\"out_features\":1,\"bias\":0}]"), "/model/layers/0/bias",
     "true or false"},
    {WITH_LAYERS("[{\"type\":\"linear\",\"out_features\":1,\"init\":\"xaiver\"}]"),
     "/model/layers/0/init", "did you mean \"xavier\"?"},
    {WITH_LAYERS("[{\"type\":\"relu\",\"negative_slope\":0.1}]"), "/model/layers/0/negative_slope",
     "unknown field"},
    {WITH_LAYERS("[{\"type\":\"leaky_relu\",\"negative_slope\":1e39}]"),
     "/model/layers/0/negative_slope", "from -3e+38 to 3e+38"},
    /* Data. */
    {WITH_DATA("7"), "/data", "must be an object"},
    {WITH_DATA("{}"), "/data", "needs one of"},
    {WITH_DATA("{\"path\":\"/etc/passwd\"}"), "/data/path", "later release"},
    {WITH_DATA("{\"dataset\":\"a\",\"path\":\"b\"}"), "/data/path", "later release"},
    {WITH_DATA("{\"dataset\":\"a\",\"generator\":\"xor\"}"), "/data/generator", "both given"},
    {WITH_DATA("{\"dataset\":\"\"}"), "/data/dataset", "a dataset's name"},
    {WITH_DATA("{\"dataset\":\"../x\"}"), "/data/dataset", "a dataset's name"},
    {WITH_DATA("{\"dataset\":\"a/b\"}"), "/data/dataset", "a dataset's name"},
    {WITH_DATA("{\"dataset\":\".a\"}"), "/data/dataset", "a dataset's name"},
    {WITH_DATA("{\"dataset\":\"a\",\"sha256\":\"12\"}"), "/data/sha256", "64 hexadecimal"},
    {WITH_DATA("{\"dataset\":\"a\",\"rows\":5}"), "/data/rows", "unknown field"},
    {WITH_DATA("{\"dataset\":\"a\",\"test\":1}"), "/data/test", "of at least 0 and below 1"},
    {WITH_DATA("{\"dataset\":\"a\",\"test\":-0.1}"), "/data/test", "below 1"},
    {WITH_DATA("{\"dataset\":\"a\",\"test\":0.5,\"validation\":0.5}"), "/data/validation",
     "no rows to train on"},
    {WITH_DATA("{\"dataset\":\"a\",\"target\":\"\"}"), "/data/target", "1 to 128 bytes"},
    {WITH_DATA("{\"dataset\":\"a\",\"target\":65536}"), "/data/target", "-65536 to 65535"},
    {WITH_DATA("{\"dataset\":\"a\",\"target\":true}"), "/data/target", "column's name"},
    {WITH_DATA("{\"dataset\":\"a\",\"standardize\":\"x\"}"), "/data/standardize", "an array"},
    {WITH_DATA("{\"dataset\":\"a\",\"standardize\":[\"x\",\"z\"]}"), "/data/standardize/1",
     "\"x\" or \"y\""},
    {WITH_DATA("{\"dataset\":\"a\",\"standardize\":[\"x\",\"x\"]}"), "/data/standardize/1",
     "given twice"},
    {WITH_DATA("{\"generator\":\"disk\"}"), "/data/generator", "did you mean \"disc\"?"},
    {WITH_DATA("{\"generator\":3}"), "/data/generator", "the name of a generator"},
    {WITH_DATA("{\"generator\":\"disc\",\"rows\":0}"), "/data/rows", "from 1 to 10000000"},
    {WITH_DATA("{\"generator\":\"disc\",\"rows\":10000001}"), "/data/rows", "from 1 to 10000000"},
    {WITH_DATA("{\"generator\":\"xor\",\"rows\":5}"), "/data/rows", "unknown field"},
    {WITH_DATA("{\"inline\":[]}"), "/data/inline", "must be an object"},
    {WITH_DATA("{\"inline\":{\"y\":[1]}}"), "/data/inline/x", "required"},
    {WITH_DATA("{\"inline\":{\"x\":[[1]]}}"), "/data/inline/y", "required"},
    {WITH_DATA("{\"inline\":{\"x\":[[1]],\"y\":[1],\"z\":1}}"), "/data/inline/z", "unknown"},
    {WITH_DATA("{\"inline\":{\"x\":[],\"y\":[]}}"), "/data/inline/x", "at least one row"},
    {WITH_DATA("{\"inline\":{\"x\":[[]],\"y\":[1]}}"), "/data/inline/x/0", "at least one column"},
    {WITH_DATA("{\"inline\":{\"x\":[1],\"y\":[1]}}"), "/data/inline/x/0", "an array of numbers"},
    {WITH_DATA("{\"inline\":{\"x\":5,\"y\":[1]}}"), "/data/inline/x", "an array of rows"},
    {WITH_DATA("{\"inline\":{\"x\":[[1,2],[3]],\"y\":[1,2]}}"), "/data/inline/x/1",
     "has 1 values, the first row has 2"},
    {WITH_DATA("{\"inline\":{\"x\":[[1,2],[3,\"a\"]],\"y\":[1,2]}}"), "/data/inline/x/1/1",
     "must be a number, not a string"},
    {WITH_DATA("{\"inline\":{\"x\":[[1],[2]],\"y\":[1,null]}}"), "/data/inline/y/1",
     "must be a number, not null"},
    {WITH_DATA("{\"inline\":{\"x\":[[1],[2]],\"y\":[[1],2]}}"), "/data/inline/y/1", "an array"},
    {WITH_DATA("{\"inline\":{\"x\":[[1],[2]],\"y\":[1,[2]]}}"), "/data/inline/y/1", "a number"},
    {WITH_DATA("{\"inline\":{\"x\":[[1],[2]],\"y\":[1]}}"), "/data/inline/y",
     "has 1 rows, x has 2"},
};

START_TEST(faults_are_named) {
  const char *text = refused[_i].text;
  ep_problem problem = {0};
  ep_job_spec *spec = (ep_job_spec *)1;
  ck_assert_int_eq(ep_job_spec_parse(text, strlen(text), &spec, &problem), EP_INVALID);
  ck_assert_ptr_null(spec);
  ck_assert_int_eq(problem.status, EP_INVALID);
  ck_assert_int_ge(problem.errors_count, 1);
  ck_assert_msg(strcmp(problem.errors[0].pointer, refused[_i].pointer) == 0, "%s: at %s", text,
                problem.errors[0].pointer);
  ck_assert_msg(strstr(problem.errors[0].detail, refused[_i].detail) != NULL, "%s: %s", text,
                problem.errors[0].detail);
}
END_TEST

static const char *const accepted[] = {
    WITH("\"optimizer\":\"sgd\""),
    WITH("\"optimizer\":{\"lr\":0.5}"),
    WITH("\"optimizer\":{\"type\":\"sgd\",\"lr\":0,\"momentum\":1,\"nesterov\":true}"),
    WITH("\"priority\":-100"),
    WITH("\"priority\":100"),
    WITH("\"seed\":0"),
    WITH("\"seed\":9007199254740991"),
    WITH("\"batch_size\":1"),
    WITH("\"batch_size\":2147483648"),
    WITH("\"batch_size\":32.0"),
    WITH("\"device\":\"cuda:0\""),
    WITH("\"device\":\"cuda:9999\",\"executor\":\"cuda/general\""),
    WITH("\"executor\":\"cpu/reference\",\"device\":\"cpu\""),
    WITH("\"executor\":null,\"report_every\":null"),
    WITH("\"report_every\":1000000000"),
    WITH("\"tags\":[\"a\",\"b \\u00fc\"]"),
    WITH("\"checkpoint\":{}"),
    WITH("\"name\":\"\\\"quoted\\\" \\\\ \\u00e9\""),
    "{" XOR "," MODEL ",\"epochs\":1e3,\"loss\":{\"type\":\"huber\",\"delta\":0.3}}",
    "{" XOR "," MODEL ",\"epochs\":1000000000,\"loss\":{\"type\":\"cross_entropy\"}}",
    WITH_LAYERS("[{\"type\":\"linear\",\"in_features\":2,\"out_features\":16777216,\"bias\":false,"
                "\"init\":\"zeros\"},{\"type\":\"leaky_relu\"},{\"type\":\"tanh\"},"
                "{\"type\":\"sigmoid\"},{\"type\":\"gelu\"},{\"type\":\"sin\"},"
                "{\"type\":\"softmax\"},{\"type\":\"log_softmax\"}]"),
    WITH_DATA("{\"dataset\":\"a.b-c_9\",\"target\":-1}"),
    WITH_DATA("{\"dataset\":\"a\",\"target\":\"3\",\"test\":0.999,\"sha256\":"
              "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}"),
    WITH_DATA("{\"generator\":\"disc\",\"rows\":10000000,\"seed\":77,\"standardize\":[\"y\"]}"),
    WITH_DATA("{\"inline\":{\"x\":[[1,2.5],[-1e-300,0.1]],\"y\":[[1,2,3],[4,5,6]]}}"),
    WITH_DATA("{\"inline\":{\"x\":[[0],[1]],\"y\":[0,1]},\"split_seed\":9}"),
    example,
};

/* Whatever was understood is written so that it is understood the same way again. */
START_TEST(round_trips) {
  ep_job_spec *spec = parse(accepted[_i]);
  char *text = ep_job_spec_format(spec);
  ck_assert_ptr_nonnull(text);
  ep_job_spec *again = parse(text);
  char *text_again = ep_job_spec_format(again);
  ck_assert_str_eq(text, text_again);
  /* The fields that are plain memory are the same to the bit. */
  ck_assert_mem_eq(&spec->optimizer.lr, &again->optimizer.lr, sizeof spec->optimizer.lr);
  ck_assert_int_eq(spec->layers_count, again->layers_count);
  ck_assert_int_eq(spec->epochs, again->epochs);
  ck_assert_uint_eq(spec->seed, again->seed);
  ck_assert_str_eq(spec->name, again->name);
  ck_assert_str_eq(spec->data.target, again->data.target);
  free(text);
  free(text_again);
  ep_job_spec_destroy(spec);
  ep_job_spec_destroy(again);
}
END_TEST

START_TEST(the_canonical_text) {
  ep_job_spec *spec = parse("{" XOR "," MODEL "," REST "}");
  char *text = ep_job_spec_format(spec);
  ck_assert_str_eq(
      text,
      "{\"name\":\"\",\"tags\":[],\"priority\":0,\"data\":{\"generator\":\"xor\",\"seed\":1,"
      "\"target\":null,\"test\":0,\"validation\":0,\"split_seed\":1,\"standardize\":[]},"
      "\"model\":{\"layers\":[{\"type\":\"linear\",\"in_features\":null,\"out_features\":1,"
      "\"bias\":true,\"init\":\"default\"}]},\"loss\":\"mse\",\"optimizer\":{\"type\":\"sgd\","
      "\"lr\":0.01,\"momentum\":0,\"nesterov\":false,\"weight_decay\":0},\"epochs\":10,"
      "\"batch_size\":\"full\",\"shuffle\":true,\"seed\":1,\"device\":\"auto\",\"executor\":null,"
      "\"precision\":\"fp32\",\"report_every\":1,\"checkpoint\":{\"every_seconds\":30}}");
  free(text);
  ep_job_spec_destroy(spec);
}
END_TEST

START_TEST(inline_rows_are_row_major) {
  ep_job_spec *spec =
      parse(WITH_DATA("{\"inline\":{\"x\":[[1,2],[3,4],[5,6]],\"y\":[[7],[8],[9]]}}"));
  ck_assert_int_eq(spec->data.inline_rows, 3);
  ck_assert_int_eq(spec->data.inline_columns, 2);
  ck_assert_int_eq(spec->data.inline_targets, 1);
  for (int i = 0; i < 6; i++) ck_assert_double_eq(spec->data.inline_x[i], i + 1);
  for (int i = 0; i < 3; i++) ck_assert_double_eq(spec->data.inline_y[i], i + 7);
  ep_job_spec_destroy(spec);
}
END_TEST

START_TEST(all_faults_are_listed) {
  const char *text = "{\"epoch\":3,\"data\":{\"inline\":{\"x\":[[1],[2,3]],\"y\":[1,2]}},"
                     "\"model\":{\"layers\":[{\"type\":\"linaer\"}]},\"loss\":\"mes\"}";
  static const char *const pointers[] = {"/epoch", "/data/inline/x/1", "/model/layers/0/type",
                                         "/loss", "/epochs"};
  ep_problem problem = {0};
  ep_job_spec *spec;
  ck_assert_int_eq(ep_job_spec_parse(text, strlen(text), &spec, &problem), EP_INVALID);
  ck_assert_int_eq(problem.errors_count, 5);
  for (int i = 0; i < 5; i++) ck_assert_str_eq(problem.errors[i].pointer, pointers[i]);
  ck_assert_str_eq(problem.detail, problem.errors[0].detail);
}
END_TEST

static const struct {
  const char *text, *detail;
  ep_status status;
} unreadable[] = {
    {"", "line 1", EP_MALFORMED},
    {"{", "line 1, column 1", EP_MALFORMED},
    {"{\"epochs\":3,\n,}", "line 2, column 1", EP_MALFORMED},
    {"{\"epochs\":3,\"epochs\":4}", "duplicate", EP_MALFORMED},
    {"{\"name\":\"\xC3\"}", "unable to decode", EP_MALFORMED},
    {"{\"name\":\"a\\u0000b\"}", "u0000", EP_MALFORMED},
    {"{\"epochs\":NaN}", "line 1", EP_MALFORMED},
    {"{} {}", "end of file", EP_MALFORMED},
    {"{\"epochs\":1e999}", "too large", EP_INVALID},
    {"{\"epochs\":99999999999999999999}", "too large", EP_INVALID},
};

START_TEST(what_is_not_json_is_malformed) {
  ep_problem problem = {0};
  ep_job_spec *spec;
  const char *text = unreadable[_i].text;
  ck_assert_int_eq(ep_job_spec_parse(text, strlen(text), &spec, &problem), unreadable[_i].status);
  ck_assert_ptr_null(spec);
  ck_assert_int_eq(problem.status, unreadable[_i].status);
  ck_assert_msg(strstr(problem.detail, unreadable[_i].detail) != NULL, "%s: %s", text,
                problem.detail);
}
END_TEST

START_TEST(dataset_names) {
  ck_assert(ep_dataset_name_valid("a"));
  ck_assert(ep_dataset_name_valid("0.x-y_Z"));
  ck_assert(!ep_dataset_name_valid(""));
  ck_assert(!ep_dataset_name_valid("-a"));
  ck_assert(!ep_dataset_name_valid("a b"));
  ck_assert(!ep_dataset_name_valid("a\xC3\xA9"));
  ck_assert(!ep_dataset_name_valid("a/../b"));
}
END_TEST

START_TEST(destroying_nothing_is_allowed) {
  ep_job_spec_destroy(NULL);
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

int main(void) {
  Suite *suite = suite_create("api/spec");
  TCase *tests = tcase_create("spec");
  tcase_add_test(tests, the_example_parses);
  tcase_add_test(tests, defaults_are_filled_in);
  tcase_add_loop_test(tests, faults_are_named, 0, ROWS(refused));
  tcase_add_loop_test(tests, round_trips, 0, ROWS(accepted));
  tcase_add_test(tests, the_canonical_text);
  tcase_add_test(tests, inline_rows_are_row_major);
  tcase_add_test(tests, all_faults_are_listed);
  tcase_add_loop_test(tests, what_is_not_json_is_malformed, 0, ROWS(unreadable));
  tcase_add_test(tests, dataset_names);
  tcase_add_test(tests, destroying_nothing_is_allowed);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
