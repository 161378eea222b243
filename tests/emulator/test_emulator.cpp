/* The emulator's own test: kernels of which it is known what they give, or how they fail. */
#include "emulator.h"
#include "test_kernels.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

static int failures;

static void check(bool right, const char *name, const std::string &text = "") {
  printf("%s %s%s%s\n", right ? "ok  " : "FAIL", name, text.empty() ? "" : ": ", text.c_str());
  failures += !right;
}

/* Runs a kernel, which must succeed. */
static bool runs(const char *name, const emulator_launch &launch,
                 const std::function<void()> &kernel) {
  std::string failure;
  bool done = emulator_run(launch, kernel, &failure);
  if (!done) check(false, name, failure);
  return done;
}

/* Runs a kernel, which must fail with a message that has `word`. */
static void fails(const char *name, const char *word, const emulator_launch &launch,
                  const std::function<void()> &kernel) {
  std::string failure;
  bool done = emulator_run(launch, kernel, &failure);
  check(!done && strstr(failure.c_str(), word), name, done ? "nothing was reported" : failure);
}

static float number(unsigned i) {
  return (float)(int)(i * 2654435761u >> 8) * 0x1p-23f - 1; /* -1 … 1 */
}

/* --- kernels that work ----------------------------------------------------------------------- */

static void test_errors(const char *name, const emulator_launch &launch, void (*kernel)(int *)) {
  int errors = 0;
  if (runs(name, launch, [&] { kernel(&errors); })) check(errors == 0, name);
}

static void test_block_sum() {
  constexpr int blocks = 5, threads = 256;
  std::vector<float> x(blocks * threads), sums(blocks, -2);
  for (int i = 0; i < blocks * threads; i++) x[i] = (float)(i % 37 + i / threads);
  for (unsigned seed = 0; seed < 4; seed++)
    if (!runs("sums of blocks", {blocks, threads, 0, (threads + 1) * sizeof(float), seed, 0},
              [&] { kernel_block_sum(x.data(), sums.data()); }))
      return;
  bool right = true;
  for (int b = 0; b < blocks; b++) {
    float sum = 0;
    for (int i = 0; i < threads; i++) sum += x[b * threads + i];
    right &= sums[b] == sum;
  }
  check(right, "sums of blocks");
}

typedef void product_kernel(const float *, const float *, float *);

/* kept: bits of the operands; most: the largest error. */
static void test_product(const char *name, product_kernel *kernel, unsigned kept, double most) {
  float a[16 * 8], b[8 * 8], c[16 * 8];
  auto operand = [&](unsigned i) {
    float value = number(i);
    unsigned bits;
    memcpy(&bits, &value, sizeof bits);
    bits &= kept;
    memcpy(&value, &bits, sizeof bits);
    return value;
  };
  for (unsigned i = 0; i < 128; i++) a[i] = operand(i);
  for (unsigned i = 0; i < 64; i++) b[i] = operand(1000 + i);
  if (!runs(name, {1, 32, 0, 0, 1, 0}, [&] { kernel(a, b, c); })) return;
  double worst = 0;
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 8; j++) {
      double exact = 0;
      for (int k = 0; k < 8; k++) exact += (double)a[i * 8 + k] * b[k * 8 + j];
      double error = fabs(exact - c[i * 8 + j]);
      worst = error <= worst ? worst : error;
    }
  char text[64];
  snprintf(text, sizeof text, "largest error %.2g", worst);
  check(worst <= most, name, text);
}

static void test_bf16() {
  unsigned short a[16 * 16], b[16 * 8];
  float c[16 * 8], value;
  auto cut = [](float of) {
    unsigned bits;
    memcpy(&bits, &of, sizeof bits);
    return (unsigned short)(bits >> 16);
  };
  auto whole = [&](unsigned short of) {
    unsigned bits = (unsigned)of << 16;
    memcpy(&value, &bits, sizeof bits);
    return (double)value;
  };
  for (unsigned i = 0; i < 256; i++) a[i] = cut(number(i));
  for (unsigned i = 0; i < 128; i++) b[i] = cut(number(500 + i));
  if (!runs("mma_bf16", {1, 32, 0, 0, 1, 0}, [&] { kernel_mma_bf16(a, b, c); })) return;
  bool right = true;
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 8; j++) {
      double exact = 0;
      for (int k = 0; k < 16; k++) exact += whole(a[i * 16 + k]) * whole(b[k * 8 + j]);
      right &= fabs(exact - c[i * 8 + j]) < 1e-5;
    }
  check(right, "mma_bf16");
}

