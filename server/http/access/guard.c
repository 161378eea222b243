#include "server/http/access/guard.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Copies the name of "name:port" or "[address]:port", without brackets. False: it is neither. */
static bool host_split(const char *text, char name[256]) {
  const char *start = text, *end;
  if (*text == '[') {
    start = text + 1;
    end = strchr(start, ']');
    if (!end) return false;
    text = end + 1;
  } else {
    end = text + strcspn(text, ":");
    text = end;
  }
  if (end == start || end - start >= 256) return false;
  if (*text && (*text != ':' || strspn(text + 1, "0123456789") != strlen(text + 1))) return false;
  memcpy(name, start, (size_t)(end - start));
  name[end - start] = 0;
  return true;
}

static bool is_listed(const char *list, const char *name) {
  size_t bytes = strlen(name);
  while (*list) {
    size_t length = strcspn(list, ",");
    if (length == bytes && strncasecmp(list, name, bytes) == 0) return true;
    list += length + (list[length] == ',');
  }
  return false;
}

static bool is_own_name(const ep_guard *guard, const char *name) {
  unsigned char address[sizeof(struct in6_addr)];
  if (is_listed("localhost,127.0.0.1,::1", name)) return true;
  if (strcasecmp(guard->listen_host, name) == 0 || is_listed(guard->allow, name)) return true;
  /* DNS rebinding needs a name, so any address is safe. */
  return guard->any_address &&
         (inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1);
}

/* A link, bookmark or address bar that opens the front page at the top of a tab. The page that held
 * the link learns nothing of the answer, and what is opened may not be framed. */
static bool opens_page(const ep_request *request) {
  const char *mode = ep_request_header(request, "Sec-Fetch-Mode");
  const char *place = ep_request_header(request, "Sec-Fetch-Dest");
  bool reads = strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;
  return reads && strcmp(request->path, "/") == 0 && mode && strcmp(mode, "navigate") == 0 &&
         place && strcmp(place, "document") == 0;
}

ep_status ep_guard_origin(const ep_guard *guard, const ep_request *request, ep_error *error) {
  const char *host = ep_request_header(request, "Host");
  const char *origin = ep_request_header(request, "Origin");
  const char *site = ep_request_header(request, "Sec-Fetch-Site");
  char name[256], own_origin[2][300];
  if (host && (!host_split(host, name) || !is_own_name(guard, name)))
    return ep_fail(error, EP_FORBIDDEN, "unknown host name in Host (see --allow-host)");
  /* https: behind a proxy with TLS that passes the Host on */
  snprintf(own_origin[0], sizeof own_origin[0], "http://%.280s", host ? host : "");
  snprintf(own_origin[1], sizeof own_origin[1], "https://%.280s", host ? host : "");
  /* behind one that does not, the browser says so: pages cannot set Sec- headers */
  bool same = site && strcmp(site, "same-origin") == 0;
  if (origin && !same &&
      (!host || (strcasecmp(origin, own_origin[0]) != 0 && strcasecmp(origin, own_origin[1]) != 0)))
    return ep_fail(error, EP_FORBIDDEN, "requests from another site's pages are refused (Origin)");
  if (site && !same && strcmp(site, "none") != 0 && !opens_page(request))
    return ep_fail(error, EP_FORBIDDEN,
                   "requests from another site's pages are refused (Sec-Fetch-Site)");
  return EP_OK;
}
