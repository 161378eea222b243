/* job.h: the answers of the HTTP surface as JSON text, made from plain structs. jansson stays
 * behind this door: the server never sees its types. Every text is owned by the caller (free). */
#ifndef EP_API_RESPONSES_JOB_H
#define EP_API_RESPONSES_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "api/names.h"
#include "api/spec/spec.h"
#include "api/wire/frame.h"

/* A job as GET /v1/jobs/{id} answers it. Pointers are loans for the call. */
typedef struct {
  const char *id, *name;
  const char *tags; /* JSON text: an array */
  int priority;
  ep_state state;
  const char *spec;              /* JSON text, all defaults filled in */
  const char *device, *executor; /* NULL before the first start */
  int64_t epoch, epochs;
  int64_t queue_position; /* 0 = next; -1 = not queued (null) */
  double eta_seconds;     /* NaN = unknown (null) */
  double queued_seconds;
  int64_t parameters, bytes;   /* of the plan; once ended, bytes are the result's, as measured */
  const ep_job_result *result; /* NULL until it ended */
  const char *error_message;   /* NULL = null */
  const char *error_pointer;
  ep_status error_status;
  const char *warning;              /* why it waits, where no device is there for it; NULL = null */
  double seconds_cpu, seconds_cuda; /* estimates by which `auto` chose; not finite = null */
  int64_t created_us, started_us, finished_us; /* since 1970, UTC; 0 = null */
  int attempt;
} ep_job_view;

char *ep_job_format(const ep_job_view *job);
/* The same without the spec, and of the metrics the scalars alone (job->spec may be anything). */
char *ep_job_summary_format(const ep_job_view *job);

/* {"object":"list","data":[…],"has_more":…,"next":"job_…"|null}; items are JSON texts */
char *ep_list_format(const char *const *items, int64_t count, bool has_more, const char *next);

/* One row of ?validate=only's "layers", as the plan found it. */
typedef struct {
  const char *type;
  int64_t in_features, out_features, parameters;
} ep_layer_view;

typedef struct {
  char device[EP_DEVICE_ID_BYTES];
  char executor[EP_EXECUTOR_BYTES]; /* that it would choose */
  double seconds;                   /* of the whole job; INFINITY: it cannot */
  double start_seconds;             /* of these, before the first step */
  double model_seconds;             /* of the epochs, by the cost model and the calibration alone */
  int cores;                        /* of the CPU that it could use; 1 on a GPU */
  bool calibrated;                  /* by what was measured on this machine */
  bool measured;                    /* the epochs by what they took in a job before */
} ep_estimate;

typedef struct {
  const char *spec;
  const ep_layer_view *layers;
  int layers_count;
  int64_t parameters, bytes, operations; /* operations: floating-point, of one epoch */
  int64_t train_rows, validation_rows, test_rows;
  const ep_estimate *estimates;
  int estimates_count;
} ep_validation_view;

char *ep_validation_format(const ep_validation_view *validation);

typedef struct {
  ep_device_info info;
  const char *state;       /* "starting", "idle", "busy", "restarting", "lost" */
  const char *const *jobs; /* [jobs_count] that it has */
  int jobs_count, cores;   /* that jobs may take of it */
  int64_t pid, restarts;   /* of its first worker, of all of them */
} ep_device_view;

char *ep_devices_format(const ep_device_view *devices, int count);

/* {"object":"queue","queued":…,"running":…,"jobs":[{"id","position","priority","name"}…]} */
typedef struct {
  const char *id, *name;
  int priority;
} ep_queue_row;
char *ep_queue_format(const ep_queue_row *queued, int64_t queued_count, const ep_queue_row *running,
                      int64_t running_count);

/* POST …/predict: {"x": [[…], …]} in; {"object":"predictions","rows":…,"predictions":[[…],…]} out.
 * *x is [*rows, *columns], owned by the caller. */
ep_status ep_predict_parse(const char *text, size_t bytes, double **x, int64_t *rows,
                           int64_t *columns, ep_problem *problem);
char *ep_predict_format(const char *job, const double *output, int64_t rows, int64_t columns);

/* One point of a job's curve. */
typedef struct {
  int64_t epoch;
  double loss, error, validation_loss, validation_error, elapsed_seconds;
  double wall_seconds; /* since 1970, UTC: its attempt's start and elapsed_seconds */
} ep_curve_point;

/* {"object":"curve","job":…,"points":…,"epoch":[…],"loss":[…],"error":[…]|null,"validation_loss":…}
 */
char *ep_curve_format_json(const char *job, const ep_curve_point *points, int64_t count);
/* epoch,loss,error,validation_loss,validation_error,elapsed_seconds, an empty cell for NaN */
char *ep_curve_format_csv(const ep_curve_point *points, int64_t count);

#endif
