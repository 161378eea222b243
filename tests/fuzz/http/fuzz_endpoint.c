/* Any text as HOST:PORT: refused, or the same when it is put together and split again. */
#include <string.h>

#include "api/endpoint.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  char host[64], again[64], joined[80];
  int port = -1, port_again = -1;
  char *text = strndup((const char *)bytes, count);
  FUZZ_HOLDS(text != NULL);
  if (ep_endpoint_split(text, host, sizeof host, &port)) {
    FUZZ_HOLDS(host[0] && strlen(host) < strlen(text) && port >= 0 && port <= 65535);
    ep_endpoint_join(host, port, joined, sizeof joined);
    FUZZ_HOLDS(ep_endpoint_split(joined, again, sizeof again, &port_again));
    FUZZ_HOLDS(strcmp(host, again) == 0 && port == port_again);
  }
  free(text);
  return 0;
}
