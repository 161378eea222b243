/* partitions.h: the partitions that are devices of this daemon, as Slurm showed them last: a copy
 * that all threads share. */
#ifndef EP_SERVER_SLURM_PARTITIONS_H
#define EP_SERVER_SLURM_PARTITIONS_H

#include "server/slurm/answers.h"

typedef struct ep_slurm_partitions ep_slurm_partitions;

/* Those of --devices ("auto,slurm:gpu"); none: *out is NULL. Runs Slurm's commands: EP_UNAVAILABLE
 * where there are none or Slurm does not respond, EP_INVALID for a partition that Slurm has not,
 * or a shared_dir that cannot be written. */
ep_status ep_slurm_partitions_open(const char *devices, const char *shared_dir,
                                   ep_slurm_partitions **out, ep_error *error);
void ep_slurm_partitions_close(ep_slurm_partitions *partitions); /* NULL is allowed */

/* What was seen since of one of them. NULL has none. Any thread. */
void ep_slurm_partitions_update(ep_slurm_partitions *partitions, const ep_slurm_partition *seen);

/* Copies the partition of a device, "slurm:gpu"; false: it is none. NULL has none. Any thread. */
bool ep_slurm_partitions_get(ep_slurm_partitions *partitions, const char *device,
                             ep_slurm_partition *out);

#endif
