/* The plan of convolutional networks: shapes, names, parameters, groups, bytes, first weights. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/responses/validation.h"
#include "tests/suite.h"
#include "tests/unit/engine/plan/plan_fixture.h"

static void assert_shape(ep_shape shape, int64_t channels, int64_t height, int64_t width) {
  ck_assert_int_eq(shape.channels, channels);
  ck_assert_int_eq(shape.height, height);
  ck_assert_int_eq(shape.width, width);
}

START_TEST(the_notebook) {
  ep_job_spec *spec;
  ep_plan *plan = plan_of(JOB(NOTEBOOK, ""), &mnist, &spec);
  const ep_program *program = &plan->program;
  static const int64_t shapes[][3] = {
      {10, 24, 24}, {10, 12, 12}, {10, 12, 12}, {20, 8, 8}, {20, 8, 8}, {20, 4, 4}, {20, 4, 4},
      {320, 1, 1},  {50, 1, 1},   {50, 1, 1},   {50, 1, 1}, {10, 1, 1}, {10, 1, 1}};
  ck_assert_int_eq(program->ops_count, 13);
  for (int i = 0; i < 13; i++) {
    const ep_op *op = &plan->ops[i];
    char name[8];
    assert_shape(op->out, shapes[i][0], shapes[i][1], shapes[i][2]);
    ck_assert_int_eq(op->out_features, shapes[i][0] * shapes[i][1] * shapes[i][2]);
    if (i) ck_assert_int_eq(op->in_features, plan->ops[i - 1].out_features);
    snprintf(name, sizeof name, "%d", i);
    ck_assert_str_eq(plan->names[i], name);
    ck_assert_int_eq(op->layer, i);
  }
  ck_assert_int_eq(plan->ops[0].weight, 0);
  ck_assert_int_eq(plan->ops[0].bias, 250);
  ck_assert_int_eq(plan->ops[3].weight, 260);
  ck_assert_int_eq(plan->ops[3].bias, 5260);
  ck_assert_int_eq(plan->ops[8].weight, 5280);
  ck_assert_int_eq(plan->parameters, 21840); /* what torch counts */
  ck_assert_float_eq(plan->ops[4].p, 0.5f);
  ck_assert_int_eq(plan->ops[1].stride[1], 2);
  assert_shape(program->stored, 1, 28, 28);
  assert_shape(program->in, 1, 28, 28);
  ck_assert_int_eq(program->in_features, 784);
  ck_assert_int_eq(program->out_features, 10);
  ck_assert_int_eq(program->groups_count, 1);
  ck_assert_int_eq(program->groups[0].count, 21840);
  ck_assert_int_eq(program->x_type, EP_X_UINT8);
  ck_assert_float_eq(program->x_scale[0], 1);
  ck_assert_float_eq(program->x_shift[0], 0);
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
}
END_TEST

/* Two multiply-adds a weight and place; the first layer has no gradient to pass on. */
START_TEST(operations_of_convolutions) {
  ep_job_spec *spec;
  ep_plan *plan = plan_of(JOB("[" C(",\"padding\":1,\"stride\":2") "," OUT "]", ""), &mnist, &spec);
  int64_t first = 14 * 14 * 4 * 9, second = 784 * 10;
  int64_t a_row = 2 * 2 * first + 2 * (14 * 14 * 4) + 3 * 2 * second + 2 * 10;
  ck_assert_int_eq(plan->operations, 60000 * a_row);
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
}
END_TEST

