/* job_plan.h: the plan of a job, made again from what it stored: the same as at its submission. */
#ifndef EP_ENGINE_DATA_PREPARE_JOB_PLAN_H
#define EP_ENGINE_DATA_PREPARE_JOB_PLAN_H

#include "api/spec/job_spec.h"
#include "engine/plan/plan.h"

/* dataset_folder: of the job's content; NULL where it has none: a file at a path is read then. The
 * error has the field's pointer. The caller destroys the plan. shape: NULL, or what the plan is
 * made from; plan: NULL if the shape is enough. */
ep_status ep_job_plan(const ep_job_spec *spec, const char *dataset_folder, ep_data_shape *shape,
                      ep_plan **plan, ep_error *error);

/* The same by the data folder, for epochd, which reads no path. EP_NOT_FOUND: the job's rows were
 * not stored. */
ep_status ep_job_plan_stored(const ep_job_spec *spec, const char *data_dir, ep_plan **plan,
                             ep_error *error);

#endif
