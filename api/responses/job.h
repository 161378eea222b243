/* job.h: a job as JSON text, alone and in lists. Every text is owned by the caller (free); NULL
 * when memory is short. */
#ifndef EP_API_RESPONSES_JOB_H
#define EP_API_RESPONSES_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "api/json/writer.h"
#include "api/responses/ranks.h"
#include "api/status.h"
#include "api/vocabulary.h"
#include "api/wire/result.h"
#include "api/wire/trial.h"

/* What GET /v1/jobs/{id} returns. Pointers are loans for the call. */
typedef struct {
  const char *id, *name, *owner;
  const char *tags;    /* JSON text: an array */
  const char *dataset; /* its name in the spec; NULL = none (null) */
  int priority;
  bool pinned, private;
  ep_state state;
  const char *spec;              /* JSON text, all defaults filled in */
  const char *automatic;         /* JSON text: what "auto" chose; NULL = null */
  const char *remarks;           /* what its submission was warned of; NULL or "" = nothing */
  const char *device, *executor; /* NULL before the first start */
  int64_t epoch, epochs;
  int64_t queue_position;   /* 1 = next; 0 = not queued (null) */
  const char *queue_reason; /* of Slurm, for its partition; NULL = null */
  double eta_seconds;       /* NaN = unknown (null) */
  double queued_seconds;
  int64_t parameters, bytes; /* of the plan; once ended, bytes are the result's, as measured */
  const ep_parallel_view *parallel; /* NULL = one rank, or not known */
  const ep_job_result *result;      /* NULL until it ended */
  const ep_trial_record *parts;     /* [parts_count]: its folds and repeats; NULL = none */
  int parts_count;
  const char *error_message; /* NULL = null */
  const char *error_pointer;
  ep_status error_status;
  const char *warning;              /* why it waits, where no device is there for it, or is
                                       paused, where no client said so; NULL = null */
  double seconds_cpu, seconds_cuda; /* estimates by which `auto` chose; not finite = null */
  int64_t created_us, started_us, finished_us; /* since 1970, UTC; 0 = null */
  int attempt;
  int workers; /* that train it now: of a sweep more than one */
} ep_job_view;

char *ep_job_format(const ep_job_view *job);
/* The same without the spec, and of the metrics the scalars alone (job->spec may be anything). */
char *ep_job_summary_format(const ep_job_view *job);

/* {"object":"list","data":[…],"has_more":…,"next":"job_…"|null}; items are JSON texts */
char *ep_list_format(const char *const *items, int64_t count, bool has_more, const char *next);

/* What stands in "jobs" of a comparison (compare.h). */
void ep_job_compared_write(ep_writer *writer, const ep_job_view *job);

#endif
