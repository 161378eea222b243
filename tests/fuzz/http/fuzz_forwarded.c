/* The proxies that are trusted, a line, and behind it what the peer 127.0.0.1 says in
 * X-Forwarded-For. */
#include <string.h>

#include "server/http/access/forwarded.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static const char peer[] = "127.0.0.1";
  ep_trusted_proxies proxies;
  ep_request request;
  uint8_t ip[EP_IP_BYTES];
  char address[EP_IP_TEXT_BYTES], *text = strndup((const char *)bytes, count);
  FUZZ_HOLDS(text != NULL);
  char *value = strchr(text, '\n');
  if (value) *value++ = 0;
  if (ep_trusted_proxies_parse(text, &proxies, NULL) != EP_OK) proxies.count = 0;
  ep_request_init(&request);
  FUZZ_HOLDS(!value || ep_request_add_header(&request, "X-Forwarded-For", value, NULL) == EP_OK);
  strcpy(address, peer);
  ep_forwarded_find(&proxies, &request, address);
  FUZZ_HOLDS(ep_ip_parse(address, ip));
  FUZZ_HOLDS((value && proxies.count > 0) || strcmp(address, peer) == 0);
  ep_request_deinit(&request);
  free(text);
  return 0;
}
