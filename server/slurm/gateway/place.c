#include "server/slurm/gateway/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "api/file_number.h"
#include "engine/files/path.h"

ep_status ep_place_begin(ep_place *place, const char *data_dir, const char *job, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_place_deinit(place);
  if (!job[0]) return EP_OK;
  ep_status status = ep_path_join(path, error, data_dir, "jobs", job, NULL);
  if (status != EP_OK) return status;
  place->folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  return place->folder >= 0 ? EP_OK : ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
}

static ep_status file_begin(ep_place *place, const ep_record *record, ep_error *error) {
  ep_record_file file;
  ep_status status = ep_record_file_read(record, &file, error);
  if (status != EP_OK) return status;
  if (place->folder < 0 || !ep_record_result_valid(file.name))
    return ep_fail(error, EP_FORBIDDEN, "the worker sends a file that is not its job's: %.100s",
                   file.name);
  return ep_incoming_begin(&place->incoming, place->folder, &file, error);
}

static bool name_listed(const ep_record *names, const char *name) {
  for (size_t at = 0; at < names->bytes; at += strlen((const char *)names->payload + at) + 1)
    if (strcmp((const char *)names->payload + at, name) == 0) return true;
  return false;
}

static ep_status others_remove(const ep_place *place, const ep_record *names, ep_error *error) {
  ep_status status = ep_record_names_read(names, error);
  if (status != EP_OK) return status;
  if (place->folder < 0) return ep_fail(error, EP_FORBIDDEN, "names of files of no job");
  int copy = openat(place->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *entries = copy >= 0 ? fdopendir(copy) : NULL;
  if (!entries) return ep_fail(error, EP_IO, "a job's folder: %s", strerror(errno));
  for (struct dirent *entry; (entry = readdir(entries));)
    if (ep_file_number(EP_CHECKPOINT_PREFIX, entry->d_name) >= 0 &&
        !name_listed(names, entry->d_name))
      unlinkat(place->folder, entry->d_name, 0);
  closedir(entries);
  unlinkat(place->folder, EP_HANDOVER_FILE, 0); /* its reports went before these names */
  return EP_OK;
}

ep_status ep_place_take(ep_place *place, const ep_record *record, ep_error *error) {
  char hash[EP_SHA256_HEX_BYTES];
  switch (record->kind) {
  case EP_RECORD_FILE: return file_begin(place, record, error);
  case EP_RECORD_DATA:
    return ep_incoming_data(&place->incoming, record->payload, record->bytes, error);
  case EP_RECORD_FILE_END: {
    ep_status status = ep_record_end_read(record, hash, error);
    return status == EP_OK ? ep_incoming_end(&place->incoming, hash, error) : status;
  }
  case EP_RECORD_NAMES: return others_remove(place, record, error);
  default: return ep_fail(error, EP_MALFORMED, "a record that is a gateway's");
  }
}

void ep_place_deinit(ep_place *place) {
  ep_incoming_abandon(&place->incoming);
  if (place->folder >= 0) close(place->folder);
  *place = EP_PLACE_NONE;
}
