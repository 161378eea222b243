/* scanner.h: reads JSON straight through, without a tree, where a tree would cost too much: lines
 * of events, rows to predict, one member of a stored text. Strict (RFC 8259), but for UTF-8, which
 * is not looked at. */
#ifndef EP_API_JSON_SCANNER_H
#define EP_API_JSON_SCANNER_H

#include <stdbool.h>
#include <stddef.h>

/* The bytes still to read; need not end in 0. */
typedef struct {
  const char *at, *end;
} ep_scanner;

/* Each skips white space first, and on false leaves the scanner somewhere in what it could not
 * read. */

/* What is next, without taking it; 0 at the end. Here, as the next one, because a body may have
 * millions of numbers with a comma behind each. */
static inline char ep_scan_peek(ep_scanner *scanner) {
  while (
      scanner->at < scanner->end && (unsigned char)*scanner->at <= ' ' &&
      (*scanner->at == ' ' || *scanner->at == '\t' || *scanner->at == '\n' || *scanner->at == '\r'))
    scanner->at++;
  return scanner->at < scanner->end ? *scanner->at : 0;
}
/* Takes `token` if it is next. */
static inline bool ep_scan_token(ep_scanner *scanner, char token) {
  if (ep_scan_peek(scanner) != token || scanner->at == scanner->end) return false;
  scanner->at++;
  return true;
}
/* Takes a byte order mark, with which a text may begin. */
void ep_scan_mark(ep_scanner *scanner);
/* A string, its escapes decoded, cut to text_bytes - 1. */
bool ep_scan_string(ep_scanner *scanner, char *text, size_t text_bytes);
/* A number of at most EP_SCAN_NUMBER_BYTES; infinite when it is too large for a double. */
bool ep_scan_number(ep_scanner *scanner, double *out);
/* Takes `word` (true, false, null) if it is next. */
bool ep_scan_word(ep_scanner *scanner, const char *word);
/* Any value, nested at most EP_LIMIT_JSON_DEPTH deep. */
bool ep_scan_skip(ep_scanner *scanner);
/* The same, where NaN, Infinity and -Infinity are values, as Python writes them. */
bool ep_scan_skip_python(ep_scanner *scanner);
/* Moves into an object, to the value of its member `key`, which has at most 62 bytes. False: it has
 * no such member, or is not an object. */
bool ep_scan_member(ep_scanner *scanner, const char *key);
/* An escape that begins at `at`, behind its backslash: writes its character as UTF-8 to *out, which
 * has EP_SCAN_ESCAPE_BYTES left and moves on. Returns what comes after it; NULL: it is no escape.
 */
const char *ep_scan_escape(const char *at, const char *end, char **out);

enum { EP_SCAN_NUMBER_BYTES = 127, EP_SCAN_ESCAPE_BYTES = 4 };

#endif
