/* excerpt.h: a piece of somebody's file as it can be shown in a message: short, one line, UTF-8. */
#ifndef EP_ENGINE_FILES_EXCERPT_H
#define EP_ENGINE_FILES_EXCERPT_H

#include <stddef.h>

enum { EP_EXCERPT_BYTES = 64, EP_EXCERPT_PATH_BYTES = 192 };

/* Writes at most 40 bytes of the text, cut between characters ("…" shows that it was), with every
 * control character and every byte that is not UTF-8 as '?'. Ends in 0. Returns `out`. */
const char *ep_excerpt(char out[EP_EXCERPT_BYTES], const char *text, size_t bytes);

/* The same of a path, at most 180 bytes: its end says most, so "…" stands for its beginning. */
const char *ep_excerpt_path(char out[EP_EXCERPT_PATH_BYTES], const char *path, size_t bytes);

#endif
