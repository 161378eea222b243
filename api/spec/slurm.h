/* slurm.h: times as Slurm's commands take and print them. */
#ifndef EP_API_SPEC_SLURM_H
#define EP_API_SPEC_SLURM_H

#include <stdbool.h>
#include <stdint.h>

/* "5", "10:00", "2:00:00", "1-12", "1-12:30", "1-12:30:00" as Slurm reads them, in minutes, rounded
 * up; "UNLIMITED", "INFINITE" and "NONE" are 0. False: it is no such time. */
bool ep_slurm_minutes_parse(const char *text, int64_t *minutes);

#endif
