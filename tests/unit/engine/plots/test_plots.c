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
  ep_plot_request request = {.cost_fp = 1, .cost_fn = 1, .size = 2, .repeats = 3};
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
  free(text_of(&of, "roc", "", EP_NOT_FOUND, &error));
  has(error.message, "predictions, residuals, boundary, importance, dependence");
  free(text_of(&of, "dance", "", EP_NOT_FOUND, &error));
  of = model(EP_LOSS_BCE);
  free(text_of(&of, "roc", "yes", EP_MALFORMED, &error));
  of.outputs = 2;
  free(text_of(&of, "roc", "", EP_NOT_FOUND, &error));
  has(error.message, "makes several decisions a row; its plots are: none");
  of = model(EP_LOSS_BCE);
  of.rows_stand_alone = false; /* pictures */
  free(text_of(&of, "boundary", "", EP_NOT_FOUND, &error));
}
END_TEST

START_TEST(columns) {
  static const double predicted[] = {0, 0.2, 0.4, 0.6};
  ep_plot_model of = model(EP_LOSS_MSE);
  of.output = predicted;
  char *text = text_of(&of, "boundary", "", EP_OK, NULL);
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

EP_SUITE("engine/plots") {
  TCase *tests = ep_suite_case(suite, "numbers");
  tcase_add_test(tests, curves);
  tcase_add_test(tests, lines);
  tcase_add_test(tests, one_class);
  tcase_add_test(tests, confusion);
  tcase_add_test(tests, refusals);
  tcase_add_test(tests, columns);
}
