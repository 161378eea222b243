/* The gradient by a convolution's weights, of float32 images: a product [outputs, pixels] x
 * [pixels, taps and channels] on tensor cores, whose second matrix is gathered tile by tile into
 * shared memory. Blocks share out the pixels, too; what they have summed is added up by
 * slices_add. */
#include "kernels/cuda/device/cp_async.cuh"
#include "kernels/cuda/device/mma.cuh"
#include "kernels/cuda/executors/images/kernels.h"
#include "kernels/cuda/layers/launch.cuh"

/* Pixels of a tile, and tiles that are there or under way. */
enum { DEPTH = 32, STAGES = 3, PIECE = 4, GAP = 8 };

/* What a block has: ROWS outputs by COLUMNS, which its warps share out. */
template <int ROWS_, int COLUMNS_, int WARP_ROWS_, int WARP_COLUMNS_, int BLOCKS_> struct tiling {
  static constexpr int ROWS = ROWS_, COLUMNS = COLUMNS_;
  static constexpr int WARP_ROWS = WARP_ROWS_, WARP_COLUMNS = WARP_COLUMNS_;
  static constexpr int BLOCKS = BLOCKS_; /* of a multiprocessor */
  static constexpr int ACROSS = COLUMNS / WARP_COLUMNS, THREADS = ROWS / WARP_ROWS * ACROSS * WARP;
  /* A gap, so that lanes that read different pixels meet no bank twice. */
  static constexpr int ROW_PITCH = ROWS + GAP, COLUMN_PITCH = COLUMNS + GAP;
  static constexpr int STAGE = DEPTH * (ROW_PITCH + COLUMN_PITCH);
  static constexpr size_t BYTES = STAGES * STAGE * sizeof(float);
};
typedef tiling<128, 128, 64, 32, 1> widest_alone; /* hi and lo take more registers */
typedef tiling<128, 128, 64, 32, 2> widest;
typedef tiling<64, 64, 32, 32, 3> wide;
typedef tiling<32, 64, 16, 32, 4> middle;
typedef tiling<16, 64, 16, 16, 4> narrow;

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

/* Where the window of an output's pixel begins: the number of that pixel of x, which may not be
 * there, its line and its place in it. */
typedef struct {
  int first, down, right, unused;
} place;

/* Of pixel `at` of all outputs; beyond them one whose window is outside. */
static __device__ place place_of(const ep_images_weight_sums &of, uint32_t at, uint32_t pixels) {
  const uint32_t width = (uint32_t)of.out.width, height = (uint32_t)of.out.height;
  const uint32_t line = at / width, row = line / height;
  place p;
  p.down = (int)(line - row * height) * of.stride[0] - of.padding[0];
  p.right = (int)(at - line * width) * of.stride[1] - of.padding[1];
  p.first = ((int)row * (int)of.in.height + p.down) * (int)of.in.width + p.right;
  p.unused = 0;
  if (at >= pixels) p.down = INT32_MIN / 2;
  return p;
}

/* What a thread copies of each pixel: four neighbours of a column. */
typedef struct {
  int down, right, channel, pixel; /* pixel: from that of the window's beginning */
  bool is;
} column;

static __device__ column column_of(const ep_images_weight_sums &of, int at, int columns) {
  const int pitch = (int)of.in.channels, tap = at / pitch;
  column c;
  c.down = tap / of.kernel[1] * of.dilation[0];
  c.right = tap % of.kernel[1] * of.dilation[1];
  c.channel = at - tap * pitch;
  c.pixel = c.down * (int)of.in.width + c.right;
  c.is = at < columns;
  return c;
}

