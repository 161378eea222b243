/* The plan of layers that name what they read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/operators/values.h"
#include "tests/suite.h"
#include "tests/unit/engine/plan/plan_fixture.h"

#define L(more) "{\"type\":\"linear\",\"out_features\":4" more "}"
#define NAMED(name) ",\"name\":\"" name "\""
#define READS(inputs) ",\"input\":" inputs
#define OF(type, more) "{\"type\":\"" type "\"" more "}"
#define END "," OF("linear", ",\"out_features\":10")

/* Rows of 12 numbers. */
static const ep_data_shape rows = {.train_rows = 600,
                                   .features = 12,
                                   .target_columns = 1,
                                   .classes = 10,
                                   .target_max = 9,
                                   .x_max = 3,
                                   .x_integer = true};

static const struct {
  const char *data, *layers, *pointer, *detail;
} refused[] = {
    {"", L(READS("\"left\"")) END, "/model/layers/0/input", "no layer is named \"left\""},
    {"", L(READS("\"b\"")) "," L(NAMED("b")) END, "/model/layers/0/input",
     "layer \"b\" does not come before this one"},
    {"", L() "," OF("add", READS("[\"0\",\"7\"]")) END, "/model/layers/1/input/1",
     "no layer is named \"7\""},
    {"", L(NAMED("a")) "," L(NAMED("a")) END, "/model/layers/1/name", "layer 0 has this name"},
    {"", L() "," OF("relu", READS("\"x\"")) END, "/model/layers/0", "nothing reads this layer"},
    {"", L() "," L(READS("[\"0\",\"x\"]")) END, "/model/layers/1/input", "linear reads one value"},
    {"", L() "," OF("add", "") END, "/model/layers/1/input", "add joins 2 to 4 values"},
    {"", L() "," OF("mul", READS("[\"0\",\"x\"]")) END, "/model/layers/1/input",
     "the shapes [4] and [12] do not go together"},
    {"", L() "," OF("concat", READS("[\"0\",\"x\"]") ",\"dim\":2") END, "/model/layers/1/dim",
     "dim 2 of [4], which has 1"},
    {"", OF("slice", ",\"start\":12") END, "/model/layers/0/start", "12 of a dimension of 12"},
    {"", OF("slice", ",\"start\":-13") END, "/model/layers/0/start", "-13 of a dimension of 12"},
    {"", OF("slice", ",\"start\":-1,\"length\":2") END, "/model/layers/0/length",
     "2 places from 11 on, of 12"},
    {"", OF("slice", ",\"start\":8,\"length\":5") END, "/model/layers/0/length",
     "5 places from 8 on, of 12"},
    {"", OF("slice", ",\"columns\":[\"age\"]") END, "/model/layers/0/columns", "no table"},
    {"", OF("slice", ",\"start\":1,\"places\":[[0,1]]") END, "/model/layers/0/start",
     "leave start and length out"},
    {"", OF("reshape", ",\"shape\":[5,2]") END, "/model/layers/0/shape",
     "[5, 2] has 10 numbers, the input [12] 12"},
    {"", OF("reshape", ",\"shape\":[3,4]") "," OF("permute", ",\"dims\":[1,1]") END,
     "/model/layers/1/dims", "each dimension of [3, 4] once"},
    {"", OF("conv1d", ",\"out_channels\":2,\"kernel_size\":2") END, "/model/layers/0",
     "conv1d requires [channels, length], its input is [12]"},
    {"",
     OF("reshape", ",\"shape\":[1,12]") "," OF("conv1d", ",\"out_channels\":2,\"kernel_size\":3,"
                                                         "\"dilation\":1000,\"causal\":true") END,
     "/model/layers/1/dilation", "reaches 2000 places back"},
    {"",
     OF("reshape", ",\"shape\":[1,12]") "," OF("conv1d", ",\"out_channels\":2,\"kernel_size\":3,"
                                                         "\"padding\":1,\"causal\":true") END,
     "/model/layers/1/padding", "padded on the left alone"},
    {"", OF("gru", ",\"hidden_size\":2") END, "/model/layers/0",
     "gru requires [channels, length], its input is [12]"},
    {"", OF("reshape", ",\"shape\":[3,4]") "," OF("gru", ",\"hidden_size\":2,\"input_size\":2") END,
     "/model/layers/1/input_size", "expects 2 channels, layer 0 outputs 3"},
    {"", OF("instance_norm", "") END, "/model/layers/0", "instance_norm requires [C, H, W] or"},
    {"", OF("reshape", ",\"shape\":[12,1]") "," OF("instance_norm", "") END, "/model/layers/1",
     "channels of one number would be 0"},
    {"", OF("unfold", ",\"kernel_size\":2") END, "/model/layers/0", "unfold requires images"},
    {"", OF("reshape", ",\"shape\":[1,3,4]") "," OF("unfold", ",\"kernel_size\":5") END,
     "/model/layers/1/kernel_size", "kernel 5x5 does not fit in its input 3x4"},
    {"", OF("residual", ",\"layers\":[" OF("relu", NAMED("a")) "]") END,
     "/model/layers/0/layers/0/name", "layers of a block have no names"},
    {"", L() "," OF("embedding", ",\"num_embeddings\":4,\"embedding_dim\":2") END,
     "/model/layers/1", "its input must be x, or a slice of it"},
};

