#include "server/jobs/files/results.h"

#include "api/wire/result.h"

ep_status ep_job_row_weights_sha256(const ep_job_row *row, char sha256[EP_SHA256_HEX_BYTES],
                                    ep_error *error) {
  sha256[0] = 0;
  if (row->result) ep_job_result_weights_sha256(row->result, sha256);
  if (sha256[0]) return EP_OK;
  return ep_fail(
      error, EP_DAMAGED,
      "the store has no SHA-256 of the weights of job %s: submit its spec again to recompute them",
      row->id);
}
