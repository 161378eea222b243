#include "engine/data/sources/allowed_paths.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/files/excerpt.h"

static const char pointer[] = "/data/path";

static struct {
  int file;
  char *path; /* owned, as realpath gives it */
} allowed[EP_LIMIT_ALLOWED_FOLDERS];
static int allowed_count;

static ep_status folder_add(const char *folder, ep_error *error) {
  if (allowed_count == EP_LIMIT_ALLOWED_FOLDERS)
    return ep_fail(error, EP_TOO_LARGE, "more than %d folders are allowed",
                   EP_LIMIT_ALLOWED_FOLDERS);
  char *path = realpath(folder, NULL);
  if (!path) return ep_fail(error, EP_NOT_FOUND, "--allow-path %s: %s", folder, strerror(errno));
  int file = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) {
    ep_status status = ep_fail(error, EP_INVALID, "--allow-path %s: %s", folder, strerror(errno));
    free(path);
    return status;
  }
  allowed[allowed_count].file = file;
  allowed[allowed_count++].path = path;
  return EP_OK;
}

ep_status ep_allowed_paths_add(const char *folders, ep_error *error) {
  char folder[PATH_MAX];
  ep_status status = EP_OK;
  while (*folders && status == EP_OK) {
    size_t length = strcspn(folders, ":");
    if (length >= sizeof folder) return ep_fail(error, EP_INVALID, "--allow-path is too long");
    memcpy(folder, folders, length);
    folder[length] = 0;
    if (length > 0) status = folder_add(folder, error);
    folders += length + (folders[length] == ':');
  }
  return status;
}

void ep_allowed_paths_clear(void) {
  while (allowed_count > 0) {
    allowed_count--;
    close(allowed[allowed_count].file);
    free(allowed[allowed_count].path);
  }
}

enum { FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY }; /* a pipe must not hold us up */

/* Where the kernel or a container's filter has no openat2: name after name, each opened without
 * following a link, which is as strict. */
static int beneath_walk(int folder, const char *path) {
  char name[NAME_MAX + 1];
  int at = dup(folder);
  while (at >= 0 && *path) {
    size_t length = strcspn(path, "/");
    if (length > NAME_MAX || (length == 2 && memcmp(path, "..", 2) == 0)) {
      close(at);
      errno = length == 2 ? EXDEV : ENAMETOOLONG;
      return -1;
    }
    memcpy(name, path, length);
    name[length] = 0;
    path += length;
    bool last = path[strspn(path, "/")] == 0;
    path += strspn(path, "/");
    if (length == 0 || strcmp(name, ".") == 0) continue;
    int next = openat(at, name, (last ? FLAGS : O_PATH | O_DIRECTORY | O_CLOEXEC) | O_NOFOLLOW);
    int reason = errno;
    close(at);
    errno = reason;
    at = next;
  }
  return at;
}

static int beneath_open(int folder, const char *path) {
  struct open_how how = {.flags = FLAGS,
                         .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
  long file = syscall(__NR_openat2, folder, path, &how, sizeof how);
  if (file >= 0 || (errno != ENOSYS && errno != EPERM)) return (int)file;
  return beneath_walk(folder, path);
}

/* What follows the allowed folder in `path`, "." for itself; NULL when it is not below it. */
static const char *rest_find(const char *folder, const char *path) {
  size_t length = strlen(folder);
  if (strcmp(folder, "/") == 0) length = 0;
  if (strncmp(path, folder, length) != 0 || (path[length] != 0 && path[length] != '/')) return NULL;
  path += length + strspn(path + length, "/");
  return *path ? path : ".";
}

static ep_status kind_check(int file, const char *shown, ep_error *error) {
  struct stat stat;
  if (fstat(file, &stat) == 0 && (S_ISREG(stat.st_mode) || S_ISDIR(stat.st_mode))) return EP_OK;
  return ep_fail_at(error, EP_INVALID, pointer, "%s is neither a file nor a folder", shown);
}

ep_status ep_allowed_paths_open(const char *path, int *file, ep_error *error) {
  char shown[EP_EXCERPT_BYTES];
  bool missing = false;
  *file = -1;
  ep_excerpt(shown, path, strlen(path));
  for (int i = 0; i < allowed_count && *file < 0; i++) {
    const char *rest = *path == '/' ? rest_find(allowed[i].path, path) : path;
    if (!rest || !*rest) continue;
    *file = beneath_open(allowed[i].file, rest);
    missing |= *file < 0 && errno == ENOENT;
  }
  if (*file < 0 && missing) return ep_fail_at(error, EP_INVALID, pointer, "%s not found", shown);
  if (*file < 0)
    return ep_fail_at(error, EP_INVALID, pointer,
                      "%s is not allowed: the administrator allows folders with --allow-path, and "
                      "links within them are not followed",
                      shown);
  ep_status status = kind_check(*file, shown, error);
  if (status != EP_OK) {
    close(*file);
    *file = -1;
  }
  return status;
}
