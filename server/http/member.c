#include "server/http/member.h"

#include <string.h>

#include "api/json/scanner.h"

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

/* The writer escapes no more than single bytes: \u00XX. Anything else stays as it is. */
void ep_member_unescape(char *text) {
  static const char HEX[] = "0123456789abcdef";
  char *out = text;
  for (const char *at = text; *at != 0;) {
    const char *high = at[0] == '\\' && at[1] == 'u' && strncmp(at + 2, "00", 2) == 0 && at[4] != 0
                           ? strchr(HEX, at[4])
                           : NULL;
    const char *low = high && at[5] != 0 ? strchr(HEX, at[5]) : NULL;
    if (low) {
      *out++ = (char)((high - HEX) * 16 + (low - HEX));
      at += 6;
    } else if (at[0] == '\\' && at[1] != 0 && at[1] != 'u') {
      *out++ = (char)(at[1] == 'n' ? '\n' : at[1] == 't' ? '\t' : at[1]);
      at += 2;
    } else {
      *out++ = *at++;
    }
  }
  *out = 0;
}
