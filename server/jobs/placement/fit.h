/* fit.h: which devices a job may run on, and on which one `auto` runs it. */
#ifndef EP_SERVER_JOBS_PLACEMENT_FIT_H
#define EP_SERVER_JOBS_PLACEMENT_FIT_H

#include "server/store/store.h"
#include "server/workers/device_list.h"

/* Whether a spec's `device` means this one: "cuda" is any CUDA device, "cuda:1" that one, "auto"
 * all.
 */
bool ep_fit_requested(const char *requested_device, const char *device);

/* GPUs that are there and that the spec's `device` means. */
int ep_fit_gpus(const char *requested_device, const ep_device_list *devices);

/* Whether the job may run on the device, given the devices that are there: the one of its first
 * start while that is there; else for `auto` the kind that the estimates say is faster. A job that
 * needs `gpus_least` GPUs at once fits none where fewer are there. */
bool ep_fit_job(const ep_job_row *row, int gpus_least, const char *device,
                const ep_device_list *devices);

/* Whether any device that is there fits. */
bool ep_fit_any(const ep_job_row *row, int gpus_least, const ep_device_list *devices);

/* How long the job is expected to take there: by the estimate, and no longer than its spec lets it
 * train. Infinite, or 0: not known. */
double ep_fit_seconds(const ep_job_row *row, const char *device);

/* Cores of the device that the job takes. */
int ep_fit_cores(const ep_job_row *row, const char *device);

/* The warning of a queued job that no device fits. */
void ep_fit_none_text(const char *requested_device, char text[EP_MESSAGE_BYTES]);

#endif
