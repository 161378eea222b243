/* The generated kernel of cuda/persistent without a GPU: randomly generated networks are planned,
 * their kernels compiled for the emulator (emulator.h) and run, and all that they write is compared
 * with cpu/reference:
 *
 *     test_persistent [COUNT [FIRST]]
 *
 * Each network runs with the plan for a small GPU and with one of other groups and slices. Prints a
 * line a kernel; exits with 1 when one failed. */
#include "emulator.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <math.h>
#include <string>
#include <vector>

extern "C" {
#include "kernels/cuda/executors/persistent/plan.h"
}
#include "tests/unit/kernels/compare.h"
#include "tests/unit/kernels/programs.h"
#include "tests/unit/kernels/random_nets.h"

namespace {

constexpr ep_gpu_traits gpu = {90, 90, 12};
constexpr uint64_t CLUSTERED_NET = 3008; /* whose groups are a cluster, with a batch_norm */
constexpr uint64_t SHARDED_NET = 1048;   /* whose table is sharded */

/* --- the kernel ------------------------------------------------------------------------------ */

std::string folder; /* of sources and libraries */

/* dlopen's handle, or NULL with a line. */
void *kernel_open(const std::string &name, char *header) {
  const std::string here = folder + "/" + name, library = here + "/kernel.so";
  const std::string below[] = {here, here + "/kernels", here + "/kernels/cuda",
                               here + "/kernels/cuda/device"};
  for (const std::string &each : below) mkdir(each.c_str(), 0700);
  FILE *file = fopen((below[3] + "/program.h").c_str(), "w");
  if (!file || !header || fputs(header, file) < 0 || fclose(file) != 0) return nullptr;
  free(header);
  const std::string command =
      std::string(CXX_COMPILER) +
      " -std=c++17 -O1 -shared -fPIC -ffp-contract=off -fno-strict-aliasing -w"
      " -fsanitize=alignment -fsanitize-undefined-trap-on-error"
      " -include builtins.h -I " SOURCE_DIR "/tests/emulator/include -I " SOURCE_DIR " -I " +
      here + " -x c++ " SOURCE_DIR "/kernels/cuda/executors/persistent/kernel.cuh -o " + library;
  if (system(command.c_str()) != 0) return nullptr;
  void *opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!opened) printf("%s\n", dlerror());
  return opened;
}

/* --- a run ----------------------------------------------------------------------------------- */

/* Zeros on 16 bytes. */
class vectors {
public:
  explicit vectors(int64_t count)
      : from(static_cast<float *>(calloc(static_cast<size_t>(count) + 4, sizeof(float)))) {
    at = from + (16 - reinterpret_cast<uintptr_t>(from) % 16) % 16 / sizeof(float);
  }
  vectors(vectors &&other) noexcept : from(other.from), at(other.at) { other.from = nullptr; }
  vectors(const vectors &) = delete;
  vectors &operator=(const vectors &) = delete;
  ~vectors() { free(from); }
  float *data() const { return at; }

private:
  float *from, *at;
};

struct results {
  std::vector<float> loss, parameters, state;
  std::vector<int32_t> errors;
};

ep_persistent_args args_of(const ep_case *test, const ep_persistent_plan &plan, results &out,
                           float *exchange, const float *rows,
                           std::vector<ep_optimizer_step> &updates) {
  const ep_program *program = &test->program;
  ep_persistent_args args = {};
  for (int64_t i = 0; i < test->steps; i++)
    updates.push_back(
        ep_optimizer_step_make(&program->optimizer, test->lr[test->lr_constant ? 0 : i], i + 1));
  args.steps = test->steps;
  args.rows = rows;
  args.parameters = out.parameters.data();
  args.state = out.state.data();
  args.exchange = exchange;
  args.lr = test->lr;
  args.lr_count = test->lr_constant ? 1 : test->steps;
  args.update = updates.data();
  args.loss = out.loss.data();
  args.errors = out.errors.data();
  args.seed = program->seed;
  args.optimizer = program->optimizer;
  args.loss_parameter = program->loss_parameter;
  args.label_smoothing = program->label_smoothing;
  ep_persistent_decays(program, &plan, args.decay);
  return args;
}

