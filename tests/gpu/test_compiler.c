/* Which compiled kernels are loaded, and when: with NVRTC, and a stand-in for the driver that only
 * counts. Needs no GPU. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/limits.h"
#include "kernels/cuda/runtime/nvrtc.h"
#include "kernels/cuda/runtime/sources.h"
#include "tests/suite.h"

/* --- the driver ---------------------------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static pthread_cond_t entered = PTHREAD_COND_INITIALIZER;
static int loads, unloads; /* ended; a library's address is the number of its load */
static int inside, inside_wanted;
static bool load_fails;
static uintptr_t last_unloaded;

/* Waits, a few seconds at most, for as many threads to be loading as are wanted. */
cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                enum cudaJitOption *options, void **values, unsigned int count,
                                enum cudaLibraryOption *library_options, void **library_values,
                                unsigned int library_count) {
  (void)code, (void)options, (void)values, (void)count;
  (void)library_options, (void)library_values, (void)library_count;
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += 20;
  pthread_mutex_lock(&mutex);
  inside++;
  pthread_cond_broadcast(&entered);
  while (inside < inside_wanted && pthread_cond_timedwait(&entered, &mutex, &end) == 0) continue;
  bool fails = load_fails || inside < inside_wanted;
  load_fails = false;
  if (!fails) *library = (cudaLibrary_t)(uintptr_t)++loads;
  pthread_mutex_unlock(&mutex);
  return fails ? cudaErrorUnknown : cudaSuccess;
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name) {
  ck_assert_str_eq(name, "tiny");
  *kernel = (cudaKernel_t)library;
  return cudaSuccess;
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  pthread_mutex_lock(&mutex);
  unloads++;
  last_unloaded = (uintptr_t)library;
  pthread_mutex_unlock(&mutex);
  return cudaSuccess;
}

ep_status ep_cuda_fail(ep_error *error, cudaError_t code, const char *doing) {
  return ep_fail(error, EP_INTERNAL, "%s failed: %d", doing, (int)code);
}

/* --- what is compiled ---------------------------------------------------------------------- */

const ep_cuda_source EP_CUDA_SOURCES[] = {
    {"tiny.cuh", "#include \"kernels/cuda/device/program.h\"\n"
                 "extern \"C\" __global__ void tiny(int *x) { *x = NUMBER; }\n"}};
const int EP_CUDA_SOURCES_COUNT = 1;

static const ep_backend backend = {.gpu = {.capability = 90}};
static char folder[64];

static ep_status compile(int number, ep_cuda_compiled **out) {
  char *program = malloc(64);
  ck_assert_ptr_nonnull(program);
  snprintf(program, 64, "#define NUMBER %d\n", number);
  return ep_cuda_compile(&backend, "tiny.cuh", "tiny", program, out, NULL);
}

/* The number of its load. */
static uintptr_t loaded(int number, ep_cuda_compiled **out) {
  ck_assert_int_eq(compile(number, out), EP_OK);
  return (uintptr_t)ep_cuda_compiled_kernel(*out);
}

static void setup(void) {
  snprintf(folder, sizeof folder, "/tmp/epochd-compiler-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  setenv("EPOCHD_CACHE_DIR", folder, 1);
}

static void teardown(void) {
  char line[128];
  snprintf(line, sizeof line, "rm -rf '%s'", folder);
  ck_assert_int_eq(system(line), 0);
}

START_TEST(what_is_loaded_is_taken_again) {
  ep_cuda_compiled *first, *second, *other;
  ck_assert_uint_eq(loaded(1, &first), 1);
  ck_assert_uint_eq(loaded(1, &second), 1);
  ck_assert_uint_eq(loaded(2, &other), 2);
  ep_cuda_compiled_release(first);
  ep_cuda_compiled_release(second);
  ck_assert_uint_eq(loaded(1, &first), 1); /* also after its last user has left */
  ck_assert_int_eq(loads, 2);
  ck_assert_int_eq(unloads, 0);
}
END_TEST

START_TEST(the_one_not_asked_for_for_longest_is_unloaded) {
  ep_cuda_compiled *used, *row;
  loaded(0, &used);
  for (int i = 1; i < EP_LIMIT_LOADED_KERNELS; i++) {
    loaded(i, &row);
    ep_cuda_compiled_release(row);
  }
  loaded(1, &row); /* is of use: 2 is the one */
  ep_cuda_compiled_release(row);
  ck_assert_int_eq(unloads, 0);
  loaded(EP_LIMIT_LOADED_KERNELS, &row);
  ep_cuda_compiled_release(row);
  ck_assert_int_eq(unloads, 1);
  ck_assert_uint_eq(last_unloaded, 3); /* the third load, that of 2 */
  ck_assert_uint_eq(loaded(0, &row), 1);
  ck_assert_uint_eq(loaded(2, &row), EP_LIMIT_LOADED_KERNELS + 2);
}
END_TEST

START_TEST(those_in_use_stay_however_many) {
  ep_cuda_compiled *rows[EP_LIMIT_LOADED_KERNELS + 2];
  const int count = EP_LIMIT_LOADED_KERNELS + 2;
  for (int i = 0; i < count; i++) loaded(i, &rows[i]);
  ck_assert_int_eq(unloads, 0);
  for (int i = 0; i < count; i++) ep_cuda_compiled_release(rows[i]);
  ck_assert_int_eq(unloads, 2);
}
END_TEST

typedef struct {
  int number;
  ep_status status;
  uintptr_t kernel;
} thread_load;

static void *thread_compile(void *argument) {
  thread_load *self = argument;
  ep_cuda_compiled *out;
  self->status = compile(self->number, &out);
  if (self->status == EP_OK) self->kernel = (uintptr_t)ep_cuda_compiled_kernel(out);
  return NULL;
}

static void both_compile(thread_load runs[2]) {
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, thread_compile, &runs[i]), 0);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

