/* vfs.h: SQLite on the simulated disk: files with the syncs of SQLite's own VFS for Unix (a new log
 * syncs its folder, too), locks between connections, and shared memory for the write-ahead log,
 * which a crash of the daemon takes. */
#ifndef EP_TEST_SIMULATOR_VFS_H
#define EP_TEST_SIMULATOR_VFS_H

/* Once: it is SQLite's only VFS from here on. */
void vfs_begin(void);
/* The daemon has died: nobody holds a lock. */
void vfs_forget(void);

#endif
