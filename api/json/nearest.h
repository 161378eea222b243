/* nearest.h: what somebody probably meant. */
#ifndef EP_API_JSON_NEAREST_H
#define EP_API_JSON_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

/* Edit distance with swaps of neighbours (optimal string alignment); texts over 63 bytes are as far
 * as can be. */
size_t ep_edit_distance(const char *a, const char *b);

/* Whether two names are the same but for case, and for what stands between words: _, - or a space.
 */
bool ep_names_alike(const char *a, const char *b);

/* The one of names[count] (NULL entries are passed over) that is near enough to `name` to be meant,
 * or NULL. */
const char *ep_nearest_name(const char *name, const char *const *names, int count);

#endif
