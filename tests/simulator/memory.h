/* memory.h: the memory of the simulated daemon. What its tasks allocate lies in one region, which a
 * crash empties; its static variables are those of before its start then. The simulator's own
 * memory is apart. */
#ifndef EP_TEST_SIMULATOR_MEMORY_H
#define EP_TEST_SIMULATOR_MEMORY_H

#include <stddef.h>

/* The simulator's own, also while a task runs. */
void *outside_malloc(size_t bytes);
void *outside_calloc(size_t count, size_t bytes);
void *outside_realloc(void *block, size_t bytes);
void outside_free(void *block);

/* Once, before the first start of the daemon: keeps the program's variables as they are. */
void memory_begin(void);
/* Has SQLite and jansson use the region, too. Before memory_begin. */
void memory_lend(void);
/* The daemon has died: its memory is empty, and its variables are as at memory_begin. */
void memory_forget(void);
size_t memory_most(void); /* bytes that one life of the daemon took at most */

#endif