/* The training rows as args.h has them. */
vectors rows_of(const ep_case *test, const ep_persistent_plan &plan) {
  const ep_program *program = &test->program;
  const int64_t words = plan.row_words, in = program->in_features, out = program->target_columns;
  vectors rows(program->train_rows * words);
  for (int64_t row = 0; row < program->train_rows; row++) {
    memcpy(rows.data() + row * words, static_cast<float *>(test->x[EP_SPLIT_TRAIN]) + row * in,
           static_cast<size_t>(in) * sizeof(float));
    memcpy(rows.data() + row * words + plan.targets,
           static_cast<float *>(test->y[EP_SPLIT_TRAIN]) + row * out,
           static_cast<size_t>(out) * sizeof(float));
  }
  return rows;
}

/* Steps first … first + steps - 1 of the case. starved: a block, as emulator.h has it. */
bool steps_run(const ep_case *test, const ep_persistent_plan &plan, void *opened, int64_t first,
               int64_t steps, int starved, results &out, std::string *failure) {
  const vectors exchange(plan.exchange_words), rows(rows_of(test, plan));
  std::vector<ep_optimizer_step> updates;
  ep_persistent_args args = args_of(test, plan, out, exchange.data(), rows.data(), updates);
  std::vector<int32_t> places(static_cast<size_t>(plan.slices) *
                              static_cast<size_t>(plan.vector_words));
  ep_persistent_places(&test->program, &plan, places.data());
  args.places = places.data();
  ep_persistent_fill fills[EP_PERSISTENT_FILLS];
  ep_persistent_fills(&plan, first, fills);
  for (const ep_persistent_fill &fill : fills)
    memset(args.exchange + fill.at, fill.byte, static_cast<size_t>(fill.words) * sizeof(float));
  args.first_step = first;
  args.steps = steps;
  if (args.lr_count > 1) args.lr += first;
  args.update += first;
  args.loss += first;
  args.errors += first;
  auto kernel = reinterpret_cast<void (*)(ep_persistent_args)>(dlsym(opened, "persistent"));
  const emulator_launch launch = {ep_persistent_blocks(&plan),
                                  ep_persistent_warps(&plan) * 32,
                                  plan.clustered ? plan.groups : 0,
                                  static_cast<size_t>(plan.memory_words) * sizeof(float),
                                  static_cast<unsigned>(test->program.seed + first),
                                  300,
                                  starved};
  return emulator_run(
      launch, [&] { kernel(args); }, failure);
}

/* All of them, in one launch or in two. starved: as emulator.h has it. */
bool kernel_run(const ep_case *test, const ep_persistent_plan &plan, void *opened, bool cut,
                int starved, results &out, std::string *failure) {
  const ep_program *program = &test->program;
  const float *first = test->parameters;
  out.parameters.assign(first, first + ep_program_state_floats(program));
  out.state.assign(static_cast<size_t>(program->optimizer_floats) + 1, 0);
  out.loss.assign(static_cast<size_t>(test->steps), NAN);
  out.errors.assign(static_cast<size_t>(test->steps), -1);
  /* Behind two steps the exchange waits for other tags (ep_persistent_fills). */
  const int64_t cut_at = !cut ? test->steps : test->steps > 2 ? 2 : test->steps / 2;
  return steps_run(test, plan, opened, 0, cut_at, starved, out, failure) &&
         (cut_at == test->steps ||
          steps_run(test, plan, opened, cut_at, test->steps - cut_at, starved, out, failure));
}

