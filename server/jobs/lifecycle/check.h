/* check.h: a submitted spec, of a job or a sweep, read and checked against its data and the
 * devices. */
#ifndef EP_SERVER_JOBS_LIFECYCLE_CHECK_H
#define EP_SERVER_JOBS_LIFECYCLE_CHECK_H

#include "engine/data/prepare/job.h"
#include "engine/files/path.h"
#include "engine/first_model/first_model.h"
#include "server/jobs/live/state.h"
#include "server/slurm/request.h"

typedef struct {
  ep_viewer by;                        /* whose spec it is */
  bool find_lr;                        /* the spec's find is set */
  bool warn_replaced;                  /* of data other than its sha256 names, rather than refuse */
  ep_job_spec *spec;                   /* of a sweep: its job at the first point; owned */
  ep_sweep_spec *sweep;                /* NULL = a job; owned */
  int64_t epochs;                      /* of a sweep: its trainings */
  ep_plan *plan;                       /* of spec; owned */
  ep_slurm_request allocation;         /* partition "": its device is none of Slurm's */
  char *text;                          /* the spec with all defaults filled in; owned */
  char *tags;                          /* as an array's text; owned */
  ep_model_facts *facts;               /* by which "auto" chose; NULL: nothing was open; owned */
  char *automatic;                     /* what it chose (explanation.h); NULL: nothing; owned */
  char *remarks;                       /* what is warned of; NULL: nothing; owned */
  bool pinned;                         /* spec->data.sha256 is pinned */
  char init_checkpoint[EP_PATH_BYTES]; /* the file that EP_INIT_FILE becomes a link to; "" = none */
  char init_pin[EP_PIN_BYTES];         /* of ep_first_weights_resolve */
} ep_checked_spec;                     /* starts as {.by, .find_lr, .warn_replaced} */

/* Finds everything that can be wrong with a request's job, before anything is stored. What is
 * hidden from checked->by is not there. *checked is the caller's to deinit, also on failure.
 * same_data: of a dataset, the content that the spec names. What the request leaves open is filled
 * into it. */
ep_status ep_spec_check(ep_jobs *jobs, struct json_t *request, bool same_data,
                        ep_checked_spec *checked, ep_problem *problem);
/* The same of a sweep. */
ep_status ep_sweep_check(ep_jobs *jobs, struct json_t *request, ep_checked_spec *checked,
                         ep_problem *problem);
void ep_checked_spec_deinit(ep_jobs *jobs, ep_checked_spec *checked);

/* EP_FORBIDDEN at /priority: it passes other owners' jobs, and the caller is limited. */
ep_status ep_priority_check(int priority, bool limited, ep_problem *problem);

/* Whether what the CPU has of memory can ever be enough for the plan. */
bool ep_check_memory_suffices(ep_jobs *jobs, const ep_plan *plan);

/* Whether there are GPUs for the spec's ranks, of those that its device means. */
bool ep_check_gpus_suffice(ep_jobs *jobs, const ep_job_spec *spec);

#endif
