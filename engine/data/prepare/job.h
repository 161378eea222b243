/* job.h: a job, opened from what it stored: its spec, what describes its rows, their shape and the
 * plan, the same as at its submission. */
#ifndef EP_ENGINE_DATA_PREPARE_JOB_H
#define EP_ENGINE_DATA_PREPARE_JOB_H

#include "api/spec/spec.h"
#include "engine/data/datasets/dataset.h"
#include "engine/plan/plan.h"

typedef struct {
  const ep_job_spec *spec;
  ep_job_spec *loaded;  /* spec, where it was opened from its text; owned */
  ep_dataset_meta meta; /* of a dataset or a path; owned */
  bool described;       /* there is a meta */
  ep_data_shape shape;
  ep_plan *plan; /* owned */
} ep_job;

/* Where a job comes from; what is NULL is not given. */
typedef struct {
  const char *text;           /* the spec as it was stored, or: */
  const ep_job_spec *spec;    /* lent for as long as the job is open */
  const char *dataset_folder; /* of the job's content; without one a file at a path is read */
  const char *data_dir;       /* epochd's, which finds that folder and reads no path: EP_NOT_FOUND
                                 where the rows were not stored */
  const ep_data_shape *shape; /* of rows that are not read: no meta */
  bool shape_only;            /* no plan */
} ep_job_source;

/* The error has the field's pointer. ep_job_close, also on failure. */
ep_status ep_job_open(const ep_job_source *source, ep_job *out, ep_error *error);
/* The last steps of it, of a job that has its spec and meta: shape and plan. */
ep_status ep_job_plan(ep_job *job, ep_problem *problem);
void ep_job_close(ep_job *job); /* a zeroed one is allowed */
/* The same, but for the plan, which becomes the caller's. */
ep_plan *ep_job_take_plan(ep_job *job);

#endif
