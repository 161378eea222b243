/* routes.h: the one table of what can be asked: path, method, body, query. A resource is a file
 * routes_<resource>.c with its calls; a new route is a row. */
#ifndef EP_SERVER_ROUTES_H
#define EP_SERVER_ROUTES_H

#include "server/auth.h"
#include "server/config.h"
#include "server/exchange.h"
#include "server/guard.h"
#include "server/jobs.h"

struct ep_server {
  const ep_config *config;
  ep_jobs *jobs;
  ep_streams *streams;
  ep_work *ingest; /* reads uploads and files, writes weights in other formats: for minutes */
  ep_work *work;   /* everything else that takes longer than a moment */
  ep_auth auth;
  ep_guard guard;
  atomic_llong bodies_bytes; /* that all requests hold in memory */
  char boot[17];             /* random, of this run: versions are counted anew in each */
};

typedef enum {
  EP_BODY_NONE,    /* what comes is thrown away */
  EP_BODY_JSON,    /* in memory, at most limit_bytes */
  EP_BODY_TENSORS, /* likewise; JSON, and bytes may follow it */
  EP_BODY_UPLOAD
} ep_body;

typedef enum {
  EP_RUNS_HERE, /* on the HTTP thread: no more than a few hundred microseconds */
  EP_RUNS_WORK,
  EP_RUNS_INGEST
} ep_runs;

typedef ep_route_result ep_route_call(ep_exchange *exchange);

enum { EP_ROUTE_QUERY = 6 };

typedef struct ep_route {
  const char *method, *path; /* {id} takes one segment */
  ep_route_call *call;
  ep_body body;
  int64_t limit_bytes;
  ep_runs runs;
  bool open;                         /* needs no token */
  const char *query[EP_ROUTE_QUERY]; /* what may follow ?, with a * what may do so several times;
                                        NULL ends it */
} ep_route;

extern const ep_route EP_ROUTES[];
extern const int EP_ROUTES_COUNT;

/* Finds the route of a request and its {id}; HEAD finds GET. EP_NOT_FOUND names the path, EP_METHOD
 * leaves the methods that there are in allow: [64]. EP_MALFORMED for an unknown query parameter. */
ep_status ep_route_find(ep_request *request, const ep_route **out, char allow[64], ep_error *error);

/* All checks that need no body, in this order: framing, origin, route, token, media type. On
 * failure exchange->answer is set; *close tells whether the connection must not be used any
 * further. */
ep_status ep_route_admit(ep_exchange *exchange, bool *close);

/* When the exchange ends while its route waits: undoes what the route had going. */
void ep_route_leave(ep_exchange *exchange);

ep_route_call ep_route_job_create, ep_route_job_list, ep_route_job_get, ep_route_job_label,
    ep_route_job_cancel, ep_route_job_delete, ep_route_job_predict;
ep_route_call ep_route_compare_get;
ep_route_call ep_route_events_get;
ep_route_call ep_route_curve_get, ep_route_weights_get, ep_route_predictions_get;
ep_route_call ep_route_dataset_put, ep_route_part_put, ep_route_dataset_get, ep_route_dataset_list,
    ep_route_dataset_delete;
ep_route_call ep_route_model_put, ep_route_model_get, ep_route_model_list, ep_route_model_delete;
ep_route_call ep_route_inference_server, ep_route_inference_live, ep_route_inference_ready,
    ep_route_inference_model, ep_route_inference_model_ready, ep_route_inference_infer;
ep_route_call ep_route_devices_get, ep_route_queue_get, ep_route_live_get, ep_route_ready_get,
    ep_route_contract_get;
ep_route_call ep_route_metrics_get;
ep_route_call ep_route_root_get, ep_route_asset_get;

/* Answers with a job's log as it grows (events.c's other user is the submit-and-stream of jobs). */
ep_route_result ep_route_follow(ep_exchange *exchange, const char *job, int status,
                                const ep_watcher_options *options);

#endif
