#include "engine/data/dialect/notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void ep_notes_add(ep_notes *notes, const char *format, ...) {
  char line[EP_NOTES_BYTES];
  if (!notes) return;
  size_t used = strlen(notes->text);
  va_list arguments;
  va_start(arguments, format);
  int bytes = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (bytes <= 0 || used + (size_t)bytes + 2 > sizeof notes->text) return;
  for (char *at = line; *at; at++)
    if (*at == '\n') *at = ' ';
  if (used > 0) notes->text[used++] = '\n';
  memcpy(notes->text + used, line, (size_t)bytes + 1);
}

const char *ep_notes_next(const char *at, size_t *bytes) {
  *bytes = strcspn(at, "\n");
  return at[*bytes] ? at + *bytes + 1 : NULL;
}
