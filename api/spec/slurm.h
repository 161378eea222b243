/* slurm.h: times and partitions as a spec, settings and Slurm's commands write them. */
#ifndef EP_API_SPEC_SLURM_H
#define EP_API_SPEC_SLURM_H

#include <stdbool.h>
#include <stdint.h>

#include "api/spec/job_spec.h"
#include "api/status.h"

/* "5", "10:00", "2:00:00", "1-12", "1-12:30", "1-12:30:00" as Slurm reads them, in minutes, rounded
 * up; "UNLIMITED", "INFINITE" and "NONE" are 0. False: it is no such time. */
bool ep_slurm_minutes_parse(const char *text, int64_t *minutes);

/* Whether a device's id is "slurm:" and a partition's name: letters, digits, '.', '_', '-'. */
bool ep_slurm_device_accepts(const char *text);
/* Whether it is "kubernetes:" and a namespace's name: small letters, digits, '-' between them. */
bool ep_kubernetes_device_accepts(const char *text);

/* Whether any of "slurm" is given. spec: an ep_job_spec. */
bool ep_slurm_given(const void *spec);
#endif
