/* cache.h: what was found out at some cost, on disk: compiled kernels, the algorithms of matrix
 * products and of convolutions; so that a job pays once in the life of a machine and not once a
 * process. The folder is EPOCHD_CACHE_DIR, else epochd in XDG_CACHE_HOME, else in .cache of HOME;
 * without any, and whenever something fails, nothing is kept. */
#ifndef EP_KERNELS_CACHE_CACHE_H
#define EP_KERNELS_CACHE_CACHE_H

#include <stddef.h>
#include <stdint.h>

/* All that the answer depends on, as a name: 128 bits, FNV-1a twice. */
typedef struct {
  uint64_t half[2];
} ep_cache_key;

ep_cache_key ep_cache_key_start(void);
/* Adds a text and its end, so that two texts are not the same as one. */
void ep_cache_key_add(ep_cache_key *key, const char *text);
void ep_cache_key_add_number(ep_cache_key *key, int64_t number);

/* The kept bytes, which the caller frees, with their size; NULL when there is none, or when the
 * file is not whole. */
char *ep_cache_read(const ep_cache_key *key, size_t *bytes);

/* Keeps bytes under a key: whole or not at all, whoever else writes at the same time. Of more than
 * EP_LIMIT_CACHED files, or EP_LIMIT_CACHED_ANSWERS small ones, the one that was not read for
 * longest goes. */
void ep_cache_write(const ep_cache_key *key, const char *code, size_t bytes);

#endif
