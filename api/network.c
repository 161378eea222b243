#include "api/network.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

enum { IPV4_AT = 12, IPV4_BITS = 8 * IPV4_AT };

static const uint8_t MAPPED[IPV4_AT] = {[10] = 0xff, [11] = 0xff};

void ep_ip_from_ipv4(const void *four, uint8_t out[EP_IP_BYTES]) {
  memcpy(out, MAPPED, IPV4_AT);
  memcpy(out + IPV4_AT, four, EP_IP_BYTES - IPV4_AT);
}

bool ep_ip_from_socket(const struct sockaddr *address, uint8_t out[EP_IP_BYTES]) {
  if (address->sa_family == AF_INET)
    ep_ip_from_ipv4(&((const struct sockaddr_in *)(const void *)address)->sin_addr, out);
  else if (address->sa_family == AF_INET6)
    memcpy(out, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, EP_IP_BYTES);
  else
    return false;
  return true;
}

bool ep_ip_parse(const char *text, uint8_t out[EP_IP_BYTES]) {
  uint8_t four[EP_IP_BYTES - IPV4_AT];
  if (inet_pton(AF_INET, text, four) != 1) return inet_pton(AF_INET6, text, out) == 1;
  ep_ip_from_ipv4(four, out);
  return true;
}

void ep_ip_text(const uint8_t bytes[EP_IP_BYTES], char out[EP_IP_TEXT_BYTES]) {
  bool four = memcmp(bytes, MAPPED, IPV4_AT) == 0;
  inet_ntop(four ? AF_INET : AF_INET6, four ? bytes + IPV4_AT : bytes, out, EP_IP_TEXT_BYTES);
}

bool ep_ip_network_parse(const char *text, ep_ip_network *out) {
  char address[EP_IP_TEXT_BYTES];
  const size_t length = strcspn(text, "/");
  if (length >= sizeof address) return false;
  memcpy(address, text, length);
  address[length] = 0;
  if (!ep_ip_parse(address, out->bytes)) return false;
  const int before = strchr(address, ':') ? 0 : IPV4_BITS;
  const char *digits = text[length] ? text + length + 1 : NULL;
  char *stop = NULL;
  long given = digits ? strtol(digits, &stop, 10) : EP_IP_BITS - before;
  bool good = !digits || (digits[0] >= '0' && digits[0] <= '9' && *stop == 0);
  out->bits = good && given <= EP_IP_BITS - before ? (int)given + before : -1;
  return true;
}

bool ep_ip_network_has(const ep_ip_network *network, const uint8_t address[EP_IP_BYTES]) {
  const uint8_t *bytes = network->bytes;
  int whole = network->bits / 8, rest = network->bits % 8;
  if (memcmp(bytes, address, (size_t)whole) != 0) return false;
  return rest == 0 || (uint8_t)((bytes[whole] ^ address[whole]) >> (8 - rest)) == 0;
}
