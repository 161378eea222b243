#include "tests/simulator/disk.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/simulator/memory.h"
#include "tests/simulator/simulator.h"
#include "tests/simulator/tasks.h"

enum {
  SECTOR_BYTES = 512,
  PAGE_BYTES = 4096,
  NAME_BYTES = 256,
  CHANGES_MOST = 65536,
  YIELD_TIMES = 6
};

/* A change of names that is not synced. */
typedef struct {
  disk_file *from, *to; /* the folder that lost a name, the one that got one; NULL = none */
  char *old_name, *new_name;
  disk_file *file;     /* retained */
  disk_file *replaced; /* retained; NULL = nothing */
} change;

typedef struct {
  disk_file *root;
  uint64_t last_number;
  change *changes; /* [changes_count], in their order */
  int changes_count;
} disk_names;

disk_state *DISK;
static disk_names *NAMES;

static char *name_copy(const char *name) {
  size_t bytes = strlen(name) + 1;
  return memcpy(outside_malloc(bytes), name, bytes);
}

static disk_file *file_make(bool is_folder, unsigned mode) {
  disk_file *file = outside_calloc(1, sizeof *file);
  file->references = 1;
  file->number = ++NAMES->last_number;
  file->is_folder = is_folder;
  file->mode = mode;
  return file;
}

void disk_begin(void) {
  DISK = outside_calloc(1, sizeof *DISK);
  NAMES = outside_calloc(1, sizeof *NAMES);
  NAMES->changes = outside_calloc(CHANGES_MOST, sizeof *NAMES->changes);
  NAMES->root = file_make(true, 0700);
  NAMES->root->parent = NAMES->root;
}

void disk_retain(disk_file *file) {
  file->references++;
}

void disk_release(disk_file *file) {
  if (!file || --file->references > 0) return;
  for (int i = 0; i < file->entries_count; i++) outside_free(file->entries[i].name);
  outside_free(file->entries);
  outside_free(file->bytes);
  outside_free(file->synced);
  outside_free(file->dirty);
  outside_free(file->shared);
  outside_free(file);
}

int disk_step(disk_call call, const disk_file *file, bool needs_room) {
  const disk_faults *faults = &DISK->faults;
  trace_note(2 + (uint64_t)call, file ? file->number : 0);
  if (!SIM->inside) return 0;
  DISK->steps++;
  if (DISK->die_after != 0 && DISK->steps >= DISK->die_after) {
    DISK->die_after = 0;
    task_die();
  }
  if (call == DISK_SYNC)
    task_sleep(1 + (int64_t)random_below((uint64_t)faults->sync_us));
  else if (one_in(YIELD_TIMES))
    task_yield();
  if (faults->full && needs_room) {
    DISK->failures++;
    return ENOSPC;
  }
  if (faults->error_times == 0 || (faults->syncs_only && call != DISK_SYNC) ||
      !one_in(faults->error_times))
    return 0;
  DISK->failures++;
  trace_note(6, DISK->failures);
  return EIO;
}

static int entry_find(const disk_file *folder, const char *name) {
  for (int i = 0; i < folder->entries_count; i++)
    if (strcmp(folder->entries[i].name, name) == 0) return i;
  return -1;
}

disk_file *disk_child(const disk_file *folder, const char *name) {
  int at = folder->is_folder ? entry_find(folder, name) : -1;
  return at < 0 ? NULL : folder->entries[at].file;
}

disk_file *disk_find(const char *path, disk_file **folder, const char **name) {
  static const char *nothing = "";
  disk_file *at = NAMES->root, *above = NULL;
  const char *part = path + strlen(DISK_ROOT), *last = nothing;
  char text[NAME_BYTES];
  while (*part == '/') part++;
  while (*part && at) {
    size_t bytes = strcspn(part, "/");
    must_hold(bytes < sizeof text, "a name of %zu bytes", bytes);
    memcpy(text, part, bytes);
    text[bytes] = 0;
    last = part;
    above = at;
    if (!at->is_folder) {
      errno = ENOTDIR;
      return NULL;
    }
    if (strcmp(text, "..") == 0)
      at = at->parent;
    else if (strcmp(text, ".") != 0)
      at = disk_child(at, text);
    part += bytes;
    while (*part == '/') part++;
    if (!at && *part) above = NULL;
  }
  if (folder) *folder = above;
  if (name) *name = last;
  if (!at) errno = ENOENT;
  return at;
}

static void entry_add(disk_file *folder, const char *name, disk_file *file) {
  if (folder->entries_count == folder->entries_capacity) {
    folder->entries_capacity = folder->entries_capacity * 2 + 8;
    folder->entries = outside_realloc(folder->entries,
                                      (size_t)folder->entries_capacity * sizeof *folder->entries);
  }
  folder->entries[folder->entries_count++] = (disk_entry){name_copy(name), file};
  disk_retain(file);
  if (file->is_folder) file->parent = folder;
}

