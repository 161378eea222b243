/* Thresholds as requests say them, and what they decide. */
#include "api/wire/plot.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/responses/predict.h"
#include "tests/suite.h"

START_TEST(texts) {
  ep_threshold out;
  ck_assert(ep_threshold_parse(NULL, &out, NULL) == EP_OK && out.kind == EP_THRESHOLD_NONE);
  ck_assert(ep_threshold_parse("0.25", &out, NULL) == EP_OK && out.kind == EP_THRESHOLD_NUMBER);
  ck_assert(out.probability == 0.25);
  ck_assert(ep_threshold_parse("1", &out, NULL) == EP_OK && out.probability == 1);
  ck_assert(ep_threshold_parse("f1", &out, NULL) == EP_OK && out.kind == EP_THRESHOLD_F1);
  ck_assert(ep_threshold_parse("fp:1,fn:5", &out, NULL) == EP_OK && out.kind == EP_THRESHOLD_COST);
  ck_assert(out.cost_fp == 1 && out.cost_fn == 5);
}
END_TEST

static const char *const WRONG[] = {"",     "1.01", "-0.1",      "nan",        "inf",        "f2",
                                    "0.5x", "fp:1", "fp:1,fn:x", "fp:-1,fn:1", "fp:inf,fn:1"};

START_TEST(faults) {
  ep_threshold out;
  ep_error error = {0};
  ck_assert_msg(ep_threshold_parse(WRONG[_i], &out, &error) == EP_MALFORMED, "%s is one",
                WRONG[_i]);
  ck_assert(error.message[0] != 0);
}
END_TEST

START_TEST(values) {
  ep_threshold out;
  json_t *yes = json_true(), *number = json_real(0.5), *word = json_string("f1");
  ck_assert(ep_threshold_take(NULL, &out, NULL) == EP_OK && out.kind == EP_THRESHOLD_NONE);
  ck_assert(ep_threshold_take(json_null(), &out, NULL) == EP_OK && out.kind == EP_THRESHOLD_NONE);
  ck_assert(ep_threshold_take(number, &out, NULL) == EP_OK && out.probability == 0.5);
  ck_assert(ep_threshold_take(word, &out, NULL) == EP_OK && out.kind == EP_THRESHOLD_F1);
  ck_assert(ep_threshold_take(yes, &out, NULL) == EP_MALFORMED);
  json_decref(number);
  json_decref(word);
}
END_TEST

/* A row at the threshold is taken; of other than two classes none is. */
START_TEST(decisions) {
  ep_output_meaning meaning = {.loss = EP_LOSS_BCE, .has_threshold = true, .threshold = 0.25};
  static const double output[] = {0.25, 0.2};
  ck_assert(ep_output_is_taken(&meaning, output, 1));
  ck_assert(!ep_output_is_taken(&meaning, output + 1, 1));
  ck_assert(!ep_output_is_taken(&meaning, output, 2));
  meaning.loss = EP_LOSS_CROSS_ENTROPY;
  static const double logits[] = {1, 0};
  ck_assert(ep_output_is_taken(&meaning, logits, 2)); /* 0.27 */
  char *text = ep_predict_format("job_1", &meaning, NULL, NULL, NULL, NULL, logits, 1, 2);
  ck_assert(strstr(text, "\"classes\":[1]") && strstr(text, "\"threshold\":0.25"));
  free(text);
  char *names[] = {"ham", "spam"};
  meaning.class_name = names;
  meaning.classes = 2;
  ep_output_threshold_set(&meaning, 0.8, "ham"); /* it is so with 0.73 */
  ck_assert(ep_output_is_taken(&meaning, logits, 2));
  ep_output_threshold_set(&meaning, 0.7, "ham");
  ck_assert(!ep_output_is_taken(&meaning, logits, 2));
  text = ep_predict_format("job_1", &meaning, NULL, NULL, NULL, NULL, logits, 1, 2);
  ck_assert(strstr(text, "\"classes\":[\"ham\"]") && strstr(text, "\"positive\":\"ham\""));
  free(text);
  ep_output_threshold_set(&meaning, NAN, "");
  ck_assert_str_eq(ep_output_positive(&meaning), "spam");
  meaning.classes = 0;
  text = ep_predict_format("job_1", &meaning, NULL, NULL, NULL, NULL, logits, 1, 2);
  ck_assert(strstr(text, "\"classes\":[0]") && !strstr(text, "threshold"));
  free(text);
}
END_TEST

EP_SUITE("api/wire/threshold") {
  TCase *tests = ep_suite_case(suite, "threshold");
  tcase_add_test(tests, texts);
  tcase_add_loop_test(tests, faults, 0, sizeof WRONG / sizeof *WRONG);
  tcase_add_test(tests, values);
  tcase_add_test(tests, decisions);
}