/* Of the notebook's network: activations over convolutions and pools, and nothing for dropout. */
START_TEST(bytes_of_the_notebook) {
  ep_job_spec *spec;
  ep_plan *plan = plan_of(JOB(NOTEBOOK, ",\"optimizer\":{\"momentum\":0.5}"), &mnist, &spec);
  /* conv, pool (relu over it); conv (dropout2d over it), pool (relu over it, flatten: the same);
   * linear (relu and dropout over it), linear, log_softmax. */
  int64_t outputs = 10 * 24 * 24 + 10 * 12 * 12 + 20 * 8 * 8 + 320 + 50 + 10 + 10;
  int64_t pools = 10 * 12 * 12 + 320, widest = 10 * 24 * 24;
  int64_t passed = plan->program.max_predict_rows > 200 ? plan->program.max_predict_rows : 200;
  int64_t floats =
      2 * 2 * 21840 + 21840 + passed * (784 + outputs) + 200 * (2 * widest + pools + 1);
  ck_assert_int_eq(plan->bytes, 4 * floats + passed * 784 + 70000 * (784 + 4));
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
}
END_TEST

/* A block's input must stay, so relu writes apart, and the sum over what it wrote. A tanh keeps its
 * output. */
START_TEST(bytes_of_blocks) {
  static const struct {
    const char *layers;
    int64_t outputs, noted;
  } rows[] = {
      {"{\"type\":\"linear\",\"out_features\":10},{\"type\":\"relu\"}", 10, 0},
      {"{\"type\":\"linear\",\"out_features\":10},{\"type\":\"tanh\"},{\"type\":\"relu\"}", 20, 0},
      {"{\"type\":\"linear\",\"out_features\":10},{\"type\":\"residual\",\"layers\":[{\"type\":"
       "\"relu\"}]}",
       20, 10},
      {"{\"type\":\"linear\",\"out_features\":10},{\"type\":\"gelu\"}", 20, 0},
      {"{\"type\":\"linear\",\"out_features\":10},{\"type\":\"layer_norm\"}", 20, 2},
  };
  ep_data_shape shape = {.train_rows = 100, .features = 10, .target_columns = 1, .classes = 10};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char text[1024];
    ep_job_spec *spec;
    snprintf(text, sizeof text, ON("", "%s"), rows[i].layers);
    ep_plan *plan = plan_of(text, &shape, &spec);
    int64_t floats = 3 * plan->parameters +
                     plan->program.max_predict_rows * (10 + rows[i].outputs) +
                     100 * (2 * 10 + rows[i].noted + 1) + 100 * 11;
    ck_assert_msg(plan->bytes == 4 * floats, "%zu: %lld", i, (long long)(plan->bytes / 4 - floats));
    ep_plan_destroy(plan);
    ep_job_spec_destroy(spec);
  }
}
END_TEST

