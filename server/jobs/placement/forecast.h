/* forecast.h: when queued jobs will start, by the order of the queue and the estimates of what is
 * before them. A guess: jobs end early, others come. What no estimate can say is infinite. */
#ifndef EP_SERVER_JOBS_PLACEMENT_FORECAST_H
#define EP_SERVER_JOBS_PLACEMENT_FORECAST_H

#include "server/jobs/placement/gang.h"
#include "server/store/store.h"
#include "server/workers/device_list.h"

typedef struct {
  double free_seconds[EP_LIMIT_CPU_JOBS]; /* [cores], ascending: when each is free, from now */
  int cores;
  double earliest_seconds; /* no later job overtakes the last one */
} ep_forecast_device;

typedef struct {
  const ep_device_list *devices; /* lent */
  ep_forecast_device device[EP_LIMIT_DEVICES];
  double last_end_seconds; /* of all that run, or are to start; infinite: not known */
  double alone_seconds;    /* until then a job runs, or is to run, beside which none starts */
} ep_forecast;

/* What a forecast looks at of a job; all is lent. */
typedef struct {
  const ep_job_row *row;
  const ep_gang *gang; /* NULL: of a job of one rank */
  bool alone;          /* no other job runs beside it */
} ep_forecast_job;

void ep_forecast_init(ep_forecast *forecast, const ep_device_list *devices);
/* A job that runs on its device, and on the GPUs of its gang, for so long; infinite: not known. */
void ep_forecast_run(ep_forecast *forecast, const ep_forecast_job *job, double left_seconds);
/* When the next job of the queue would start; it takes no place. As ep_forecast_queue. */
double ep_forecast_start(const ep_forecast *forecast, const ep_forecast_job *job);
/* The next job of the queue: seconds until it starts; infinite: not known, or never. */
double ep_forecast_queue(ep_forecast *forecast, const ep_forecast_job *job);

#endif
