/* room.h: the memory that jobs on the CPU may take together. */
#ifndef EP_SERVER_JOBS_PLACEMENT_ROOM_H
#define EP_SERVER_JOBS_PLACEMENT_ROOM_H

#include <stdbool.h>
#include <stdint.h>

/* All of it: what there is, or bytes_max where that is less and not 0. */
int64_t ep_room_total(int64_t bytes_max);

/* Whether a job that takes `needed` by its plan may begin beside others that have reserved so much
 * by theirs. One without others may always: what it takes at least was looked at when it came. */
bool ep_room_suffices(int64_t bytes_max, int64_t reserved, int64_t needed);

/* How much a worker may allocate for a job that takes `needed` by its plan: twice that, or 4 GiB
 * and 256 MiB a core more. The plan has neither libraries nor predictions that come meanwhile, and
 * what is allocated need not be touched: so this is no bound of what there is, but of what runs
 * away. */
int64_t ep_room_bound(int64_t needed);

#endif
