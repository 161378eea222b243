#include "server/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void skip_space(ep_scan *scan) {
  while (scan->at < scan->end && strchr(" \t\r\n", *scan->at) && *scan->at) scan->at++;
}

static bool fail(ep_scan *scan) {
  scan->failed = true;
  return false;
}

/* Past the string that begins at scan->at. */
static bool skip_string(ep_scan *scan) {
  if (scan->at >= scan->end || *scan->at != '"') return fail(scan);
  for (scan->at++; scan->at < scan->end; scan->at++) {
    if (*scan->at == '\\') {
      scan->at++;
    } else if (*scan->at == '"') {
      scan->at++;
      return true;
    }
  }
  return fail(scan);
}

/* Past a value: a string, a number or word, or a bracket with all that it holds. */
static bool skip_value(ep_scan *scan) {
  int depth = 0;
  const char *start = scan->at;
  while (scan->at < scan->end) {
    char byte = *scan->at;
    if (byte == '"') {
      if (!skip_string(scan)) return false;
    } else if (byte == '{' || byte == '[') {
      depth++;
      scan->at++;
    } else if (byte == '}' || byte == ']') {
      if (depth == 0) break;
      depth--;
      scan->at++;
    } else if (depth == 0 &&
               (byte == ',' || byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t')) {
      break;
    } else {
      scan->at++;
      continue;
    }
    if (depth == 0) return true;
  }
  return depth == 0 && scan->at > start ? true : fail(scan);
}

bool ep_scan_object(ep_scan *scan, const char *text, size_t bytes) {
  *scan = (ep_scan){.at = text, .end = text + bytes, .first = true};
  skip_space(scan);
  if (scan->at >= scan->end || *scan->at != '{') return fail(scan);
  scan->at++;
  return true;
}

bool ep_scan_member(ep_scan *scan, ep_scan_piece *key, ep_scan_piece *value) {
  if (scan->failed) return false;
  skip_space(scan);
  if (scan->at >= scan->end) return fail(scan);
  if (*scan->at == '}') {
    scan->at++;
    return false;
  }
  if (!scan->first) {
    if (*scan->at != ',') return fail(scan);
    scan->at++;
    skip_space(scan);
  }
  scan->first = false;
  const char *start = scan->at;
  if (!skip_string(scan)) return false;
  *key = (ep_scan_piece){start + 1, (size_t)(scan->at - start) - 2};
  skip_space(scan);
  if (scan->at >= scan->end || *scan->at != ':') return fail(scan);
  scan->at++;
  skip_space(scan);
  start = scan->at;
  if (!skip_value(scan)) return false;
  *value = (ep_scan_piece){start, (size_t)(scan->at - start)};
  return true;
}

bool ep_scan_finish(ep_scan *scan) {
  skip_space(scan);
  return !scan->failed && scan->at == scan->end;
}

bool ep_scan_find(ep_scan_piece text, const char *key, ep_scan_piece *value) {
  ep_scan scan;
  ep_scan_piece name, found;
  if (!ep_scan_object(&scan, text.at, text.bytes)) return false;
  while (ep_scan_member(&scan, &name, &found)) {
    if (name.bytes != strlen(key) || memcmp(name.at, key, name.bytes) != 0) continue;
    *value = found;
    return true;
  }
  return false;
}

/* What stands after a backslash; *at is left on its last byte. -1 for what we do not take. */
static int unescape(const char **at, const char *end) {
  static const char FROM[] = "\"\\/bfnrt", TO[] = "\"\\/\b\f\n\r\t";
  if (*at >= end || **at == 0) return -1;
  const char *found = strchr(FROM, **at);
  if (found) return TO[found - FROM];
  if (**at != 'u' || end - *at < 5) return -1;
  char digits[5] = {0}, *stop;
  memcpy(digits, *at + 1, 4);
  long value = strtol(digits, &stop, 16);
  *at += 4;
  return *stop == 0 && value > 0 && value < 0x80 ? (int)value : -1;
}

bool ep_scan_string(ep_scan_piece value, char *out, size_t out_bytes) {
  if (value.bytes < 2 || value.at[0] != '"') return false;
  const char *end = value.at + value.bytes - 1;
  size_t count = 0;
  for (const char *at = value.at + 1; at < end; at++) {
    int byte = (unsigned char)*at;
    if (byte == '\\') {
      at++;
      byte = unescape(&at, end);
    }
    if (byte < 0x20 || count + 1 >= out_bytes) return false;
    out[count++] = (char)byte;
  }
  if (out_bytes == 0) return false;
  out[count] = 0;
  return true;
}

bool ep_scan_integer(ep_scan_piece value, long long *out) {
  char text[24], *stop;
  if (value.bytes == 0 || value.bytes >= sizeof text) return false;
  memcpy(text, value.at, value.bytes);
  text[value.bytes] = 0;
  if (strspn(text, "-0123456789") != value.bytes) return false;
  errno = 0;
  *out = strtoll(text, &stop, 10);
  return errno == 0 && *stop == 0;
}
