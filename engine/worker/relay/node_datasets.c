#include "engine/worker/relay/node_datasets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/limits.h"
#include "engine/files/path.h"

enum { UNUSED_SECONDS = 3600 }; /* a worker that begins with one has opened its files by then */

/* The node's folder: this user's, closed to others, and no link that somebody else made. */
static bool node_folder(const char *base, char *path) {
  char name[64];
  struct stat state;
  snprintf(name, sizeof name, "epochd-datasets-%lld", (long long)geteuid());
  if (ep_path_join(path, NULL, base, name, NULL) != EP_OK) return false;
  if (mkdir(path, 0700) != 0 && errno != EEXIST) return false;
  return lstat(path, &state) == 0 && S_ISDIR(state.st_mode) && state.st_uid == geteuid() &&
         (state.st_mode & 077) == 0;
}

/* It is used now. */
static void touch(const char *path) {
  utimensat(AT_FDCWD, path, NULL, 0);
}

bool ep_node_datasets_link(const char *base, const char *sha256, const char *own) {
  char node[EP_PATH_BYTES], path[EP_PATH_BYTES];
  if (!node_folder(base, node) || ep_path_join(path, NULL, node, sha256, NULL) != EP_OK ||
      access(path, F_OK) != 0)
    return false;
  touch(path);
  return symlink(path, own) == 0;
}

/* Files of a data set lie beside each other. */
static int64_t bytes_of(const char *path) {
  int64_t bytes = 0;
  struct stat state;
  DIR *entries = opendir(path);
  for (struct dirent *entry; entries && (entry = readdir(entries));)
    if (fstatat(dirfd(entries), entry->d_name, &state, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(state.st_mode))
      bytes += state.st_size;
  if (entries) closedir(entries);
  return bytes;
}

/* Under another name first: whoever looks for it finds all of it, or nothing. */
static void dataset_remove(const char *node, const char *path) {
  char going[EP_PATH_BYTES];
  if (ep_path_join(going, NULL, node, ".going", NULL) != EP_OK) return;
  if (rename(path, going) != 0 && errno != ENOTEMPTY && errno != EEXIST) return;
  DIR *entries = opendir(going);
  for (struct dirent *entry; entries && (entry = readdir(entries));)
    unlinkat(dirfd(entries), entry->d_name, 0);
  if (entries) closedir(entries);
  rmdir(going);
}

/* The bytes of all of them, and the one that was used longest ago; oldest: "" = all are in use. */
static int64_t node_look(const char *node, char *oldest) {
  char path[EP_PATH_BYTES];
  struct stat state;
  int64_t bytes = 0;
  time_t before = time(NULL) - UNUSED_SECONDS;
  DIR *entries = opendir(node);
  oldest[0] = 0;
  for (struct dirent *entry; entries && (entry = readdir(entries));) {
    if (entry->d_name[0] == '.' || ep_path_join(path, NULL, node, entry->d_name, NULL) != EP_OK ||
        lstat(path, &state) != 0)
      continue;
    bytes += bytes_of(path);
    if (state.st_mtim.tv_sec >= before) continue;
    before = state.st_mtim.tv_sec;
    memcpy(oldest, path, sizeof path);
  }
  if (entries) closedir(entries);
  return bytes;
}

static void node_trim(const char *node) {
  char oldest[EP_PATH_BYTES];
  int64_t bytes = node_look(node, oldest);
  while (bytes > EP_LIMIT_NODE_DATASETS_BYTES && oldest[0]) {
    dataset_remove(node, oldest);
    const int64_t left = node_look(node, oldest);
    if (left >= bytes) return; /* it cannot be removed */
    bytes = left;
  }
}

void ep_node_datasets_keep(const char *base, const char *folder) {
  char node[EP_PATH_BYTES], own[EP_PATH_BYTES], path[EP_PATH_BYTES];
  struct stat state;
  DIR *entries = node_folder(base, node) ? opendir(folder) : NULL;
  for (struct dirent *entry; entries && (entry = readdir(entries));) {
    if (entry->d_name[0] == '.' || ep_path_join(own, NULL, folder, entry->d_name, NULL) != EP_OK ||
        ep_path_join(path, NULL, node, entry->d_name, NULL) != EP_OK || lstat(own, &state) != 0 ||
        !S_ISDIR(state.st_mode) || rename(own, path) != 0)
      continue;
    touch(path);
    if (symlink(path, own) != 0) (void)rename(path, own);
  }
  if (!entries) return;
  closedir(entries);
  node_trim(node);
}
