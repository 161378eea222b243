#include "kernels/cuda/network/feed.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/random.h"

/* Load `n` of a segment goes through slot n % SLOTS, on the host and on the device. */
enum { SLOTS = 4, GATHERERS = 3, LOAD_STEPS_AT_MOST = 64, LOAD_BYTES = 4 << 20, ALIGNMENT = 256 };

/* Where the parts of a load stand in its slot: x, then y, then the rows' places in the training
 * set. */
typedef struct {
  int64_t y, indices, bytes;
} slot_layout;

struct ep_cuda_feed {
  ep_cuda_network *network; /* lent */
  const char *x, *y;        /* lent */
  int64_t load_steps;       /* steps of one load */
  slot_layout layout;
  char *host[SLOTS], *device[SLOTS];
  int64_t bytes;
  cudaStream_t copies;
  cudaEvent_t arrived[SLOTS], used[SLOTS];

  /* A segment's; the mutex guards what is below. */
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int64_t first_step, steps, loads;
  int64_t claimed, queued; /* loads that a gatherer took; whose copy is queued */
  int64_t filled[SLOTS];   /* 1 + the last load that lies ready in the slot */
  bool stopped;
  cudaError_t failed; /* what a gatherer met */
};

/* --- create, destroy ----------------------------------------------------------------------- */

