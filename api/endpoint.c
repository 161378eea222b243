#include "api/endpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORT_DIGITS = 5, PORT_MOST = 65535 };

static bool port_read(const char *text, int *port) {
  size_t digits = strspn(text, "0123456789");
  if (digits == 0 || digits > PORT_DIGITS || text[digits]) return false;
  *port = (int)strtol(text, NULL, 10);
  return *port <= PORT_MOST;
}

bool ep_endpoint_split(const char *text, char *host, size_t bytes, int *port) {
  const char *colon = strrchr(text, ':');
  if (!colon || !port_read(colon + 1, port)) return false;
  size_t length = (size_t)(colon - text);
  const bool six = length > 2 && text[0] == '[' && colon[-1] == ']';
  if (six) {
    text++;
    length -= 2;
  }
  const size_t plain = strcspn(text, ":[]"), bare = strcspn(text, "[]");
  if (length == 0 || length >= bytes || bare < length || six != (plain < length)) return false;
  memcpy(host, text, length);
  host[length] = 0;
  return true;
}

void ep_endpoint_join(const char *host, int port, char *out, size_t bytes) {
  bool six = strchr(host, ':') != NULL;
  snprintf(out, bytes, "%s%s%s:%d", six ? "[" : "", host, six ? "]" : "", port);
}
