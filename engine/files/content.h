/* content.h: what a file is by its first bytes, whatever its name says. */
#ifndef EP_ENGINE_FILES_CONTENT_H
#define EP_ENGINE_FILES_CONTENT_H

#include <stddef.h>
#include <stdint.h>

#include "api/status.h"

/* "a GIF", "an empty file", "text", "a file of unknown content". Never NULL. */
const char *ep_content_name(const uint8_t *bytes, size_t size);

/* EP_MEDIA_TYPE for content that is certainly neither text nor an archive, with its name and what
 * to send instead: "this is a PDF: export its table as CSV". A word that a text may begin with, as
 * PAR1, is certain only before bytes that no text has. EP_OK for all others. */
ep_status ep_content_refuse(const uint8_t *bytes, size_t size, ep_error *error);

#endif
