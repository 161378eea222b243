/* base_path.h: the path below which a proxy shows this daemon, such as "/epochd". The paths in
 * responses begin with it. */
#ifndef EP_API_BASE_PATH_H
#define EP_API_BASE_PATH_H

#include <stdbool.h>

enum { EP_BASE_PATH_BYTES = 101 };

/* Whether it is one or more segments of letters, digits and "-._~", each behind a slash, none of
 * them "." or "..", in 100 bytes. */
bool ep_base_path_valid(const char *path);

/* "" unless set. Set once, before there are threads. */
void ep_base_path_set(const char *path);
const char *ep_base_path(void);

#endif
