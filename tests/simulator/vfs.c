#include "tests/simulator/vfs.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "tests/simulator/disk.h"
#include "tests/simulator/memory.h"
#include "tests/simulator/simulator.h"
#include "tests/simulator/tasks.h"

enum { REGIONS_MOST = 256, DATABASES_MOST = 16 };

/* Of a database: its locks, and the index of its log. */
typedef struct {
  disk_file *file;
  int readers;
  bool reserved, pending, exclusive;
  void *regions[REGIONS_MOST];
  int shared[SQLITE_SHM_NLOCK]; /* -1 = exclusive */
  int connections;
} database;

typedef struct {
  database database[DATABASES_MOST];
} database_table;

typedef struct {
  sqlite3_file base;
  disk_file *file;
  disk_file *folder; /* NULL; or: synced with the file, once */
  database *database;
  int level;
  int shared_mask, exclusive_mask; /* of the locks of shared memory */
  bool is_mapped;
} opened_file;

static database_table *DATABASES;

static int file_close(sqlite3_file *base) {
  opened_file *opened = (opened_file *)base;
  disk_release(opened->file);
  return SQLITE_OK;
}

static int file_read(sqlite3_file *base, void *bytes, int count, sqlite3_int64 offset) {
  const opened_file *opened = (opened_file *)base;
  if (disk_step(DISK_READ, opened->file, false) != 0) return SQLITE_IOERR_READ;
  size_t got = disk_read(opened->file, bytes, (size_t)count, (size_t)offset);
  if (got == (size_t)count) return SQLITE_OK;
  memset((char *)bytes + got, 0, (size_t)count - got);
  return SQLITE_IOERR_SHORT_READ;
}

static int file_write(sqlite3_file *base, const void *bytes, int count, sqlite3_int64 offset) {
  const opened_file *opened = (opened_file *)base;
  int error = disk_step(DISK_WRITE, opened->file, true);
  if (error != 0) { /* a part of it may be there */
    disk_write(opened->file, bytes, random_below((size_t)count), (size_t)offset);
    return DISK->faults.full ? SQLITE_FULL : SQLITE_IOERR_WRITE;
  }
  disk_write(opened->file, bytes, (size_t)count, (size_t)offset);
  return SQLITE_OK;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size) {
  const opened_file *opened = (opened_file *)base;
  if (disk_step(DISK_WRITE, opened->file, false) != 0) return SQLITE_IOERR_TRUNCATE;
  disk_truncate(opened->file, (size_t)size);
  return SQLITE_OK;
}

static int file_sync(sqlite3_file *base, int flags) {
  opened_file *opened = (opened_file *)base;
  (void)flags;
  if (disk_step(DISK_SYNC, opened->file, false) != 0) {
    disk_sync_fail(opened->file);
    return SQLITE_IOERR_FSYNC;
  }
  disk_sync(opened->file);
  if (opened->folder) disk_sync(opened->folder);
  opened->folder = NULL;
  return SQLITE_OK;
}

static int file_size(sqlite3_file *base, sqlite3_int64 *size) {
  *size = (sqlite3_int64)((opened_file *)base)->file->size;
  return SQLITE_OK;
}

static int file_lock(sqlite3_file *base, int level) {
  opened_file *opened = (opened_file *)base;
  database *locks = opened->database;
  if (level <= opened->level) return SQLITE_OK;
  if (level == SQLITE_LOCK_SHARED) {
    if (locks->pending || locks->exclusive) return SQLITE_BUSY;
    locks->readers++;
  } else if (level == SQLITE_LOCK_RESERVED) {
    if (locks->reserved) return SQLITE_BUSY;
    locks->reserved = true;
  } else {
    if (opened->level < SQLITE_LOCK_RESERVED && (locks->reserved || locks->pending))
      return SQLITE_BUSY;
    if (opened->level < SQLITE_LOCK_PENDING) {
      if (locks->pending) return SQLITE_BUSY;
      locks->pending = true;
    }
    opened->level = SQLITE_LOCK_PENDING;
    if (locks->readers > 1) return SQLITE_BUSY;
    locks->exclusive = true;
  }
  opened->level = level;
  return SQLITE_OK;
}