/* Starts the copies of one tile. */
template <typename T>
static __device__ __forceinline__ void tile_load(const ep_images_weight_sums &of,
                                                 const place *places, uint32_t first,
                                                 uint32_t pixels, const column &own, float *held) {
  constexpr int ROW_PIECES = T::ROWS / PIECE, COLUMN_PIECES = T::COLUMNS / PIECE;
  const int row = blockIdx.y * T::ROWS + threadIdx.x % ROW_PIECES * PIECE;
#pragma unroll
  for (int i = 0; i < DEPTH * ROW_PIECES / T::THREADS; i++) {
    const int q = threadIdx.x / ROW_PIECES + i * (T::THREADS / ROW_PIECES);
    const bool is = first + q < pixels && row < of.out.channels;
    const float *from = of.grad + (is ? (int64_t)(first + q) * of.out.channels + row : 0);
    cp_async_16(held + q * T::ROW_PITCH + threadIdx.x % ROW_PIECES * PIECE, from, is);
  }
  held += DEPTH * T::ROW_PITCH;
#pragma unroll
  for (int i = 0; i < DEPTH * COLUMN_PIECES / T::THREADS; i++) {
    const int q = threadIdx.x / COLUMN_PIECES + i * (T::THREADS / COLUMN_PIECES);
    const place p = places[q];
    const bool is = own.is && (unsigned)(p.down + own.down) < (unsigned)of.in.height &&
                    (unsigned)(p.right + own.right) < (unsigned)of.in.width;
    const int64_t at = is ? (int64_t)(p.first + own.pixel) * of.in.channels + own.channel : 0;
    cp_async_16(held + q * T::COLUMN_PITCH + threadIdx.x % COLUMN_PIECES * PIECE, of.x + at, is);
  }
}

template <typename T> struct tile_sums {
  static constexpr int DOWN = T::WARP_ROWS / 16, ACROSS = T::WARP_COLUMNS / 8;
  float of[DOWN][ACROSS][4];
};

/* A warp's products of one tile. */
template <typename T, bool PRECISE>
static __device__ __forceinline__ void tile_multiply(const float *held, int row, int at,
                                                     tile_sums<T> &sums) {
  const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
  const float *rows = held + t * T::ROW_PITCH + row + g;
  const float *columns = held + DEPTH * T::ROW_PITCH + t * T::COLUMN_PITCH + at + g;
#pragma unroll
  for (int k = 0; k < DEPTH; k += 8) {
    hi_lo a[sums.DOWN][4], b[sums.ACROSS][2];
#pragma unroll
    for (int m = 0; m < sums.DOWN; m++)
#pragma unroll
      for (int i = 0; i < 4; i++)
        a[m][i] = hi_lo_of<PRECISE>(rows[(k + i / 2 * 4) * T::ROW_PITCH + 16 * m + i % 2 * 8]);
#pragma unroll
    for (int n = 0; n < sums.ACROSS; n++)
#pragma unroll
      for (int i = 0; i < 2; i++)
        b[n][i] = hi_lo_of<PRECISE>(columns[(k + 4 * i) * T::COLUMN_PITCH + 8 * n]);
#pragma unroll
    for (int m = 0; m < sums.DOWN; m++)
#pragma unroll
      for (int n = 0; n < sums.ACROSS; n++)
        multiply<PRECISE>(sums.of[m][n], a[m], b[n][0], b[n][1]);
  }
}

#endif

/* blockIdx.x: a tile of columns; y: of outputs; z: a slice of the pixels. */
template <typename T, bool PRECISE>
static __global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    sums_run(const __grid_constant__ ep_images_weight_sums of) {
  kernels_overlap();
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ float4 memory[];
  __shared__ place places[2][DEPTH];
  float *held = (float *)memory;
  const int columns = (int)of.in.channels * of.kernel[0] * of.kernel[1];
  const uint32_t pixels = (uint32_t)(of.rows * of.out.height * of.out.width);
  const int64_t tiles = (pixels + DEPTH - 1) / DEPTH;
  const int first = (int)(tiles * blockIdx.z / gridDim.z);
  const int last = (int)(tiles * (blockIdx.z + 1) / gridDim.z);
  const int mine = blockIdx.x * T::COLUMNS + threadIdx.x % (T::COLUMNS / PIECE) * PIECE;
  const column own = column_of(of, mine, columns);
  const int warp = threadIdx.x / WARP;
  const int row = warp / T::ACROSS * T::WARP_ROWS, at = warp % T::ACROSS * T::WARP_COLUMNS;
  tile_sums<T> sums = {};
  for (int i = 0; i < STAGES; i++) { /* the last one's places alone */
    if (threadIdx.x < DEPTH)
      places[i % 2][threadIdx.x] = place_of(of, (first + i) * DEPTH + threadIdx.x, pixels);
    if (i == STAGES - 1) break;
    __syncthreads();
    if (first + i < last)
      tile_load<T>(of, places[i % 2], (first + i) * DEPTH, pixels, own, held + i * T::STAGE);
    cp_async_commit();
  }
  for (int i = 0; i < last - first; i++) {
    const int next = i + STAGES - 1;
    cp_async_wait_group<STAGES - 2>();
    __syncthreads();
    if (first + next < last)
      tile_load<T>(of, places[next % 2], (first + next) * DEPTH, pixels, own,
                   held + next % STAGES * T::STAGE);
    cp_async_commit();
    if (threadIdx.x < DEPTH)
      places[(next + 1) % 2][threadIdx.x] =
          place_of(of, (first + next + 1) * DEPTH + threadIdx.x, pixels);
    tile_multiply<T, PRECISE>(held + i % STAGES * T::STAGE, row, at, sums);
  }
  cp_async_wait_all();
  const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
  float *to = of.sums + blockIdx.z * of.outputs * columns;
#pragma unroll
  for (int m = 0; m < sums.DOWN; m++)
#pragma unroll
    for (int n = 0; n < sums.ACROSS; n++)
#pragma unroll
      for (int i = 0; i < 2; i++) {
        const int64_t out = blockIdx.y * T::ROWS + row + 16 * m + g + 8 * i;
        const int to_column = blockIdx.x * T::COLUMNS + at + 8 * n + 2 * t;
        if (out < of.outputs && to_column < columns)
          *(float2 *)(to + out * columns + to_column) =
              make_float2(sums.of[m][n][2 * i], sums.of[m][n][2 * i + 1]);
      }
#endif
}

