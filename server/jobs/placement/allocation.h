/* allocation.h: what the worker of a job on a device slurm:PARTITION asks Slurm for. */
#ifndef EP_SERVER_JOBS_PLACEMENT_ALLOCATION_H
#define EP_SERVER_JOBS_PLACEMENT_ALLOCATION_H

#include "api/json/problem.h"
#include "api/responses/validation.h"
#include "engine/plan/plan.h"
#include "server/slurm/partitions.h"
#include "server/slurm/request.h"
#include "server/store/store.h"
#include "server/workers/calibrations.h"

typedef struct {
  ep_slurm_partitions *partitions; /* lent; NULL = none */
  ep_slurm_defaults defaults;
} ep_allocator;

/* Of a spec that was just planned; *out is written where its device is a partition, and else
 * partition "". Faults stand at the fields that the partition does not allow. */
ep_status ep_allocation_check(const ep_allocator *allocator, ep_calibrations *calibrations,
                              const ep_job_spec *spec, const ep_plan *plan, ep_slurm_request *out,
                              ep_problem *problem);

/* Of a job that waits, for one of the partitions; slurm: of its spec, NULL = none; ranks: 0 for a
 * job of one. EP_INVALID: the partition does not allow it any more. */
ep_status ep_allocation_make(const ep_allocator *allocator, const ep_job_row *row,
                             const ep_slurm_spec *slurm, int ranks, const char *device,
                             ep_slurm_request *out, ep_error *error);

/* For ?validate=only. */
ep_allocation_view ep_allocation_view_make(const ep_slurm_request *request);

#endif
