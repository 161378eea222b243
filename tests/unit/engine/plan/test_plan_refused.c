/* The plan of convolutional networks: what does not fit, and what it says. */
#include <string.h>

#include "tests/suite.h"
#include "tests/unit/engine/plan/plan_fixture.h"

/* One error, at that place, that says so; on images, or on rows of 784 columns. */
static const struct {
  const char *text, *pointer, *detail;
  bool columns;
} refused[] = {
    {ON("", C("") "," OUT), "/model/layers/0", "conv2d requires images [C, H, W]: set data.shape",
     true},
    {ON("", "{\"type\":\"relu\"},{\"type\":\"max_pool2d\",\"kernel_size\":2}"), "/model/layers/1",
     "max_pool2d requires images [C, H, W], its input is [784]", true},
    {ON("", "{\"type\":\"dropout2d\"}," OUT), "/model/layers/0", "requires images", true},
    {ON("", C("") ",{\"type\":\"max_pool2d\",\"kernel_size\":2},{\"type\":\"linear\","
                  "\"out_features\":10}"),
     "/model/layers/2", "insert a flatten layer before layer 2, whose input is [4, 13, 13]", false},
    {ON("", "{\"type\":\"log_softmax\"}," OUT), "/model/layers/0",
     "insert a flatten layer before layer 0, whose input is [1, 28, 28]", false},
    {ON("", "{\"type\":\"conv2d\",\"out_channels\":4,\"kernel_size\":29}," OUT),
     "/model/layers/0/kernel_size", "kernel 29x29 does not fit in its input 28x28", false},
    {ON("", "{\"type\":\"avg_pool2d\",\"kernel_size\":[1,33],\"padding\":[0,2]}," OUT),
     "/model/layers/0/kernel_size", "kernel 1x33 does not fit in its input 28x32, padding included",
     false},
    {ON("", C(",\"dilation\":14") "," OUT), "/model/layers/0/kernel_size",
     "kernel 29x29 does not fit", false},
    {ON("", "{\"type\":\"max_pool2d\",\"kernel_size\":3,\"padding\":2}," OUT),
     "/model/layers/0/padding", "2 is more than half of the window, 3", false},
    {ON("", C(",\"groups\":2") "," OUT), "/model/layers/0/groups", "must both be a multiple",
     false},
    {ON("", C(",\"in_channels\":3") "," OUT), "/model/layers/0/in_channels",
     "layer 0 expects 3 channels, the data has 1", false},
    {ON("", C("") "," C(",\"in_channels\":3") "," OUT), "/model/layers/1/in_channels",
     "layer 1 expects 3 channels, layer 0 outputs 4", false},
    {ON("", "{\"type\":\"relu\"},{\"type\":\"residual\",\"layers\":[" C(",\"padding\":1") "," C(
                ",\"stride\":2") "]}," OUT),
     "/model/layers/1",
     "the block's output [4, 13, 13] and input [1, 28, 28] must have the same shape to be added",
     false},
    {ON("", "{\"type\":\"relu\"},{\"type\":\"residual\",\"layers\":[{\"type\":\"relu\"},{\"type\":"
            "\"max_pool2d\",\"kernel_size\":2,\"padding\":[0,2]}]}," OUT),
     "/model/layers/1/layers/1/padding", "more than half", false},
    {ON("", "{\"type\":\"residual\",\"layers\":[{\"type\":\"flatten\"}]}," OUT), "/model/layers/0",
     "output [784] and input [1, 28, 28]", false},
    {ON("",
        "{\"type\":\"relu\"},{\"type\":\"embedding\",\"num_embeddings\":256,\"embedding_dim\":2}"),
     "/model/layers/1", "its input must be x, or a slice of it", true},
    {ON("", "{\"type\":\"embedding\",\"num_embeddings\":256,\"embedding_dim\":2}," OUT),
     "/model/layers/0", "embedding requires columns", false},
    {ON("", "{\"type\":\"embedding\",\"num_embeddings\":255,\"embedding_dim\":2}," OUT),
     "/model/layers/0/num_embeddings", "whole numbers from 0 to 254, x ranges from 0 to 255", true},
    {ON(",\"normalize\":{}",
        "{\"type\":\"embedding\",\"num_embeddings\":256,\"embedding_dim\":2}," OUT),
     "/data/normalize", "requires unscaled whole numbers", true},
    {ON("", "{\"type\":\"embedding\",\"num_embeddings\":256,\"embedding_dim\":100000}," OUT),
     "/model/layers/0", "outputs 78400000 values per row: the limit is 16777216", true},
    {ON("", "{\"type\":\"conv2d\",\"out_channels\":10,\"kernel_size\":28}"), "/model/layers",
     "nll expects a vector of classes, the output of the last layer is [10, 1, 1]: end with a "
     "flatten layer",
     false},
    {ON("", C("") ",{\"type\":\"flatten\"}"), "/model/layers/0/out_channels",
     "2704 classes: the limit is 1024", false},
    {ON("", "{\"type\":\"adaptive_avg_pool2d\",\"output_size\":3},{\"type\":\"flatten\"}"),
     "/model/layers", "output size is 9 and must be at least 10", false},
    {ON(",\"shape\":[3,28,28]", OUT), "/data/shape",
     "[3, 28, 28] contains 2352 values, the data has 784", false},
    {ON(",\"shape\":[16777216,16777216,16777216]", OUT), "/data/shape", "the data has 784", false},
    {ON(",\"normalize\":{\"std\":[1,2]}", OUT), "/data/normalize",
     "has 2 numbers, the rows have 1 channels", false},
    {ON(",\"normalize\":{\"std\":1e-300}", OUT), "/data/normalize", "outside the range of float32",
     false},
    {ON(",\"augment\":{\"flip\":true}", OUT), "/data/augment", "requires images", true},
    {ON(",\"augment\":{\"crop\":[28,29]}", OUT), "/data/augment/crop", "is larger than the images",
     false},
    {ON(",\"augment\":{\"shift\":28}", OUT), "/data/augment/shift", "shift the whole image", false},
    {JOB("[" OUT "]", ",\"executor\":\"cpu/abacus\""), "/executor",
     "unknown executor \"cpu/abacus\": the executors are cpu/", false},
    {JOB("[" OUT "]", ",\"executor\":\"cuda/fuse\""), "/executor",
     "unknown executor \"cuda/fuse\": the executors are cuda/fused, cuda/resident, ", false},
    {JOB("[" OUT "]", ",\"keep\":\"best\""), "/keep",
     "requires a validation split: set data.validation", false},
    {JOB("[" OUT "]", ",\"early_stopping\":{\"patience\":3}"), "/early_stopping",
     "requires a validation split", false},
    {JOB("[" OUT "]", ",\"schedule\":\"reduce_on_plateau\""), "/schedule",
     "requires a validation split", false},
    {"{\"data\":{\"dataset\":\"m\"},\"model\":{\"layers\":[" OUT
     "]},\"loss\":{\"type\":\"nll\",\"class_weights\":[1,2,3]},\"epochs\":1}",
     "/loss/class_weights", "has 3 weights, the last layer's output size is 10", false},
    {"{\"data\":{\"dataset\":\"m\"},\"batch_size\":59999,\"model\":{\"layers\":[{\"type\":"
     "\"flatten\"},"
     "{\"type\":\"batch_norm\"}," OUT "]},\"loss\":\"nll\",\"epochs\":1}",
     "/batch_size",
     "layer 1, batch_norm, needs at least 2 rows in a batch: the last of an epoch has 1", false},
};