/* Calls `run` with the tiling for so many outputs and columns. */
template <typename Run> static void with_tiling(const ep_images_weight_sums *of, Run run) {
  const int64_t columns = of->in.channels * of->kernel[0] * of->kernel[1];
  const bool large = of->outputs > 64 && columns > 64 && (int64_t)widest::BYTES <= of->shared_bytes;
  if (large && of->precise)
    run(widest_alone());
  else if (large)
    run(widest());
  else if (of->outputs > 32)
    run(wide());
  else if (of->outputs > 16)
    run(middle());
  else
    run(narrow());
}

template <typename T> static dim3 tiles_of(const ep_images_weight_sums *of) {
  const int64_t columns = of->in.channels * of->kernel[0] * of->kernel[1];
  return dim3((unsigned int)((columns + T::COLUMNS - 1) / T::COLUMNS),
              (unsigned int)((of->outputs + T::ROWS - 1) / T::ROWS));
}

/* As many as keep most of the device busy till the end; each costs a writing of the sums, and has
 * some tiles of pixels. Of few tiles, one round of blocks. */
int ep_images_weight_slices(const ep_images_weight_sums *of, int multiprocessors) {
  const int least = 4;
  const double written = 0.06; /* of the time, for each slice */
  int64_t tiles = 1, room = 1;
  with_tiling(of, [&](auto tiling) {
    typedef decltype(tiling) T;
    const dim3 grid = tiles_of<T>(of);
    tiles = (int64_t)grid.x * grid.y;
    room = (int64_t)multiprocessors * T::BLOCKS;
  });
  const int64_t most = room / tiles > 160 ? room / tiles : 160;
  int64_t deep = of->rows * of->out.height * of->out.width / (DEPTH * least);
  if (deep > most) deep = most;
  if (tiles * deep <= room) return deep < 1 ? 1 : (int)deep;
  int best = 1;
  double best_share = 0;
  for (int slices = 1; slices <= deep; slices++) {
    const int64_t blocks = tiles * slices, rounds = (blocks + room - 1) / room;
    const double share =
        (double)blocks / (double)(rounds * room) /
        (tiles < room ? 1 + written * slices * tiles / room : 1 + written * slices);
    if (share > best_share) best = slices;
    if (share > best_share) best_share = share;
  }
  return best;
}

template <typename T, bool PRECISE>
static cudaError_t launch(cudaStream_t stream, const ep_images_weight_sums *of) {
  dim3 grid = tiles_of<T>(of);
  grid.z = (unsigned int)of->slices;
  cudaError_t code = cudaFuncSetAttribute(
      sums_run<T, PRECISE>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)T::BYTES);
  if (code != cudaSuccess) return code;
  ep_cuda_queue(stream, grid, T::THREADS, T::BYTES, sums_run<T, PRECISE>, *of);
  return cudaGetLastError();
}

cudaError_t ep_images_weight_sums_run(cudaStream_t stream, const ep_images_weight_sums *of) {
  cudaError_t code = cudaSuccess;
  with_tiling(of, [&](auto tiling) {
    typedef decltype(tiling) T;
    code = of->precise ? launch<T, true>(stream, of) : launch<T, false>(stream, of);
  });
  return code;
}
