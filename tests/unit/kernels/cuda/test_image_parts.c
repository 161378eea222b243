/* How cuda/images would run a program, told without a GPU: the parts that its layers make. */
#include <stdlib.h>

#include "kernels/cuda/executors/images/parts.h"
#include "tests/suite.h"
#include "tests/unit/kernels/programs.h"

static const ep_case_window three = {.kernel = {3, 3}, .padding = {1, 1}};
static const ep_case_window two = {.kernel = {2, 2}};
static const ep_case_window overlapping = {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};

enum { PARTS_MOST = 2 * EP_CASE_OPS };
static ep_images_part rows[PARTS_MOST];
static ep_images_parts parts;

static ep_case *images_create(void) {
  return ep_case_create_image("parts", (ep_shape){3, 8, 8}, EP_LOSS_MSE);
}

static void finish(ep_case *self) {
  ep_case_finish(self, &(ep_case_training){.rows = 4, .steps = 1, .lr = 0.1f});
}

/* Finishes the case and asks for its parts, which point into it: it is kept until the next. */
static bool found(ep_case *self) {
  static ep_case *kept;
  finish(self);
  ep_case_destroy(kept);
  kept = self;
  parts = (ep_images_parts){.rows = rows};
  return ep_images_parts_find(&self->program, &parts);
}

static bool taken(ep_case *self) {
  finish(self);
  bool is = ep_images_takes(&self->program);
  ep_case_destroy(self);
  return is;
}

START_TEST(what_follows_a_convolution_is_one_part) {
  ep_case *self = images_create();
  ep_case_add_conv2d(self, 16, &three, true);
  ep_case_add_norm(self, EP_LAYER_BATCH_NORM, true);
  ep_case_add(self, EP_LAYER_RELU);
  ep_case_add_pool(self, EP_LAYER_MAX_POOL2D, &two);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_linear(self, 2, true);
  ck_assert(found(self));
  ck_assert_int_eq(parts.count, 2);
  ck_assert_int_eq(parts.tail, 4);
  ck_assert_int_eq(rows[0].kind, EP_IMAGES_CONVOLUTION);
  ck_assert_int_eq(rows[1].kind, EP_IMAGES_BLEND);
  ck_assert(rows[1].biased && rows[1].norm && rows[1].activation && rows[1].pool);
  ck_assert(!rows[1].residual);
  ck_assert_int_eq(rows[1].in.height, 8);
  ck_assert_int_eq(rows[1].out.height, 4);
  ck_assert_int_eq(rows[1].last, 3);
}
END_TEST

/* What comes in another order is parts of its own. */
START_TEST(layers_out_of_order_make_more_parts) {
  ep_case *self = images_create();
  ep_case_add_conv2d(self, 16, &three, false);
  ep_case_add_pool(self, EP_LAYER_MAX_POOL2D, &two);
  ep_case_add(self, EP_LAYER_RELU);
  ep_case_add_norm(self, EP_LAYER_BATCH_NORM, true);
  ep_case_add_pool(self, EP_LAYER_MAX_POOL2D, &overlapping);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT2D, 0.5f);
  const ep_images_kind kinds[] = {EP_IMAGES_CONVOLUTION, EP_IMAGES_BLEND, EP_IMAGES_BLEND,
                                  EP_IMAGES_BLEND,       EP_IMAGES_POOL,  EP_IMAGES_DROPOUT};
  ck_assert(found(self));
  ck_assert_int_eq(parts.count, 6);
  ck_assert_int_eq(parts.tail, 6);
  for (int i = 0; i < parts.count; i++) ck_assert_int_eq(rows[i].kind, kinds[i]);
  ck_assert(rows[1].pool && !rows[1].biased && rows[2].activation && rows[3].norm);
}
END_TEST

/* A value that is added later comes out of a part, be it the bias's alone. */
START_TEST(a_part_ends_where_a_residual_begins) {
  ep_case *self = images_create();
  ep_case_add_conv2d(self, 16, &three, true);
  int block = ep_case_last(self);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add_conv2d(self, 16, &three, false);
  ep_case_add_norm(self, EP_LAYER_BATCH_NORM, true);
  ep_case_add_residual(self, block);
  ep_case_add(self, EP_LAYER_RELU);
  ck_assert(found(self));
  ck_assert_int_eq(parts.count, 5);
  ck_assert_int_eq(rows[1].last, block);
  ck_assert(rows[1].biased && !rows[1].activation && rows[2].activation);
  ck_assert(rows[4].norm && rows[4].residual && rows[4].activation);
  ck_assert_int_eq(rows[4].past, 1);
}
END_TEST

/* Groups and few channels are convolutions like others; so is a layer_norm a part. */
START_TEST(a_layer_norm_is_a_part_of_its_own) {
  ep_case *self = images_create();
  ep_case_add_conv2d(self, 6, &(ep_case_window){.kernel = {3, 3}, .groups = 3}, true);
  ep_case_add_norm(self, EP_LAYER_LAYER_NORM, true);
  ep_case_add(self, EP_LAYER_RELU);
  ck_assert(found(self));
  ck_assert_int_eq(parts.count, 4);
  ck_assert_int_eq(rows[0].kind, EP_IMAGES_CONVOLUTION);
  ck_assert_int_eq(rows[1].kind, EP_IMAGES_BLEND);
  ck_assert_int_eq(rows[2].kind, EP_IMAGES_LAYER_NORM);
  ck_assert(rows[2].own && rows[2].own->type == EP_LAYER_LAYER_NORM);
  ck_assert(rows[3].activation && !rows[3].norm);
}
END_TEST

START_TEST(a_convolution_is_taken_in_each_precision) {
  for (int precision = 0; precision < EP_PRECISION_COUNT; precision++) {
    ep_case *self = images_create();
    ep_case_add_conv2d(self, 5, &three, true);
    self->program.precision = (ep_precision)precision;
    ck_assert(taken(self));
  }
}
END_TEST

START_TEST(what_has_no_part_is_refused) {
  for (int which = 0; which < 3; which++) {
    ep_case *self = images_create();
    if (which != 0) ep_case_add_conv2d(self, 16, &three, true);
    if (which == 0) ep_case_add(self, EP_LAYER_RELU);
    if (which == 1) ep_case_add(self, EP_LAYER_SOFTMAX);
    if (which == 2) ep_case_add_linear(self, 3, true); /* without flatten */
    ck_assert(!taken(self));
  }
}
END_TEST

START_TEST(more_pixels_than_are_counted_are_refused) {
  for (int64_t batch = 1 << 23; batch <= 1 << 24; batch *= 2) {
    ep_case *self = images_create(); /* 64 pixels */
    ep_case_add_conv2d(self, 4, &three, true);
    finish(self);
    self->program.batch_size = batch;
    ck_assert_int_eq(ep_images_takes(&self->program), batch == 1 << 23);
    ep_case_destroy(self);
  }
}
END_TEST

EP_SUITE("kernels/image_parts") {
  TCase *tests = ep_suite_case(suite, "parts");
  tcase_add_test(tests, what_follows_a_convolution_is_one_part);
  tcase_add_test(tests, layers_out_of_order_make_more_parts);
  tcase_add_test(tests, a_part_ends_where_a_residual_begins);
  tcase_add_test(tests, a_layer_norm_is_a_part_of_its_own);
  tcase_add_test(tests, a_convolution_is_taken_in_each_precision);
  tcase_add_test(tests, what_has_no_part_is_refused);
  tcase_add_test(tests, more_pixels_than_are_counted_are_refused);
}