bool same_bits(const std::vector<float> &a, const std::vector<float> &b) {
  return a.size() == b.size() && memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/* --- the comparison -------------------------------------------------------------------------- */

bool floats_agree(const char *what, const float *actual, const float *expected, int64_t count,
                  double tolerance, double *worst) {
  const double difference = ep_compare_floats(actual, expected, count, 0);
  if (difference > *worst) *worst = difference;
  if (difference <= tolerance) return true;
  printf("      %s differ by %.2g, %.2g allowed\n", what, difference, tolerance);
  return false;
}

bool results_agree(const ep_case *test, const results &actual, const ep_run &expected,
                   double tolerance, double *worst) {
  const bool precise = test->program.precision == EP_PRECISION_FP32;
  const bool losses =
      floats_agree("losses", actual.loss.data(), expected.loss, test->steps, tolerance, worst);
  const bool parameters = floats_agree("parameters", actual.parameters.data(), expected.trained,
                                       ep_program_state_floats(&test->program), tolerance, worst);
  const bool states = floats_agree("states", actual.state.data(), expected.optimizer,
                                   test->program.optimizer_floats, tolerance, worst);
  int64_t missed = 0;
  for (int64_t i = 0; i < test->steps; i++)
    missed += llabs((long long)actual.errors[static_cast<size_t>(i)] - expected.errors[i]);
  const bool errors = missed <= (precise ? 1 : 1 + test->steps * test->program.batch_size / 20);
  if (!errors) printf("      errors differ by %lld\n", static_cast<long long>(missed));
  return losses && parameters && states && errors;
}

/* --- the test -------------------------------------------------------------------------------- */

void shape_print(const ep_case *test, const ep_persistent_plan &plan) {
  static const char *const modes[] = {"whole", "column", "row", "row to all", "row gathered"};
  printf("optimizer %d, loss %d, %d groups%s of %d times %d rows, %d slices, %d warps, %d shards:",
         static_cast<int>(test->program.optimizer.type), static_cast<int>(test->program.loss),
         plan.groups, plan.clustered ? " of a cluster" : "", plan.micro_batches, plan.rows,
         plan.slices, plan.warps, plan.shards.blocks);
  for (int i = 0; i < plan.stages_count; i++)
    printf(" %d %s%s", plan.stages[i].out,
           ep_persistent_is_linear(&plan.stages[i])      ? modes[plan.stages[i].mode]
           : ep_persistent_is_embedding(&plan.stages[i]) ? "embedding"
                                                         : "norm",
           plan.stages[i].sliced ? " sliced" : "");
  printf("\n");
}

/* starved: blocks, each of which is so in a run of its own. */
bool plan_try(const ep_case *test, const ep_persistent_plan &plan, const ep_run &expected,
              double tolerance, const std::string &name, const std::vector<int> &starved) {
  std::string failure;
  results actual;
  double worst = 0;
  void *opened = kernel_open(name, ep_persistent_codegen(&test->program, &plan));
  bool good = opened && kernel_run(test, plan, opened, false, -1, actual, &failure);
  if (!opened) failure = "it does not compile";
  for (size_t i = 0; good && i < starved.size(); i++) {
    results cut;
    good = kernel_run(test, plan, opened, true, starved[i], cut, &failure);
    if (good && !(same_bits(actual.parameters, cut.parameters) &&
                  same_bits(actual.state, cut.state) && same_bits(actual.loss, cut.loss))) {
      failure = "two launches, block " + std::to_string(starved[i]) +
                " starved, give other bits than one";
      good = false;
    }
  }
  if (!failure.empty()) printf("      %s\n", failure.c_str());
  good = good && results_agree(test, actual, expected, tolerance, &worst);
  printf("%s  %s, %.1g: ", good ? "pass" : "FAIL", test->name, worst);
  shape_print(test, plan);
  fflush(stdout);
  if (opened) dlclose(opened);
  return good;
}

/* cpu/reference's run. */
bool reference_run(const ep_case *test, ep_subject *opened, ep_run *out) {
  ep_error error;
  *opened = {ep_backend_cpu(), nullptr, "cpu/reference"};
  return opened->ops->open(0, &opened->backend, &error) == EP_OK &&
         ep_run_case(opened, test, EP_RUN_WHOLE, out, stdout) == EP_OK;
}

/* Gradients that are gathered, of widths that are no multiples of eight, one after a wider one:
 * they share a place, in which lines behind the last must not be the other's. */
bool gathered_try() {
  static const int widths[] = {40, 20, 48, 30, 36, 5};
  ep_case *test = ep_case_create("gathered gradients", 12, EP_LOSS_MSE);
  for (int width : widths) {
    ep_case_add_linear(test, width, true);
    if (width != 5) ep_case_add(test, EP_LAYER_TANH);
  }
  ep_case_training training = {};
  training.rows = 32;
  training.batch_size = 16;
  training.shuffle = true;
  training.seed = 3;
  training.steps = 4;
  training.lr = 0.05f;
  training.optimizer.type = EP_OPTIMIZER_SGD;
  ep_case_finish(test, &training);
  ep_subject opened;
  ep_run expected = {};
  ep_persistent_plan plan;
  const ep_persistent_shape shape = {1, 1, 3, 8, 0};
  bool good = reference_run(test, &opened, &expected), found = false;
  for (unsigned variant = 1; good && !found && variant < 1000; variant++)
    found = ep_persistent_plan_shape(&test->program, &gpu, &shape, variant, &plan) &&
            plan.stages[3].mode == EP_PERSISTENT_ROW_SLICED &&
            plan.stages[4].mode == EP_PERSISTENT_ROW_SLICED;
  good = good && found && plan_try(test, plan, expected, 1e-4, "gathered", {1});
  ep_run_deinit(&expected);
  if (opened.backend) opened.ops->close(opened.backend);
  ep_case_destroy(test);
  return good;
}

/* In bfloat16: widths and rows that are no multiples of 16, whole and sliced. Moves by large steps,
 * so that gradients show. */
bool half_try(const std::vector<int> &widths, const ep_persistent_shape &shape, int rows_of_batch,
              unsigned variant, bool classifies) {
  ep_case *test = ep_case_create("bfloat16", 21, classifies ? EP_LOSS_CROSS_ENTROPY : EP_LOSS_MSE);
  for (size_t i = 0; i < widths.size(); i++) {
    ep_case_add_linear(test, widths[i], true);
    if (i + 1 < widths.size() || classifies)
      ep_case_add(test, widths[i] == 33 ? EP_LAYER_GELU : EP_LAYER_TANH);
  }
  test->program.precision = EP_PRECISION_BF16;
  ep_case_training training = {};
  training.rows = 2 * rows_of_batch - 3;
  training.batch_size = rows_of_batch;
  training.shuffle = true;
  training.seed = 5;
  training.steps = 3;
  training.lr = 1;
  training.optimizer.type = EP_OPTIMIZER_SGD;
  ep_case_finish(test, &training);
  ep_subject opened;
  ep_run expected = {};
  ep_persistent_plan plan;
  bool good = reference_run(test, &opened, &expected) &&
              ep_persistent_plan_shape(&test->program, &gpu, &shape, variant, &plan) && plan.half;
  good = good && plan_try(test, plan, expected, 0.02, "bfloat16", {0});
  ep_run_deinit(&expected);
  if (opened.backend) opened.ops->close(opened.backend);
  ep_case_destroy(test);
  return good;
}

/* Trains on 3 steps an epoch, of which the last has one row. */
bool table_try(ep_case *test, int rows_of_batch, const ep_persistent_shape &shape, int every) {
  ep_case_training training = {};
  training.rows = 2 * rows_of_batch + 1;
  training.batch_size = rows_of_batch;
  training.shuffle = true;
  training.seed = 3;
  training.steps = 8;
  training.lr = 0.05f;
  training.optimizer.type = EP_OPTIMIZER_SGD;
  training.optimizer.momentum = 0.9f;
  ep_case_finish(test, &training);
  ep_subject opened;
  ep_run expected = {};
  ep_persistent_plan plan;
  bool good = reference_run(test, &opened, &expected) &&
              ep_persistent_plan_shape(&test->program, &gpu, &shape, 0, &plan);
  std::vector<int> starved;
  for (int block = 0; good && block < ep_persistent_blocks(&plan); block += every)
    starved.push_back(block);
  good = good && plan_try(test, plan, expected, 1e-4, test->name, starved);
  ep_run_deinit(&expected);
  if (opened.backend) opened.ops->close(opened.backend);
  ep_case_destroy(test);
  return good;
}

/* Vectors of more pieces than a warp has lanes, and more cells than a warp looks through at once.
 */
bool large_table_try() {
  ep_case *test = ep_case_create("large-table", 12, EP_LOSS_MSE);
  ep_case_add_embedding(test, 1, 40, 133);
  ep_case_add(test, EP_LAYER_TANH);
  ep_case_add_linear(test, 3, true);
  return table_try(test, 32, {4, 1, 2, 8, 3}, 5);
}

/* Shards of a word each, of which most have none in a step: whichever of them is slow, and behind a
 * smaller batch, in which it was not waited for, the vectors are those of the step. */
bool small_table_try() {
  ep_case *test = ep_case_create("small-table", 2, EP_LOSS_MSE);
  ep_case_add_embedding(test, 1, 12, 9);
  ep_case_add_norm(test, EP_LAYER_LAYER_NORM, true);
  ep_case_add_linear(test, 3, true);
  return table_try(test, 8, {1, 1, 1, 8, 14}, 1);
}

/* A block of the plan's launch. */
int one_of(const ep_case *test, const ep_persistent_plan &plan) {
  return static_cast<int>(test->program.seed % static_cast<uint64_t>(ep_persistent_blocks(&plan)));
}

/* The plans of a network. */
bool net_try(uint64_t number) {
  const ep_random_net_limits limits = {40, 5, 40, 5, 60, false};
  ep_case *test = ep_random_net_create(number, &limits,
                                       number % 3 == 2   ? EP_PRECISION_TF32
                                       : number % 3 == 1 ? EP_PRECISION_BF16
                                                         : EP_PRECISION_FP32);
  ep_subject opened;
  ep_run expected = {};
  bool good = reference_run(test, &opened, &expected);
  const double tolerance = good ? ep_random_net_tolerance(&opened, test, stdout) : 0;
  ep_persistent_plan plan;
  const std::string name = std::to_string(number);
  if (good && ep_persistent_plan_make(&test->program, &gpu, &plan))
    good = plan_try(test, plan, expected, tolerance, name, {one_of(test, plan)});
  static const int slices[] = {1, 2, 1, 3, 1, 4};
  const ep_persistent_shape whole = {1 + static_cast<int>(number / 2 % 3), 1, slices[number % 6], 8,
                                     0};
  ep_persistent_shape cut = whole;
  cut.micro_batches = 1 + static_cast<int>(number / 3 % 3);
  const unsigned variant = number % 4;
  if (good && (ep_persistent_plan_shape(&test->program, &gpu, &cut, variant, &plan) ||
               ep_persistent_plan_shape(&test->program, &gpu, &whole, variant, &plan)))
    good = plan_try(test, plan, expected, tolerance, name + "-shape", {one_of(test, plan)});
  ep_persistent_shape sharded = whole;
  sharded.shards = 1 + static_cast<int>(number % 12);
  if (good && test->ops[0].type == EP_LAYER_EMBEDDING &&
      ep_persistent_plan_shape(&test->program, &gpu, &sharded, variant, &plan))
    good = plan_try(test, plan, expected, tolerance, name + "-sharded", {one_of(test, plan)});
  ep_run_deinit(&expected);
  if (opened.backend) opened.ops->close(opened.backend);
  ep_case_destroy(test);
  return good;
}

} // namespace

