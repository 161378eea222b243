/* Numbers of plots, on rows that are worked out by hand. */
#include "engine/plots/plots.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suite.h"

/* The example of scikit-learn's roc_curve and precision_recall_curve. */
static double truth[] = {0, 0, 1, 1}, x[] = {0, 1, 2, 3, 4, 5, 6, 7};
static const double scores[] = {0.1, 0.4, 0.35, 0.8};

static ep_status predict(void *context, const double *rows, int64_t count, double *output,
                         ep_error *error) {
  (void)context, (void)error;
  for (int64_t i = 0; i < count; i++) output[i] = rows[2 * i] / 10; /* the second counts nothing */
  return EP_OK;
}

static ep_plot_model model(ep_loss_type loss) {
  return (ep_plot_model){.loss = loss,
                         .outputs = 1,
                         .rows_stand_alone = true,
                         .rows = {EP_SPLIT_TEST, 4, 4, 2, 1, x, truth},
                         .output = scores,
                         .predict = predict};
}

/* The plot's text; the caller's. */
static char *text_of(const ep_plot_model *of, const char *name, const char *output,
                     ep_status wanted, ep_error *error) {
  ep_plot_request request = {
      .cost_fp = 1, .cost_fn = 1, .size = 2, .repeats = 3, .count = 2, .epoch = EP_PLOT_NO_EPOCH};
  ep_writer writer;
  snprintf(request.name, sizeof request.name, "%s", name);
  snprintf(request.output, sizeof request.output, "%s", output);
  ep_writer_init(&writer, 1 << 20);
  ck_assert_int_eq(ep_plot_write(of, "job_1", &request, &writer, error), wanted);
  return ep_writer_take(&writer);
}

static void has(const char *text, const char *part) {
  ck_assert_msg(strstr(text, part) != NULL, "no %s in %s", part, text);
}

START_TEST(curves) {
  ep_plot_model of = model(EP_LOSS_BCE);
  char *text = text_of(&of, "roc", "", EP_OK, NULL);
  has(text, "\"auc\":0.75");
  has(text, "\"fpr\":[0,0,0.5,0.5,1],\"tpr\":[0,0.5,0.5,1,1]");
  has(text, "\"thresholds\":[\"Infinity\",0.8,0.4,0.35,0.1]");
  has(text, "\"best_cost\":{\"threshold\":0.8");
  free(text);
  text = text_of(&of, "pr", "", EP_OK, NULL);
  has(text, "\"precision\":[0.5,0.6666666666666666,0.5,1,1],\"recall\":[1,1,0.5,0.5,0]");
  has(text, "\"thresholds\":[0.1,0.35,0.4,0.8]");
  has(text, "\"best_f1\":{\"threshold\":0.35");
  free(text);
  text = text_of(&of, "roc", "0", EP_OK, NULL); /* turned round: the same area */
  has(text, "\"auc\":0.75");
  free(text);
}
END_TEST

/* Points of a straight line are left out of the ROC. */
START_TEST(lines) {
  ep_plot_model of = model(EP_LOSS_BCE);
  static const double ordered[] = {0.1, 0.2, 0.3, 0.4};
  of.output = ordered;
  char *text = text_of(&of, "roc", "", EP_OK, NULL);
  has(text, "\"fpr\":[0,0,0,1],\"tpr\":[0,0.5,1,1]");
  has(text, "\"best_f1\":{\"threshold\":0.3");
  free(text);
}
END_TEST

START_TEST(one_class) {
  double ones[] = {1, 1, 1, 1};
  ep_plot_model of = model(EP_LOSS_BCE);
  ep_error error = {0};
  of.rows.y = ones;
  free(text_of(&of, "roc", "", EP_CONFLICT, &error));
  has(error.message, "all rows are of the class");
  static const double wrong[] = {0.1, NAN, 0.3, 0.4};
  of = model(EP_LOSS_BCE);
  of.output = wrong;
  free(text_of(&of, "pr", "", EP_CONFLICT, &error));
  has(error.message, "row 1 is not a number");
}
END_TEST

START_TEST(confusion) {
  ep_plot_model of = model(EP_LOSS_BCE);
  char *text = text_of(&of, "confusion", "", EP_OK, NULL);
  has(text, "\"accuracy\":0.75,\"normalized\":false,\"matrix\":[[2,0],[1,1]]");
  free(text);
}
END_TEST

START_TEST(refusals) {
  ep_plot_model of = model(EP_LOSS_MSE);
  ep_error error = {0};
  free(text_of(&of, "roc", "", EP_NO_PLOT, &error));
  has(error.message, "predictions, residuals, boundary, importance, dependence");
  free(text_of(&of, "dance", "", EP_NO_PLOT, &error));
  of = model(EP_LOSS_BCE);
  free(text_of(&of, "roc", "yes", EP_MALFORMED, &error));
  of.outputs = 2;
  free(text_of(&of, "roc", "", EP_NO_PLOT, &error));
  has(error.message, "makes several decisions per row; the plots of this job are: network");
  of = model(EP_LOSS_BCE);
  of.rows_stand_alone = false; /* pictures */
  free(text_of(&of, "boundary", "", EP_NO_PLOT, &error));
}
END_TEST

START_TEST(columns) {
  static const double predicted[] = {0, 0.2, 0.4, 0.6};
  ep_plot_model of = model(EP_LOSS_MSE);
  of.output = predicted;
  char *text = text_of(&of, "boundary", "", EP_OK, NULL);
  has(text, "\"least\":0,\"most\":1");
  has(text, "\"values\":[[0,0.6000000238418579],[0,0.6000000238418579]]");
  free(text);
  text = text_of(&of, "importance", "", EP_OK, NULL);
  has(text, "{\"column\":\"1\",\"mean\":0,\"deviation\":0,\"lost\":[0,0,0]}");
  free(text);
  text = text_of(&of, "dependence", "", EP_OK, NULL);
  has(text, "\"value\":[0,2,4,6],\"mean\":[0,0.2,0.4,0.6]");
  free(text);
}
END_TEST

