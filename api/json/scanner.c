#include "api/json/scanner.h"

#include <string.h>

#include "api/json/number_scan.h"
#include "api/json/utf8.h"
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

/* Four hexadecimal digits; -1 where there are none. */
static int hex_read(const char *at, const char *end) {
  int value = 0;
  if (end - at < 4) return -1;
  for (int i = 0; i < 4; i++) {
    char c = at[i];
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (digit < 0) return -1;
    value = 16 * value + digit;
  }
  return value;
}

/* \u0041, \ud83d\ude00, from behind the u. Returns what comes after; NULL where it is none. */
static const char *unicode_read(const char *at, const char *end, char **out) {
  int code = hex_read(at, end), low = -1;
  if (code < 0) return NULL;
  at += 4;
  if (code >= 0xD800 && code < 0xDC00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u')
    low = hex_read(at + 2, end);
  bool pair = low >= 0xDC00 && low < 0xE000;
  if (!pair && code >= 0xD800 && code < 0xE000) return NULL; /* half of a character */
  if (pair) code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  *out += ep_utf8_write((uint32_t)code, *out);
  return pair ? at + 6 : at;
}

const char *ep_scan_escape(const char *at, const char *end, char **out) {
  static const char letters[] = "\"\\/bfnrt", characters[] = "\"\\/\b\f\n\r\t";
  if (at == end) return NULL;
  if (*at == 'u') return unicode_read(at + 1, end, out);
  const char *letter = *at ? strchr(letters, *at) : NULL;
  if (!letter) return NULL;
  *(*out)++ = characters[letter - letters];
  return at + 1;
}

/* Takes an escape, from behind the backslash, into [*used, text_bytes - 1). */
static bool escape_take(ep_scanner *scanner, char *text, size_t *used, size_t text_bytes) {
  char character[EP_SCAN_ESCAPE_BYTES], *end = character;
  const char *next = ep_scan_escape(scanner->at, scanner->end, &end);
  if (!next) return false;
  if (text_bytes > 1 && end > character && !*character) return false; /* a text ends there */
  scanner->at = next;
  for (const char *c = character; c < end && *used + 1 < text_bytes; c++) text[(*used)++] = *c;
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
    if (c == '\\') {
      if (!escape_take(scanner, text, &used, text_bytes)) return false;
    } else if (used + 1 < text_bytes) {
      text[used++] = c;
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

static bool skip_value(ep_scanner *scanner, int depth, bool python);

static bool skip_list(ep_scanner *scanner, char open, char close, int depth, bool python) {
  char key[1];
  if (depth == 0 || !ep_scan_token(scanner, open)) return false;
  if (ep_scan_token(scanner, close)) return true;
  do {
    if (open == '{' && (!ep_scan_string(scanner, key, sizeof key) || !ep_scan_token(scanner, ':')))
      return false;
    if (!skip_value(scanner, depth - 1, python)) return false;
  } while (ep_scan_token(scanner, ','));
  return ep_scan_token(scanner, close);
}

static bool skip_word(ep_scanner *scanner) {
  return ep_scan_word(scanner, "NaN") || ep_scan_word(scanner, "Infinity") ||
         ep_scan_word(scanner, "-Infinity");
}

static bool skip_value(ep_scanner *scanner, int depth, bool python) {
  char text[1];
  switch (ep_scan_peek(scanner)) {
  case '{': return skip_list(scanner, '{', '}', depth, python);
  case '[': return skip_list(scanner, '[', ']', depth, python);
  case '"': return ep_scan_string(scanner, text, sizeof text);
  case 't': return ep_scan_word(scanner, "true");
  case 'f': return ep_scan_word(scanner, "false");
  case 'n': return ep_scan_word(scanner, "null");
  default: return (python && skip_word(scanner)) || skip_number(scanner);
  }
}

bool ep_scan_skip(ep_scanner *scanner) {
  return skip_value(scanner, EP_LIMIT_JSON_DEPTH, false);
}

bool ep_scan_skip_python(ep_scanner *scanner) {
  return skip_value(scanner, EP_LIMIT_JSON_DEPTH, true);
}

bool ep_scan_member(ep_scanner *scanner, const char *key) {
  char found[64];
  if (!ep_scan_token(scanner, '{') || ep_scan_peek(scanner) == '}') return false;
  do {
    if (!ep_scan_string(scanner, found, sizeof found) || !ep_scan_token(scanner, ':')) return false;
    if (strcmp(found, key) == 0) return true;
    if (!ep_scan_skip(scanner)) return false;
  } while (ep_scan_token(scanner, ','));
  return false;
}