static void test_copies() {
  alignas(16) float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  float seen[4][8];
  if (!runs("copies", {1, 1, 0, 8 * sizeof(float), 0, 0}, [&] { kernel_copies(x, *seen); })) return;
  const float stale = NAN, want[4][8] = {{stale, stale, stale, stale, stale, stale, stale, stale},
                                         {1, 2, 3, 4, stale, stale, stale, stale},
                                         {1, 2, 3, 4, 5, 0, stale, stale},
                                         {1, 2, 3, 4, 5, 0, 7, stale}};
  bool right = true;
  for (int row = 0; row < 4; row++)
    for (int i = 0; i < 8; i++)
      right &= std::isnan(want[row][i]) ? std::isnan(seen[row][i]) : want[row][i] == seen[row][i];
  check(right, "copies wait for their wait");
}

constexpr int GATHER_BLOCKS = 8, GATHER_WIDTH = 16, GATHER_STEPS = 9;

static bool gather(int buffers, unsigned seed, std::vector<float> *out, std::string *failure) {
  std::vector<float> words(2 * GATHER_BLOCKS * GATHER_WIDTH);
  out->assign(GATHER_BLOCKS * GATHER_WIDTH, NAN);
  return emulator_run(
      {GATHER_BLOCKS, 64, 0, 0, seed, 0},
      [&] { kernel_all_gather(words.data(), buffers, GATHER_WIDTH, GATHER_STEPS, out->data()); },
      failure);
}

static void test_gather() {
  std::vector<float> first, out;
  std::string failure;
  bool right = gather(2, 0, &first, &failure);
  for (unsigned seed = 1; seed < 8 && right; seed++) {
    right = gather(2, seed, &out, &failure);
    right = right && !memcmp(first.data(), out.data(), out.size() * sizeof(float));
  }
  float x[GATHER_BLOCKS], y[GATHER_BLOCKS];
  for (int b = 0; b < GATHER_BLOCKS; b++) x[b] = (float)b + 1, y[b] = (float)b + 2;
  for (int step = 0; step < GATHER_STEPS; step++) {
    float of_x = 0, of_y = 0;
    for (int b = 0; b < GATHER_BLOCKS; b++) of_x += x[b], of_y += y[b];
    for (int b = 0; b < GATHER_BLOCKS; b++) {
      x[b] = of_x / GATHER_BLOCKS + (float)b;
      y[b] = of_y / GATHER_BLOCKS - (float)b;
    }
  }
  for (int b = 0; b < GATHER_BLOCKS && right; b++)
    right = fabsf(first[b * GATHER_WIDTH] - x[b]) < 1e-3f &&
            fabsf(first[b * GATHER_WIDTH + 1] - y[b]) < 1e-3f;
  check(right, "all-gather of tagged words, eight seeds", failure);

  int found = 0;
  for (unsigned seed = 0; seed < 8; seed++) found += !gather(1, seed, &out, &failure);
  check(found > 0, "canary: one buffer instead of two", failure);
}

static void test_cluster() {
  constexpr int cluster = 4, blocks = 12;
  float out[blocks], want = 0;
  for (int rank = 0; rank < cluster; rank++) want += (float)rank + 2 + 10;
  bool right = runs("clusters", {blocks, 32, cluster, 2 * cluster * sizeof(float), 3, 0},
                    [&] { kernel_cluster(out, cluster); });
  for (int b = 0; b < blocks && right; b++) right = out[b] == want;
  check(right, "clusters");
}

