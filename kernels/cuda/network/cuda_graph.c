#include "kernels/cuda/network/cuda_graph.h"

#include <string.h>

#include "kernels/cuda/network/ahead.h"

/* Launching costs the host a few microseconds and the device none when the graph is long; a long
 * graph costs time and memory to make. */
enum { NODES_AT_MOST = 512, STEPS_AT_MOST = 64 };

/* The rows of each epoch's last batch, when they are fewer than the others'; else 0. */
static int64_t tail_rows(const ep_program *program) {
  int64_t rows = ep_program_batch_rows(program, ep_program_steps_per_epoch(program) - 1);
  return rows < program->batch_size ? rows : 0;
}

/* Queues `steps` steps that begin with an epoch, or, without a tail, anywhere. */
static ep_status steps_queue(ep_cuda_network *network, const ep_cuda_step *queue, int64_t steps,
                             int64_t steps_per_epoch, ep_error *error) {
  ep_status status = EP_OK;
  for (int64_t step = 0; status == EP_OK && step < steps; step++) {
    int64_t rows = ep_program_batch_rows(network->program, step % steps_per_epoch);
    int64_t next = ep_program_batch_rows(network->program, (step + 1) % steps_per_epoch);
    ep_cuda_ahead_step(network, step, step + 1 < steps ? next : 0);
    status = queue->queue(queue->self, rows, error);
  }
  ep_cuda_ahead_step(network, 0, 0);
  return status;
}

/* Records graph->steps steps; `tail`: one step of an epoch's last batch instead. *nodes: its
 * length.
 */
static ep_status record(ep_cuda_network *network, const ep_cuda_step *step, bool tail,
                        ep_cuda_graph *graph, size_t *nodes, ep_error *error) {
  const ep_program *program = network->program;
  cudaGraph_t recorded = NULL;
  ep_status status = graph->steps > 1 ? ep_cuda_ahead_prepare(network, error) : EP_OK;
  if (status != EP_OK) return status;
  EP_CUDA_TRY(cudaStreamBeginCapture(network->stream, cudaStreamCaptureModeThreadLocal),
              "starting to record a graph");
  status =
      tail ? step->queue(step->self, tail_rows(program), error)
           : steps_queue(network, step, graph->steps, ep_program_steps_per_epoch(program), error);
  cudaError_t code = cudaStreamEndCapture(network->stream, &recorded);
  if (status == EP_OK && code != cudaSuccess)
    status = ep_cuda_fail(error, code, "recording a graph");
  if (status == EP_OK) {
    code = cudaGraphGetNodes(recorded, NULL, nodes);
    if (code == cudaSuccess) code = cudaGraphInstantiate(&graph->exec, recorded, 0);
    if (code != cudaSuccess) {
      graph->exec = NULL;
      status = ep_cuda_fail(error, code, "making a graph");
    }
  }
  if (recorded) cudaGraphDestroy(recorded);
  return status;
}

void ep_cuda_graphs_deinit(ep_cuda_graphs *graphs) {
  const cudaGraphExec_t execs[] = {graphs->epochs.exec, graphs->tail.exec, graphs->many.exec,
                                   graphs->one.exec};
  for (size_t i = 0; i < sizeof execs / sizeof *execs; i++)
    if (execs[i]) cudaGraphExecDestroy(execs[i]);
  memset(graphs, 0, sizeof *graphs);
}

ep_status ep_cuda_graphs_init(ep_cuda_network *network, const ep_cuda_step *step,
                              ep_cuda_graphs *graphs, ep_error *error) {
  int64_t steps_per_epoch = ep_program_steps_per_epoch(network->program);
  bool has_tail = tail_rows(network->program) > 0;
  size_t nodes = 0, ignored;
  *graphs = (ep_cuda_graphs){.one.steps = 1, .tail.steps = has_tail ? 1 : 0};
  ep_status status = record(network, step, false, &graphs->one, &nodes, error);
  if (status == EP_OK && has_tail)
    status = record(network, step, true, &graphs->tail, &ignored, error);
  if (status != EP_OK) ep_cuda_graphs_deinit(graphs);
  if (status != EP_OK || !network->resident) return status; /* each step waits for its rows */
  int64_t steps = nodes > 0 ? NODES_AT_MOST / (int64_t)nodes : STEPS_AT_MOST;
  if (steps > STEPS_AT_MOST) steps = STEPS_AT_MOST;
  int64_t full_steps = has_tail ? steps_per_epoch - 1 : steps; /* in a row */
  if (has_tail && steps >= steps_per_epoch) graphs->epochs.steps = steps - steps % steps_per_epoch;
  if (steps > full_steps) steps = full_steps;
  if (steps > 1) graphs->many.steps = steps;
  return EP_OK;
}

/* The longest graph that fits from batch `batch` of an epoch with `left` steps to go. */
static ep_cuda_graph *longest(ep_cuda_graphs *graphs, int64_t batch, int64_t steps_per_epoch,
                              int64_t left) {
  int64_t full = left;
  if (graphs->tail.exec) {
    full = steps_per_epoch - 1 - batch;
    if (full > left) full = left;
    if (graphs->epochs.steps > 0 && batch == 0 && left >= graphs->epochs.steps)
      return &graphs->epochs;
    if (full == 0) return &graphs->tail;
  }
  return graphs->many.steps > 0 && full >= graphs->many.steps ? &graphs->many : &graphs->one;
}

/* The steps of a graph that is not recorded yet, one by one, from batch `batch` of an epoch. */
static ep_status singly_run(const ep_cuda_graphs *graphs, ep_cuda_network *network, int64_t batch,
                            int64_t steps, int64_t steps_per_epoch, ep_error *error) {
  for (int64_t step = 0; step < steps; step++) {
    bool last = (batch + step) % steps_per_epoch == steps_per_epoch - 1;
    const ep_cuda_graph *graph = last && graphs->tail.exec ? &graphs->tail : &graphs->one;
    EP_CUDA_TRY(cudaGraphLaunch(graph->exec, network->stream), "launching a graph");
  }
  return EP_OK;
}

ep_status ep_cuda_graphs_run(ep_cuda_graphs *graphs, ep_cuda_network *network,
                             const ep_cuda_step *step, int64_t first_step, int64_t steps,
                             ep_error *error) {
  int64_t steps_per_epoch = ep_program_steps_per_epoch(network->program);
  for (int64_t done = 0; done < steps;) {
    int64_t batch = (first_step + done) % steps_per_epoch;
    ep_cuda_graph *graph = longest(graphs, batch, steps_per_epoch, steps - done);
    done += graph->steps;
    if (graph->exec) {
      EP_CUDA_TRY(cudaGraphLaunch(graph->exec, network->stream), "launching a graph");
      continue;
    }
    size_t ignored;
    ep_status status = singly_run(graphs, network, batch, graph->steps, steps_per_epoch, error);
    if (status == EP_OK) status = record(network, step, false, graph, &ignored, error);
    if (status != EP_OK) return status;
  }
  return EP_OK;
}