static int file_unlock(sqlite3_file *base, int level) {
  opened_file *opened = (opened_file *)base;
  database *locks = opened->database;
  if (level >= opened->level) return SQLITE_OK;
  if (opened->level >= SQLITE_LOCK_EXCLUSIVE) locks->exclusive = false;
  if (opened->level >= SQLITE_LOCK_PENDING) locks->pending = false;
  if (opened->level >= SQLITE_LOCK_RESERVED) locks->reserved = false;
  if (level == SQLITE_LOCK_NONE && opened->level >= SQLITE_LOCK_SHARED) locks->readers--;
  opened->level = level;
  return SQLITE_OK;
}

static int file_reserved(sqlite3_file *base, int *reserved) {
  const database *locks = ((opened_file *)base)->database;
  *reserved = locks->reserved || locks->pending || locks->exclusive;
  return SQLITE_OK;
}

static int file_control(sqlite3_file *base, int operation, void *argument) {
  (void)base, (void)operation, (void)argument;
  return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *base) {
  (void)base;
  return 4096;
}

static int file_device(sqlite3_file *base) {
  (void)base;
  return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static int shared_map(sqlite3_file *base, int number, int bytes, int extend, void volatile **out) {
  opened_file *opened = (opened_file *)base;
  database *locks = opened->database;
  must_hold(number < REGIONS_MOST, "an index of %d regions", number);
  if (!opened->is_mapped) locks->connections++;
  opened->is_mapped = true;
  if (!locks->regions[number] && extend) locks->regions[number] = outside_calloc(1, (size_t)bytes);
  *out = locks->regions[number];
  return SQLITE_OK;
}

static int shared_lock(sqlite3_file *base, int first, int count, int flags) {
  opened_file *opened = (opened_file *)base;
  database *locks = opened->database;
  int mask = ((1 << count) - 1) << first;
  trace_note(7, (uint64_t)(flags << 16 | mask));
  for (int i = first; i < first + count && (flags & SQLITE_SHM_LOCK); i++) {
    bool own = opened->shared_mask & 1 << i;
    if (locks->shared[i] < 0) return SQLITE_BUSY;
    if ((flags & SQLITE_SHM_EXCLUSIVE) && locks->shared[i] > own) return SQLITE_BUSY;
  }
  for (int i = first; i < first + count; i++) {
    int bit = 1 << i;
    if ((flags & SQLITE_SHM_LOCK) && (flags & SQLITE_SHM_SHARED)) {
      if (!(opened->shared_mask & bit)) locks->shared[i]++;
      opened->shared_mask |= bit;
    } else if (flags & SQLITE_SHM_LOCK) {
      locks->shared[i] = -1;
      opened->exclusive_mask |= bit;
    } else {
      if (opened->shared_mask & bit) locks->shared[i]--;
      if (opened->exclusive_mask & bit) locks->shared[i] = 0;
      opened->shared_mask &= ~bit;
      opened->exclusive_mask &= ~bit;
    }
  }
  return SQLITE_OK;
}

static void shared_barrier(sqlite3_file *base) {
  (void)base;
}

static void regions_free(database *locks) {
  for (int i = 0; i < REGIONS_MOST; i++) {
    outside_free(locks->regions[i]);
    locks->regions[i] = NULL;
  }
}

static int shared_unmap(sqlite3_file *base, int remove) {
  opened_file *opened = (opened_file *)base;
  (void)remove;
  if (opened->is_mapped && --opened->database->connections == 0) regions_free(opened->database);
  opened->is_mapped = false;
  return SQLITE_OK;
}

static const sqlite3_io_methods METHODS = {.iVersion = 2,
                                           .xClose = file_close,
                                           .xRead = file_read,
                                           .xWrite = file_write,
                                           .xTruncate = file_truncate,
                                           .xSync = file_sync,
                                           .xFileSize = file_size,
                                           .xLock = file_lock,
                                           .xUnlock = file_unlock,
                                           .xCheckReservedLock = file_reserved,
                                           .xFileControl = file_control,
                                           .xSectorSize = file_sector,
                                           .xDeviceCharacteristics = file_device,
                                           .xShmMap = shared_map,
                                           .xShmLock = shared_lock,
                                           .xShmBarrier = shared_barrier,
                                           .xShmUnmap = shared_unmap};

static database *database_find(disk_file *file) {
  int i = 0;
  while (i < DATABASES_MOST && DATABASES->database[i].file != file && DATABASES->database[i].file)
    i++;
  must_hold(i < DATABASES_MOST, "%d databases are open", DATABASES_MOST);
  if (!DATABASES->database[i].file) disk_retain(file);
  DATABASES->database[i].file = file;
  return &DATABASES->database[i];
}

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *base, int flags, int *shown) {
  opened_file *opened = (opened_file *)base;
  disk_file *folder = NULL;
  const char *name = NULL;
  (void)vfs;
  memset(opened, 0, sizeof *opened);
  opened->base.pMethods = &METHODS;
  if (shown) *shown = flags;
  if (!path) { /* temporary: a large statement's way back */
    opened->file = disk_make_unnamed();
    return SQLITE_OK;
  }
  opened->base.pMethods = NULL;
  disk_file *file = disk_find(path, &folder, &name);
  bool makes = !file && folder && (flags & SQLITE_OPEN_CREATE);
  if (!file && !makes) return SQLITE_CANTOPEN;
  if (disk_step(makes ? DISK_NAME : DISK_READ, folder, makes) != 0) return SQLITE_CANTOPEN;
  file = disk_find(path, &folder, &name);
  if (!file) {
    file = disk_make(folder, name, false, 0600);
    if (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)) opened->folder = folder;
  }
  disk_retain(file);
  opened->file = file;
  if (flags & SQLITE_OPEN_MAIN_DB) opened->database = database_find(file);
  opened->base.pMethods = &METHODS;
  return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int sync_folder) {
  disk_file *folder;
  const char *name;
  (void)vfs;
  if (!disk_find(path, &folder, &name)) return SQLITE_IOERR_DELETE_NOENT;
  if (disk_step(DISK_NAME, folder, false) != 0) return SQLITE_IOERR_DELETE;
  if (!disk_find(path, &folder, &name)) return SQLITE_IOERR_DELETE_NOENT;
  disk_remove(folder, name);
  if (sync_folder) disk_sync(folder);
  return SQLITE_OK;
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *out) {
  (void)vfs;
  const disk_file *file = disk_find(path, NULL, NULL);
  *out = file && (flags != SQLITE_ACCESS_EXISTS || file->size > 0);
  return SQLITE_OK;
}

