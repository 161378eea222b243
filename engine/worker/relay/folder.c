#include "engine/worker/relay/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/worker/relay/node_datasets.h"

static ep_status folder_make(const char *base, const char *name, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_status status = ep_path_join(path, error, base, name, NULL);
  if (status == EP_OK && mkdir(path, 0700) != 0 && errno != EEXIST)
    status = ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  return status;
}

ep_status ep_relay_folder_open(ep_relay_folder *folder, const char *shared, ep_error *error) {
  const char *base = getenv("TMPDIR");
  *folder = (ep_relay_folder){.root = -1};
  ep_status status =
      ep_path_join(folder->base, error, base && base[0] == '/' ? base : "/tmp", NULL);
  if (status == EP_OK)
    status = ep_path_join(folder->path, error, folder->base, "epochd-worker.XXXXXX", NULL);
  if (status == EP_OK && shared[0]) status = ep_path_join(folder->shared, error, shared, NULL);
  if (status == EP_OK && !mkdtemp(folder->path))
    status = ep_fail(error, EP_IO, "%s: %s", folder->path, strerror(errno));
  if (status == EP_OK) status = folder_make(folder->path, "jobs", error);
  if (status == EP_OK) status = folder_make(folder->path, "datasets", error);
  if (status != EP_OK) return status;
  folder->root = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return folder->root >= 0 ? EP_OK : ep_fail(error, EP_IO, "%s: %s", folder->path, strerror(errno));
}

static int entry_remove(const char *path, const struct stat *state, int kind, struct FTW *at) {
  (void)state, (void)kind, (void)at;
  return remove(path);
}

/* Symbolic links are removed, not followed. */
static void tree_remove(const char *path) {
  enum { OPEN_MOST = 16 };
  nftw(path, entry_remove, OPEN_MOST, FTW_DEPTH | FTW_PHYS);
}

void ep_relay_folder_close(ep_relay_folder *folder) {
  if (folder->root < 0) return;
  close(folder->root);
  folder->root = -1;
  tree_remove(folder->path);
}

static ep_status job_path(const ep_relay_folder *folder, char *path, ep_error *error) {
  return ep_path_join(path, error, folder->path, "jobs", folder->job, NULL);
}

ep_status ep_relay_folder_clear(ep_relay_folder *folder, ep_error *error) {
  char path[EP_PATH_BYTES];
  folder->sent_count = 0;
  folder->job[0] = 0;
  ep_status status = ep_path_join(path, error, folder->path, "jobs", NULL);
  if (status != EP_OK) return status;
  tree_remove(path);
  return folder_make(folder->path, "jobs", error);
}

bool ep_relay_folder_has(ep_relay_folder *folder, const char *name) {
  char shared[EP_PATH_BYTES], own[EP_PATH_BYTES];
  if (ep_path_join(own, NULL, folder->path, name, NULL) != EP_OK) return false;
  if (access(own, F_OK) == 0) {
    utimensat(AT_FDCWD, own, NULL, 0); /* it is used: node_datasets.h */
    return true;
  }
  unlink(own); /* a link to a data set that has gone from the node */
  if (folder->shared[0] && ep_path_join(shared, NULL, folder->shared, name, NULL) == EP_OK &&
      access(shared, F_OK) == 0)
    return symlink(shared, own) == 0;
  const char *slash = strrchr(name, '/');
  return slash && ep_node_datasets_link(folder->base, slash + 1, own);
}

static bool name_counts(const char *name, ep_held_files which) {
  if (which == EP_FILES_TRIALS) return strcmp(name, EP_TRIALS_FILE) == 0;
  return ep_record_result_valid(name);
}

static ep_sent_file *sent_find(ep_relay_folder *folder, const char *name) {
  for (int i = 0; i < folder->sent_count; i++)
    if (strcmp(folder->sent[i].name, name) == 0) return &folder->sent[i];
  return NULL;
}

/* Where the file is to be sent from; -1: it is as it was. */
static int64_t file_begin(ep_relay_folder *folder, const char *name, const struct stat *state) {
  ep_sent_file *sent = sent_find(folder, name);
  const int64_t changed_ns = state->st_mtim.tv_sec * INT64_C(1000000000) + state->st_mtim.tv_nsec;
  int64_t from = 0;
  if (sent && sent->bytes == state->st_size && sent->changed_ns == changed_ns) return -1;
  if (sent && strcmp(name, EP_TRIALS_FILE) == 0 && sent->bytes <= state->st_size)
    from = sent->bytes; /* the worker appends to it */
  if (!sent && folder->sent_count < EP_FOLDER_FILES) sent = &folder->sent[folder->sent_count++];
  if (sent) {
    snprintf(sent->name, sizeof sent->name, "%s", name);
    sent->bytes = state->st_size;
    sent->changed_ns = changed_ns;
  }
  return from < state->st_size || from == 0 ? from : -1;
}

