/* request.h: what a worker asks Slurm for: a function of the job's plan, of what its spec names,
 * and of the partition. */
#ifndef EP_SERVER_SLURM_REQUEST_H
#define EP_SERVER_SLURM_REQUEST_H

#include "api/spec/job_spec.h"
#include "server/slurm/commands.h"

/* What the job takes, by its plan. */
typedef struct {
  int64_t bytes;  /* of memory, while it trains */
  int cores;      /* that it could use */
  int gpus;       /* at least; 0 = one, where all nodes have GPUs */
  int ranks;      /* of its "parallel", a core each; 0 = nobody knows */
  double seconds; /* all of it; INFINITY: nobody knows */
} ep_slurm_need;

/* The account and the QOS of epochd's settings; "" = Slurm's defaults. */
typedef struct {
  const char *account, *qos;
} ep_slurm_defaults;

/* Memory: the plan's and a quarter, and EP_LIMIT_SLURM_SLACK_BYTES for the process. Cores: as many
 * as it could use, and a node has. Nodes: the spec's; else one, or, of a job of several ranks where
 * no worker has GPUs, as many as have a core for each rank, if the partition has them. Time: the
 * spec's; else twice the estimate and ten minutes, no more than the partition's limit, as the job
 * goes on in the next allocation. EP_INVALID, with the pointer of the field at fault, where no node
 * of the partition can ever hold it or its limits do not allow it; the message has what the
 * partition allows. */
ep_status ep_slurm_request_make(const ep_slurm_need *need, const ep_slurm_spec *spec,
                                const ep_slurm_defaults *defaults,
                                const ep_slurm_partition *partition, ep_slurm_request *out,
                                ep_error *error);

/* Whether a worker that was started with `has` may take a job that needs this, on as many nodes.
 * One of which nothing is known, partition "", may. Half of the slack in its memory is for jobs
 * that need a little more. Time does not count: the job goes on in the next allocation. */
bool ep_slurm_request_holds(const ep_slurm_request *has, const ep_slurm_request *needed);

#endif
