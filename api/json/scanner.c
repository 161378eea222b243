#include "api/json/scanner.h"

#include <string.h>

#include "api/json/number_scan.h"
#include "api/limits.h"

void ep_scan_mark(ep_scanner *scanner) {
  if (scanner->end - scanner->at >= 3 && memcmp(scanner->at, "\xEF\xBB\xBF", 3) == 0)
    scanner->at += 3; /* RFC 8259, 8.1 */
}

bool ep_scan_word(ep_scanner *scanner, const char *word) {
  size_t bytes = strlen(word);
  if (ep_scan_peek(scanner) != word[0] || (size_t)(scanner->end - scanner->at) < bytes ||
      memcmp(scanner->at, word, bytes) != 0)
    return false;
  scanner->at += bytes;
  return true;
}

bool ep_scan_string(ep_scanner *scanner, char *text, size_t text_bytes) {
  if (!ep_scan_token(scanner, '"')) return false;
  size_t used = 0;
  while (scanner->at < scanner->end) {
    char c = *scanner->at++;
    if (c == '"') {
      if (text_bytes) text[used] = 0;
      return true;
    }
    if ((unsigned char)c < 0x20) return false;
    if (used + 1 < text_bytes) text[used++] = c;
    if (c == '\\') {
      if (scanner->at == scanner->end) return false;
      if (used + 1 < text_bytes) text[used++] = *scanner->at;
      scanner->at++;
    }
  }
  return false;
}

bool ep_scan_number(ep_scanner *scanner, double *out) {
  ep_scan_peek(scanner);
  const char *stop = ep_number_scan(scanner->at, scanner->end, EP_NUMBER_JSON, out);
  if (!stop || stop - scanner->at > EP_SCAN_NUMBER_BYTES) return false;
  if (stop < scanner->end && (*stop == 'e' || *stop == 'E')) return false; /* without digits */
  scanner->at = stop;
  return true;
}

/* Takes digits, of which there must be one at least. */
static bool digits_skip(ep_scanner *scanner) {
  const char *at = scanner->at;
  while (at < scanner->end && (unsigned char)(*at - '0') < 10) at++;
  bool any = at > scanner->at;
  scanner->at = at;
  return any;
}

/* What ep_scan_number takes, without its value: a body is passed over several times until its parts
 * are known, and read once. */
static bool skip_number(ep_scanner *scanner) {
  const char *start = scanner->at, *end = scanner->end;
  if (scanner->at < end && *scanner->at == '-') scanner->at++;
  const char *whole = scanner->at;
  if (!digits_skip(scanner) || (*whole == '0' && scanner->at - whole > 1)) return false;
  if (scanner->at < end && *scanner->at == '.') {
    scanner->at++;
    if (!digits_skip(scanner)) return false;
  }
  if (scanner->at < end && (*scanner->at == 'e' || *scanner->at == 'E')) {
    scanner->at++;
    if (scanner->at < end && (*scanner->at == '-' || *scanner->at == '+')) scanner->at++;
    if (!digits_skip(scanner)) return false;
  }
  return scanner->at - start <= EP_SCAN_NUMBER_BYTES;
}

static bool skip_value(ep_scanner *scanner, int depth);

static bool skip_list(ep_scanner *scanner, char open, char close, int depth) {
  char key[1];
  if (depth == 0 || !ep_scan_token(scanner, open)) return false;
  if (ep_scan_token(scanner, close)) return true;
  do {
    if (open == '{' && (!ep_scan_string(scanner, key, sizeof key) || !ep_scan_token(scanner, ':')))
      return false;
    if (!skip_value(scanner, depth - 1)) return false;
  } while (ep_scan_token(scanner, ','));
  return ep_scan_token(scanner, close);
}

static bool skip_value(ep_scanner *scanner, int depth) {
  char text[1];
  switch (ep_scan_peek(scanner)) {
  case '{': return skip_list(scanner, '{', '}', depth);
  case '[': return skip_list(scanner, '[', ']', depth);
  case '"': return ep_scan_string(scanner, text, sizeof text);
  case 't': return ep_scan_word(scanner, "true");
  case 'f': return ep_scan_word(scanner, "false");
  case 'n': return ep_scan_word(scanner, "null");
  default: return skip_number(scanner);
  }
}

bool ep_scan_skip(ep_scanner *scanner) {
  return skip_value(scanner, EP_LIMIT_JSON_DEPTH);
}
