/* What --webhook-allow says, and an address that it may let through: 16 bytes of IPv6, whose last
 * four are one of IPv4, then the text. */
#include <netinet/in.h>
#include <string.h>

#include "server/webhooks/wire/address.h"
#include "tests/fuzz/fuzz.h"

enum { FOUR_AT = 12, FOUR_BYTES = 4 };

static void items_check(const ep_allowed_addresses *allowed) {
  FUZZ_HOLDS(allowed->count >= 0 && allowed->count <= EP_LIMIT_ALLOWED_ADDRESSES);
  for (int i = 0; i < allowed->count; i++) {
    const ep_allowed_address *item = &allowed->item[i];
    FUZZ_HOLDS(memchr(item->host, 0, sizeof item->host) != NULL);
    FUZZ_HOLDS(item->host[0] != 0 || (item->network.bits >= 0 && item->network.bits <= EP_IP_BITS));
  }
}

/* An address of IPv4 is judged as it is, and as what is within one of IPv6. */
static void address_check(const ep_allowed_addresses *allowed, const uint8_t bytes[EP_IP_BYTES]) {
  static const uint8_t mapped[FOUR_AT] = {[10] = 0xff, [11] = 0xff},
                       nat64[FOUR_AT] = {0, 0x64, 0xff, 0x9b};
  const ep_allowed_addresses none = {0};
  struct sockaddr_in four = {.sin_family = AF_INET};
  struct sockaddr_in6 six = {.sin6_family = AF_INET6};
  const struct sockaddr *a = (const struct sockaddr *)&four, *b = (const struct sockaddr *)&six;
  memcpy(&four.sin_addr, bytes + FOUR_AT, FOUR_BYTES);
  memcpy(&six.sin6_addr, bytes, EP_IP_BYTES);
  bool is_public = ep_address_is_public(a);
  FUZZ_HOLDS(ep_address_is_allowed(&none, "h", a) == is_public);
  FUZZ_HOLDS(!is_public || ep_address_is_allowed(allowed, "h", a));
  FUZZ_HOLDS(!ep_address_is_public(b) || ep_address_is_allowed(allowed, "h", b));
  memcpy(&six.sin6_addr, mapped, FOUR_AT);
  FUZZ_HOLDS(ep_address_is_public(b) == is_public);
  memcpy(&six.sin6_addr, nat64, FOUR_AT);
  FUZZ_HOLDS(ep_address_is_allowed(allowed, "h", b) == ep_address_is_allowed(allowed, "h", a));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  ep_allowed_addresses allowed;
  if (count < EP_IP_BYTES) return 0;
  char *text = strndup((const char *)bytes + EP_IP_BYTES, count - EP_IP_BYTES);
  FUZZ_HOLDS(text != NULL);
  if (ep_allowed_addresses_parse(text, &allowed, NULL) != EP_OK)
    allowed = (ep_allowed_addresses){0};
  free(text);
  items_check(&allowed);
  address_check(&allowed, bytes);
  return 0;
}