static int vfs_full_path(sqlite3_vfs *vfs, const char *path, int bytes, char *out) {
  (void)vfs;
  snprintf(out, (size_t)bytes, "%s", path);
  return SQLITE_OK;
}

static int vfs_randomness(sqlite3_vfs *vfs, int bytes, char *out) {
  (void)vfs;
  for (int i = 0; i < bytes; i++) out[i] = (char)random_below(256);
  return bytes;
}

static int vfs_sleep(sqlite3_vfs *vfs, int us) {
  (void)vfs;
  task_sleep(us > 0 ? us : 1);
  return us;
}

static int vfs_time(sqlite3_vfs *vfs, sqlite3_int64 *out) {
  (void)vfs;
  *out = INT64_C(210866760000000) + (SIM->now_us + SIM->utc_us) / 1000;
  return SQLITE_OK;
}

static int vfs_error(sqlite3_vfs *vfs, int bytes, char *out) {
  (void)vfs, (void)bytes, (void)out;
  return 0;
}

void vfs_begin(void) {
  static sqlite3_vfs vfs = {.iVersion = 2,
                            .szOsFile = sizeof(opened_file),
                            .mxPathname = 512,
                            .zName = "simulated",
                            .xOpen = vfs_open,
                            .xDelete = vfs_delete,
                            .xAccess = vfs_access,
                            .xFullPathname = vfs_full_path,
                            .xRandomness = vfs_randomness,
                            .xSleep = vfs_sleep,
                            .xGetLastError = vfs_error,
                            .xCurrentTimeInt64 = vfs_time};
  DATABASES = outside_calloc(1, sizeof *DATABASES);
  must_hold(sqlite3_vfs_register(&vfs, 1) == SQLITE_OK, "no VFS");
}

void vfs_forget(void) {
  sqlite3_randomness(0, NULL); /* SQLite's generator begins anew, from the seed */
  for (int i = 0; i < DATABASES_MOST; i++) {
    database *one = &DATABASES->database[i];
    if (!one->file) continue;
    regions_free(one);
    disk_release(one->file);
    *one = (database){0};
  }
}
