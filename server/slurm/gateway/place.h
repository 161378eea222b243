/* place.h: the files that a worker sends, put in the folder of the job that it has, and in no other
 * one; names that no job has are refused. */
#ifndef EP_SERVER_SLURM_GATEWAY_PLACE_H
#define EP_SERVER_SLURM_GATEWAY_PLACE_H

#include "engine/tunnel/parcel.h"

typedef struct {
  int folder; /* of the job; -1 = the worker has none */
  ep_incoming incoming;
} ep_place;

#define EP_PLACE_NONE ((ep_place){.folder = -1, .incoming = {.folder = -1, .file = -1}})

/* The worker has this job; "" = none. */
ep_status ep_place_begin(ep_place *place, const char *data_dir, const char *job, ep_error *error);
/* One of the records FILE, DATA, FILE_END, NAMES. EP_FORBIDDEN: a file that is not the job's. Of
 * NAMES, checkpoints that the worker has removed are removed here, and what an attempt before had
 * left of reports. */
ep_status ep_place_take(ep_place *place, const ep_record *record, ep_error *error);
void ep_place_deinit(ep_place *place);

#endif
