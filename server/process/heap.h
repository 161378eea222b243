/* heap.h: how the C library's heap is set, so that what requests took is returned to the system.
 *
 * By default glibc gives each thread a heap of its own, raises the size from which blocks are
 * mapped to that of the largest that was freed, and keeps up to 7 freed blocks of each small size
 * for each thread. Each heap then grows to the peak of what its thread ever did, for hours, what
 * is free in one serves no other, and each kept block holds its page: some 3 MB after a flood. */
#ifndef EP_SERVER_PROCESS_HEAP_H
#define EP_SERVER_PROCESS_HEAP_H

/* A few heaps that threads share. They must not be locked for long: small blocks are merged as
 * they are freed, and not all of a large tree's at once, which held up others for 0.1 s. To be
 * called before any thread. */
void ep_heap_configure(void);

/* Re-executes this program without the blocks that are kept for each thread: glibc reads that
 * setting (GLIBC_TUNABLES) from the environment alone, when a program starts. Returns in the new
 * program; or at once where the variable is the user's, where the file has capabilities (the loader
 * ignores the variable then), or where the program cannot be started. argv: main's. To be called
 * before a file is open or anything is read. */
void ep_heap_restart(char *const *argv);

#endif
