/* What each job left: weights and predictions, whose SHA-256 its result has, the checkpoints and
 * snapshots that it names, and other formats of the weights, each with a file beside it that has
 * its own. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "api/json/json.h"
#include "api/wire/result.h"
#include "engine/checkpoints/list.h"
#include "engine/files/durable_file.h"
#include "engine/files/path.h"
#include "engine/files/verified.h"
#include "server/check/checkup.h"
#include "server/process/data_dir.h"

static const char HASH_SUFFIX[] = ".sha256", WEIGHTS_PREFIX[] = "weights.";

/* sha256 "": the job has no such file, or is of before it was known. */
static void file_check(ep_checkup *checkup, const char *id, const char *name, const char *sha256) {
  char path[EP_PATH_BYTES];
  ep_error error = {0};
  if (!sha256[0]) return;
  ep_status status = ep_checkup_path(checkup, id, name, path, &error);
  if (status == EP_OK) status = ep_verified_sha256_at(path, sha256, &error);
  if (status == EP_NOT_FOUND)
    ep_checkup_fault(checkup, id, "%s is missing", name);
  else if (status != EP_OK)
    ep_checkup_fault(checkup, id, "%s", error.message);
}

typedef ep_status numbered_path(const char *folder, int64_t number, char *path, ep_error *error);

static void numbered_check(ep_checkup *checkup, const char *id, const char *folder,
                           const json_t *numbers, numbered_path *path_find) {
  char path[EP_PATH_BYTES];
  size_t i;
  const json_t *number;
  json_array_foreach(numbers, i, number) {
    if (path_find(folder, json_integer_value(number), path, NULL) == EP_OK &&
        !ep_data_dir_exists(path))
      ep_checkup_fault(checkup, id, "%s is missing", strrchr(path, '/') + 1);
  }
}

/* That they are there; what is in them ep_check_checkpoints looks at. */
static ep_status stored_check(ep_checkup *checkup, const char *id, const char *folder,
                              const char *stored, ep_error *error) {
  json_t *root = NULL;
  if (!stored) return EP_OK; /* of an older version */
  ep_status status = ep_json_load(stored, strlen(stored), EP_LIMIT_FRAME_BYTES, &root, error);
  if (status != EP_OK) return status;
  numbered_check(checkup, id, folder, json_object_get(root, "checkpoints"), ep_checkpoint_path);
  numbered_check(checkup, id, folder, json_object_get(root, "snapshots"), ep_moment_path);
  json_decref(root);
  return EP_OK;
}

/* A job's folder on its way. */
typedef struct {
  ep_checkup *checkup;
  const char *id;
} visited;

static size_t suffix_find(const char *name, const char *ending) {
  const size_t bytes = strlen(name), suffix = strlen(ending);
  return bytes > suffix && strcmp(name + bytes - suffix, ending) == 0 ? bytes - suffix : 0;
}

/* `name` ends in HASH_SUFFIX, at `bytes`. */
static void format_check(const visited *v, const char *name, size_t bytes) {
  char path[EP_PATH_BYTES], format[EP_LIMIT_NAME_BYTES + 1];
  char text[EP_SHA256_HEX_BYTES + EP_LIMIT_NAME_BYTES + 8] = "", wanted[sizeof text];
  ep_error error = {0};
  if (bytes >= sizeof format) return;
  memcpy(format, name, bytes);
  format[bytes] = 0;
  int file = ep_checkup_path(v->checkup, v->id, name, path, &error) == EP_OK
                 ? open(path, O_RDONLY | O_CLOEXEC)
                 : -1;
  ssize_t got = file >= 0 ? read(file, text, sizeof text - 1) : -1;
  if (file >= 0) close(file);
  char *hash_end = &text[EP_SHA256_HEX_BYTES - 1];
  snprintf(wanted, sizeof wanted, "  %s\n", format); /* as sha256sum prints it */
  if (got < EP_SHA256_HEX_BYTES || strcmp(hash_end, wanted) != 0 ||
      strspn(text, "0123456789abcdef") != EP_SHA256_HEX_BYTES - 1) {
    ep_checkup_fault(v->checkup, v->id, "%s does not have a SHA-256 and the file's name", name);
    return;
  }
  *hash_end = 0;
  file_check(v->checkup, v->id, format, text);
}

static void entry_visit(void *context, const char *name) {
  const visited *v = context;
  char path[EP_PATH_BYTES], hash[EP_LIMIT_NAME_BYTES + 1];
  const size_t suffix = suffix_find(name, HASH_SUFFIX);
  if (suffix_find(name, EP_TEMPORARY_SUFFIX) > 0) return; /* a writer died, and none came after */
  if (suffix > 0) {
    format_check(v, name, suffix);
    return;
  }
  bool is_format = strncmp(name, WEIGHTS_PREFIX, sizeof WEIGHTS_PREFIX - 1) == 0 &&
                   strcmp(name, EP_WEIGHTS_FILE) != 0;
  if (!is_format || snprintf(hash, sizeof hash, "%s%s", name, HASH_SUFFIX) >= (int)sizeof hash ||
      ep_checkup_path(v->checkup, v->id, hash, path, NULL) != EP_OK || ep_data_dir_exists(path))
    return;
  ep_checkup_fault(v->checkup, v->id, "%s has no %s beside it; the next request makes it again",
                   name, hash);
}

static void results_check(ep_checkup *checkup, const ep_job_row *row) {
  char folder[EP_PATH_BYTES];
  ep_job_result result = {0};
  ep_error error = {0};
  if (!row->result) return;
  ep_status status = ep_job_result_parse(row->result, &result, &error);
  if (status == EP_OK) {
    if (result.has_weights) file_check(checkup, row->id, EP_WEIGHTS_FILE, result.weights_sha256);
    file_check(checkup, row->id, EP_PREDICTIONS_JSON_FILE, result.predictions_json_sha256);
    file_check(checkup, row->id, EP_PREDICTIONS_CSV_FILE, result.predictions_csv_sha256);
    status = ep_path_join(folder, &error, checkup->data_dir, "jobs", row->id, NULL);
  }
  if (status == EP_OK && ep_data_dir_exists(folder)) {
    status = stored_check(checkup, row->id, folder, result.stored, &error);
    if (status == EP_OK)
      status = ep_data_dir_list(folder, entry_visit, &(visited){checkup, row->id}, &error);
  }
  if (status != EP_OK) ep_checkup_fault(checkup, row->id, "%s", error.message);
  ep_job_result_deinit(&result);
}

ep_status ep_check_results(ep_checkup *checkup, ep_error *error) {
  return ep_checkup_rows(checkup, results_check, error);
}
