/* forecast.h: when queued jobs will start, by the estimates of what is before them. A guess: jobs
 * end early, others come with a higher priority. Gangs and jobs that run alone are taken for one
 * device's.
 */
#ifndef EP_SERVER_JOBS_PLACEMENT_FORECAST_H
#define EP_SERVER_JOBS_PLACEMENT_FORECAST_H

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
} ep_forecast;

void ep_forecast_init(ep_forecast *forecast, const ep_device_list *devices);
/* A job that runs on its device for so long; infinite: nobody knows. */
void ep_forecast_run(ep_forecast *forecast, const ep_job_row *row, double left_seconds);
/* When the next job of the queue would start; it takes no place. As ep_forecast_queue. */
double ep_forecast_start(const ep_forecast *forecast, const ep_job_row *row, int gpus_least);
/* The next job of the queue, which needs so many GPUs at once: seconds until it starts; infinite:
 * not known, or never. */
double ep_forecast_queue(ep_forecast *forecast, const ep_job_row *row, int gpus_least);

#endif
