/* range.h: one byte range of a representation (RFC 9110, section 14). */
#ifndef EP_SERVER_HTTP_MESSAGES_RANGE_H
#define EP_SERVER_HTTP_MESSAGES_RANGE_H

#include <stdint.h>

typedef enum {
  EP_RANGE_WHOLE, /* no range, several, or one in another unit: all is sent */
  EP_RANGE_PART,
  EP_RANGE_OUTSIDE /* 416 */
} ep_range_kind;

/* header: the value of Range, or NULL; size: of the whole, in bytes. Writes the part's first byte
 * and its count of bytes. */
ep_range_kind ep_range_read(const char *header, int64_t size, int64_t *first, int64_t *count);

#endif
