#include "server/http/access/forwarded.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { ITEM_BYTES = EP_IP_TEXT_BYTES + sizeof "[]:65535" };

ep_status ep_trusted_proxies_parse(const char *text, ep_trusted_proxies *out, ep_error *error) {
  *out = (ep_trusted_proxies){0};
  while (*text) {
    char item[EP_IP_TEXT_BYTES + sizeof "/128"];
    const size_t bytes = strcspn(text, ",");
    snprintf(item, sizeof item, "%.*s", (int)(bytes < sizeof item ? bytes : 0), text);
    if (out->count == EP_LIMIT_ALLOWED_ADDRESSES)
      return ep_fail(error, EP_INVALID, "--trusted-proxy has more than %d items", out->count);
    ep_ip_network *network = &out->item[out->count++];
    if (!ep_ip_network_parse(item, network) || network->bits < 0)
      return ep_fail(error, EP_INVALID,
                     "--trusted-proxy must be an address or a network such as 10.0.0.0/8, not "
                     "\"%.100s\"",
                     text);
    text += bytes + (text[bytes] == ',');
  }
  return EP_OK;
}

static bool is_trusted(const ep_trusted_proxies *proxies, const uint8_t ip[EP_IP_BYTES]) {
  for (int i = 0; i < proxies->count; i++)
    if (ep_ip_network_has(&proxies->item[i], ip)) return true;
  return false;
}

/* "192.0.2.1", "192.0.2.1:443", "2001:db8::1", "[2001:db8::1]:443". */
static bool item_parse(const char *text, size_t bytes, uint8_t ip[EP_IP_BYTES]) {
  char item[ITEM_BYTES], *name = item, *port = NULL;
  if (bytes >= sizeof item) return false;
  memcpy(item, text, bytes);
  item[bytes] = 0;
  if (*name == '[') {
    port = strchr(++name, ']');
    if (!port) return false;
    *port++ = 0;
  } else if (strchr(name, ':') == strrchr(name, ':')) {
    port = strchr(name, ':');
  }
  if (port && *port) {
    if (*port != ':' || !port[1] || strspn(port + 1, "0123456789") != strlen(port + 1))
      return false;
    *port = 0;
  }
  return ep_ip_parse(name, ip);
}

/* Follows one header from its right end. true: `ip` is the client's, or, with *known false, the
 * header is malformed; false: all its addresses are proxies'. */
static bool header_follow(const ep_trusted_proxies *proxies, const char *value,
                          uint8_t ip[EP_IP_BYTES], bool *known) {
  for (const char *end = value + strlen(value);;) {
    const char *from = end;
    while (from > value && from[-1] != ',') from--;
    const char *first = from + strspn(from, " \t"), *last = end;
    while (last > first && (last[-1] == ' ' || last[-1] == '\t')) last--;
    *known = last > first && item_parse(first, (size_t)(last - first), ip);
    if (!*known || !is_trusted(proxies, ip)) return true;
    if (from == value) return false;
    end = from - 1;
  }
}

void ep_forwarded_find(const ep_trusted_proxies *proxies, const ep_request *request,
                       char address[EP_IP_TEXT_BYTES]) {
  uint8_t ip[EP_IP_BYTES];
  bool known = ep_ip_parse(address, ip), found = !known || !is_trusted(proxies, ip);
  if (found) return;
  for (int i = request->headers_count - 1; !found && i >= 0; i--)
    if (strcasecmp(request->headers[i].name, "X-Forwarded-For") == 0)
      found = header_follow(proxies, request->headers[i].value, ip, &known);
  if (known) ep_ip_text(ip, address);
}