static void entry_remove(disk_file *folder, const char *name) {
  int at = entry_find(folder, name);
  must_hold(at >= 0, "the disk lost the name %s", name);
  disk_file *file = folder->entries[at].file;
  outside_free(folder->entries[at].name);
  memmove(&folder->entries[at], &folder->entries[at + 1],
          (size_t)(folder->entries_count - at - 1) * sizeof *folder->entries);
  folder->entries_count--;
  disk_release(file);
}

static void change_note(disk_file *from, const char *old_name, disk_file *to, const char *new_name,
                        disk_file *file, disk_file *replaced) {
  must_hold(NAMES->changes_count < CHANGES_MOST, "%d changes of names without a sync",
            CHANGES_MOST);
  disk_retain(file);
  if (replaced) disk_retain(replaced);
  if (from) disk_retain(from);
  if (to) disk_retain(to);
  NAMES->changes[NAMES->changes_count++] = (change){
      from, to,      old_name ? name_copy(old_name) : NULL, new_name ? name_copy(new_name) : NULL,
      file, replaced};
}

static void change_free(change *one) {
  outside_free(one->old_name);
  outside_free(one->new_name);
  disk_release(one->file);
  disk_release(one->replaced);
  disk_release(one->from);
  disk_release(one->to);
}

disk_file *disk_make(disk_file *folder, const char *name, bool is_folder, unsigned mode) {
  disk_file *file = file_make(is_folder, mode);
  entry_add(folder, name, file);
  change_note(NULL, NULL, folder, name, file, NULL);
  disk_release(file);
  return file;
}

disk_file *disk_make_unnamed(void) {
  return file_make(false, 0600);
}

void disk_remove(disk_file *folder, const char *name) {
  disk_file *file = disk_child(folder, name);
  change_note(folder, name, NULL, NULL, file, NULL);
  entry_remove(folder, name);
}

void disk_move(disk_file *from, const char *name, disk_file *to, const char *new_name) {
  disk_file *file = disk_child(from, name), *replaced = disk_child(to, new_name);
  if (file == replaced) return;
  change_note(from, name, to, new_name, file, replaced);
  if (replaced) entry_remove(to, new_name);
  entry_add(to, new_name, file);
  entry_remove(from, name);
}

static void change_undo(const change *one) {
  if (one->to) entry_remove(one->to, one->new_name);
  if (one->to && one->replaced) entry_add(one->to, one->new_name, one->replaced);
  if (one->from) entry_add(one->from, one->old_name, one->file);
}

static bool is_of(const change *one, disk_file *const *folders, int count) {
  for (int i = 0; i < count; i++)
    if (one->from == folders[i] || one->to == folders[i]) return true;
  return false;
}

/* The changes of a folder are on the disk, and what they build on: earlier ones of the same
 * folders. */
static void names_sync(disk_file *folder) {
  enum { FOLDERS = 64 };
  disk_file *folders[FOLDERS] = {folder};
  int count = 1, kept = NAMES->changes_count;
  for (int i = NAMES->changes_count - 1; i >= 0; i--) {
    change one = NAMES->changes[i];
    if (!is_of(&one, folders, count)) {
      NAMES->changes[--kept] = one;
      continue;
    }
    if (one.from && !is_of(&(change){.from = one.from}, folders, count) && count < FOLDERS)
      folders[count++] = one.from;
    if (one.to && !is_of(&(change){.from = one.to}, folders, count) && count < FOLDERS)
      folders[count++] = one.to;
    change_free(&one);
  }
  memmove(NAMES->changes, NAMES->changes + kept,
          (size_t)(NAMES->changes_count - kept) * sizeof *NAMES->changes);
  NAMES->changes_count -= kept;
}

static void names_lose(void) {
  enum { FOLDERS = 256 };
  disk_file *folders[FOLDERS];
  int count = 0, lost = 0;
  change *lose = outside_malloc((size_t)NAMES->changes_count * sizeof *lose + 1);
  uint64_t times = 1 + random_below(6);
  for (int i = 0; i < NAMES->changes_count; i++) {
    change one = NAMES->changes[i];
    bool loses = is_of(&one, folders, count) || count > FOLDERS - 3 || one_in(times);
    if (!loses) {
      change_free(&one);
      continue;
    }
    lose[lost++] = one;
    if (count > FOLDERS - 3) continue;
    if (one.from) folders[count++] = one.from;
    if (one.to) folders[count++] = one.to;
  }
  for (int i = lost - 1; i >= 0; i--) {
    change_undo(&lose[i]);
    change_free(&lose[i]);
  }
  outside_free(lose);
  NAMES->changes_count = 0;
}

