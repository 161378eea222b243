/* memory.h: the memory that there is for this process and its children: the machine's, or that of
 * the smallest control group around it. */
#ifndef EP_ENGINE_HOST_MEMORY_H
#define EP_ENGINE_HOST_MEMORY_H

#include <stdint.h>

/* The variable of the environment that bounds all of it, in bytes: of a daemon, which has it from
 * --memory, and so of its workers. */
#define EP_MEMORY_VARIABLE "EPOCHD_MEMORY"

typedef struct {
  int64_t total_bytes; /* the most that all processes here may ever take */
  int64_t free_bytes;  /* what they may take more; files in the page cache give way */
} ep_memory;

/* Reads /proc and the control groups (v1 and v2, all of them upward) anew: some 0.1 ms. What cannot
 * be read bounds nothing. */
ep_memory ep_memory_read(void);

/* The same below another root than "", for tests. */
ep_memory ep_memory_read_below(const char *root);

#endif
