/* Trains a population by a plug-in, for tests/bench/population, which makes the rows and judges the
 * answer:
 *
 *     bench_population PLUGIN FOLDER COUNT IN WIDTH,WIDTH… LOSS ROWS BATCH EPOCHS PRECISION
 *
 * FOLDER has x.bin, [rows, in]; y.bin, [rows, out] or int32 [rows] of classes; first.bin, [count,
 * parameters] in the order of a program; lr.bin, [count]. ReLU is between the layers. Each line of
 * stdin is a training from the first weights on: its seconds are printed, and trained.bin is
 * written, [count, parameters]. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/unit/kernels/programs.h"

typedef struct {
  const ep_backend_ops *ops;
  ep_backend *backend;
  ep_case *test;
  const char *folder;
  void *x, *y;
  float *first, *lr, *trained; /* [count, parameters], [count], [count, parameters] */
  ep_member *members;          /* [count] */
  int64_t count;
} bench;

static void end_with(const char *why, const char *what) {
  fprintf(stderr, "bench_population: %s %s\n", why, what);
  exit(EXIT_FAILURE);
}

static void *memory_of(int64_t count) {
  void *memory = calloc((size_t)count + 1, sizeof(float));
  if (!memory) end_with("no memory", "");
  return memory;
}

static FILE *file_open(const bench *self, const char *name, const char *mode) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", self->folder, name);
  FILE *file = fopen(path, mode);
  if (!file) end_with("cannot open", path);
  return file;
}

static void *numbers_read(const bench *self, const char *name, int64_t count) {
  void *numbers = memory_of(count);
  FILE *file = file_open(self, name, "rb");
  if (fread(numbers, sizeof(float), (size_t)count, file) != (size_t)count)
    end_with("too few numbers in", name);
  fclose(file);
  return numbers;
}

static void trained_write(const bench *self) {
  const size_t count = (size_t)(self->count * self->test->program.parameters);
  FILE *file = file_open(self, "trained.bin", "wb");
  if (fwrite(self->trained, sizeof(float), count, file) != count || fclose(file) != 0)
    end_with("cannot write", "trained.bin");
}

static void plugin_open(bench *self, const char *path) {
  ep_error error = {.message = ""};
  void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!plugin) end_with("cannot open", dlerror());
  const ep_backend_ops *(*get)(void) = NULL;
  void *symbol = dlsym(plugin, EP_BACKEND_PLUGIN_SYMBOL);
  memcpy(&get, &symbol, sizeof get);
  if (!get || get()->version != EP_BACKEND_VERSION) end_with("another version:", path);
  self->ops = get();
  if (self->ops->open(0, &self->backend, &error) != EP_OK) end_with("no device:", error.message);
}

/* argv: from IN on. */
static void program_make(bench *self, char **argv) {
  ep_loss_type loss = EP_LOSS_MSE;
  for (int i = 0; i < EP_LOSS_COUNT; i++)
    if (strcmp(argv[2], ep_loss_type_name((ep_loss_type)i)) == 0) loss = (ep_loss_type)i;
  ep_case *test = ep_case_create("population", atoll(argv[0]), loss);
  char *next = argv[1];
  while (*next) {
    if (next != argv[1]) ep_case_add(test, EP_LAYER_RELU);
    ep_case_add_linear(test, strtoll(next, &next, 10), true);
    if (*next == ',') next++;
  }
  ep_case_finish(test, &(ep_case_training){.rows = atoll(argv[3]), .batch_size = atoll(argv[4])});
  test->steps = atoll(argv[5]) * ep_program_steps_per_epoch(&test->program);
  for (int i = 0; i < EP_PRECISION_COUNT; i++)
    if (strcmp(argv[6], ep_precision_name((ep_precision)i)) == 0)
      test->program.precision = (ep_precision)i;
  self->test = test;
}

static void members_make(bench *self) {
  const ep_program *program = &self->test->program;
  self->x = numbers_read(self, "x.bin", program->train_rows * program->in_features);
  self->y = numbers_read(self, "y.bin", program->train_rows * program->target_columns);
  self->first = numbers_read(self, "first.bin", self->count * program->parameters);
  self->lr = numbers_read(self, "lr.bin", self->count);
  self->trained = memory_of(self->count * program->parameters);
  self->members = calloc((size_t)self->count, sizeof *self->members);
  if (!self->members) end_with("no memory", "");
  for (int64_t i = 0; i < self->count; i++)
    self->members[i] = (ep_member){.program = program,
                                   .steps = self->test->steps,
                                   .lr = &self->lr[i],
                                   .lr_count = 1,
                                   .state = self->trained + i * program->parameters};
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* All members, in as many calls as the backend wants. */
static double train(bench *self) {
  const ep_program *program = &self->test->program;
  const int64_t size = self->ops->population_size(self->backend, program);
  ep_error error = {.message = ""};
  if (size == 0) end_with("such programs are trained one by one", "");
  memcpy(self->trained, self->first,
         (size_t)(self->count * program->parameters) * sizeof *self->first);
  const double begin = seconds_now();
  for (int64_t i = 0; i < self->count; i += size) {
    ep_population population = {.train = {self->x, self->y, program->train_rows},
                                .members = self->members + i,
                                .count = self->count - i < size ? self->count - i : size};
    if (self->ops->train_population(self->backend, &population, &error) != EP_OK)
      end_with("not trained:", error.message);
  }
  return seconds_now() - begin;
}

int main(int argc, char **argv) {
  if (argc != 11)
    end_with("usage: PLUGIN FOLDER COUNT IN WIDTHS LOSS ROWS BATCH EPOCHS PRECISION", "");
  bench self = {.folder = argv[2], .count = atoll(argv[3])};
  char line[16];
  plugin_open(&self, argv[1]);
  program_make(&self, argv + 4);
  members_make(&self);
  while (fgets(line, sizeof line, stdin)) {
    const double seconds = train(&self);
    trained_write(&self);
    printf("%.6f\n", seconds);
    fflush(stdout);
  }
  self.ops->close(self.backend);
  ep_case_destroy(self.test);
  free(self.members);
  free(self.trained);
  free(self.lr);
  free(self.first);
  free(self.y);
  free(self.x);
  return EXIT_SUCCESS;
}