static void test_grid() {
  unsigned counter = 0;
  float sums[16], out = 0;
  if (runs("grid barrier", {16, 64, 0, 0, 5, 0}, [&] { kernel_grid(&counter, sums, &out); }))
    check(out == 120, "grid barrier");
}

static void test_speed(const char *name, int blocks, int threads, int steps) {
  std::vector<float> out(blocks);
  auto before = std::chrono::steady_clock::now();
  if (!runs(name, {blocks, threads, 0, 256, 1, 0}, [&] { kernel_work(steps, out.data()); })) return;
  double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  char text[64];
  snprintf(text, sizeof text, "%.3f s", s);
  bool right = true;
  for (float sum : out) right &= sum == out[0];
  check(right, name, text);
}

/* A starved block comes last, whichever it is. */
static void test_starved() {
  constexpr int blocks = 6;
  bool right = true;
  for (int starved = 0; starved < blocks; starved++) {
    int ended = 0, place[blocks] = {};
    emulator_launch launch = {blocks, 64, 0, 0, (unsigned)starved, 0};
    launch.starved = starved;
    right &= runs("a starved block", launch, [&] { kernel_ends(&ended, place); }) &&
             place[starved] == blocks - 1;
  }
  check(right, "a starved block is the last");
}

/* --- kernels that do not --------------------------------------------------------------------- */

static void test_canaries() {
  alignas(16) float x[8] = {};
  const emulator_launch two = {2, 64, 0, 64 * sizeof(float), 1, 0};
  fails("canary: deadlock", "deadlock", two, [&] { kernel_waits_for_nobody(x); });
  fails("canary: diverged collectives", "diverge", two, [] { kernel_diverges(); });
  fails("canary: a barrier without a warp", "__syncthreads", two, [] { kernel_misses_barrier(); });
  fails("canary: lanes that exited", "diverge", two, [] { kernel_exits_early(); });
  fails("canary: write behind shared memory", "outside of shared memory of block 1", two,
        [] { kernel_writes_outside(64); });
  fails("canary: write before shared memory", "before", two, [] { kernel_writes_outside(-2); });
  fails("canary: write far outside", "far outside", two, [] { kernel_writes_outside(800); });
  fails("canary: alignment", "aligned", two, [&] { kernel_reads_unaligned(x); });
  fails("canary: invalid address", "block 1, thread 5", two, [] { kernel_dereferences(nullptr); });
  fails("canary: stack overflow", "stack overflow", two, [] { kernel_overflows_stack(); });
  fails("canary: __trap", "thread 9", two, [] { kernel_traps(); });
  fails("canary: a copy outside", "cp_async outside", two, [&] { kernel_copies_outside(x); });
  fails("canary: an endless loop", "timeout", {1, 1, 0, 0, 0, 1}, [] { kernel_spins(); });
  fails("canary: invalid launch", "cluster", {3, 32, 2, 0, 0, 0}, [] {});
  int found = 0;
  for (unsigned seed = 0; seed < 8; seed++)
    runs("a missing __syncwarp", {1, 32, 0, 128, seed, 0}, [&] { kernel_lacks_syncwarp(&found); });
  check(found, "canary: a missing __syncwarp shows");
}

int main() {
  const emulator_launch warps = {3, 96, 0, 0, 1, 0};
  test_errors("shuffles", warps, kernel_shuffles);
  test_errors("votes", warps, kernel_votes);
  test_errors("numbers", warps, kernel_numbers);
  test_block_sum();
  test_product("mma_tf32", kernel_mma_tf32, 0xffffe000u, 1e-6);
  test_product("3xTF32", kernel_multiply, 0xffffffffu, 1.5e-6);
  test_bf16();
  test_errors("ldmatrix", {1, 32, 0, 512, 1, 0}, kernel_ldmatrix);
  test_copies();
  test_gather();
  test_cluster();
  test_grid();
  test_starved();
  test_canaries();
  test_speed("16 x 256, 50 steps", 16, 256, 50);
  test_speed("132 x 512, 1 step", 132, 512, 1);
  printf("%d failures\n", failures);
  return failures != 0;
}