/* The surest mistake first; the least lead first. */
START_TEST(examples) {
  ep_plot_model of = model(EP_LOSS_BCE);
  char *text = text_of(&of, "mistakes", "", EP_OK, NULL);
  has(text,
      "\"wrong\":1,\"columns\":[\"0\",\"1\"],\"examples\":[{\"row\":2,\"target\":\"1\","
      "\"prediction\":\"0\",\"probability\":0.65,\"target_probability\":0.35,\"values\":[4,5]}]");
  free(text);
  text = text_of(&of, "uncertain", "", EP_OK, NULL);
  has(text, "\"examples\":[{\"row\":1,");
  has(text, "{\"row\":2,");
  free(text);
  of.picture[0] = 1, of.picture[1] = 1,
  of.picture[2] = 2; /* 4 of 0 … 5: the whole range is shown */
  text = text_of(&of, "mistakes", "", EP_OK, NULL);
  has(text, "\"picture\":{\"channels\":1,\"height\":1,\"width\":2}");
  has(text, "\"pixels\":\"BAU=\"");
  free(text);
}
END_TEST

/* Three targets of two inputs are a colour. */
static ep_status colours_predict(void *context, const double *rows, int64_t count, double *output,
                                 ep_error *error) {
  (void)context, (void)error;
  for (int64_t i = 0; i < count; i++)
    output[3 * i] = rows[2 * i] / 6, output[3 * i + 1] = 0, output[3 * i + 2] = 2;
  return EP_OK;
}

START_TEST(colours) {
  static double targets[12] = {0, 0.5, 1};
  ep_plot_model of = model(EP_LOSS_MSE);
  of.outputs = of.rows.targets = 3;
  of.rows.y = targets;
  of.predict = colours_predict;
  char *text = text_of(&of, "boundary", "", EP_OK, NULL);
  has(text, "\"shows\":\"colour\"");
  has(text, "\"pixels\":\"AAD//wD/AAD//wD/\""); /* 00 00 ff, ff 00 ff, twice */
  free(text);
  text = text_of(&of, "boundary", "2", EP_OK, NULL);
  has(text, "\"target_column\":2");
  has(text, "\"values\":[[2,2],[2,2]]");
  free(text);
}
END_TEST

/* Each frame is of the network of its moment. */
static int64_t taken;
static ep_status moment_take(void *context, int64_t epoch, ep_error *error) {
  (void)context, (void)error;
  taken = epoch;
  return EP_OK;
}
static ep_status moment_predict(void *context, const double *rows, int64_t count, double *output,
                                ep_error *error) {
  (void)context, (void)rows, (void)error;
  for (int64_t i = 0; i < count; i++) output[i] = (double)taken / 20;
  return EP_OK;
}

START_TEST(timelapse) {
  static const int64_t moments[] = {0, 10, 20};
  ep_plot_model of = model(EP_LOSS_BCE);
  ep_error error = {0};
  of.moment_take = moment_take;
  of.predict = moment_predict;
  free(text_of(&of, "timelapse", "", EP_NO_PLOT, &error));
  has(error.message, "timelapse_every\"; the plots of this job are: confusion");
  of.moments = moments, of.moments_count = 3;
  char *text = text_of(&of, "timelapse", "", EP_OK, NULL);
  has(text, "\"frames\":[{\"epoch\":0,\"pixels\":\"AAAAAA==\"},{\"epoch\":10,\"pixels\":"
            "\"gICAgA==\"},{\"epoch\":20,\"pixels\":\"/////w==\"}]");
  free(text);
}
END_TEST

START_TEST(weights) {
  static const float values[] = {1, -1, 0, 0.5, 1, 0};
  ep_tensor tensor[] = {{.name = "0.bias", .dimensions = 1, .shape = {2}, .values_count = 2},
                        {.name = "0.weight",
                         .dimensions = 2,
                         .shape = {3, 2},
                         .values_count = 6,
                         .bytes = (const uint8_t *)values}};
  ep_tensors tensors = {.tensor = tensor, .tensors_count = 1};
  ep_plot_model of = model(EP_LOSS_MSE);
  ep_error error = {0};
  of.weights = &tensors;
  free(text_of(&of, "weights", "", EP_NO_PLOT, &error));
  tensors.tensors_count = 2;
  char *text = text_of(&of, "weights", "", EP_OK, NULL);
  has(text, "\"largest\":1,\"tiles\":1,\"of_tiles\":1,\"picture\":{\"channels\":1,\"height\":3,"
            "\"width\":2},\"pixels\":\"/wGAwP+A\"");
  free(text);
  of.picture[0] = 1, of.picture[1] = 1, of.picture[2] = 2; /* tiles of what the layer sees */
  text = text_of(&of, "weights", "", EP_OK, NULL);
  has(text, "\"tiles\":3,\"of_tiles\":3,\"picture\":{\"channels\":1,\"height\":1,\"width\":2}");
  free(text);
}
END_TEST

EP_SUITE("engine/plots") {
  TCase *tests = ep_suite_case(suite, "numbers");
  tcase_add_test(tests, curves);
  tcase_add_test(tests, lines);
  tcase_add_test(tests, one_class);
  tcase_add_test(tests, confusion);
  tcase_add_test(tests, refusals);
  tcase_add_test(tests, columns);
  tcase_add_test(tests, examples);
  tcase_add_test(tests, colours);
  tcase_add_test(tests, timelapse);
  tcase_add_test(tests, weights);
}
