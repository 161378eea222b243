/* spreadsheet.h: makes CSV harmless for spreadsheets, which run a cell that begins with = + - @ as
 * a formula: an apostrophe goes before it. Numbers stay. */
#ifndef EP_API_JSON_SPREADSHEET_H
#define EP_API_JSON_SPREADSHEET_H

#include "api/json/writer.h"

enum { EP_SPREADSHEET_NUMBER_BYTES = 64 }; /* a longer cell is no number */

/* Where the text is read to. Begin with {.delimiter = ','}. */
typedef struct {
  char delimiter;
  bool inside, quoted, closed; /* of a cell: behind its first byte; between quotes; behind them */
  char held[EP_SPREADSHEET_NUMBER_BYTES]; /* [held_count]: of a cell that may be a number */
  size_t held_count;
} ep_spreadsheet;

/* Writes the text to `out`, piece by piece. After the last piece the end writes what was held. */
void ep_spreadsheet_add(ep_spreadsheet *self, const char *bytes, size_t count, ep_writer *out);
void ep_spreadsheet_end(ep_spreadsheet *self, ep_writer *out);

/* All of a text, which is freed; the result is the caller's (free). NULL: `text` was, or memory was
 * short. */
char *ep_spreadsheet_text(char *text, char delimiter);

#endif