size_t disk_read(const disk_file *file, void *buffer, size_t bytes, size_t offset) {
  if (offset >= file->size) return 0;
  if (bytes > file->size - offset) bytes = file->size - offset;
  memcpy(buffer, file->bytes + offset, bytes);
  return bytes;
}

static void room_make(disk_file *file, size_t size) {
  if (size <= file->capacity) return;
  size_t capacity = (size + size / 2 + PAGE_BYTES) / PAGE_BYTES * PAGE_BYTES;
  file->bytes = outside_realloc(file->bytes, capacity);
  file->synced = outside_realloc(file->synced, capacity);
  memset(file->bytes + file->capacity, 0, capacity - file->capacity);
  memset(file->synced + file->capacity, 0, capacity - file->capacity);
  file->capacity = capacity;
}

/* Whole sectors, which is less than the pages of most file systems. Ranges that touch become one.
 */
static void dirty_add(disk_file *file, size_t begin, size_t end) {
  int kept = 0;
  if (begin >= end) return;
  begin = begin / SECTOR_BYTES * SECTOR_BYTES;
  end = (end + SECTOR_BYTES - 1) / SECTOR_BYTES * SECTOR_BYTES;
  for (int i = 0; i < file->dirty_count; i++) {
    disk_range *one = &file->dirty[i];
    if (one->end < begin || one->begin > end) {
      file->dirty[kept++] = *one;
    } else {
      if (one->begin < begin) begin = one->begin;
      if (one->end > end) end = one->end;
    }
  }
  file->dirty_count = kept;
  if (file->dirty_count == file->dirty_capacity) {
    file->dirty_capacity = file->dirty_capacity * 2 + 8;
    file->dirty = outside_realloc(file->dirty, (size_t)file->dirty_capacity * sizeof *file->dirty);
  }
  file->dirty[file->dirty_count++] = (disk_range){begin, end};
}

void disk_write(disk_file *file, const void *buffer, size_t bytes, size_t offset) {
  room_make(file, offset + bytes);
  memcpy(file->bytes + offset, buffer, bytes);
  dirty_add(file, offset, offset + bytes);
  if (offset + bytes > file->size) file->size = offset + bytes;
}

void disk_truncate(disk_file *file, size_t size) {
  room_make(file, size);
  if (size < file->size) {
    memset(file->bytes + size, 0, file->size - size);
    dirty_add(file, size, file->size);
  }
  file->size = size;
}

void disk_sync(disk_file *file) {
  if (file->is_folder) {
    names_sync(file);
    return;
  }
  for (int i = 0; i < file->dirty_count; i++)
    memcpy(file->synced + file->dirty[i].begin, file->bytes + file->dirty[i].begin,
           file->dirty[i].end - file->dirty[i].begin);
  file->dirty_count = 0;
  file->synced_size = file->size;
}

/* Each sector of what is not synced, by chance. */
static void sectors_write(disk_file *file) {
  uint64_t mode = random_below(4);
  for (int i = 0; i < file->dirty_count; i++) {
    size_t begin = file->dirty[i].begin, end = file->dirty[i].end, stop = end;
    if (mode == 2) stop = begin + random_below(end - begin + 1);
    while (begin < end) {
      size_t next = (begin / SECTOR_BYTES + 1) * SECTOR_BYTES;
      if (next > end) next = end;
      bool written = mode == 1 || (mode == 2 && begin < stop) || (mode == 3 && one_in(2));
      if (written) memcpy(file->synced + begin, file->bytes + begin, next - begin);
      begin = next;
    }
  }
  file->dirty_count = 0;
}

void disk_sync_fail(disk_file *file) {
  if (!file->is_folder) sectors_write(file);
}

static void content_lose(disk_file *file) {
  if (file->dirty_count > 0) sectors_write(file);
  if (file->size != file->synced_size) {
    size_t low = file->size < file->synced_size ? file->size : file->synced_size;
    size_t high = file->size < file->synced_size ? file->synced_size : file->size;
    uint64_t mode = random_below(3);
    if (mode == 1) file->synced_size = file->size;
    if (mode == 2 && file->size > low) file->synced_size = low + random_below(high - low + 1);
  }
  file->size = file->synced_size;
  if (file->capacity > 0) {
    memset(file->synced + file->size, 0, file->capacity - file->size);
    memcpy(file->bytes, file->synced, file->capacity);
  }
}

static void folder_lose(disk_file *folder) {
  for (int i = 0; i < folder->entries_count; i++)
    if (folder->entries[i].file->is_folder)
      folder_lose(folder->entries[i].file);
    else
      content_lose(folder->entries[i].file);
}

void disk_power_fail(void) {
  names_lose();
  folder_lose(NAMES->root);
}

void disk_flip(disk_file *file, size_t offset) {
  uint8_t bit = (uint8_t)(1U << random_below(8));
  file->bytes[offset] ^= bit;
  file->synced[offset] = file->bytes[offset];
}
