#include "engine/host/memory.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 4096 };

/* What the files of a version of control groups are called. `cache`: of memory.stat, the part of
 * `used` that the kernel takes back at once. */
typedef struct {
  const char *limit, *used, *cache;
} group_files;

static const group_files VERSION_1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                      "total_inactive_file"};
static const group_files VERSION_2 = {"memory.max", "memory.current", "inactive_file"};

/* The first number of a file, or of its line that begins with `key`; -1 = there is none ("max"). */
static int64_t number_read(const char *path, const char *key) {
  char line[LINE_BYTES];
  FILE *file = fopen(path, "re");
  int64_t number = -1;
  if (!file) return -1;
  const size_t length = key ? strlen(key) : 0;
  while (number < 0 && fgets(line, sizeof line, file)) {
    if (key && (strncmp(line, key, length) != 0 || !strchr(" :\t", line[length]))) continue;
    const char *at = line + length + strspn(line + length, " :\t");
    char *end;
    const unsigned long long value = strtoull(at, &end, 10);
    if (end != at) number = value > INT64_MAX ? INT64_MAX : (int64_t)value;
  }
  fclose(file);
  return number;
}

static int64_t group_number(const char *folder, const char *name, const char *key) {
  char path[PATH_MAX];
  const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
  return length > 0 && (size_t)length < sizeof path ? number_read(path, key) : -1;
}

static int64_t less(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Bounds *memory by one group. */
static void group_apply(const char *folder, const group_files *files, ep_memory *memory) {
  const int64_t limit = group_number(folder, files->limit, NULL);
  if (limit < 0) return;
  int64_t used = group_number(folder, files->used, NULL);
  const int64_t cache = group_number(folder, "memory.stat", files->cache);
  if (used < 0) used = 0;
  if (cache > 0) used -= less(cache, used);
  memory->total_bytes = less(memory->total_bytes, limit);
  memory->free_bytes = less(memory->free_bytes, limit > used ? limit - used : 0);
}

/* Bounds *memory by the group `path` below `mount`, and by each one above it. */
static void path_apply(const char *mount, const char *path, const group_files *files,
                       ep_memory *memory) {
  char folder[PATH_MAX];
  const size_t least = strlen(mount);
  const int length = snprintf(folder, sizeof folder, "%s%s", mount, path);
  if (length < 0 || (size_t)length >= sizeof folder) return;
  for (;;) {
    group_apply(folder, files, memory);
    char *last = strrchr(folder, '/');
    if (!last || last < folder + least) return;
    *last = 0;
  }
}

/* The path of this process's group, of the line of /proc/self/cgroup whose controllers are
 * `wanted`: "memory" of version 1, "" of version 2. */
static bool group_find(const char *root, const char *wanted, char path[LINE_BYTES]) {
  char name[PATH_MAX], line[LINE_BYTES];
  snprintf(name, sizeof name, "%s/proc/self/cgroup", root);
  FILE *file = fopen(name, "re");
  bool found = false;
  if (!file) return false;
  while (!found && fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = 0;
    char *controllers = strchr(line, ':');
    char *at = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!at) continue;
    *at = 0;
    char *rest = controllers + 1;
    if (!*rest && !*wanted) found = true;
    for (const char *one; !found && *wanted && (one = strsep(&rest, ","));)
      found = strcmp(one, wanted) == 0;
    if (found) snprintf(path, LINE_BYTES, "%s", strcmp(at + 1, "/") == 0 ? "" : at + 1);
  }
  fclose(file);
  return found;
}

/* A line of /proc/self/mountinfo (proc(5)): the folder of the file system that is mounted, and
 * where; whether it has the groups that bound memory. */
static bool mount_parse(char *line, const char *type, const char *option, char **folder,
                        char **mount) {
  char *rest = line;
  for (int i = 0; i < 3; i++) strsep(&rest, " ");
  *folder = strsep(&rest, " ");
  *mount = strsep(&rest, " ");
  char *behind = rest ? strstr(rest, " - ") : NULL;
  if (!behind) return false;
  behind += 3;
  const char *found = strsep(&behind, " ");
  return strcmp(found, type) == 0 && (!*option || (behind && strstr(behind, option)));
}

/* Bounds *memory by the groups of one version. Within a container the path may begin with the
 * folder that is mounted, or lie outside of what is seen: then the mount's own group bounds. */
static void version_apply(const char *root, bool second, ep_memory *memory) {
  char path[LINE_BYTES], name[PATH_MAX], line[LINE_BYTES], mounted[PATH_MAX];
  if (!group_find(root, second ? "" : "memory", path)) return;
  snprintf(name, sizeof name, "%s/proc/self/mountinfo", root);
  FILE *file = fopen(name, "re");
  if (!file) return;
  while (fgets(line, sizeof line, file)) {
    char *folder, *mount;
    line[strcspn(line, "\n")] = 0;
    if (!mount_parse(line, second ? "cgroup2" : "cgroup", second ? "" : "memory", &folder, &mount))
      continue;
    const size_t length = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    const bool within =
        strncmp(path, folder, length) == 0 && (!path[length] || path[length] == '/');
    const bool outside = strncmp(path, "/..", 3) == 0;
    snprintf(mounted, sizeof mounted, "%s%s", root, mount);
    path_apply(mounted, within && !outside ? path + length : "", second ? &VERSION_2 : &VERSION_1,
               memory);
  }
  fclose(file);
}

ep_memory ep_memory_read_below(const char *root) {
  char name[PATH_MAX];
  snprintf(name, sizeof name, "%s/proc/meminfo", root);
  const int64_t kib = 1024, total = number_read(name, "MemTotal"),
                available = number_read(name, "MemAvailable");
  ep_memory memory = {.total_bytes = total < 0 ? INT64_MAX : total * kib,
                      .free_bytes = available < 0 ? INT64_MAX : available * kib};
  version_apply(root, false, &memory);
  version_apply(root, true, &memory);
  return memory;
}

ep_memory ep_memory_read(void) {
  ep_memory memory = ep_memory_read_below("");
  const char *text = getenv(EP_MEMORY_VARIABLE);
  const int64_t most = text ? strtoll(text, NULL, 10) : 0;
  if (most > 0) memory.total_bytes = less(memory.total_bytes, most);
  if (most > 0) memory.free_bytes = less(memory.free_bytes, most);
  return memory;
}
