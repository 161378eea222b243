/* disk.h: a disk with its page cache, in memory. What was written is read at once, and outlives the
 * daemon; a power failure leaves of each sector that was not synced the old or the new content, of
 * a size the old, the new, or one between, and of the names of each folder those of the first
 * changes, as many as chance has it. Names are synced by their folder alone. A sync that fails
 * forgets what it was to write (as Linux does): the next one succeeds without it.
 *
 * files.c has the calls of the C library, vfs.c those of SQLite. */
#ifndef EP_TEST_SIMULATOR_DISK_H
#define EP_TEST_SIMULATOR_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DISK_ROOT "/sim" /* what has such a path lies on this disk */

typedef struct {
  size_t begin, end;
} disk_range;

typedef struct disk_entry {
  char *name;
  struct disk_file *file;
} disk_entry;

typedef struct disk_file {
  int references; /* of names, open files, and changes of names that are not synced */
  uint64_t number;
  bool is_folder;
  unsigned mode;
  uint8_t *bytes, *synced; /* [capacity] as it is read; as it is on the disk */
  size_t size, synced_size, capacity;
  disk_range *dirty; /* [dirty_count] */
  int dirty_count, dirty_capacity;
  disk_entry *entries; /* of a folder: [entries_count], in the order of their making */
  int entries_count, entries_capacity;
  struct disk_file *parent;
  void *shared; /* vfs.c: locks and shared memory of a database */
} disk_file;

/* What the disk refuses, for a time. */
typedef struct {
  unsigned error_times; /* one in so many writes, reads or syncs fails with EIO; 0 = none does */
  bool syncs_only;      /* of them, syncs alone */
  bool full;            /* nothing that needs room can be written */
  int64_t sync_us;      /* at most, of a sync */
} disk_faults;

typedef struct {
  disk_faults faults;
  uint64_t steps;     /* calls so far */
  uint64_t die_after; /* the daemon dies at this one; 0 = at none */
  uint64_t failures;  /* calls that failed by disk_faults */
} disk_state;

extern disk_state *DISK;

void disk_begin(void);

typedef enum { DISK_READ, DISK_WRITE, DISK_NAME, DISK_SYNC } disk_call;
/* Each call that reaches the disk begins here: others may go on, the daemon may die. 0, or the
 * errno with which it fails. needs_room: of a full disk it fails. */
int disk_step(disk_call call, const disk_file *file, bool needs_room);

/* NULL: not there, and errno says why. The last name of the path is written to `name`
 * (EP_PATH_BYTES) and its folder to *folder, where they are not NULL. */
disk_file *disk_find(const char *path, disk_file **folder, const char **name);
disk_file *disk_child(const disk_file *folder, const char *name);
void disk_retain(disk_file *file);
void disk_release(disk_file *file);

/* Changes of names; *file is retained by the caller beside. */
disk_file *disk_make(disk_file *folder, const char *name, bool is_folder, unsigned mode);
disk_file *disk_make_unnamed(void); /* the caller's */
void disk_remove(disk_file *folder, const char *name);
void disk_move(disk_file *from, const char *name, disk_file *to, const char *new_name);

size_t disk_read(const disk_file *file, void *buffer, size_t bytes, size_t offset);
void disk_write(disk_file *file, const void *buffer, size_t bytes, size_t offset);
void disk_truncate(disk_file *file, size_t size);
void disk_sync(disk_file *file);      /* content, or the names of a folder */
void disk_sync_fail(disk_file *file); /* some of it is written, the rest forgotten */

void disk_power_fail(void);
/* Flips a bit of a file, on the disk and in memory. */
void disk_flip(disk_file *file, size_t offset);

#endif
