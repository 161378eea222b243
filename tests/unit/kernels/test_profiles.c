/* What the executors say of themselves, by walking their tables: names, and masks that name what
 * their executors know. A new executor is tried by standing in its table. */
#include <string.h>

#include "kernels/cpu/executors/table.h"
#include "kernels/cpu/plans/plans.h"
#include "kernels/cuda/executors/table.h"
#include "kernels/cuda/plans/plans.h"
#include "tests/suite.h"

#define CPU_NAME(name) "cpu/" #name,
#define CUDA_NAME(name, compiler) "cuda/" #name,
static const char *const cpu_names[] = {EP_CPU_EXECUTORS(CPU_NAME)};
static const char *const cuda_names[] = {EP_CUDA_EXECUTORS(CUDA_NAME)};

static const struct {
  const ep_executor_profile *const *(*profiles)(int *count);
  const char *const *names;
} tables[] = {{ep_cpu_profiles, cpu_names}, {ep_cuda_profiles, cuda_names}};
enum { TABLES = sizeof tables / sizeof *tables };

START_TEST(a_name_is_the_backend_and_the_folder) {
  int count;
  const ep_executor_profile *const *profiles = tables[_i].profiles(&count);
  for (int i = 0; i < count; i++) ck_assert_str_eq(profiles[i]->name, tables[_i].names[i]);
}
END_TEST

static bool names_what_there_is(ep_capabilities can) {
  return (can.layers & ~EP_CAPABLE_GRAPH) >> EP_LAYER_COUNT == 0 &&
         can.losses >> EP_LOSS_COUNT == 0 && can.optimizers >> EP_OPTIMIZER_COUNT == 0;
}

/* A mask of all bits would take words that do not exist yet. */
START_TEST(a_mask_names_words_that_exist) {
  int count;
  const ep_executor_profile *const *profiles = tables[_i].profiles(&count);
  for (int i = 0; i < count; i++)
    ck_assert_msg(names_what_there_is(profiles[i]->capabilities), "%s", profiles[i]->name);
  ck_assert(!names_what_there_is((ep_capabilities){~UINT64_C(0), 1, 1}));
  ck_assert(!names_what_there_is((ep_capabilities){1, ~UINT32_C(0), 1}));
  ck_assert(!names_what_there_is((ep_capabilities){1, 1, ~UINT32_C(0)}));
}
END_TEST

/* The groups say of each word what the functions say that compute it. */
START_TEST(groups_are_what_the_formulas_know) {
  for (int type = 0; type < EP_LAYER_COUNT; type++)
    ck_assert_int_eq(EP_CAPABLE_ACTIVATIONS >> type & 1, ep_activation_is((ep_layer_type)type));
  for (int loss = 0; loss < EP_LOSS_COUNT; loss++) {
    const bool classes = ep_loss_takes_classes((ep_loss_type)loss);
    if (EP_CAPABLE_ELEMENT_LOSSES >> loss & 1) ck_assert(!classes);
    if (EP_CAPABLE_CLASS_LOSSES >> loss & 1) ck_assert(classes);
  }
}
END_TEST

static ep_program linear_program(const ep_op *op, ep_precision precision, int64_t batch_size) {
  return (ep_program){.ops = op,
                      .ops_count = 1,
                      .stored = op->in,
                      .in = op->in,
                      .in_features = op->in_features,
                      .out_features = op->out_features,
                      .target_columns = op->out_features,
                      .parameters = op->in_features * op->out_features,
                      .train_rows = 20000,
                      .batch_size = batch_size,
                      .shuffle = true,
                      .precision = precision};
}

/* Of those that take a small network on an H200, one does for each batch size. */
static const char *chosen(int in, int out, ep_precision precision, int64_t batch_size) {
  const ep_op op = {.type = EP_LAYER_LINEAR,
                    .inputs = 1,
                    .in = {in, 1, 1},
                    .out = {out, 1, 1},
                    .in_features = in,
                    .out_features = out,
                    .bias = -1,
                    .running = -1};
  const ep_program program = linear_program(&op, precision, batch_size);
  const ep_device_traits device = {.gpu = {90, 90, 132}};
  int count;
  const ep_executor_profile *const *profiles = ep_cuda_profiles(&count);
  for (int i = 0; i < count; i++)
    if (ep_executor_takes(profiles, count, i, &program, &device)) return profiles[i]->name;
  return "none";
}

/* cuda/fused stands first in the table, and yields where another is expected to be faster. */
START_TEST(the_first_yields_to_one_that_expects_less) {
  ck_assert_str_eq(chosen(4, 2, EP_PRECISION_TF32, 8191), "cuda/resident");
  ck_assert_str_eq(chosen(4, 2, EP_PRECISION_TF32, 8192), "cuda/persistent");
  ck_assert_str_eq(chosen(64, 64, EP_PRECISION_BF16, 16384), "cuda/fused");
}
END_TEST

EP_SUITE("kernels/profiles") {
  TCase *tests = ep_suite_case(suite, "profiles");
  tcase_add_loop_test(tests, a_name_is_the_backend_and_the_folder, 0, TABLES);
  tcase_add_loop_test(tests, a_mask_names_words_that_exist, 0, TABLES);
  tcase_add_test(tests, groups_are_what_the_formulas_know);
  tcase_add_test(tests, the_first_yields_to_one_that_expects_less);
}
