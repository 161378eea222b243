/* values.h: values in the JSON of Slurm's commands, in the forms of 22.05 and of newer versions,
 * and the elements of its long lists, one tree at a time. */
#ifndef EP_SERVER_SLURM_VALUES_H
#define EP_SERVER_SLURM_VALUES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/status.h"

/* A number: 3, or {"set": true, "infinite": false, "number": 3}. False: none, not set, infinite,
 * negative or too large for 53 bits. */
bool ep_slurm_number(const json_t *object, const char *key, int64_t *out);
/* The same with 0 for false, and at most `most`. */
int64_t ep_slurm_count(const json_t *object, const char *key, int64_t most);

/* A text, cut to what fits, control characters as spaces: a string, or the first of an array's. ""
 * for everything else. */
void ep_slurm_text(const json_t *object, const char *key, char *text, size_t text_bytes);

/* Whether the string or the array of strings at `key` has this word, in any case of letters. */
bool ep_slurm_has_word(const json_t *object, const char *key, const char *word);

/* Calls `take` for each element of the array at `key` of the outermost object; the first of `keys`
 * (ended by NULL) that is there counts, and `take` is told which. EP_MALFORMED: there is none. */
typedef ep_status ep_slurm_take(void *context, int key, const json_t *element, ep_error *error);
ep_status ep_slurm_list_walk(const char *text, size_t bytes, const char *const *keys,
                             ep_slurm_take *take, void *context, ep_error *error);

#endif