static const char *job_of(const char *data, const char *layers, const char *more) {
  static char text[4096];
  snprintf(text, sizeof text,
           "{\"data\":{\"dataset\":\"m\"%s},\"model\":{\"layers\":[%s]},\"loss\":"
           "\"cross_entropy\",\"epochs\":1,\"batch_size\":60%s}",
           data, layers, more);
  return text;
}

static void refusal_check(const char *text, const char *pointer, const char *detail) {
  ep_job_spec *spec = spec_of(text);
  ep_problem problem = {0};
  ep_plan *plan;
  ck_assert_int_eq(ep_plan_create(spec, &rows, &plan, &problem), EP_INVALID);
  ck_assert_str_eq(problem.errors[0].pointer, pointer);
  ck_assert_msg(strstr(problem.errors[0].detail, detail) != NULL, "%s", problem.errors[0].detail);
  ep_job_spec_destroy(spec);
}

START_TEST(what_does_not_go_together_is_refused) {
  refusal_check(job_of(refused[_i].data, refused[_i].layers, ""), refused[_i].pointer,
                refused[_i].detail);
}
END_TEST

/* A pipeline is cut where one value goes on. */
START_TEST(stages_leave_branches_whole) {
  const char *layers =
      L(NAMED("a")) "," OF("tanh", "") "," OF("add", READS("[\"1\",\"a\"]")) "," L() END;
  ep_job_spec *spec;
  ep_plan *plan = plan_of(job_of("", layers, ",\"parallel\":{\"model\":2}"), &rows, &spec);
  ck_assert_int_ge(plan->program.parallel.stage_first[1], 3);
  ck_assert(ep_program_divides_at(&plan->program, plan->program.parallel.stage_first[1]));
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
  refusal_check(job_of("", layers, ",\"parallel\":{\"model\":2,\"stages\":[[0,1],[2,4]]}"),
                "/parallel/stages", "layer 2 cannot begin a stage");
  refusal_check(job_of("", layers, ",\"parallel\":{\"model\":5}"), "/parallel/model",
                "branches leave fewer places");
}
END_TEST

/* Places are slices, put together; the columns between them are left out. */
START_TEST(places_are_taken_in_their_order) {
  ep_job_spec *spec;
  ep_plan *plan =
      plan_of(job_of("", OF("slice", ",\"places\":[[8,2],[0,1],[3,2],[11,1],[6,1]]") END, ""),
              &rows, &spec);
  const ep_op *last = &plan->ops[plan->value_of[0] - 1];
  ck_assert_int_eq(last->type, EP_LAYER_CONCAT);
  ck_assert_int_eq(last->out_features, 7);
  ck_assert_int_eq(plan->ops[0].start, 8);
  ck_assert_int_eq(plan->ops[1].start, 0);
  ep_layer_view views[2];
  ep_plan_layers(plan, spec, views);
  ck_assert_int_eq(views[0].in_features, 12);
  ck_assert_int_eq(views[0].out_features, 7);
  float *state = calloc((size_t)plan->parameters, sizeof *state);
  ck_assert_ptr_nonnull(state);
  ep_plan_initialize(plan, spec, state);
  ck_assert(state[0] != 0 && state[69] != 0); /* of the linear layer behind them */
  free(state);
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
}
END_TEST

/* The window of a series has its sides for whoever asks for them, and none for others. */
START_TEST(a_window_is_features_by_length) {
  ep_job_spec *spec;
  ep_plan *plan = plan_of(
      job_of(",\"target\":\"t\",\"window\":{\"length\":6}",
             OF("conv1d", ",\"out_channels\":3,\"kernel_size\":2,\"causal\":true") "," OF(
                 "flatten", NAMED("c")) "," L(READS("\"x\"")) "," OF("concat",
                                                                     READS("[\"c\",\"2\"]")) END,
             ""),
      &rows, &spec);
  ep_layer_view views[5];
  ep_plan_layers(plan, spec, views);
  ck_assert_int_eq(views[0].out.sides, 2);
  ck_assert_int_eq(views[0].out.side[0], 3);
  ck_assert_int_eq(views[0].out.side[1], 6);
  ck_assert_int_eq(views[0].parameters, 3 * 2 * 2 + 3);
  ck_assert_int_eq(views[2].in_features, 12);
  ck_assert_str_eq(views[3].input[1], "2");
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
}
END_TEST

EP_SUITE("engine/plan graph") {
  TCase *tests = ep_suite_case(suite, "graph");
  tcase_add_loop_test(tests, what_does_not_go_together_is_refused, 0,
                      (int)(sizeof refused / sizeof *refused));
  tcase_add_test(tests, stages_leave_branches_whole);
  tcase_add_test(tests, places_are_taken_in_their_order);
  tcase_add_test(tests, a_window_is_features_by_length);
}