START_TEST(what_does_not_fit_is_refused) {
  ep_data_shape shape = mnist;
  if (refused[_i].columns) shape.row = (ep_shape){784, 1, 1};
  ep_job_spec *spec = spec_of(refused[_i].text);
  ep_problem problem = {0};
  ep_plan *plan = (ep_plan *)1;
  ck_assert_int_eq(ep_plan_create(spec, &shape, &plan, &problem), EP_INVALID);
  ck_assert_ptr_null(plan);
  ck_assert_msg(strcmp(problem.errors[0].pointer, refused[_i].pointer) == 0, "%s: %s",
                problem.errors[0].pointer, problem.detail);
  ck_assert_msg(strstr(problem.detail, refused[_i].detail) != NULL, "%s", problem.detail);
  ck_assert_int_eq(problem.errors_count, 1);
  ep_job_spec_destroy(spec);
}
END_TEST

/* The shares of classes need a classifier and its classes. */
START_TEST(what_is_stratified_has_classes) {
#define ROW(layers, loss)                                                          \
  "{\"data\":{\"dataset\":\"m\",\"stratify\":true},\"model\":{\"layers\":[" layers \
  "]},\"loss\":\"" loss "\",\"epochs\":1}"
#define LINEAR(out) "{\"type\":\"linear\",\"out_features\":" out "}"
  static const struct {
    const char *text, *detail; /* detail NULL: it is taken */
    int64_t targets, classes;
    bool one_hot;
  } rows[] = {
      {ROW(LINEAR("1"), "mse"), "mse is not the loss of a classifier", 1, 2, false},
      {ROW(LINEAR("1"), "quantile"), "not the loss of a classifier", 1, 2, false},
      {ROW(LINEAR("3"), "bce_with_logits"), "bce_with_logits has 3", 3, 2, true},
      {ROW(LINEAR("1"), "bce_with_logits"), "not all targets are 0 or 1", 1, 0, false},
      {ROW(LINEAR("1"), "bce_with_logits"), NULL, 1, 2, false},
      {ROW(LINEAR("2"), "cross_entropy"), NULL, 1, 2, false},
      {ROW(LINEAR("3"), "cross_entropy"), NULL, 3, 2, true},
  };
#undef ROW
#undef LINEAR
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ep_data_shape shape = {.train_rows = 100,
                           .features = 2,
                           .row = {2, 1, 1},
                           .target_columns = rows[i].targets,
                           .classes = rows[i].classes,
                           .target_max = 1,
                           .one_hot = rows[i].one_hot};
    ep_job_spec *spec = spec_of(rows[i].text);
    ep_problem problem = {0};
    ep_plan *plan;
    ep_status status = ep_plan_create(spec, &shape, &plan, &problem);
    ck_assert_msg(status == (rows[i].detail ? EP_INVALID : EP_OK), "%s", problem.detail);
    ck_assert_int_eq(problem.errors_count, rows[i].detail ? 1 : 0);
    if (rows[i].detail) {
      ck_assert_str_eq(problem.errors[0].pointer, "/data/stratify");
      ck_assert_msg(strstr(problem.detail, rows[i].detail) != NULL, "%s", problem.detail);
    }
    ep_plan_destroy(plan);
    ep_job_spec_destroy(spec);
  }
}
END_TEST

EP_SUITE("engine/plan refused") {
  TCase *tests = ep_suite_case(suite, "refused");
  tcase_add_loop_test(tests, what_does_not_fit_is_refused, 0,
                      (int)(sizeof refused / sizeof refused[0]));
  tcase_add_test(tests, what_is_stratified_has_classes);
}
