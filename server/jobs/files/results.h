/* results.h: what a job's row says of the files that the job left. */
#ifndef EP_SERVER_JOBS_FILES_RESULTS_H
#define EP_SERVER_JOBS_FILES_RESULTS_H

#include "server/store/store.h"

/* The SHA-256 of the weights. EP_DAMAGED: the row has none, so that nothing says that the file is
 * what was written. */
ep_status ep_job_row_weights_sha256(const ep_job_row *row, char sha256[EP_SHA256_HEX_BYTES],
                                    ep_error *error);

#endif
