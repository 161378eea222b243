/* ahead.h: the rows of a step, taken beside the way back of the step before it, where one graph
 * records both: a second stream takes them as soon as the loss has moved the clock on. Where the
 * way back reads its own rows, steps have two inputs by turns. The numbers are those of rows that
 * are taken in their turn. */
#ifndef EP_KERNELS_CUDA_NETWORK_AHEAD_H
#define EP_KERNELS_CUDA_NETWORK_AHEAD_H

#include "kernels/cuda/network/network.h"

/* From now on rows, `columns` numbers of `bytes`, are taken ahead, where the network gathers them
 * by itself and a batch of them is small. by_turns: then takes network->spare too, [batch_size,
 * columns], the input of every other step. */
ep_status ep_cuda_ahead_enable(ep_cuda_network *network, int64_t columns, int64_t bytes,
                               bool by_turns, ep_error *error);

/* Before a graph of several steps is recorded: makes the second stream, once, where rows are taken
 * ahead. */
ep_status ep_cuda_ahead_prepare(ep_cuda_network *network, ep_error *error);
void ep_cuda_ahead_deinit(ep_cuda_ahead *ahead); /* a zeroed one is allowed */

/* Before a step of a graph is queued: its number in the graph, and the rows of the next one, 0 for
 * the last. 0 and 0: what is queued from here on is no such step. */
void ep_cuda_ahead_step(ep_cuda_network *network, int64_t step, int64_t next_rows);

/* Where a step's rows go: those of the step at hand, or, `next`, of the one after it. input: what
 * stands beside network->spare. */
static inline void *ep_cuda_ahead_input(const ep_cuda_network *network, void *input, bool next) {
  return network->spare && network->ahead.odd != next ? network->spare : input;
}

/* Queues the taking of the rows of the step at hand, or the waiting for them. */
ep_status ep_cuda_ahead_await(ep_cuda_network *network, const ep_cuda_batch *batch, int64_t rows,
                              ep_error *error);

/* Behind the loss: queues the taking of the next step's rows on the second stream. Does nothing
 * where they are not taken ahead. */
ep_status ep_cuda_ahead_queue(ep_cuda_network *network, const ep_cuda_batch *batch,
                              ep_error *error);

#endif
