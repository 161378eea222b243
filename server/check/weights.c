/* The weights of each job that has some: the bytes whose SHA-256 its result has. */
#include <string.h>

#include "api/hash/sha256.h"
#include "api/wire/result.h"
#include "engine/files/mapping.h"
#include "engine/files/path.h"
#include "server/check/checkup.h"

static ep_status file_hash(const char *path, char sha256[EP_SHA256_HEX_BYTES], ep_error *error) {
  ep_mapping file = {0};
  ep_sha256 hash = {0};
  ep_status status = ep_mapping_open(path, &file, error);
  if (status != EP_OK) return status;
  status = ep_sha256_init(&hash, error);
  if (status == EP_OK) {
    ep_sha256_update(&hash, file.bytes, file.size);
    ep_sha256_final(&hash, sha256);
  }
  ep_mapping_close(&file);
  return status;
}

static void weights_check(ep_checkup *checkup, const ep_job_row *row) {
  char path[EP_PATH_BYTES], sha256[EP_SHA256_HEX_BYTES] = "";
  ep_job_result result = {0};
  ep_error error = {0};
  if (!row->result) return;
  ep_status status = ep_job_result_parse(row->result, &result, &error);
  if (status == EP_OK && result.has_weights) {
    status = ep_checkup_path(checkup, row->id, EP_WEIGHTS_FILE, path, &error);
    if (status == EP_OK) status = file_hash(path, sha256, &error);
    if (status == EP_OK && strcmp(sha256, result.weights_sha256) != 0)
      ep_checkup_fault(checkup, row->id,
                       EP_WEIGHTS_FILE " is damaged: its SHA-256 is %s, and the store has %s",
                       sha256, result.weights_sha256);
  }
  if (status != EP_OK) ep_checkup_fault(checkup, row->id, "%s", error.message);
  ep_job_result_deinit(&result);
}

ep_status ep_check_weights(ep_checkup *checkup, ep_error *error) {
  return ep_checkup_rows(checkup, weights_check, error);
}