static int64_t aligned(int64_t bytes) {
  return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static ep_status layout_make(ep_cuda_feed *feed, ep_error *error) {
  const ep_program *program = feed->network->program;
  int64_t row = ep_cuda_row_bytes(program), most = LOAD_BYTES, rows, x_bytes;
  int64_t y_row = program->target_columns * (int64_t)sizeof(float);
  int64_t all = row + y_row + (int64_t)sizeof(int32_t), batch;
  if (program->data_bytes_max > 0 && program->data_bytes_max / SLOTS < most)
    most = program->data_bytes_max / SLOTS;
  if (__builtin_mul_overflow(program->batch_size, all, &batch) ||
      __builtin_mul_overflow(batch, (int64_t)LOAD_STEPS_AT_MOST, &x_bytes))
    return ep_fail(error, EP_NO_MEMORY, "a batch does not fit in memory");
  feed->load_steps = most / batch;
  if (feed->load_steps > LOAD_STEPS_AT_MOST) feed->load_steps = LOAD_STEPS_AT_MOST;
  if (feed->load_steps < 1) feed->load_steps = 1;
  rows = feed->load_steps * program->batch_size;
  feed->layout.y = aligned(rows * row);
  feed->layout.indices = feed->layout.y + aligned(rows * y_row);
  feed->layout.bytes = feed->layout.indices + aligned(rows * (int64_t)sizeof(int32_t));
  return EP_OK;
}

static ep_status slots_make(ep_cuda_feed *feed, ep_error *error) {
  EP_CUDA_TRY(cudaStreamCreateWithFlags(&feed->copies, cudaStreamNonBlocking), "making a stream");
  for (int i = 0; i < SLOTS; i++) {
    ep_status status = ep_cuda_allocate(feed->network->backend, (void **)&feed->device[i], 1,
                                        feed->layout.bytes, &feed->bytes, error);
    if (status != EP_OK) return status;
    EP_CUDA_TRY(
        cudaHostAlloc((void **)&feed->host[i], (size_t)feed->layout.bytes, cudaHostAllocDefault),
        "taking pinned memory");
    EP_CUDA_TRY(cudaEventCreateWithFlags(&feed->arrived[i], cudaEventDisableTiming),
                "making an event");
    EP_CUDA_TRY(cudaEventCreateWithFlags(&feed->used[i], cudaEventDisableTiming),
                "making an event");
  }
  return EP_OK;
}

ep_status ep_cuda_feed_create(ep_cuda_network *network, const void *x, const void *y,
                              ep_cuda_feed **out, ep_error *error) {
  *out = NULL;
  ep_cuda_feed *feed = calloc(1, sizeof *feed);
  if (!feed) return ep_fail(error, EP_NO_MEMORY, "no memory to stream the data with");
  feed->network = network;
  feed->x = x;
  feed->y = y;
  pthread_mutex_init(&feed->mutex, NULL);
  pthread_cond_init(&feed->changed, NULL);
  ep_status status = layout_make(feed, error);
  if (status == EP_OK) status = slots_make(feed, error);
  if (status != EP_OK) {
    ep_cuda_feed_destroy(feed);
    return status;
  }
  *out = feed;
  return EP_OK;
}

void ep_cuda_feed_destroy(ep_cuda_feed *feed) {
  if (!feed) return;
  if (feed->copies) cudaStreamSynchronize(feed->copies);
  for (int i = 0; i < SLOTS; i++) {
    if (feed->used[i]) cudaEventDestroy(feed->used[i]);
    if (feed->arrived[i]) cudaEventDestroy(feed->arrived[i]);
    if (feed->host[i]) cudaFreeHost(feed->host[i]);
    ep_cuda_free(feed->device[i]);
  }
  if (feed->copies) cudaStreamDestroy(feed->copies);
  pthread_cond_destroy(&feed->changed);
  pthread_mutex_destroy(&feed->mutex);
  free(feed);
}

int64_t ep_cuda_feed_bytes(const ep_cuda_feed *feed) {
  return feed ? feed->bytes : 0;
}

/* --- gathering ----------------------------------------------------------------------------- */

/* Steps of load `load`, in *first and the return value. */
static int64_t load_steps(const ep_cuda_feed *feed, int64_t load, int64_t *first) {
  int64_t done = load * feed->load_steps, left = feed->steps - done;
  *first = feed->first_step + done;
  return left < feed->load_steps ? left : feed->load_steps;
}

/* Rows of a load before its step number `step`. Each epoch has its tail, so they are counted. */
static int64_t rows_before(const ep_program *program, int64_t first, int64_t step) {
  int64_t steps_per_epoch = ep_program_steps_per_epoch(program), rows = 0;
  for (int64_t i = first; i < step; i++)
    rows += ep_program_batch_rows(program, i % steps_per_epoch);
  return rows;
}

static void load_gather(const ep_cuda_feed *feed, int64_t load, char *slot) {
  const ep_program *program = feed->network->program;
  int64_t steps_per_epoch = ep_program_steps_per_epoch(program), first, place = 0;
  int64_t steps = load_steps(feed, load, &first), epoch = -1;
  size_t row_bytes = (size_t)ep_cuda_row_bytes(program);
  size_t y_bytes = (size_t)program->target_columns * sizeof(float);
  bool shuffled = program->shuffle && steps_per_epoch > 1;
  ep_permutation order;
  for (int64_t step = first; step < first + steps; step++) {
    int64_t batch = step % steps_per_epoch, rows = ep_program_batch_rows(program, batch);
    if (shuffled && step / steps_per_epoch != epoch) {
      epoch = step / steps_per_epoch;
      order = ep_permutation_make(program->seed, EP_RANDOM_SHUFFLE, (uint64_t)epoch,
                                  (uint64_t)program->train_rows);
    }
    for (int64_t row = 0; row < rows; row++, place++) {
      int64_t from = batch * program->batch_size + row;
      if (shuffled) from = ep_permutation_at(&order, (uint32_t)from);
      int32_t index = (int32_t)from; /* rows are fewer than 2^31 */
      memcpy(slot + (size_t)place * row_bytes, feed->x + (size_t)from * row_bytes, row_bytes);
      memcpy(slot + feed->layout.y + (size_t)place * y_bytes, feed->y + (size_t)from * y_bytes,
             y_bytes);
      memcpy(slot + feed->layout.indices + (size_t)place * sizeof index, &index, sizeof index);
    }
  }
}

/* The next load whose slot is free on the host, or -1 when there is none left. The mutex is held.
 */
static int64_t load_claim(ep_cuda_feed *feed) {
  if (feed->stopped || feed->claimed == feed->loads) return -1;
  int64_t load = feed->claimed++;
  while (!feed->stopped && feed->queued <= load - SLOTS)
    pthread_cond_wait(&feed->changed, &feed->mutex);
  return feed->stopped ? -1 : load;
}

static void *gatherer(void *argument) {
  ep_cuda_feed *feed = argument;
  cudaError_t code = cudaSetDevice(feed->network->backend->device);
  pthread_mutex_lock(&feed->mutex);
  for (int64_t load; code == cudaSuccess && (load = load_claim(feed)) >= 0;) {
    int slot = (int)(load % SLOTS);
    pthread_mutex_unlock(&feed->mutex);
    if (load >= SLOTS) code = cudaEventSynchronize(feed->arrived[slot]);
    if (code == cudaSuccess) load_gather(feed, load, feed->host[slot]);
    pthread_mutex_lock(&feed->mutex);
    feed->filled[slot] = load + 1;
    pthread_cond_broadcast(&feed->changed);
  }
  if (code != cudaSuccess) {
    feed->failed = code;
    feed->stopped = true;
    pthread_cond_broadcast(&feed->changed);
  }
  pthread_mutex_unlock(&feed->mutex);
  return NULL;
}

/* --- training ------------------------------------------------------------------------------ */

static ep_status load_wait(ep_cuda_feed *feed, int64_t load, ep_error *error) {
  pthread_mutex_lock(&feed->mutex);
  while (!feed->stopped && feed->filled[load % SLOTS] != load + 1)
    pthread_cond_wait(&feed->changed, &feed->mutex);
  cudaError_t failed = feed->failed;
  pthread_mutex_unlock(&feed->mutex);
  EP_CUDA_TRY(failed, "gathering rows");
  return EP_OK;
}

/* Queues the copy of a load, behind the last use of its slot on the device. */
static ep_status load_copy(ep_cuda_feed *feed, int64_t load, ep_error *error) {
  int slot = (int)(load % SLOTS);
  if (load >= SLOTS)
    EP_CUDA_TRY(cudaStreamWaitEvent(feed->copies, feed->used[slot], 0), "waiting for a slot");
  EP_CUDA_TRY(cudaMemcpyAsync(feed->device[slot], feed->host[slot], (size_t)feed->layout.bytes,
                              cudaMemcpyHostToDevice, feed->copies),
              "copying rows to the device");
  EP_CUDA_TRY(cudaEventRecord(feed->arrived[slot], feed->copies), "copying rows to the device");
  EP_CUDA_TRY(cudaStreamWaitEvent(feed->network->stream, feed->arrived[slot], 0),
              "waiting for rows");
  pthread_mutex_lock(&feed->mutex);
  feed->queued = load + 1;
  pthread_cond_broadcast(&feed->changed);
  pthread_mutex_unlock(&feed->mutex);
  return EP_OK;
}

static ep_status load_train(ep_cuda_feed *feed, const ep_cuda_graphs *graphs, int64_t load,
                            ep_error *error) {
  ep_cuda_network *network = feed->network;
  const ep_program *program = network->program;
  int slot = (int)(load % SLOTS);
  int64_t steps_per_epoch = ep_program_steps_per_epoch(program), first;
  int64_t steps = load_steps(feed, load, &first);
  for (int64_t step = first; step < first + steps; step++) {
    int64_t rows = ep_program_batch_rows(program, step % steps_per_epoch);
    int64_t before = rows_before(program, first, step);
    const char *device = feed->device[slot];
    const float *y = (const float *)(device + feed->layout.y) + before * program->target_columns;
    const int32_t *indices = (const int32_t *)(device + feed->layout.indices) + before;
    ep_status status = ep_cuda_network_take(network, device + before * ep_cuda_row_bytes(program),
                                            y, indices, rows, true, error);
    if (status != EP_OK) return status;
    const ep_cuda_graph *graph = rows < program->batch_size ? &graphs->tail : &graphs->one;
    EP_CUDA_TRY(cudaGraphLaunch(graph->exec, network->stream), "launching a graph");
  }
  EP_CUDA_TRY(cudaEventRecord(feed->used[slot], network->stream), "marking a slot as used");
  return EP_OK;
}

static void segment_begin(ep_cuda_feed *feed, int64_t first_step, int64_t steps) {
  feed->first_step = first_step;
  feed->steps = steps;
  feed->loads = (steps + feed->load_steps - 1) / feed->load_steps;
  feed->claimed = feed->queued = 0;
  memset(feed->filled, 0, sizeof feed->filled);
  feed->stopped = false;
  feed->failed = cudaSuccess;
}

ep_status ep_cuda_feed_run(ep_cuda_feed *feed, const ep_cuda_graphs *graphs, int64_t first_step,
                           int64_t steps, ep_error *error) {
  pthread_t threads[GATHERERS];
  int started = 0;
  ep_status status = EP_OK;
  EP_CUDA_TRY(cudaStreamSynchronize(feed->copies), "the copies of the segment before");
  EP_CUDA_TRY(cudaStreamSynchronize(feed->network->stream), "the segment before");
  segment_begin(feed, first_step, steps);
  while (started < GATHERERS && pthread_create(&threads[started], NULL, gatherer, feed) == 0)
    started++;
  if (started == 0) status = ep_fail(error, EP_NO_MEMORY, "no thread to stream the data with");
  for (int64_t load = 0; status == EP_OK && load < feed->loads; load++) {
    status = load_wait(feed, load, error);
    if (status == EP_OK) status = load_copy(feed, load, error);
    if (status == EP_OK) status = load_train(feed, graphs, load, error);
  }
  pthread_mutex_lock(&feed->mutex);
  feed->stopped = true;
  pthread_cond_broadcast(&feed->changed);
  pthread_mutex_unlock(&feed->mutex);
  for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
  return status;
}