START_TEST(windows_of_all_kinds) {
  static const struct {
    const char *layer;
    int64_t shape[3];
  } rows[] = {
      {C(",\"padding\":1"), {4, 28, 28}},
      {C(",\"stride\":2"), {4, 13, 13}},
      {C(",\"stride\":[3,1],\"padding\":[0,2]"), {4, 9, 30}},
      {C(",\"dilation\":2"), {4, 24, 24}},
      {C(",\"dilation\":[1,13],\"padding\":[0,1]"), {4, 26, 4}},
      {"{\"type\":\"max_pool2d\",\"kernel_size\":3}", {1, 9, 9}},
      {"{\"type\":\"max_pool2d\",\"kernel_size\":3,\"padding\":1,\"stride\":2}", {1, 14, 14}},
      {"{\"type\":\"max_pool2d\",\"kernel_size\":2,\"dilation\":3}", {1, 13, 13}},
      {"{\"type\":\"avg_pool2d\",\"kernel_size\":[5,28]}", {1, 5, 1}},
      {"{\"type\":\"adaptive_avg_pool2d\",\"output_size\":[3,40]}", {1, 3, 40}},
      {"{\"type\":\"batch_norm\"}", {1, 28, 28}},
      {"{\"type\":\"layer_norm\"}", {1, 28, 28}},
      {"{\"type\":\"silu\"}", {1, 28, 28}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char text[1024];
    ep_job_spec *spec;
    snprintf(text, sizeof text, JOB("[%s," OUT "]", ""), rows[i].layer);
    ep_plan *plan = plan_of(text, &mnist, &spec);
    assert_shape(plan->ops[0].out, rows[i].shape[0], rows[i].shape[1], rows[i].shape[2]);
    ep_plan_destroy(plan);
    ep_job_spec_destroy(spec);
  }
}
END_TEST

START_TEST(groups_of_channels) {
  ep_job_spec *spec;
  ep_plan *plan = plan_of(JOB("[" C("") "," C(",\"groups\":2") "," OUT "]", ""), &mnist, &spec);
  ck_assert_int_eq(plan->ops[1].groups, 2);
  ck_assert_int_eq(plan->ops[1].bias - plan->ops[1].weight, 4 * 2 * 9);
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
}
END_TEST

#define BLOCK                                         \
  "{\"type\":\"residual\",\"layers\":[" C(            \
      ",\"padding\":1") ",{\"type\":\"batch_norm\"}," \
                        "{\"type\":\"residual\",\"layers\":[{\"type\":\"relu\"}]}]}"

/* Names are torch's, numbers go through the JSON, and a residual's op ends its block. */
START_TEST(blocks_are_lowered) {
  static const struct {
    ep_layer_type type;
    const char *name;
    int layer, source;
  } wanted[] = {
      {EP_LAYER_CONV2D, "0", 0, -1},       {EP_LAYER_CONV2D, "1.0", 2, -1},
      {EP_LAYER_BATCH_NORM, "1.1", 3, -1}, {EP_LAYER_RELU, "1.2.0", 5, -1},
      {EP_LAYER_ADD, "1.2", 4, 3},         {EP_LAYER_ADD, "1", 1, 1},
      {EP_LAYER_FLATTEN, "2", 6, -1},      {EP_LAYER_LINEAR, "3", 7, -1},
  };
  ep_job_spec *spec;
  ep_plan *plan = plan_of(JOB("[" C("") "," BLOCK "," OUT "]", ""), &mnist, &spec);
  ck_assert_int_eq(plan->program.ops_count, 8);
  for (int i = 0; i < 8; i++) {
    ck_assert_int_eq(plan->ops[i].type, wanted[i].type);
    ck_assert_str_eq(plan->names[i], wanted[i].name);
    ck_assert_int_eq(plan->ops[i].layer, wanted[i].layer);
    if (wanted[i].type == EP_LAYER_ADD) ck_assert_int_eq(plan->ops[i].input[1], wanted[i].source);
  }
  ck_assert_int_eq(plan->ops[2].running, 0);
  ck_assert_int_eq(plan->program.buffers, 8);
  ep_layer_view rows[4];
  ep_plan_layers(plan, spec, rows);
  ck_assert_str_eq(rows[1].type, "residual");
  ck_assert_int_eq(rows[1].parameters, 4 * 4 * 9 + 4 + 8);
  ck_assert_int_eq(rows[1].in_features, 4 * 26 * 26);
  ck_assert_int_eq(rows[3].parameters, 27050);
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
}
END_TEST

START_TEST(a_block_may_come_first) {
  ep_job_spec *spec;
  ep_plan *plan = plan_of(
      JOB("[{\"type\":\"residual\",\"layers\":[{\"type\":\"tanh\"}]}," OUT "]", ""), &mnist, &spec);
  ck_assert_int_eq(plan->ops[1].input[1], 0);
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
}
END_TEST

/* Weights, biases and norms in turn, frozen and not: neighbours alike are one range. */
START_TEST(parameter_groups) {
#define NET "[" C("") ",{\"type\":\"batch_norm\"}," C("") "," OUT "]"
  static const struct {
    const char *more;
    int count;
    struct {
      int64_t count;
      float decay;
      bool frozen;
    } group[8];
  } rows[] = {
      {",\"optimizer\":{\"type\":\"adamw\"}", 1, {{36 + 4 + 8 + 148 + 23050, 0.01f, false}}},
      {",\"optimizer\":{\"type\":\"sgd\",\"weight_decay\":0.5,\"decay_all\":false}",
       6,
       {{36, 0.5f, false},
        {12, 0, false},
        {144, 0.5f, false},
        {4, 0, false},
        {23040, 0.5f, false},
        {10, 0, false}}},
      {",\"optimizer\":{\"type\":\"sgd\",\"decay_all\":false}", 1, {{23246, 0, false}}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char text[1024];
    ep_job_spec *spec;
    snprintf(text, sizeof text, JOB(NET, "%s"), rows[i].more);
    ep_plan *plan = plan_of(text, &mnist, &spec);
    ck_assert_int_eq(plan->program.groups_count, rows[i].count);
    int64_t first = 0;
    for (int g = 0; g < rows[i].count; g++) {
      ck_assert_int_eq(plan->groups[g].first, first);
      ck_assert_int_eq(plan->groups[g].count, rows[i].group[g].count);
      ck_assert_float_eq(plan->groups[g].weight_decay, rows[i].group[g].decay);
      first += plan->groups[g].count;
    }
    ck_assert_int_eq(first, plan->parameters);
    ep_plan_destroy(plan);
    ep_job_spec_destroy(spec);
  }
}
END_TEST

START_TEST(frozen_layers) {
  ep_job_spec *spec;
  ep_plan *plan =
      plan_of("{\"data\":{\"dataset\":\"m\",\"shape\":[1,28,28]},\"model\":{\"layers\":[" C(
                  "") "," BLOCK "," OUT "],\"freeze\":[1,0]},\"loss\":\"nll\",\"epochs\":1}",
              &mnist, &spec);
  ck_assert_int_eq(plan->program.groups_count, 2);
  ck_assert(plan->groups[0].frozen);
  ck_assert_int_eq(plan->groups[0].count, 40 + 148 + 8); /* all of the block too */
  ck_assert(!plan->groups[1].frozen);
  ck_assert_int_eq(plan->groups[1].count, 27050);
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
}
END_TEST

START_TEST(optimizer_slots) {
  static const struct {
    const char *optimizer;
    int slots;
  } rows[] = {
      {"{\"type\":\"sgd\"}", 0},
      {"{\"type\":\"sgd\",\"momentum\":0.5}", 1},
      {"{\"type\":\"adam\"}", 2},
      {"{\"type\":\"adamw\"}", 2},
      {"{\"type\":\"rmsprop\"}", 1},
      {"{\"type\":\"rmsprop\",\"momentum\":0.5}", 2},
      {"{\"type\":\"rmsprop\",\"centered\":true,\"momentum\":0.5}", 3},
      {"{\"type\":\"adagrad\"}", 1},
      {"{\"type\":\"lion\"}", 1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char text[1024];
    ep_job_spec *spec;
    snprintf(text, sizeof text, JOB("[" OUT "]", ",\"optimizer\":%s"), rows[i].optimizer);
    ep_plan *plan = plan_of(text, &mnist, &spec);
    ck_assert_int_eq(plan->program.optimizer_floats, rows[i].slots * 7850);
    ep_plan_destroy(plan);
    ep_job_spec_destroy(spec);
  }
}
END_TEST

START_TEST(bytes_are_scaled_by_channel) {
  ep_data_shape shape = mnist;
  ep_job_spec *spec;
  ep_plan *plan =
      plan_of(ON(",\"normalize\":{\"mean\":0.1307,\"std\":0.3081}", OUT), &shape, &spec);
  ck_assert_float_eq_tol(plan->x_scale[0], 1 / 255.0 / 0.3081, 1e-9);
  ck_assert_float_eq_tol(plan->x_shift[0], -0.1307 / 0.3081, 1e-7);
  ck_assert_ptr_eq(plan->program.x_scale, plan->x_scale);
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
  shape.row = (ep_shape){4, 14, 14};
  plan = plan_of(ON(",\"scale\":2,\"normalize\":{\"mean\":[1,2,3,4],\"std\":[1,2,4,8]}", OUT),
                 &shape, &spec);
  for (int i = 0; i < 4; i++) {
    ck_assert_float_eq(plan->x_scale[i], 2.0f / (float)(1 << i));
    ck_assert_float_eq(plan->x_shift[i], -(float)(i + 1) / (float)(1 << i));
  }
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
  shape.x_type = EP_X_FLOAT32; /* these are normalized before they go to the device */
  plan = plan_of(ON(",\"normalize\":{\"std\":[1,2,4,8]}", OUT), &shape, &spec);
  ck_assert_ptr_null(plan->program.x_scale);
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
}
END_TEST

START_TEST(crops_and_shifts) {
  ep_job_spec *spec;
  ep_plan *plan =
      plan_of(ON(",\"augment\":{\"shift\":2,\"flip\":true,\"crop\":[24,20]}", OUT), &mnist, &spec);
  assert_shape(plan->program.stored, 1, 28, 28);
  assert_shape(plan->program.in, 1, 24, 20);
  ck_assert_int_eq(plan->program.in_features, 480);
  ck_assert_int_eq(plan->program.augment.shift, 2);
  ck_assert(plan->program.augment.flip);
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
}
END_TEST

START_TEST(embeddings) {
  ep_data_shape shape = {.train_rows = 100,
                         .features = 3,
                         .target_columns = 1,
                         .classes = 10,
                         .x_type = EP_X_UINT8,
                         .x_max = 6,
                         .x_integer = true};
  ep_job_spec *spec;
  ep_plan *plan =
      plan_of(ON("", "{\"type\":\"embedding\",\"num_embeddings\":7,\"embedding_dim\":5}," OUT),
              &shape, &spec);
  assert_shape(plan->ops[0].out, 15, 1, 1);
  ck_assert_int_eq(plan->ops[0].embeddings, 7);
  ck_assert_int_eq(plan->ops[2].weight, 35);
  ck_assert_int_eq(plan->program.x_type, EP_X_FLOAT32);
  ck_assert_ptr_null(plan->program.x_scale);
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
}
END_TEST

START_TEST(embedded_columns) {
  ep_data_shape shape = {.train_rows = 100,
                         .features = 5,
                         .embedded_columns = 2,
                         .embedded_rows = 70,
                         .target_columns = 1,
                         .classes = 10};
  ep_job_spec *spec;
  ep_layer_view views[2];
  ep_plan *plan = plan_of(ON("", OUT), &shape, &spec);
  ck_assert_int_eq(plan->program.ops_count, 3);
  ck_assert_str_eq(plan->names[0], "columns");
  ck_assert_str_eq(plan->names[1], "0");
  ck_assert_int_eq(plan->ops[0].numbers, 3);
  assert_shape(plan->ops[0].out, 3 + 2 * 6, 1, 1); /* 6 * 6 is the first square above 70 / 2 */
  ck_assert_int_eq(plan->ops[2].weight, 70 * 6);
  ck_assert_int_eq(plan->ops[1].layer, 0);
  float *state = malloc((size_t)plan->parameters * sizeof *state);
  ck_assert_ptr_nonnull(state);
  ep_plan_initialize(plan, spec, state);
  for (int64_t i = 0; i < 70 * 6; i++) ck_assert(state[i] != 0 && fabsf(state[i]) < 0.05f);
  ep_plan_layers(plan, spec, views);
  ck_assert_int_eq(views[0].parameters, 70 * 6);
  free(state);
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
}
END_TEST

START_TEST(one_hot_classes) {
  ep_data_shape shape = mnist;
  shape.target_columns = 10;
  shape.classes = 2;
  shape.one_hot = true;
  ep_job_spec *spec;
  ep_plan *plan = plan_of(ON("", OUT), &shape, &spec);
  ck_assert_int_eq(plan->program.target_columns, 1);
  ck_assert_int_eq(plan->shape.classes, 10);
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
}
END_TEST

START_TEST(validation_rows_are_enough) {
  ep_data_shape shape = mnist;
  shape.validation_rows = 1;
  ep_job_spec *spec;
  ep_plan *plan = plan_of(
      JOB("[" OUT "]", ",\"keep\":\"best\",\"schedule\":\"reduce_on_plateau\","
                       "\"early_stopping\":{\"patience\":3,\"metric\":\"validation.error\"}"),
      &shape, &spec);
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
}
END_TEST

static ep_estimate estimate_on(const ep_plan *plan, const ep_job_spec *spec, const char *id) {
  ep_device_info device = {0};
  snprintf(device.id, sizeof device.id, "%s", id);
  return ep_plan_estimate(plan, spec, &device, NULL, NULL);
}

START_TEST(images_go_to_the_blocked_executor) {
  static const struct {
    const char *text, *executor;
  } rows[] = {
      {JOB(NOTEBOOK, ""), "cpu/blocked"},
      {JOB("[" OUT "]", ""), "cpu/fused"},
      {JOB("[" OUT "]", ",\"clip\":{\"norm\":1}"), "cpu/blocked"},
      {JOB("[" OUT "]", ",\"optimizer\":{\"weight_decay\":1,\"decay_all\":false}"), "cpu/blocked"},
      {JOB("[" OUT "]", ",\"executor\":\"cpu/reference\""), "cpu/reference"},
  };
  ep_data_shape shape = mnist;
  shape.x_type = EP_X_FLOAT32;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    ep_job_spec *spec;
    ep_plan *plan = plan_of(rows[i].text, &shape, &spec);
    ck_assert_str_eq(estimate_on(plan, spec, "cpu").executor, rows[i].executor);
    ep_plan_destroy(plan);
    ep_job_spec_destroy(spec);
  }
  ep_job_spec *spec;
  ep_plan *plan = plan_of(JOB("[" OUT "]", ""), &mnist, &spec); /* bytes become numbers */
  ck_assert_str_eq(estimate_on(plan, spec, "cpu").executor, "cpu/fused");
  ck_assert_double_gt(estimate_on(plan, spec, "cuda:0").seconds, 0);
  const int64_t bytes = plan->bytes;
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
  ep_data_shape large = mnist; /* a row more than may become numbers */
  large.train_rows = EP_LIMIT_NUMBERS_BYTES / (784 * (int64_t)sizeof(float)) + 1;
  plan = plan_of(JOB("[" OUT "]", ""), &large, &spec);
  ck_assert_str_eq(estimate_on(plan, spec, "cpu").executor, "cpu/blocked");
  ck_assert_int_gt(bytes, (mnist.train_rows + mnist.test_rows) * 784 * 5);
  ck_assert_int_lt(plan->bytes, large.train_rows * 784 * 2);
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
}
END_TEST

/* Mean and deviation of drawn weights. */
static void figures_of(const float *values, int64_t count, double *mean, double *deviation) {
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < count; i++) sum += values[i];
  *mean = sum / (double)count;
  for (int64_t i = 0; i < count; i++) squares += (values[i] - *mean) * (values[i] - *mean);
  *deviation = sqrt(squares / (double)count);
}

static float *first_state(const char *text, const ep_data_shape *shape, ep_plan **plan) {
  ep_job_spec *spec;
  *plan = plan_of(text, shape, &spec);
  size_t floats = (size_t)ep_program_state_floats(&(*plan)->program);
  float *state = malloc((floats + 1) * sizeof *state);
  ck_assert_ptr_nonnull(state);
  for (size_t i = 0; i <= floats; i++) state[i] = 777;
  ep_plan_initialize(*plan, spec, state);
  for (size_t i = 0; i < floats; i++) ck_assert_float_ne(state[i], 777);
  ck_assert_float_eq(state[floats], 777);
  ep_job_spec_destroy(spec);
  return state;
}

START_TEST(first_weights_of_convolutions) {
  static const char *const inits[] = {"default", "xavier", "kaiming", "normal"};
  /* 8 channels of a window of 9 make 72 in; 500 of it go out. */
  const double deviations[] = {1 / sqrt(72) / sqrt(3), sqrt(2.0 / (72 + 4500)), sqrt(2.0 / 72),
                               0.01};
  for (int i = 0; i < 4; i++) {
    char text[1024];
    ep_data_shape shape = mnist;
    shape.row = (ep_shape){16, 7, 7};
    snprintf(text, sizeof text,
             ON("", "{\"type\":\"conv2d\",\"out_channels\":500,\"kernel_size\":3,\"groups\":2,"
                    "\"init\":\"%s\"},{\"type\":\"batch_norm\"}," OUT),
             inits[i]);
    ep_plan *plan;
    /* 500 channels in 2 groups of 8 that come in */
    float *state = first_state(text, &shape, &plan);
    double mean, deviation;
    figures_of(state, 36000, &mean, &deviation);
    ck_assert_double_lt(fabs(mean), 5 * deviations[i] / sqrt(36000));
    ck_assert_double_eq_tol(deviation / deviations[i], 1, 0.02);
    figures_of(state + 36000, 500, &mean, &deviation);
    if (i == 0)
      ck_assert_double_eq_tol(deviation / deviations[i], 1, 0.1);
    else
      ck_assert(mean == 0 && deviation == 0);
    for (int64_t c = 0; c < 500; c++) {
      ck_assert_float_eq(state[plan->ops[1].weight + c], 1);
      ck_assert_float_eq(state[plan->ops[1].bias + c], 0);
      ck_assert_float_eq(state[plan->parameters + c], 0);
      ck_assert_float_eq(state[plan->parameters + 500 + c], 1);
    }
    free(state);
    ep_plan_destroy(plan);
  }
}
END_TEST

START_TEST(first_weights_of_embeddings_and_blocks) {
  ep_data_shape shape = mnist;
  shape.row = (ep_shape){784, 1, 1};
  ep_plan *plan;
  float *state = first_state(
      ON("", "{\"type\":\"embedding\",\"num_embeddings\":256,\"embedding_dim\":64},{\"type\":"
             "\"residual\",\"layers\":[{\"type\":\"layer_norm\"}]}," OUT),
      &shape, &plan);
  double mean, deviation;
  figures_of(state, 256 * 64, &mean, &deviation);
  ck_assert_double_lt(fabs(mean), 5 / 128.0);
  ck_assert_double_eq_tol(deviation, 1, 0.03);
  ck_assert_int_eq(plan->ops[1].layer, 2);
  ck_assert_float_eq(state[plan->ops[1].weight], 1);
  figures_of(state + plan->ops[4].weight, 50176 * 10, &mean, &deviation);
  ck_assert_double_eq_tol(deviation * sqrt(3 * 50176.0), 1, 0.02);
  free(state);
  ep_plan_destroy(plan);
}
END_TEST

EP_SUITE("engine/plan layers") {
  TCase *tests = ep_suite_case(suite, "plan");
  tcase_add_test(tests, the_notebook);
  tcase_add_test(tests, operations_of_convolutions);
  tcase_add_test(tests, bytes_of_the_notebook);
  tcase_add_test(tests, bytes_of_blocks);
  tcase_add_test(tests, windows_of_all_kinds);
  tcase_add_test(tests, groups_of_channels);
  tcase_add_test(tests, blocks_are_lowered);
  tcase_add_test(tests, a_block_may_come_first);
  tcase_add_test(tests, parameter_groups);
  tcase_add_test(tests, frozen_layers);
  tcase_add_test(tests, optimizer_slots);
  tcase_add_test(tests, bytes_are_scaled_by_channel);
  tcase_add_test(tests, crops_and_shifts);
  tcase_add_test(tests, embeddings);
  tcase_add_test(tests, embedded_columns);
  tcase_add_test(tests, one_hot_classes);
  tcase_add_test(tests, validation_rows_are_enough);
  tcase_add_test(tests, images_go_to_the_blocked_executor);
  tcase_add_test(tests, first_weights_of_convolutions);
  tcase_add_test(tests, first_weights_of_embeddings_and_blocks);
}
