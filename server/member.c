#include "server/member.h"

#include <string.h>

#include "api/scanner.h"

/* Leaves the scanner before the value of `name` in the object that comes next. */
static bool go_to(ep_scanner *scanner, const char *name) {
  char key[64];
  if (!ep_scan_token(scanner, '{')) return false;
  while (ep_scan_string(scanner, key, sizeof key) && ep_scan_token(scanner, ':')) {
    if (strcmp(key, name) == 0) return true;
    if (!ep_scan_skip(scanner) || !ep_scan_token(scanner, ',')) return false;
  }
  return false;
}

bool ep_member_find(const char *text, const char *outer, const char *name, char *out,
                    size_t out_bytes) {
  ep_scanner scanner = {text, text + strlen(text)};
  if (outer && !go_to(&scanner, outer)) return false;
  return go_to(&scanner, name) && ep_scan_string(&scanner, out, out_bytes);
}
