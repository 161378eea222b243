/* visibility.h: who sees a job, a sweep, a dataset or a model. */
#ifndef EP_API_VISIBILITY_H
#define EP_API_VISIBILITY_H

#include <stdbool.h>

#define EP_VISIBILITY_CHOICE "public|private" /* as an option takes it */

/* By whether it is private, NULL at the end: "public": all who may read; "private": its owner and
 * admins. */
extern const char *const EP_VISIBILITY_WORDS[];

const char *ep_visibility_name(bool private);

/* 1 of "private", 0 of "public", -1 of any other word. */
int ep_visibility_from_name(const char *word);

#endif