/* Opens the next file to be sent; -1: there is none. */
static int next_open(ep_relay_folder *folder, DIR *entries, ep_held_files which, char *name,
                     int64_t *from, int64_t *until) {
  for (struct dirent *entry; (entry = readdir(entries));) {
    struct stat state;
    if (!name_counts(entry->d_name, which) || strlen(entry->d_name) >= sizeof folder->sent[0].name)
      continue;
    int file = openat(dirfd(entries), entry->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) continue; /* it has just been removed */
    if (fstat(file, &state) == 0 && S_ISREG(state.st_mode)) {
      *from = file_begin(folder, entry->d_name, &state);
      *until = state.st_size;
      memcpy(name, entry->d_name, strlen(entry->d_name) + 1);
      if (*from >= 0) return file;
    }
    close(file);
  }
  return -1;
}

ep_status ep_relay_folder_begin(ep_relay_folder *folder, const char *job, ep_error *error) {
  char path[EP_PATH_BYTES], name[sizeof folder->sent[0].name];
  int64_t from, until;
  folder->sent_count = 0;
  snprintf(folder->job, sizeof folder->job, "%s", job);
  ep_status status = job_path(folder, path, error);
  if (status == EP_OK && mkdir(path, 0700) != 0 && errno != EEXIST)
    status = ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  DIR *entries = status == EP_OK ? opendir(path) : NULL;
  for (int file = 0; entries && file >= 0;) { /* what is there came from the gateway */
    file = next_open(folder, entries, EP_FILES_ALL, name, &from, &until);
    if (file >= 0) close(file);
  }
  if (entries) closedir(entries);
  if (status == EP_OK) status = ep_path_join(path, error, folder->path, "datasets", NULL);
  if (status == EP_OK) ep_node_datasets_keep(folder->base, path);
  return status;
}

/* Those that stay are links: this is not on the node, as no job has begun with it. */
static void unbegun_remove(const ep_relay_folder *folder) {
  char datasets[EP_PATH_BYTES], path[EP_PATH_BYTES];
  struct stat state;
  if (ep_path_join(datasets, NULL, folder->path, "datasets", NULL) != EP_OK) return;
  DIR *entries = opendir(datasets);
  for (struct dirent *entry; entries && (entry = readdir(entries));)
    if (entry->d_name[0] != '.' &&
        ep_path_join(path, NULL, datasets, entry->d_name, NULL) == EP_OK &&
        lstat(path, &state) == 0 && S_ISDIR(state.st_mode))
      tree_remove(path);
  if (entries) closedir(entries);
}

void ep_relay_folder_forget(ep_relay_folder *folder) {
  folder->sent_count = 0;
  if (!folder->job[0]) unbegun_remove(folder);
}

ep_status ep_relay_folder_send(ep_relay_folder *folder, ep_held_files which, ep_channel *channel,
                               ep_outgoing *out, bool *done, ep_error *error) {
  char path[EP_PATH_BYTES], name[sizeof folder->sent[0].name];
  int64_t from = 0, until = 0;
  *done = true;
  ep_status status = job_path(folder, path, error);
  DIR *entries = status == EP_OK ? opendir(path) : NULL;
  if (!entries) return status;
  int file = next_open(folder, entries, which, name, &from, &until);
  closedir(entries);
  if (file < 0) return EP_OK;
  *done = false;
  return ep_outgoing_begin(out, channel, file, name, from, until, error);
}

ep_status ep_relay_folder_names(ep_relay_folder *folder, ep_channel *channel, ep_error *error) {
  char path[EP_PATH_BYTES];
  size_t used = 0;
  ep_status status = job_path(folder, path, error);
  char *names = status == EP_OK ? malloc(EP_RECORD_NAMES_BYTES) : NULL;
  DIR *entries = names ? opendir(path) : NULL;
  for (struct dirent *entry; entries && (entry = readdir(entries));) {
    size_t bytes = strlen(entry->d_name) + 1;
    if (!name_counts(entry->d_name, EP_FILES_ALL) || bytes > EP_RECORD_NAMES_BYTES - used) continue;
    memcpy(names + used, entry->d_name, bytes);
    used += bytes;
  }
  if (entries) {
    closedir(entries);
    status = ep_channel_put(channel, EP_RECORD_NAMES, 0, names, used, NULL, 0, error);
  }
  free(names);
  return status;
}
