/* Randomly generated networks on cuda/persistent, in each precision, beside cpu/reference, with the
 * same bits from one launch and from many:
 *
 *     test_gpu_random PLUGIN [COUNT [FIRST]]
 *
 * Prints a line a network and ends with "N passed, N failed, N skipped"; exits with 1 when one
 * failed, 77 when there is no GPU to try. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/ahead.h"
#include "tests/gpu/plugin.h"
#include "tests/unit/kernels/random_nets.h"

enum { EXIT_SKIPPED = 77, USUAL_COUNT = 30, AHEAD = 32 };

typedef struct {
  ep_subject cuda, reference;
  int passed, failed, skipped;
} suite;

static ep_case *net_create(int number) {
  static const ep_precision precisions[] = {EP_PRECISION_FP32, EP_PRECISION_TF32,
                                            EP_PRECISION_BF16};
  const ep_random_net_limits small = {60, 5, 70, 7, 200, false},
                             large = {500, 6, 600, 5, 3000, false};
  return ep_random_net_create((uint64_t)number, number % 2 ? &small : &large,
                              precisions[number % 3]);
}

static void net_try(suite *self, ep_case *test) {
  ep_comparison result = {0};
  const double tolerance = ep_random_net_tolerance(&self->reference, test, stdout);
  ep_compare_case(&self->cuda, &self->reference, test, tolerance, &result, stdout);
  self->passed += result.agreed;
  self->skipped += result.unsupported;
  self->failed += result.failed;
  printf("%s  %s, %s: %.2g of %.2g\n",
         result.agreed        ? "pass"
         : result.unsupported ? "skip"
                              : "FAIL",
         test->name, ep_precision_name(test->program.precision), result.worst, tolerance);
  fflush(stdout);
  ep_case_destroy(test);
}

static void nets_try(suite *self, int first, int count) {
  ep_case *tests[AHEAD];
  for (int i = 0; i < count; i++) tests[i] = net_create(first + i);
  ep_gpu_compile_ahead(&self->cuda, tests, count);
  for (int i = 0; i < count; i++) net_try(self, tests[i]);
}

int main(int argc, char **argv) {
  const int count = argc > 2 ? atoi(argv[2]) : USUAL_COUNT, first = argc > 3 ? atoi(argv[3]) : 1;
  ep_error error = {.message = ""};
  suite self = {
      .cuda = {.ops = argc > 1 ? ep_gpu_plugin_open(argv[1]) : NULL, .executor = "cuda/persistent"},
      .reference = {.ops = ep_backend_cpu(), .executor = "cpu/reference"}};
  if (!self.cuda.ops || self.reference.ops->open(0, &self.reference.backend, &error) != EP_OK)
    return EXIT_FAILURE;
  const ep_status status = self.cuda.ops->open(0, &self.cuda.backend, &error);
  if (status == EP_OK) {
    for (int done = 0; done < count; done += AHEAD)
      nets_try(&self, first + done, count - done < AHEAD ? count - done : AHEAD);
    self.cuda.ops->close(self.cuda.backend);
  } else {
    printf("skip  everything: %s\n", error.message);
    self.skipped++;
  }
  self.reference.ops->close(self.reference.backend);
  printf("%d passed, %d failed, %d skipped\n", self.passed, self.failed, self.skipped);
  if (self.failed) return EXIT_FAILURE;
  return self.passed ? EXIT_SUCCESS : EXIT_SKIPPED;
}
