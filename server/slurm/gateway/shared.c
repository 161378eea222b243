#include "server/slurm/gateway/shared.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/files/path.h"
#include "engine/files/verified.h"
#include "engine/handovers/handover.h"
#include "server/process/data_dir.h"

#define WORKER "epoch-worker"
#define PLUGIN "ep_backend_cuda.so"

static ep_status folder_make(const char *base, const char *name, char *path, ep_error *error) {
  ep_status status = ep_path_join(path, error, base, name, NULL);
  return status == EP_OK ? ep_data_dir_create(path, error) : status;
}

static ep_status file_copy(const char *from, const char *folder, const char *name, mode_t mode,
                           const ep_file_moves *moves, ep_error *error) {
  char to[EP_PATH_BYTES];
  ep_status status = ep_path_join(to, error, folder, name, NULL);
  return status == EP_OK ? ep_file_copy(from, to, mode, NULL, moves, error) : status;
}

/* A folder of its own, in which a content is made; [EP_PATH_BYTES]. */
static ep_status temporary_make(const char *base, char *path, ep_error *error) {
  ep_status status = ep_path_join(path, error, base, ".new-XXXXXX", NULL);
  if (status == EP_OK && !mkdtemp(path))
    status = ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  return status;
}

/* It gets its name; another one may have been faster. */
static ep_status temporary_place(const char *temporary, const char *path, ep_error *error) {
  if (rename(temporary, path) == 0) return EP_OK;
  const int failed = errno;
  ep_data_dir_remove(temporary, NULL);
  return failed == EEXIST || failed == ENOTEMPTY
             ? EP_OK
             : ep_fail(error, EP_IO, "%s: %s", path, strerror(failed));
}

static ep_status file_hash(const char *path, char sha256[EP_SHA256_HEX_BYTES], ep_error *error) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  ep_status status = ep_file_sha256(file, path, sha256, error);
  close(file);
  return status;
}

/* The plug-in that the setup names, or that lies beside the worker; "" = none. */
static ep_status plugin_find(const ep_gateway_setup *setup, char *path, ep_error *error) {
  const char *slash = strrchr(setup->worker, '/');
  const int folder = slash ? (int)(slash - setup->worker) : 0;
  path[0] = 0;
  if (setup->plugin[0]) return ep_path_join(path, error, setup->plugin, NULL);
  int bytes = snprintf(path, EP_PATH_BYTES, "%.*s/" PLUGIN, folder, setup->worker);
  if (bytes >= EP_PATH_BYTES || access(path, R_OK) != 0) path[0] = 0;
  return EP_OK;
}

/* A folder has the hashes of both programs: another plug-in makes another folder. */
static ep_status program_name(const char *worker, const char *plugin,
                              char name[2 * EP_SHA256_HEX_BYTES], ep_error *error) {
  char of_worker[EP_SHA256_HEX_BYTES], of_plugin[EP_SHA256_HEX_BYTES] = "";
  ep_status status = file_hash(worker, of_worker, error);
  if (status == EP_OK && plugin[0]) status = file_hash(plugin, of_plugin, error);
  snprintf(name, 2 * EP_SHA256_HEX_BYTES, "%s%s%s", of_worker, plugin[0] ? "-" : "", of_plugin);
  return status;
}

ep_status ep_shared_put_program(ep_gateway_setup *setup, ep_error *error) {
  char base[EP_PATH_BYTES], path[EP_PATH_BYTES], temporary[EP_PATH_BYTES], plugin[EP_PATH_BYTES];
  char name[2 * EP_SHA256_HEX_BYTES];
  ep_status status = plugin_find(setup, plugin, error);
  if (status == EP_OK) status = program_name(setup->worker, plugin, name, error);
  if (status == EP_OK) status = folder_make(setup->shared_dir, "programs", base, error);
  if (status == EP_OK) status = ep_path_join(path, error, base, name, NULL);
  if (status == EP_OK && access(path, F_OK) != 0) {
    status = temporary_make(base, temporary, error);
    if (status != EP_OK) return status;
    status = file_copy(setup->worker, temporary, WORKER, 0500, NULL, error);
    if (status == EP_OK && plugin[0])
      status = file_copy(plugin, temporary, PLUGIN, 0400, NULL, error);
    if (status == EP_OK)
      status = temporary_place(temporary, path, error);
    else
      ep_data_dir_remove(temporary, NULL);
  }
  if (status != EP_OK) return status;
  int bytes = snprintf(setup->worker, sizeof setup->worker, "%s/" WORKER, path);
  if (bytes >= (int)sizeof setup->worker)
    return ep_fail(error, EP_TOO_LARGE, "--shared-dir is too long");
  setup->plugin[0] = 0; /* the worker finds the one beside it */
  return EP_OK;
}

static ep_status files_copy(const char *from, const char *to, const ep_file_moves *moves,
                            ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_status status = EP_OK;
  DIR *entries = opendir(from);
  if (!entries) return ep_fail(error, EP_IO, "%s: %s", from, strerror(errno));
  for (struct dirent *entry; status == EP_OK && (entry = readdir(entries));) {
    if (entry->d_name[0] == '.') continue;
    status = ep_path_join(path, error, from, entry->d_name, NULL);
    if (status == EP_OK) status = file_copy(path, to, entry->d_name, 0400, moves, error);
  }
  closedir(entries);
  return status;
}

ep_status ep_shared_put_dataset(const ep_gateway_setup *setup, const char *name,
                                const ep_file_moves *moves, ep_error *error) {
  char base[EP_PATH_BYTES], from[EP_PATH_BYTES], to[EP_PATH_BYTES], temporary[EP_PATH_BYTES];
  if (!setup->shared_dir[0]) return EP_OK;
  ep_status status = ep_path_join(to, error, setup->shared_dir, name, NULL);
  if (status == EP_OK && access(to, F_OK) == 0) return EP_OK;
  if (status == EP_OK) status = ep_path_join(from, error, setup->data_dir, name, NULL);
  if (status == EP_OK) status = folder_make(setup->shared_dir, "datasets", base, error);
  if (status == EP_OK) status = temporary_make(base, temporary, error);
  if (status != EP_OK) return status;
  status = files_copy(from, temporary, moves, error);
  if (status == EP_OK) return temporary_place(temporary, to, error);
  ep_data_dir_remove(temporary, NULL);
  return status;
}

static void handovers_trim(const ep_gateway_setup *setup) {
  char jobs[EP_PATH_BYTES];
  if (ep_path_join(jobs, NULL, setup->data_dir, "jobs", NULL) == EP_OK)
    ep_handovers_trim(setup->shared_dir, jobs);
}

void ep_shared_trim(const ep_gateway_setup *setup, bool starts) {
  char base[EP_PATH_BYTES], own[EP_PATH_BYTES], path[EP_PATH_BYTES];
  if (!setup->shared_dir[0] ||
      ep_path_join(base, NULL, setup->shared_dir, "datasets", NULL) != EP_OK)
    return;
  handovers_trim(setup);
  DIR *entries = opendir(base);
  for (struct dirent *entry; entries && (entry = readdir(entries));) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (entry->d_name[0] == '.' && !starts) continue; /* one is being made */
    if (ep_path_join(own, NULL, setup->data_dir, "datasets", entry->d_name, NULL) == EP_OK &&
        access(own, F_OK) != 0 && errno == ENOENT &&
        ep_path_join(path, NULL, base, entry->d_name, NULL) == EP_OK)
      ep_data_dir_remove(path, NULL);
  }
  if (entries) closedir(entries);
}
