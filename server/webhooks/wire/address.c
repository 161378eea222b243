#include "server/webhooks/wire/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { IPV4_AT = 12, IPV4_BITS = 8 * IPV4_AT };

#define IPV4(a, b, c, d, bits) \
  { {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d}, IPV4_BITS + (bits) }
#define IPV6(a, b, c, d, bits) \
  { {(a) >> 8, (a)&0xff, (b) >> 8, (b)&0xff, (c) >> 8, (c)&0xff, (d) >> 8, (d)&0xff}, bits }

/* Where the public internet is: all of IPv4, and the global unicast addresses of IPv6. */
static const ep_ip_network PUBLIC[] = {IPV4(0, 0, 0, 0, 0), IPV6(0x2000, 0, 0, 0, 3)};

/* And what is not of it: IANA's registries of special-purpose addresses
 * (https://www.iana.org/assignments/iana-ipv4-special-registry, …-ipv6-…), and multicast. */
static const ep_ip_network SPECIAL[] = {
    IPV4(0, 0, 0, 0, 8),           /* this host */
    IPV4(10, 0, 0, 0, 8),          /* private */
    IPV4(100, 64, 0, 0, 10),       /* behind a carrier's NAT */
    IPV4(127, 0, 0, 0, 8),         /* loopback */
    IPV4(169, 254, 0, 0, 16),      /* link-local, and the metadata of clouds */
    IPV4(172, 16, 0, 0, 12),       /* private */
    IPV4(192, 0, 0, 0, 24),        /* protocols */
    IPV4(192, 0, 2, 0, 24),        /* documentation */
    IPV4(192, 88, 99, 0, 24),      /* 6to4 relays */
    IPV4(192, 168, 0, 0, 16),      /* private */
    IPV4(198, 18, 0, 0, 15),       /* benchmarks */
    IPV4(198, 51, 100, 0, 24),     /* documentation */
    IPV4(203, 0, 113, 0, 24),      /* documentation */
    IPV4(224, 0, 0, 0, 4),         /* multicast */
    IPV4(240, 0, 0, 0, 4),         /* reserved, and broadcast */
    IPV6(0x2001, 0, 0, 0, 23),     /* protocols, and Teredo, which has IPv4 within */
    IPV6(0x2001, 0xdb8, 0, 0, 32), /* documentation */
    IPV6(0x2002, 0, 0, 0, 16),     /* 6to4, which has IPv4 within */
    IPV6(0x3fff, 0, 0, 0, 20),     /* documentation */
};

/* NAT64 puts IPv4 into the last bytes. */
static const ep_ip_network NAT64 = IPV6(0x64, 0xff9b, 0, 0, 96);

static bool any_has(const ep_ip_network *networks, size_t count, const uint8_t *address) {
  for (size_t i = 0; i < count; i++)
    if (ep_ip_network_has(&networks[i], address)) return true;
  return false;
}

/* false: neither IPv4 nor IPv6. */
static bool address_read(const struct sockaddr *address, uint8_t out[EP_IP_BYTES]) {
  uint8_t read[EP_IP_BYTES];
  if (!ep_ip_from_socket(address, read)) return false;
  if (ep_ip_network_has(&NAT64, read))
    ep_ip_from_ipv4(read + IPV4_AT, out);
  else
    memcpy(out, read, sizeof read);
  return true;
}

bool ep_address_is_public(const struct sockaddr *address) {
  uint8_t bytes[EP_IP_BYTES];
  return address_read(address, bytes) && any_has(PUBLIC, sizeof PUBLIC / sizeof *PUBLIC, bytes) &&
         !any_has(SPECIAL, sizeof SPECIAL / sizeof *SPECIAL, bytes);
}

static bool host_is_good(const char *text) {
  size_t length = strlen(text);
  return length > 0 && length < EP_HOST_BYTES &&
         strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
             length;
}

static ep_status item_parse(const char *text, ep_allowed_address *out, ep_error *error) {
  *out = (ep_allowed_address){.host = ""};
  if (ep_ip_network_parse(text, &out->network)) {
    if (out->network.bits >= 0) return EP_OK;
  } else if (host_is_good(text)) {
    snprintf(out->host, sizeof out->host, "%s", text);
    return EP_OK;
  }
  return ep_fail(
      error, EP_INVALID,
      "--webhook-allow takes networks such as 10.0.0.0/8 and names of hosts, with commas "
      "between, not \"%.100s\"",
      text);
}

ep_status ep_allowed_addresses_parse(const char *text, ep_allowed_addresses *out, ep_error *error) {
  *out = (ep_allowed_addresses){0};
  if (!text[0]) return EP_OK;
  char *copy = strdup(text), *rest = copy;
  if (!copy) return ep_fail_memory(error);
  ep_status status = EP_OK;
  for (char *item = strsep(&rest, ","); status == EP_OK && item; item = strsep(&rest, ",")) {
    status = out->count < EP_LIMIT_ALLOWED_ADDRESSES
                 ? item_parse(item, &out->item[out->count++], error)
                 : ep_fail(error, EP_INVALID, "--webhook-allow has more than %d items",
                           EP_LIMIT_ALLOWED_ADDRESSES);
  }
  free(copy);
  return status;
}

bool ep_address_is_allowed(const ep_allowed_addresses *allowed, const char *host,
                           const struct sockaddr *address) {
  uint8_t bytes[EP_IP_BYTES];
  if (!address_read(address, bytes)) return false;
  for (int i = 0; i < allowed->count; i++) {
    const ep_allowed_address *item = &allowed->item[i];
    bool is = item->host[0] ? strcasecmp(item->host, host) == 0
                            : ep_ip_network_has(&item->network, bytes);
    if (is) return true;
  }
  return ep_address_is_public(address);
}

const char *ep_address_text(const struct sockaddr *address, char *text) {
  const void *bytes = NULL;
  if (address->sa_family == AF_INET)
    bytes = &((const struct sockaddr_in *)(const void *)address)->sin_addr;
  else if (address->sa_family == AF_INET6)
    bytes = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
  if (!bytes || !inet_ntop(address->sa_family, bytes, text, EP_ADDRESS_TEXT_BYTES))
    snprintf(text, EP_ADDRESS_TEXT_BYTES, "?");
  return text;
}