START_TEST(two_programs_do_not_wait_for_each_other) {
  thread_load runs[2] = {{.number = 1}, {.number = 2}};
  inside_wanted = 2; /* a load fails where the other one does not begin */
  both_compile(runs);
  ck_assert_int_eq(runs[0].status, EP_OK);
  ck_assert_int_eq(runs[1].status, EP_OK);
  ck_assert_uint_eq(runs[0].kernel + runs[1].kernel, 3);
}
END_TEST

START_TEST(one_program_is_loaded_once) {
  thread_load runs[2] = {{.number = 1}, {.number = 1}};
  both_compile(runs);
  ck_assert_uint_eq(runs[0].kernel, 1);
  ck_assert_uint_eq(runs[1].kernel, 1);
  ck_assert_int_eq(loads, 1);
}
END_TEST

START_TEST(who_waited_for_one_that_failed_tries_itself) {
  thread_load runs[2] = {{.number = 1}, {.number = 1}};
  load_fails = true;
  both_compile(runs);
  ck_assert_int_ne(runs[0].status == EP_OK, runs[1].status == EP_OK);
  ck_assert_uint_eq(runs[0].kernel + runs[1].kernel, 1);
  ep_cuda_compiled *out;
  ck_assert_uint_eq(loaded(1, &out), 1);
}
END_TEST

static bool compiled_ahead(int number) {
  char *program = malloc(64);
  ck_assert_ptr_nonnull(program);
  snprintf(program, 64, "#define NUMBER %d\n", number);
  return ep_cuda_compile_ahead(&backend, "tiny.cuh", program);
}

static void moment_wait(void) {
  const struct timespec moment = {.tv_nsec = 2000000};
  nanosleep(&moment, NULL);
}

/* In the end each is there, whoever waits and however often it is asked for; nothing is loaded. */
START_TEST(programs_are_compiled_ahead) {
  enum { PROGRAMS = 4 };
  ep_cuda_compiled *out;
  for (int i = 0; i < PROGRAMS; i++) ck_assert(!compiled_ahead(i));
  for (int i = 0; i < PROGRAMS; i++)
    while (!compiled_ahead(i)) moment_wait();
  ck_assert_int_eq(loads, 0);
  ck_assert_uint_eq(loaded(3, &out), 1);
  ep_cuda_compiled_release(out);
  teardown(); /* what is loaded need not be on disk */
  ck_assert(compiled_ahead(3));
}
END_TEST

/* A program that is none is left to who needs it, and those behind it are compiled. */
START_TEST(what_fails_ahead_holds_up_nobody) {
  char *none = strdup("#error none\n");
  ck_assert_ptr_nonnull(none);
  ck_assert(!ep_cuda_compile_ahead(&backend, "tiny.cuh", none));
  while (!compiled_ahead(1)) moment_wait();
  none = strdup("#error none\n"); /* who asks again compiles it, and is told */
  ck_assert_ptr_nonnull(none);
  ck_assert(ep_cuda_compile_ahead(&backend, "tiny.cuh", none));
  ck_assert(ep_cuda_compile_ahead(&backend, "tiny.cuh", NULL)); /* memory was short */
}
END_TEST

/* Nothing is compiled for ever anew where nothing can be kept. */
START_TEST(what_cannot_be_kept_is_compiled_ahead_once) {
  setenv("EPOCHD_CACHE_DIR", "/dev/null/none", 1);
  ck_assert(!compiled_ahead(1));
  while (!compiled_ahead(1)) moment_wait();
}
END_TEST

EP_SUITE("cuda/compiler") {
  if (!ep_cuda_compiler_exists()) {
    printf("skipped: NVRTC is not installed\n");
    exit(77);
  }
  TCase *cases = ep_suite_case(suite, "loaded kernels");
  tcase_add_checked_fixture(cases, setup, teardown);
  tcase_add_test(cases, what_is_loaded_is_taken_again);
  tcase_add_test(cases, the_one_not_asked_for_for_longest_is_unloaded);
  tcase_add_test(cases, those_in_use_stay_however_many);
  tcase_add_test(cases, two_programs_do_not_wait_for_each_other);
  tcase_add_test(cases, one_program_is_loaded_once);
  tcase_add_test(cases, who_waited_for_one_that_failed_tries_itself);
  tcase_add_test(cases, programs_are_compiled_ahead);
  tcase_add_test(cases, what_fails_ahead_holds_up_nobody);
  tcase_add_test(cases, what_cannot_be_kept_is_compiled_ahead_once);
}
