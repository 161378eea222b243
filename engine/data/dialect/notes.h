/* notes.h: what is said of how a text was read, a line each. */
#ifndef EP_ENGINE_DATA_DIALECT_NOTES_H
#define EP_ENGINE_DATA_DIALECT_NOTES_H

#include <stddef.h>

enum { EP_NOTES_BYTES = 2048 };

/* A zeroed one has none. */
typedef struct {
  char text[EP_NOTES_BYTES]; /* lines with '\n' between them */
} ep_notes;

/* Adds a line; one for which there is no room is left out whole. notes: NULL: nobody reads them. */
void ep_notes_add(ep_notes *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The line at `at`, [*bytes], and where the next one begins; NULL behind the last. First: the text.
 */
const char *ep_notes_next(const char *at, size_t *bytes);

#endif