int main(int argc, char **argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 6;
  const uint64_t first = argc > 2 ? strtoull(argv[2], nullptr, 10) : 1;
  char path[] = "/tmp/epochd-persistent-XXXXXX";
  if (!mkdtemp(path)) return EXIT_FAILURE;
  folder = path;
  int failed = 0;
  for (uint64_t number = first; number < first + static_cast<uint64_t>(count); number++)
    failed += !net_try(number);
  if (argc == 1)
    failed += !net_try(CLUSTERED_NET) + !net_try(SHARDED_NET) + !gathered_try() +
              !large_table_try() + !small_table_try() +
              !half_try({90, 33, 1, 70, 20, 5}, {1, 1, 1, 8, 0}, 40, 0, false) +
              !half_try({90, 33, 1, 70, 20, 5}, {1, 1, 3, 8, 0}, 24, 0, true) +
              !half_try({90, 33, 1, 70, 20, 5}, {2, 2, 2, 8, 0}, 64, 2, false) +
              !half_try({1}, {1, 1, 1, 8, 0}, 24, 0, false) +
              !half_try({3, 40, 4}, {1, 1, 3, 8, 0}, 16, 1, true);
  if (!getenv("EPOCHD_KEEP")) system(("rm -rf " + folder).c_str());
  printf("%d failed\n", failed);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
