/* gunzip.h: gzip (RFC 1952) unpacked as it arrives, all of its members. */
#ifndef EP_ENGINE_FILES_GUNZIP_H
#define EP_ENGINE_FILES_GUNZIP_H

#include <stddef.h>
#include <stdint.h>

#include "api/status.h"

enum { EP_GUNZIP_BYTES = 96 << 10 }; /* of memory, at most: zlib's window and state, and a piece */

typedef struct ep_gunzip ep_gunzip;

/* Takes a piece of what was unpacked, a loan. A failure ends the unpacking: this is where the limit
 * on what comes out belongs. */
typedef ep_status ep_gunzip_take(void *context, const void *bytes, size_t count, ep_error *error);

ep_status ep_gunzip_create(ep_gunzip **out, ep_error *error);
void ep_gunzip_destroy(ep_gunzip *gunzip); /* NULL is allowed */

/* Unpacks bytes [count] in pieces of some KiB. EP_INVALID where they are damaged, and where
 * something else than a member follows a member; what `take` returned. After a failure only
 * ep_gunzip_destroy may follow. */
ep_status ep_gunzip_add(ep_gunzip *gunzip, const void *bytes, size_t count, ep_gunzip_take *take,
                        void *context, ep_error *error);
/* EP_INVALID unless the last member was whole, and there was one. */
ep_status ep_gunzip_finish(const ep_gunzip *gunzip, ep_error *error);
/* So many packed bytes were read. */
int64_t ep_gunzip_packed_bytes(const ep_gunzip *gunzip);

#endif
