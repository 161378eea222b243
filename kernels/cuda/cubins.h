/* cubins.h: compiled kernels on disk, so that a job pays for the compiler once in the life of a
 * machine and not once a process. The folder is EPOCHD_CACHE_DIR, else epochd in XDG_CACHE_HOME,
 * else in .cache of HOME; without any, and whenever something fails, nothing is kept. */
#ifndef EP_KERNELS_CUDA_CUBINS_H
#define EP_KERNELS_CUDA_CUBINS_H

#include <stddef.h>
#include <stdint.h>

/* What a kernel was compiled from, as a name: 128 bits, FNV-1a twice. */
typedef struct {
  uint64_t half[2];
} ep_cubin_key;

ep_cubin_key ep_cubin_key_start(void);
/* Adds a text and its end, so that two texts are not the same as one. */
void ep_cubin_key_add(ep_cubin_key *key, const char *text);

/* The kept code, which the caller frees, with its size; NULL when there is none, or when the file
 * is not whole. */
char *ep_cubin_read(const ep_cubin_key *key, size_t *bytes);

/* Keeps code under a key: whole or not at all, whoever else writes at the same time. Of more than
 * EP_LIMIT_CUBINS files, the one that was not read for longest goes. */
void ep_cubin_write(const ep_cubin_key *key, const char *code, size_t bytes);

#endif
